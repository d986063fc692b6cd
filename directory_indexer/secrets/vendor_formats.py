"""Secrets in vendor-specific formats: databases, network devices, installers, brokers and scripted dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from directory_indexer.secrets.rule_engine import (
    NON_CODE_KINDS,
    PASSWORD,
    SETTINGS_KINDS,
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
from directory_indexer.secrets.value_classification import (
    is_literal,
    is_non_secret_value,
    is_placeholder,
    looks_generated,
    may_be_chosen_password,
    may_be_password_argument,
)


def _insert_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys in rows of SQL INSERT statements, by column name."""
    columns_of: dict[str, list[str]] = {}
    for table in _CREATE_TABLE.finditer(text):
        names = (_COLUMN_NAME.match(column[0]) for column in _COLUMN.finditer(table[2]))
        columns_of[_unqualified_table_name(table[1])] = [name[1] for name in names if name]
    for insert in _INSERT.finditer(text):
        names_here = insert[2].split(",") if insert[2] else columns_of.get(_unqualified_table_name(insert[1]), ())
        columns = _namings(names_here)
        end = insert.end() if any(columns) else len(text)
        while row := _ROW.match(text, end):
            for field, naming in zip(_FIELD.finditer(text, *row.span(1)), columns, strict=False):
                is_secret = may_be_chosen_password if naming == NameKind.PASSWORD else may_be_password_argument
                if naming and is_secret(field[1] or ""):
                    yield SecretSpan(*field.span(1), naming.value)
            end = row.end()


def _copy_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys in rows of a PostgreSQL dump, by column name."""
    end = 0
    for copy in _COPY.finditer(text):
        if copy.start() < end:  # inside the rows of the previous one
            continue
        columns = _namings(copy[1].split(","))
        end = copy.end()
        while any(columns) and (row := _COPY_ROW.match(text, end)):
            at = row.start(1)
            for field, naming in zip(row[1].split("\t"), columns, strict=False):
                if naming and may_be_password_argument(field):
                    yield SecretSpan(at, at + len(field), naming.value)
                at += len(field) + 1
            end = row.end()


def _serialized_spans(text: str) -> Iterator[SecretSpan]:
    """Yield values after their names in PHP serialization: `s:4:"pass";s:12:"…"`."""
    for match in _SERIALIZED.finditer(text):
        naming = secret_kind_of_name(match[1])
        if naming and may_be_password_argument(match[2]):
            yield SecretSpan(*match.span(2), naming.value)


def _value_first_spans(text: str) -> Iterator[SecretSpan]:
    """Yield values before their names: `"value": "…", "key": "password"`."""
    for match in _VALUE_FIRST.finditer(text):
        naming = secret_kind_of_name(match[2])
        if naming and (
            looks_generated(match[1]) or (naming == NameKind.PASSWORD and may_be_password_argument(match[1]))
        ):
            yield SecretSpan(*match.span(1), naming.value)


def _device_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords, keys and communities in configurations of network devices."""
    words = chain.from_iterable(word.finditer(text) for word in _DEVICE_LINES)
    lines = sorted({line_start(text, word.start(), _MAX_LINE) for word in words})
    for match in chain(filter(None, (_DEVICE.match(text, start) for start in lines)), _COMMUNITY.finditer(text)):
        value = match["value"]
        if match.groupdict().get("form"):
            is_secret = not is_non_secret_value(value)
        else:
            is_secret = may_be_password_argument(value) or _NUMBER.fullmatch(value) is not None
        if is_secret and not _COMMON_DEVICE_WORD.fullmatch(value):
            yield SecretSpan(*match.span("value"), PASSWORD)
    for user in _SNMP_USER.finditer(text):
        for phrase in ("login", "privacy"):
            if user[phrase] and not is_placeholder(user[phrase]):
                yield SecretSpan(*user.span(phrase), PASSWORD)


def _directive_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values of settings without a sign between name and value: `bindpw …`, `auth_pass …`."""
    for match in _CONFIG_DIRECTIVE.finditer(text):
        if (
            not _WORD_OF_PROSE.fullmatch(match[1])
            and is_certain_secret_name(match[1])
            and may_be_chosen_password(match[2])
            and not repeats_name(match[2], match[1])
        ):
            yield SecretSpan(*match.span(2), PASSWORD)


def _namings(columns: Iterable[str]) -> list[NameKind | None]:
    """Return the kind of secret in each column; a hash column is one of passwords if another column holds a secret."""
    names = [column.strip(" \t\r\n\"'`[]") for column in columns]
    namings = [secret_kind_of_name(name) for name in names]
    if not any(namings):
        return namings
    return [
        naming or (NameKind.TOKEN if _HASH.fullmatch(name) else None)
        for name, naming in zip(names, namings, strict=True)
    ]


def _unqualified_table_name(table: str) -> str:
    """Return the name of a table without schema and quotes."""
    return table.rpartition(".")[2].strip('"`[]').lower()


_INSERT: Final = LazyPattern(
    r"(?i)insert\s{1,8}(?:ignore\s{1,8})?(?:into\s{1,8})?([\w.\"`\[\]]{1,128}+)\s{0,8}(?:\(([^()]{1,4000}+)\)\s{0,8})?values\s{0,8}"
)
_CONFIG_DIRECTIVE: Final = LazyPattern(
    r"(?m)^[ \t]{0,40}([A-Za-z][\w.-]{1,60})[ \t]{1,20}[\"']?([^\s\"'#;=]{2,200}+)[\"']?[ \t]{0,20}$"
)
_WORD_OF_PROSE: Final = LazyPattern(r"(?i)pass(?:word|phrase|code)?|secret")
"""A line of two words that begins with one of these may be a sentence or a rule: `pass quick`, `password required`."""
_HASH: Final = LazyPattern(r"(?i)(?:pw|user|login)?_?(?:hash|digest|verifier)")
_CREATE_TABLE: Final = LazyPattern(
    r"(?i)create\s{1,8}(?:temporary\s{1,8})?table\s{1,8}(?:if\s{1,8}not\s{1,8}exists\s{1,8})?([\w.\"`\[\]]{1,128}+)\s{0,8}"
    r"\(((?:[^()']|'[^']{0,400}'|\((?:[^()']|'[^']{0,400}'|\([^()]{0,200}\)){0,2000}+\)){0,8000}+)\)"
)
_COLUMN: Final = LazyPattern(r"(?:[^,()']|'[^']*+'|\((?:[^()']|'[^']*+'|\([^()]*+\))*+\))++")
_COLUMN_NAME: Final = LazyPattern(
    r"(?i)\s*(?!(?:primary|unique|constraint|index|foreign|fulltext|spatial|check|exclude|key\s)\b)[\"`\[]?(\w{1,128})"
)
_ROW: Final = LazyPattern(r"[\s,]{0,80}+\(((?:[^()']|'(?:[^'\\]|\\.|''){0,20000}+'|\([^()']{0,200}+\)){0,4000}+)\)")
_FIELD: Final = LazyPattern(r"\s*+(?:[NE]?'((?:[^'\\]|\\.|'')*+)'|(?:[^,'(]|\([^()]*+\))*+)\s*+(?:,|\Z)")
_COPY: Final = LazyPattern(r"(?i)copy [\w.\"]{1,128}+ \(([^()]{1,4000}+)\) from stdin;\r?\n")
_COPY_ROW: Final = LazyPattern(r"(?!\\\.)([^\n]{1,20000}+)\n")
_SERIALIZED: Final = LazyPattern(r"\"([\w.-]{3,40}+)\\?\";s:\d{1,4}:\\?\"([^\"\\\n]{6,200}+)\\?\"")
_VALUE_FIRST: Final = LazyPattern(
    r"\"value\"\s{0,2}:\s{0,2}\"([^\"\\\n]{4,400}+)\"\s{0,20},\s{0,40}(?:\"type\"\s{0,2}:\s{0,2}\"\w{1,20}\"\s{0,20},\s{0,40})?"
    r"\"(?:key|name)\"\s{0,2}:\s{0,2}\"([\w.-]{2,60}+)\""
)
_MAX_LINE: Final = 400
_DEVICE_LINES: Final = tuple(map(LazyPattern, "ecret asswd assword ommunity ipher key psk tandby".split()))
"""Substrings of all lines that `_DEVICE` matches; matching at every line start takes five times as long."""
_DEVICE: Final = LazyPattern(
    r"(?i)[ \t]{0,20}(?:set [^\n]{0,80}?)??"
    r"(?:enable (?:secret|password)(?: level \d{1,2})?|(?:tacacs|radius)-server (?:host \S{1,64} [^\n]{0,80}?)?key"
    r"|snmp-server community|username \S{1,64} (?:privilege \d{1,2} )?(?:secret|password)"
    r"|ppp (?:chap|pap) [^\n]{0,60}?password"
    r"|[^\n]{0,80}?pre-shared-key(?: ascii-text| local| remote| address \S{1,64} key)?"
    r"|set (?:passwd|password|psksecret)(?: ENC)?"
    r"|[^\n]{0,80}?(?:password|community (?:read|write)) (?:irreversible-)?cipher"
    r"|crypto isakmp key|key-string|wpa-psk ascii|standby \d{1,3} authentication)"
    r"(?P<form> [0-9])?[ \t]{1,8}[\"']?(?P<value>[^\s\"']{1,256}+)"
)
"""After a digit for the form of the value, such as 0 for plain text, any word is one: no sentence has it there."""
_COMMUNITY: Final = LazyPattern(
    r"(?i)(?:snmp[_ -]|ro|rw)community[ \t]{0,8}[=: ][ \t]{0,8}[\"']?(?P<value>[^\s\"';,]{4,64}+)"
)
_NUMBER: Final = LazyPattern(r"(?!(\d)\1*$)\d{6,20}")
_SNMP_USER: Final = LazyPattern(
    r"(?i)createUser[ \t]{1,4}(?:-e[ \t]\S{1,64}[ \t]{1,4})?\S{1,64}[ \t]{1,4}(?:MD5|SHA[\d-]{0,4})[ \t]{1,4}"
    r"\"?(?P<login>[^\s\"]{8,64}+)\"?(?:[ \t]{1,4}(?:DES|AES[\d-]{0,4})[ \t]{1,4}\"?(?P<privacy>[^\s\"]{8,64}+))?"
)
_COMMON_DEVICE_WORD: Final = LazyPattern(
    r"(?i)public|private|read-?only|hidden|encrypted|address|hostname|level|ascii-text|hexadecimal"
)


def _has_many_bytes(value: str) -> bool:
    return len(set(value.replace(",", " ").split())) >= _MIN_BYTES


_MIN_BYTES: Final = 12
_SQL: Final = frozenset(("sql",))
_ORACLE_LOGIN: Final = r"[\w$#]{1,40}/\"?([^\s/@\"']{4,64})\"?"
_ORACLE_KINDS: Final = NON_CODE_KINDS | _SQL
_SQLPLUS: Final = Rule(
    ("@",), rf"sqlplus(?: -\w{{1,4}}){{0,3}} {_ORACLE_LOGIN}@", may_be_password_argument, kinds=_ORACLE_KINDS
)
_ORACLE_HOST: Final = Rule(
    ("@",),
    r"@(?://)?[\w.-]{1,80}+:1521(?!\d)|@//[\w.-]{1,80}+:\d{2,5}/",
    may_be_password_argument,
    kinds=_ORACLE_KINDS,
    before=_ORACLE_LOGIN + r"\Z",
    reach=130,
)
_SECTION_KEY: Final = Rule(  # a key that is identified by its section, not its name: `jwt: {key: …}`
    ("jwt", "encryption", "signing", "crypto", "bearer", "hmac", "auth", "gossip"),
    r"ey(?<=[kK]ey)[\"']?[ \t]{0,4}(?::|=>)[ \t]{0,4}[\"']?([\w+/=.-]{20,512}+)",
    looks_generated,
    TOKEN,
    SETTINGS_KINDS,
    before=r"(?i)(?<![\w-])[\"']?(?:jwt|jwtsettings|jwtoptions|(?:\w{1,20}[_-]?)?encryption|signing|crypto|bearer|hmac|"
    r"crypt|auth|gossip)[\"']?[ \t]{0,4}(?::|=>)\s{0,8}[{\[]?[^{}\[\]]{0,200}\Z",
    reach=210,
)
_INSTALLER_LITERALS: Final = ("chpasswd", "d-i ", "<keymaterial>")
SYSTEM_RULES: Final[tuple[Detector, ...]] = (
    FunctionRule(("insert",), _insert_spans, _SQL),
    FunctionRule(("pass", "pw", "secret", "authtok"), _directive_spans, frozenset(("ini",))),
    FunctionRule(('";s:',), _serialized_spans, _SQL),
    FunctionRule((" from stdin",), _copy_spans, _SQL),
    FunctionRule(('"value"',), _value_first_spans, SETTINGS_KINDS),
    FunctionRule(
        (
            *("snmp", "s-server ", "enable secret", "enable password", "pre-shared-key", " privilege ", " cipher "),
            *("set passwd", "isakmp key", "ppp chap", "ppp pap", "rocommunity", "rwcommunity", "createuser"),
        ),
        _device_spans,
    ),
    _SQLPLUS,
    _ORACLE_HOST,
    *(
        rule._replace(literals=(":thin:",), kinds=frozenset(("java", "kotlin", "scala")))
        for rule in (_SQLPLUS, _ORACLE_HOST)
    ),
    Rule(  # installers: Debian, profiles of Windows networks, cloud-init
        _INSTALLER_LITERALS,
        r"(?m)^d-i[ \t]{1,8}\S{0,60}(?:password|wpa|wep)\S{0,30}[ \t]{1,8}(?:password|string)[ \t]{1,8}(\S{4,200}+)",
        is_literal,
    ),
    Rule(_INSTALLER_LITERALS, r"<keyMaterial>([^<\n]{8,200}+)<", is_literal),
    Rule(
        _INSTALLER_LITERALS,
        r"(?m)^[ \t]{1,20}-?[ \t]{0,4}[\"']?[\w.-]{1,40}:(?!RANDOM(?:[\s\"']|\Z))([^\s\"']{4,200}+)",
        is_literal,
        within=r"chpasswd:[ \t]{0,8}\n(?:[ \t]{1,20}(?!list)[\w-]{1,20}:[^\n]{0,80}\n){0,4}"
        r"[ \t]{1,20}list:[^\n]{0,20}\n((?:[ \t]{1,20}[^\n]{1,200}(?:\n|\Z)){1,100}+)",
    ),
    Rule(  # Redis
        (" on >",), r"(?i)\buser[ \t]{1,4}\S{1,64}[ \t][^\n>]{0,80}>([^\s>\"']{4,200}+)", is_literal
    ),
    Rule(  # OpenWrt
        ("config wifi-iface",),
        r"option[ \t](?:key\d?|password|psk|\w{1,20}_secret)[ \t]{1,4}[\"']([^\"'\n]{6,128}+)[\"']",
        is_literal,
    ),
    Rule(  # what an expect script sends at a password prompt
        ('send "', "send -- ", "sendline"),
        r"(?i)(?:assword|assphrase)[^\n]{0,40}\n?[^\n]{0,20}"
        r"\bsend(?:line)?(?:[ \t]{1,4}--)?[ \t(]{1,4}[\"']([^\"'\\\n]{4,128}+)",
        may_be_password_argument,
        kinds=NON_CODE_KINDS | {"tcl"},
    ),
    _SECTION_KEY,
    _SECTION_KEY._replace(literals=("crypt",), kinds=frozenset(("php",))),
    Rule(  # random values of any name in a section of secrets: `secrets: {hmac: …}`, `--set secrets.hmac=…`
        ("secret:", "secrets:", "credentials:", "secretenv:", "secretdata:"),
        r"(?m)^[ \t]{1,40}[\"']?[\w.-]{1,80}[\"']?:[ \t]{1,8}[\"']?([^\s\"',#]{16,512}+)",
        looks_generated,
        TOKEN,
        within=r"(?m)^([ \t]{0,24})(?:secrets?|credentials|secretEnv|secretData|extraSecrets?):[ \t]*+\r?\n"
        r"((?:(?!\1\S)[^\n]{0,600}+(?:\n|\Z)){1,200}?)(?=\1\S|\Z)",
    ),
    Rule(
        ("secret.", "secrets."), r"(?<![\w-])secrets?\.[\w.-]{1,80}=[\"']?([^\s\"',]{16,512}+)", looks_generated, TOKEN
    ),
    Rule(  # keys as lists of bytes: `network_key: [86, 85, …]`
        ("key",),
        r"key(?:(?<=network_key)|(?<=shared_key)|(?<=cryption_key)|(?<=secret_key)|(?<=app_key))"
        r"[\"']?[ \t]{0,4}[:=]\s{0,8}\[\s{0,12}"
        r"((?:(?:0x)?[\da-fA-F]{1,3}\s{0,4},\s{0,12}){15,63}(?:0x)?[\da-fA-F]{1,3})\s{0,12}\]",
        _has_many_bytes,
        TOKEN,
        SETTINGS_KINDS,
    ),
    Rule(  # a section of logins: `[admins]`, and below it `ann = …`
        ("[admins]", "[users]", "[passwords]", "[credentials]", "[logins]", "[accounts]", "[secrets]"),
        r"(?m)^[ \t]{0,8}[\w.@-]{1,64}[ \t]{0,8}[=:][ \t]{0,8}[\"']?([^\s\"',;#]{6,128}+)",
        may_be_password_argument,
        kinds=SETTINGS_KINDS,
        within=r"(?im)^\[(?:admins|users|passwords|credentials|logins|accounts|secrets)\][ \t]*+\r?\n"
        r"((?:(?!\[)[^\n]{0,400}+(?:\n|\Z)){1,200}?)(?=\[|\Z)",
    ),
)
