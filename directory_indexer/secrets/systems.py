"""Secrets in the formats of databases, network devices, installers, brokers and scripted dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from directory_indexer.secrets.names import Naming, naming_of
from directory_indexer.secrets.patterns import LazyPattern, SecretSpan, line_start
from directory_indexer.secrets.strength import is_password, is_phrase, is_placeholder, is_strong

DEVICE_WORDS: Final = (
    "snmp",
    "s-server ",
    "enable secret",
    "enable password",
    "pre-shared-key",
    " privilege ",
    " cipher ",
    "set passwd",
    "isakmp key",
    "ppp chap",
    "ppp pap",
    "rocommunity",
    "rwcommunity",
    "createuser",
)
"""Marks, in lower case, of network device configurations with a secret."""
LOGIN_SECTIONS: Final = ("[admins]", "[users]", "[passwords]", "[credentials]", "[logins]", "[accounts]", "[secrets]")
"""Headings, in lower case, of sections with one password per line."""


def insert_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys in rows of SQL INSERT statements, by column name."""
    columns_of: dict[str, list[str]] = {}
    for table in _CREATE_TABLE.finditer(text):
        names = (_COLUMN_NAME.match(column[0]) for column in _COLUMN.finditer(table[2]))
        columns_of[_bare(table[1])] = [name[1] for name in names if name]
    for insert in _INSERT.finditer(text):
        names_here = insert[2].split(",") if insert[2] else columns_of.get(_bare(insert[1]), ())
        columns = _namings(names_here)
        end = insert.end() if any(columns) else len(text)
        while row := _ROW.match(text, end):
            for field, naming in zip(_FIELD.finditer(text, *row.span(1)), columns, strict=False):
                if naming and _is_chosen(field[1] or ""):
                    yield SecretSpan(*field.span(1), naming.value)
            end = row.end()


def copy_spans(text: str) -> Iterator[SecretSpan]:
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
                if naming and _is_chosen(field):
                    yield SecretSpan(at, at + len(field), naming.value)
                at += len(field) + 1
            end = row.end()


def serialized_spans(text: str) -> Iterator[SecretSpan]:
    """Yield values after their names in PHP serialization: `s:4:"pass";s:12:"…"`."""
    for match in _SERIALIZED.finditer(text):
        naming = naming_of(match[1])
        if naming and _is_chosen(match[2]):
            yield SecretSpan(*match.span(2), naming.value)


def value_first_spans(text: str) -> Iterator[SecretSpan]:
    """Yield values before their names: `"value": "…", "key": "password"`."""
    for match in _VALUE_FIRST.finditer(text):
        naming = naming_of(match[2])
        if naming and (is_strong(match[1]) or (naming == Naming.PASSWORD and _is_chosen(match[1]))):
            yield SecretSpan(*match.span(1), naming.value)


def oracle_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the password in `user/password@host:1521` and `sqlplus user/password@name`."""
    for match in _SQLPLUS.finditer(text):
        if _is_chosen(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)
    for match in _ORACLE_HOST.finditer(text):
        login = _ORACLE_LOGIN.search(text, max(match.start() - _MAX_LOGIN, 0), match.start())
        if login and _is_chosen(login[1]):
            yield SecretSpan(*login.span(1), Naming.PASSWORD.value)


def device_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords, keys and communities in configurations of network devices."""
    words = chain.from_iterable(word.finditer(text) for word in _DEVICE_LINES)
    lines = sorted({line_start(text, word.start(), _MAX_LINE) for word in words})
    for match in chain(filter(None, (_DEVICE.match(text, start) for start in lines)), _COMMUNITY.finditer(text)):
        if (_is_chosen(match[1]) or _NUMBER.fullmatch(match[1])) and not _COMMON.fullmatch(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)
    for user in _SNMP_USER.finditer(text):
        for phrase in ("login", "privacy"):
            if user[phrase] and not is_placeholder(user[phrase]):
                yield SecretSpan(*user.span(phrase), Naming.PASSWORD.value)


def installer_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in preseed files, network profiles and cloud-init accounts."""
    for match in chain(_PRESEED.finditer(text), _NETWORK_PROFILE.finditer(text)):
        if not is_placeholder(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)
    for block in _ACCOUNTS.finditer(text):
        for match in _ACCOUNT.finditer(text, *block.span(1)):
            if not is_placeholder(match[1]) and match[1] not in {"RANDOM", "R"}:
                yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def access_list_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords in Redis access lists: `user ann on >…`."""
    for match in _ACCESS_LIST.finditer(text):
        if not is_placeholder(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def dialogue_spans(text: str) -> Iterator[SecretSpan]:
    """Yield what an expect script sends at a password prompt."""
    for match in _DIALOGUE.finditer(text):
        if _is_chosen(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def section_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield a key that is identified by its section, not its name: `jwt: {key: …}`."""
    for match in _KEY.finditer(text):
        start = max(match.start() - _MAX_SECTION, 0)
        if is_strong(match[1]) and _SECTION.search(text, start, match.start()):
            yield SecretSpan(*match.span(1), Naming.TOKEN.value)


def section_secret_spans(text: str) -> Iterator[SecretSpan]:
    """Yield random values of any name in a section of secrets: `secrets: {hmac: …}`, `--set secrets.hmac=…`."""
    for section in _SECRETS.finditer(text):
        for match in _SECRET_OF.finditer(text, *section.span(2)):
            if is_strong(match[1]):
                yield SecretSpan(*match.span(1), Naming.TOKEN.value)
    for match in _SECRET_PATH.finditer(text):
        if is_strong(match[1]):
            yield SecretSpan(*match.span(1), Naming.TOKEN.value)


def byte_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield keys written as lists of bytes: `network_key: [86, 85, …]`."""
    for match in _BYTES.finditer(text):
        if len(set(match[1].replace(",", " ").split())) >= _MIN_BYTES:
            yield SecretSpan(*match.span(1), Naming.TOKEN.value)


def section_login_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in a section of logins: `[admins]`, and below it `ann = …`."""
    for section in _LOGIN_SECTION.finditer(text):
        for match in _LOGIN_OF.finditer(text, *section.span(1)):
            if _is_chosen(match[1]):
                yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def router_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the network keys in OpenWrt configurations."""
    for match in _ROUTER_KEY.finditer(text):
        if not is_placeholder(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _namings(columns: Iterable[str]) -> list[Naming | None]:
    """Return the kind of secret in each column; a hash column is one of passwords if another column holds a secret."""
    names = [column.strip(" \t\r\n\"'`[]") for column in columns]
    namings = [naming_of(name) for name in names]
    if not any(namings):
        return namings
    return [
        naming or (Naming.TOKEN if _HASH.fullmatch(name) else None) for name, naming in zip(names, namings, strict=True)
    ]


def _bare(table: str) -> str:
    """Return the name of a table without schema and quotes."""
    return table.rpartition(".")[2].strip('"`[]').lower()


def _is_chosen(value: str) -> bool:
    return is_password(value) or is_strong(value) or is_phrase(value)


_LOGIN_SECTION: Final = LazyPattern(
    r"(?im)^\[(?:admins|users|passwords|credentials|logins|accounts|secrets)\][ \t]*+\r?\n"
    r"((?:(?!\[)[^\n]{0,400}+(?:\n|\Z)){1,200}?)(?=\[|\Z)"
)
_LOGIN_OF: Final = LazyPattern(r"(?m)^[ \t]{0,8}[\w.@-]{1,64}[ \t]{0,8}[=:][ \t]{0,8}[\"']?([^\s\"',;#]{6,128}+)")
_ROUTER_KEY: Final = LazyPattern(
    r"option[ \t](?:key\d?|password|psk|\w{1,20}_secret)[ \t]{1,4}[\"']([^\"'\n]{6,128}+)[\"']"
)
_MAX_LOGIN: Final = 130
_MAX_SECTION: Final = 210
_INSERT: Final = LazyPattern(
    r"(?i)insert\s{1,8}(?:ignore\s{1,8})?(?:into\s{1,8})?([\w.\"`\[\]]{1,128}+)\s{0,8}(?:\(([^()]{1,4000}+)\)\s{0,8})?values\s{0,8}"
)
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
_SERIALIZED: Final = LazyPattern(
    r"\"([\w.-]{3,40}+)\\?\";s:\d{1,4}:\\?\"([^\"\\\n]{6,200}+)\\?\"", marks=('";s:', '\\";s:')
)
_VALUE_FIRST: Final = LazyPattern(
    r"\"value\"\s{0,2}:\s{0,2}\"([^\"\\\n]{4,400}+)\"\s{0,20},\s{0,40}(?:\"type\"\s{0,2}:\s{0,2}\"\w{1,20}\"\s{0,20},\s{0,40})?"
    r"\"(?:key|name)\"\s{0,2}:\s{0,2}\"([\w.-]{2,60}+)\""
)
_ORACLE_HOST: Final = LazyPattern(r"@(?://)?[\w.-]{1,80}+:1521(?!\d)|@//[\w.-]{1,80}+:\d{2,5}/")
_SQLPLUS: Final = LazyPattern(r"sqlplus(?: -\w{1,4}){0,3} [\w$#]{1,40}/\"?([^\s/@\"']{4,64})\"?@")
_ORACLE_LOGIN: Final = LazyPattern(r"[\w$#]{1,40}/\"?([^\s/@\"']{4,64})\"?\Z")
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
    r"(?: [0-9])?[ \t]{1,8}[\"']?([^\s\"']{4,256}+)"
)
_COMMUNITY: Final = LazyPattern(r"(?i)(?:snmp[_ -]|ro|rw)community[ \t]{0,8}[=: ][ \t]{0,8}[\"']?([^\s\"';,]{4,64}+)")
_NUMBER: Final = LazyPattern(r"(?!(\d)\1*$)\d{6,20}")
_SNMP_USER: Final = LazyPattern(
    r"(?i)createUser[ \t]{1,4}(?:-e[ \t]\S{1,64}[ \t]{1,4})?\S{1,64}[ \t]{1,4}(?:MD5|SHA[\d-]{0,4})[ \t]{1,4}"
    r"\"?(?P<login>[^\s\"]{8,64}+)\"?(?:[ \t]{1,4}(?:DES|AES[\d-]{0,4})[ \t]{1,4}\"?(?P<privacy>[^\s\"]{8,64}+))?"
)
_COMMON: Final = LazyPattern(
    r"(?i)public|private|read-?only|hidden|encrypted|address|hostname|level|ascii-text|hexadecimal"
)
_PRESEED: Final = LazyPattern(
    r"(?m)^d-i[ \t]{1,8}\S{0,60}(?:password|wpa|wep)\S{0,30}[ \t]{1,8}(?:password|string)[ \t]{1,8}(\S{4,200}+)"
)
_NETWORK_PROFILE: Final = LazyPattern(r"<keyMaterial>([^<\n]{8,200}+)<")  # of Windows
_ACCOUNTS: Final = LazyPattern(
    r"chpasswd:[ \t]{0,8}\n(?:[ \t]{1,20}(?!list)[\w-]{1,20}:[^\n]{0,80}\n){0,4}[ \t]{1,20}list:[^\n]{0,20}\n"
    r"((?:[ \t]{1,20}[^\n]{1,200}(?:\n|\Z)){1,100}+)"
)
_ACCOUNT: Final = LazyPattern(r"(?m)^[ \t]{1,20}-?[ \t]{0,4}[\"']?[\w.-]{1,40}:([^\s\"']{4,200}+)")
_ACCESS_LIST: Final = LazyPattern(r"(?i)\buser[ \t]{1,4}\S{1,64}[ \t][^\n>]{0,80}>([^\s>\"']{4,200}+)")
_DIALOGUE: Final = LazyPattern(
    r"(?i)(?:assword|assphrase)[^\n]{0,40}\n?[^\n]{0,20}"
    r"\bsend(?:line)?(?:[ \t]{1,4}--)?[ \t(]{1,4}[\"']([^\"'\\\n]{4,128}+)"
)
_MIN_BYTES: Final = 12
_BYTES: Final = LazyPattern(
    r"key(?:(?<=network_key)|(?<=shared_key)|(?<=cryption_key)|(?<=secret_key)|(?<=app_key))"
    r"[\"']?[ \t]{0,4}[:=]\s{0,8}\[\s{0,12}"
    r"((?:(?:0x)?[\da-fA-F]{1,3}\s{0,4},\s{0,12}){15,63}(?:0x)?[\da-fA-F]{1,3})\s{0,12}\]"
)
_KEY: Final = LazyPattern(r"ey(?<=[kK]ey)[\"']?[ \t]{0,4}(?::|=>)[ \t]{0,4}[\"']?([\w+/=.-]{20,512}+)")
_SECRETS: Final = LazyPattern(
    r"(?m)^([ \t]{0,24})(?:secrets?|credentials|secretEnv|secretData|extraSecrets?):[ \t]*+\r?\n"
    r"((?:(?!\1\S)[^\n]{0,600}+(?:\n|\Z)){1,200}?)(?=\1\S|\Z)"
)
_SECRET_OF: Final = LazyPattern(r"(?m)^[ \t]{1,40}[\"']?[\w.-]{1,80}[\"']?:[ \t]{1,8}[\"']?([^\s\"',#]{16,512}+)")
_SECRET_PATH: Final = LazyPattern(r"(?<![\w-])secrets?\.[\w.-]{1,80}=[\"']?([^\s\"',]{16,512}+)")
_SECTION: Final = LazyPattern(
    r"(?i)(?<![\w-])[\"']?(?:jwt|jwtsettings|jwtoptions|(?:\w{1,20}[_-]?)?encryption|signing|crypto|bearer|hmac|crypt|auth|gossip)"
    r"[\"']?[ \t]{0,4}"
    r"(?::|=>)\s{0,8}[{\[]?[^{}\[\]]{0,200}\Z"
)
