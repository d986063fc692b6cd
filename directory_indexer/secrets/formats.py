"""Secrets recognised by the format around them: URLs, password hashes, manifests, exports, cookies.

A connection string is used to log in, so the value of `Password=` in it is a password, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.secrets.rule_engine import (
    PASSWORD,
    TOKEN,
    Detector,
    FunctionRule,
    LazyPattern,
    NameKind,
    Rule,
    SecretSpan,
    line_start,
)
from directory_indexer.secrets.secret_names import is_certain_secret_name, repeats_name, secret_kind_of_name
from directory_indexer.secrets.tables import NOTE_KIND, USER_COLUMN, is_note_column
from directory_indexer.secrets.value_classification import (
    is_literal,
    is_password,
    is_placeholder,
    looks_generated,
    may_be_chosen_password,
    may_be_password_argument,
)


def _url_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in URLs, and the tokens in place of a user."""
    for match in _URL.finditer(text):
        user, password = match["user"], match["password"]
        if looks_generated(user):
            yield SecretSpan(*match.span("user"), TOKEN)
        if password and _is_password_of(user, password):
            yield SecretSpan(*match.span("password"), PASSWORD)


def _driver_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in `user:…@tcp(host:3306)/name`, the address format of Go drivers."""
    for address in _DRIVER_ADDRESS.finditer(text):
        login = _DRIVER_LOGIN.search(text, max(address.start() - _MAX_LOGIN, 0), address.start())
        if login and _is_password_of(login["user"], login["password"]):
            yield SecretSpan(*login.span("password"), PASSWORD)


def _connection_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys beside other pairs: `Server=…;Password=…;`, `host=… password=…`, `?user=…&password=`."""
    for name in _NAME.finditer(text):
        before = text[line_start(text, name.start(), _NEAR) : name.start()]
        separator = next((mark for mark in _PAIR_BEFORE if before.endswith((mark, f"{mark} "))), " ")
        value = (_VALUE if separator in {";", " "} else _PART).match(text, name.end())
        if not value or not may_be_chosen_password(value[0]):
            continue
        if _PAIR_BEFORE[separator].search(before) or _PAIR_BEHIND.match(text, value.end()):
            yield SecretSpan(*value.span(), PASSWORD)


def _default_value_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords that are defaults of a variable: `${DB_PASSWORD:-…}`, `process.env.PASSWORD || "…"`."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _FALLBACKS):
        if (
            is_certain_secret_name(match[1])
            and may_be_chosen_password(match[2])
            and not repeats_name(match[2], match[1])
        ):
            yield SecretSpan(*match.span(2), PASSWORD)


def _is_password_of(user: str, password: str) -> bool:
    lowered = password.lower()
    if lowered == user.lower() or not may_be_chosen_password(password) or _URL_WORD.fullmatch(lowered):
        return False
    return not (_PORT.fullmatch(password) and "." in user)


_NEAR: Final = 200
_MAX_LOGIN: Final = 170
_URL: Final = LazyPattern(r"://(?P<user>[^\s/:@\"'<>`?#]{0,128}+)(?::(?P<password>[^\s/\"'<>`]{1,256}))?@[\w\[({$<%-]")
_URL_WORD: Final = LazyPattern(
    r"(?:my|db|the|some|user|root|admin|a)?[-_]?(?:pass(?:word|wd)?|pwd|pw|secret|user|token|credential)s?\d?|"
    r"x-oauth-basic|oauth2?|guest|port|tiger|xyz|123|repo|anoncvs|anonymous|password\d?"
)
_PORT: Final = LazyPattern(r"\d{1,5}")
_DRIVER_ADDRESS: Final = LazyPattern(r"@(?:tcp|unix)\(")
_DRIVER_LOGIN: Final = LazyPattern(r"(?P<user>[\w.-]{1,40}+):(?P<password>[^\s\"'`]{1,128})\Z")
_NAME: Final = LazyPattern(
    r"(?<![\w.$>-])(?:[Pp]assword|PASSWORD|[Pp]asswd|PASSWD|[Pp]wd|PWD|AccountKey|SharedAccessKey|SharedSecret)="
)
_VALUE: Final = LazyPattern(r"(?:(?!&(?:amp|quot);)[^\s;\"'<>`]){2,200}+")
_PART: Final = LazyPattern(r"[^\s;\"'<>`&,]{2,200}+")
_KEY: Final = (
    r"(?:server|host(?:name|addr)?|data[ ]source|user(?:[ ]?id|name)?|uid|(?:initial[ ])?catalog|database(?:name)?|"
    r"db(?:name)?|port|driver|dsn|provider|endpoint|account(?:name|endpoint)|sharedaccesskeyname|sslmode|encrypt)="
)
_PAIR_BEFORE: Final = {
    ";": LazyPattern(rf"(?i)(?<![\w.$]){_KEY}[^;\"'\n]{{0,120}};[ ]?\Z"),
    "&": LazyPattern(r"(?:jdbc:|://)[^\s\"'<>]{1,160}&\Z"),
    "?": LazyPattern(r"(?:jdbc:|://)[^\s\"'<>]{1,160}\?\Z"),
    ",": LazyPattern(r"[\w.-]:\d{2,5},(?:\w{1,30}=[^,\s\"']{0,60},){0,6}\Z"),
    " ": LazyPattern(rf"(?i)(?<![\w.$]){_KEY}[^\s,;\"']{{1,80}}[ ]{{1,4}}\Z"),
}
"""The text before a pair, by the separator between the two."""
_PAIR_BEHIND: Final = LazyPattern(rf"(?i)(?:;[ ]?|[ ]){_KEY}[^\s,]")
_FALLBACKS: Final = (
    LazyPattern(r"\$\{([\w.]{2,60}+)(?::-|:(?![-?+=\d]))([^\s{}$\"'`]{2,128}+)\}"),
    LazyPattern(r"process\.env\.(\w{2,60}+)[ ]?(?:\|\||\?\?)[ ]?[\"']([^\s\"'\\]{2,128}+)[\"']"),
)


_MIN_CHARACTERS: Final = 8
_UNIX_LITERALS: Final = (
    "$p$ $h$ $2 $apr1$ $1$ $5$ $6$ $sha1$ $7$ $md5$ $y$ $gy$ $argon2 sha256$ $s$ $8$ $9$ $dcc2$ $scrypt $pbkdf2 $bcrypt"
)
_UNIX: Final = (
    r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"
    r"|(?:apr1|1|5|6|sha1|7|md5)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,64}+\$[./A-Za-z0-9]{22,100}+"
    r"|(?:y|gy)\$[./A-Za-z0-9]{1,10}\$[./A-Za-z0-9]{1,90}+\$[./A-Za-z0-9]{22,100}+"
    r"|[PH]\$[./A-Za-z0-9]{31}(?![./A-Za-z0-9])"
    r"|(?:scrypt|pbkdf2(?:-sha\d{1,3})?|bcrypt-sha256)\$[\w=,]{2,60}+\$[\w+/.=]{4,100}+\$[\w+/.=]{16,200}+"
    r"|S\$[./A-Za-z0-9]{52}(?![./A-Za-z0-9])|[89]\$[./A-Za-z0-9]{14}\$[./A-Za-z0-9]{43}"
    r"|DCC2\$\d{1,6}#[^#\s]{1,64}+#[0-9a-f]{32}"
    r"|argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,60}+\$[A-Za-z0-9+/]{8,100}+\$[A-Za-z0-9+/]{16,200}+"
    r"|(?<=sha256\$)\d{1,8}\$[\w+/=]{4,64}+\$[\w+/=]{20,120}+)"
)
_LDAP: Final = (
    r"\{(?:(?:S?SHA(?:256|512)?|S?MD5|CRYPT)\}[A-Za-z0-9+/$.]{13,120}+={0,2}"
    r"|(?:PLAIN|CLEAR(?:TEXT)?)\}[^\s:]{8,128}+)"
)
_HASHES: Final = (
    (_UNIX_LITERALS, _UNIX),
    ("{sha {ssha {md5 {smd5 {crypt {plain} {clear", _LDAP),
    ("scram-sha-", r"SCRAM-SHA-\d{1,3}\$\d{1,8}:[\w+/=]{8,120}+\$[\w+/=]{20,120}+:[\w+/=]{20,120}+"),  # PostgreSQL
    ("scrypt:", r"scrypt(?::\d{1,8}){3}\$[\w+/.=-]{4,64}+\$[0-9a-f]{40,128}"),  # Werkzeug
    ("pbkdf2:", r"pbkdf2:sha\d{1,3}:\d{1,8}\$[\w+/.=-]{4,64}+\$[0-9a-f]{40,128}"),  # Werkzeug
    ("pbkdf2.", r"pbkdf2\.sha\d{1,3}\.\d{1,8}\.[0-9A-Fa-f]{16,256}+\.[0-9A-Fa-f]{32,256}+"),  # GRUB
    ("'* \"*", r"\*(?<=['\"]\*)[0-9A-Fa-f]{40}(?=['\"])"),  # MySQL
    ("0x0100 0x0200", r"0x0[12]00[0-9A-Fa-f]{48,136}(?![0-9A-Fa-f])"),  # SQL Server
    ('"md5', r"md5[0-9a-f]{32}(?<=\"[ ]\"md5[0-9a-f]{32})(?=\")"),  # PgBouncer
)
"""Literals of each format, and its pattern."""


def _database_account_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords of database accounts."""
    for word in _IDENTIFYING.finditer(text):
        is_account = _ACCOUNT.search(text, max(word.start() - _MAX_ACCOUNT, 0), word.start())
        if match := _IDENTIFIED.match(text, word.start()):
            if may_be_password_argument(match[1]) or (is_account and may_be_chosen_password(match[1])):
                yield SecretSpan(*match.span(1), PASSWORD)
            continue
        bare = _IDENTIFIED_BARE.match(text, word.start())
        if bare and may_be_password_argument(bare[1]) and is_account:
            yield SecretSpan(*bare.span(1), PASSWORD)


def _manifest_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values of Kubernetes secrets; their names stay."""
    first = _MANIFEST.search(text)
    start = text.rfind("\n---", 0, first.start()) + 1 if first else len(text)
    while start < len(text):
        end = text.find("\n---", start + 1)
        end = len(text) if end < 0 else end
        if _MANIFEST.search(text, start, end):
            yield from _manifest_entry_spans(text, start, end)
        start = end + 1


def _manifest_entry_spans(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    covered = start
    for section in _MANIFEST_DATA.finditer(text, start, end):
        if section.start() < covered:  # a nested section, whose entries were yielded with the outer one
            continue
        block = _MANIFEST_BLOCK.match(text, section.end(), end) or _MANIFEST_OBJECT.match(text, section.end(), end)
        if not block:
            continue
        covered = block.end()
        for entry in _MANIFEST_ENTRY.finditer(text, *block.span()):
            span = entry.span(str(entry.lastgroup))
            value = text[slice(*span)].strip()
            is_visible = entry["block"] is None and len(value) < _MAX_SHOWN and is_placeholder(value)
            if len(value) >= _MIN_ENTRY and not is_visible and _TEMPLATED.search(value) is None:
                yield SecretSpan(*span, "cluster secret")


def _export_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords and keys in a CSV file with a header line."""
    start = len(text) - len(text.lstrip("\ufeff \n"))
    end = text.find("\n", start, start + _MAX_HEADER)
    header = text[start:end] if end > 0 else ""
    delimiter = next((mark for mark in ",;\t" if mark in header), None)
    if delimiter is None or not _EXPORT.search(header):
        return
    columns = [column.strip(" \"'").lower() for column in header.split(delimiter)]
    if not all(map(_COLUMN.fullmatch, columns)):
        return
    secret_columns = {
        at: naming for at, column in enumerate(columns) if (naming := secret_kind_of_name(column.replace(" ", "_")))
    }
    if not secret_columns or len(columns) == len(secret_columns):
        return
    is_login = any(USER_COLUMN.search(column) for at, column in enumerate(columns) if at not in secret_columns)
    is_vault = is_login and NameKind.PASSWORD in secret_columns.values()
    notes = {at for at, column in enumerate(columns) if is_vault and is_note_column(column)}
    at = 0
    for match in _FIELDS[delimiter].finditer(text, end + 1):
        value = match[1].strip('"')
        start = match.start(1) + match[1].find(value)
        # The quotes stay: they may enclose more than one line.
        if at in secret_columns and _is_field(value, secret_columns[at], is_login=is_login):
            yield SecretSpan(start, start + len(value), secret_columns[at].value)
        elif (at in notes or (notes and at >= len(columns))) and value:
            yield SecretSpan(start, start + len(value), NOTE_KIND)
        at = 0 if match[2] == "\n" else at + 1


def _is_field(value: str, naming: NameKind, *, is_login: bool) -> bool:
    if is_login and naming == NameKind.PASSWORD:
        return may_be_chosen_password(value)
    return looks_generated(value) or (is_login and is_password(value))


def _mailchimp_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield API keys that end in the name of a data centre (Mailchimp)."""
    at = text.find("-us")
    while at >= 0:
        if match := _DATA_CENTRE.match(text, at):
            yield SecretSpan(at - 32, match.end(), TOKEN)
        at = text.find("-us", at + 1)


_MAX_ACCOUNT: Final = 100
_MAX_HEADER: Final = 2_000
_MIN_ENTRY: Final = 4
_MAX_SHOWN: Final = 40

_IDENTIFYING: Final = LazyPattern("(?i)identified")
_IDENTIFIED: Final = LazyPattern(
    r"(?i)identified\s{1,4}(?:with\s{1,4}[\w'\"]{1,40}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4})?['\"]([^'\"\n]{1,200}+)['\"]"
)

_IDENTIFIED_BARE: Final = LazyPattern(r"(?i)identified\s{1,4}by\s{1,4}([^\s\"';(]{4,200}+)")
_ACCOUNT: Final = LazyPattern(r"(?i)(?:user|role|to)\s{1,4}[\w.\"`'@%-]{1,80}\s{1,4}\Z")

_MANIFEST: Final = LazyPattern(r"kind\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?Secret\b(?![\w-])")
_MANIFEST_DATA: Final = LazyPattern(r"(?:^|[\s{,])\\?[\"']?(?:stringData|data)\\?[\"']?[ \t]{0,8}:[ \t]*")
_MANIFEST_BLOCK: Final = LazyPattern(r"(?:#[^\n]{0,500}+)?(?:\n(?:[ \t]+[^\n]*|[ \t]*)){1,2000}+")
_MANIFEST_OBJECT: Final = LazyPattern(r"\{[^{}]{0,100000}+\}")
_MANIFEST_ENTRY: Final = LazyPattern(
    r"[\"']?[\w.-]{1,253}+\\?[\"']?[ \t]{0,8}:[ \t]{0,8}"
    r"(?:\\?[\"'](?P<quoted>[^\"'\n\\]{1,100000}+)"
    r"|[|>][+-]?\d?[ \t]*(?P<block>(?:\n[ \t]{2,40}+[^\n]*){1,500}+)"
    r"|(?P<bare>ENC\[[^\n\]]{0,100000}+\]|[^\s\"'{},#|>][^\s,}]{0,100000}+))"
)

_TEMPLATED: Final = LazyPattern(r"ENC\[|\{\{|\$\{|\$\(|^<.*>$|^(.)\1*$")
_EXPORT: Final = LazyPattern(
    r"(?i)pass|pwd?|secret|token|key|kennw|contrase|clave|senha|mdp|wachtw|hasło|heslo|lösen|пароль|パスワード|密[码碼]|비밀번호"
)
_COLUMN: Final = LazyPattern(r"[\w /@#-]{0,48}(?:\([\w ]{0,20}\))?")
_FIELDS: Final = {
    mark: LazyPattern(rf'("(?:[^"]|""){{0,20000}}+"|[^{mark}\n]{{0,20000}}+)({mark}|\n|\Z)')
    for mark in (",", ";", "\t")
}
_DATA_CENTRE: Final = LazyPattern(r"-us(?<=[0-9a-f]{32}-us)[0-9]{1,2}(?![\w-])")


def _is_hash(value: str) -> bool:
    return len(set(value)) >= _MIN_CHARACTERS and is_literal(value.lstrip("*"))


def _has_distinct_words(value: str) -> bool:
    return len(set(value.split())) >= _MIN_SEED_WORDS


_MIN_SEED_WORDS: Final = 10
HASH_RULES: Final = tuple(
    Rule(tuple(literals.split()), pattern, _is_hash, "password hash", None, group=0) for literals, pattern in _HASHES
)
FORMAT_RULES: Final[tuple[Detector, ...]] = (
    *HASH_RULES,
    FunctionRule(("://",), _url_spans, None),
    FunctionRule(("@tcp(", "@unix("), _driver_spans, None),
    FunctionRule(
        ("password=", "passwd=", "pwd=", "accountkey=", "sharedaccesskey=", "sharedsecret="), _connection_spans, None
    ),
    FunctionRule(("${", "process.env."), _default_value_spans, None),
    FunctionRule(("-us",), _mailchimp_key_spans, None),
    FunctionRule(("secret",), _manifest_spans, None),
    FunctionRule(("identified",), _database_account_spans, None),
    FunctionRule((), _export_spans, None),
    Rule(  # keys of Azure accounts in client constructors: `StorageSharedKeyCredential(name, "…")`
        ("credential", "cosmosclient", "cosmos_client", "account_key", "storage_key", "shared_key"),
        r"[\"'`]([A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=)[\"'`]",
        kind=TOKEN,
        kinds=None,
        before=r"(?i)(?:credentials?|cosmos_?client|table_?service|account_?key|storage_?key|shared_?key)\w{0,20}[\"']?"
        r"(?:\(|[ ]?[:=])[^()\n]{0,160}\Z",
    ),
    Rule(  # seeds of one-time passwords
        ("otpauth",),
        r"otpauth(?:-migration)?(?::|%3A)[^\s\"'<>?]{0,300}+\?(?:(?!secret=|data=)[\w-]{1,30}=[^\s\"'<>&]{0,200}+&){0,8}+"
        r"(?:secret|data)=([\w+/=%-]{8,4000}+)",
        is_literal,
        TOKEN,
        None,
    ),
    Rule(  # 16 bytes or more after their encoding: `key = base64:…`
        ("base64:", "b64:", "hex:"),
        r"(?:base64|b64|hex):((?<=64:)[A-Za-z0-9+/_-]{22,128}+={0,2}|(?<=hex:)[0-9a-fA-F]{32,128}+)(?![\w+/=-])",
        looks_generated,
        TOKEN,
        None,
        before=r"(?i)(?<!public)(?<!public[_ -])(?<!pub)(?<!pub[_ -])(?:key|secret|salt|pepper)s?(?:[_.-]\w{1,20})?"
        r"[\"'\])]{0,3}[ \t]{0,20}"
        r"(?:=>|:=|[:=,(])[ \t]{0,20}(?:\[[ ]?)?(?:env\([^()\n]{0,40})?[\"'`]?\Z",
        reach=100,
    ),
    Rule(  # words of a wallet (BIP 39)
        ("phrase", "nemonic"),
        r"(?i:seed|mnemonic|recovery)(?i:[ _-]?(?:phrase|words|seed)){0,2}[\"']?(?:,? [\w ,'()-]{1,60})?"
        r"\s{0,3}(?:[:=]|is)\s{0,3}[\"']?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b",
        _has_distinct_words,
        "recovery phrase",
        None,
    ),
    Rule(
        ("http cookie file",),
        r"(?m)^(?:#HttpOnly_)?[^\s#][^\t\n]{0,255}+\t(?:TRUE|FALSE)\t[^\t\n]{0,1000}+\t(?:TRUE|FALSE)\t\d{1,20}\t"
        r"[^\t\n]{0,500}+\t([^\t\n]{4,8000}+)$",
        kind="cookie",
        kinds=None,
        requires=r"\A\ufeff?\s{0,20}# (?:Netscape )?HTTP Cookie File",
    ),
)
