"""Secrets that the form around them gives away: URLs, command lines, password hashes, manifests, exports, cookies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming, naming_of
from directory_indexer.credentials.spans import SecretSpan, line_start
from directory_indexer.credentials.strength import is_password, is_phrase, is_placeholder, is_strong

_PASSWORD: Final = Naming.PASSWORD.value


def format_spans(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Find secrets by the forms around them; `lowered` is the text in lower case."""
    for find in _FINDERS:
        yield from find(text)
    if found := _MANIFEST.search(text):
        yield from _manifest_spans(text, found.start())
    if "phrase" in lowered or "nemonic" in lowered:
        yield from _phrase_spans(text)
    if "identified" in lowered:
        for found in _IDENTIFIED.finditer(text):
            if not is_placeholder(found[1].lstrip("*")) and not found[1].isalpha():
                yield SecretSpan(*found.span(1), _PASSWORD)


def _url_spans(text: str) -> Iterator[SecretSpan]:
    for found in _URL.finditer(text):
        user, password = found["user"], found["password"]
        if password is None:
            if is_strong(user):
                yield SecretSpan(*found.span("user"), Naming.TOKEN.value)
        elif password.lower() != user.lower() and _is_url_password(password):
            yield SecretSpan(*found.span("password"), _PASSWORD)


def _is_url_password(password: str) -> bool:
    if is_placeholder(password) or _URL_WORD.fullmatch(password.lower()):
        return False
    return is_password(password) or is_strong(password) or (len(password) >= _MIN_URL_PASSWORD and password.isalpha())


def _hash_spans(text: str) -> Iterator[SecretSpan]:
    for found in chain.from_iterable(pattern.finditer(text) for pattern in _HASH):
        if len(set(found[0])) >= _MIN_CHARACTERS and not is_placeholder(found[0]):
            yield SecretSpan(*found.span(), "password hash")


def _command_spans(text: str) -> Iterator[SecretSpan]:
    """Find the values of options of programs that take passwords there; every line is searched for programs once."""
    named_at: dict[str, int] = {}
    searched = 0
    for found in _OPTION.finditer(text):
        at = found.start()
        start = line_start(text, at, _MAX_COMMAND)
        for program in _PROGRAM.finditer(text, max(searched, start), at):
            named_at[str(program.lastgroup)] = program.start()
        searched = at
        if not named_at:
            continue
        letter = text[at + 1]
        values = (
            value
            for name, (_, letters, value) in _COMMANDS.items()
            if letter in letters and named_at.get(name, -1) >= start
        )
        value = next(values, None)
        argument = value and value.match(text, at + 2)
        if argument and _is_argument(argument[1]):
            yield SecretSpan(*argument.span(1), _PASSWORD)


def _is_argument(value: str) -> bool:
    return not is_placeholder(value) and (is_password(value) or is_strong(value) or is_phrase(value))


def _manifest_spans(text: str, at: int) -> Iterator[SecretSpan]:
    """Find the values of Kubernetes secrets; their names stay."""
    start = text.rfind("\n---", 0, at) + 1
    while start < len(text):
        end = text.find("\n---", start + 1)
        end = len(text) if end < 0 else end
        if _MANIFEST.search(text, start, end):
            yield from _entries(text, start, end)
        start = end + 1


def _entries(text: str, start: int, end: int) -> Iterator[SecretSpan]:
    covered = start
    for section in _MANIFEST_DATA.finditer(text, start, end):
        if section.start() < covered:  # a section in a section, whose entries were found with the others
            continue
        block = _MANIFEST_BLOCK.match(text, section.end(), end) or _MANIFEST_OBJECT.match(text, section.end(), end)
        if not block:
            continue
        covered = block.end()
        for entry in _MANIFEST_ENTRY.finditer(text, *block.span()):
            span = entry.span(str(entry.lastgroup))
            value = text[slice(*span)].strip()
            is_shown = entry["block"] is None and len(value) < _MAX_SHOWN and is_placeholder(value)
            if len(value) >= _MIN_ENTRY and not is_shown and _TEMPLATED.search(value) is None:
                yield SecretSpan(*span, "cluster secret")


def _export_spans(text: str) -> Iterator[SecretSpan]:
    """Find the passwords and keys in rows whose first line names the columns."""
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
        at: naming for at, column in enumerate(columns) if (naming := naming_of(column.replace(" ", "_")))
    }
    if not secret_columns or len(columns) == len(secret_columns):
        return
    is_login = any(_LOGIN.search(column) for at, column in enumerate(columns) if at not in secret_columns)
    at = 0
    for found in _FIELDS[delimiter].finditer(text, end + 1):
        if at in secret_columns and _is_field(found[1].strip('"'), secret_columns[at], is_login=is_login):
            yield SecretSpan(*found.span(1), secret_columns[at].value)
        at = 0 if found[2] == "\n" else at + 1


def _is_field(value: str, naming: Naming, *, is_login: bool) -> bool:
    if len(value) < _MIN_ENTRY or is_placeholder(value):
        return False
    return is_strong(value) or (is_login and (naming == Naming.PASSWORD or is_password(value)))


def _shell_spans(text: str) -> Iterator[SecretSpan]:
    for found in _SECURE_STRING.finditer(text):
        if not is_placeholder(found[1]):
            yield SecretSpan(*found.span(1), _PASSWORD)


def _phrase_spans(text: str) -> Iterator[SecretSpan]:
    """Find the words that restore a wallet (BIP 39: 12 to 24 of them)."""
    for found in _SEED.finditer(text):
        if len(set(found[1].split())) >= _MIN_SEED_WORDS:
            yield SecretSpan(*found.span(1), "recovery phrase")


def _service_spans(text: str) -> Iterator[SecretSpan]:
    """Find keys that end in the data centre that they are for (Mailchimp)."""
    for found in _DATA_CENTRE.finditer(text):
        yield SecretSpan(found.start() - 32, found.end(), Naming.TOKEN.value)


def _cookie_spans(text: str) -> Iterator[SecretSpan]:
    if not _COOKIES.match(text):
        return
    for found in _COOKIE.finditer(text):
        yield SecretSpan(*found.span(1), "cookie")


def _pgpass_spans(text: str) -> Iterator[SecretSpan]:
    for found in _PGPASS.finditer(text):
        if not is_placeholder(found[1]):
            yield SecretSpan(*found.span(1), _PASSWORD)


_MAX_COMMAND: Final = 300
_MAX_HEADER: Final = 2_000
_MIN_CHARACTERS: Final = 8
_MIN_ENTRY: Final = 4
_MAX_SHOWN: Final = 40
_MIN_URL_PASSWORD: Final = 9

_URL: Final = LazyPattern(
    r"://(?P<user>[^\s/:@\"'<>`?#]{0,128}+)(?::(?P<password>[^\s/@\"'<>`]{3,256}+))?@[\w\[({$<%-]",
    marks=("://",),
)
_URL_WORD: Final = LazyPattern(
    r"(?:my|db|the|some|user|root|admin|a)?[-_]?(?:pass(?:word|wd)?|pwd|pw|secret|user|token|credential)s?\d?|"
    r"x-oauth-basic|oauth2?|postgres|mysql|guest|admin|root|port|\d{1,5}|password\d?"
)
_HASH: Final = (
    LazyPattern(
        r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"
        r"|(?:apr1|1|5|6|sha1|7|md5)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,64}+\$[./A-Za-z0-9]{22,100}+"
        r"|(?:y|gy)\$[./A-Za-z0-9]{1,10}\$[./A-Za-z0-9]{1,90}+\$[./A-Za-z0-9]{22,100}+"
        r"|argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,60}+\$[A-Za-z0-9+/]{8,100}+\$[A-Za-z0-9+/]{16,200}+"
        r"|(?<=sha256\$)\d{1,8}\$[\w+/=]{4,64}+\$[\w+/=]{20,120}+)",
        marks=("$2", "$apr1$", "$1$", "$5$", "$6$", "$sha1$", "$7$", "$md5$", "$y$", "$gy$", "$argon2", "sha256$"),
    ),
    LazyPattern(r"\{(?:S?SHA(?:256|512)?|S?MD5|CRYPT)\}[A-Za-z0-9+/$.]{13,120}+={0,2}", marks=("{S", "{M", "{C")),
)
_IDENTIFIED: Final = LazyPattern(
    r"(?i)identified\s{1,4}(?:with\s{1,4}[\w'\"]{1,40}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4})?['\"]([^'\"\n]{4,200}+)['\"]"
)

_OPTION: Final = LazyPattern(r"-(?<= -)(?=[upaPUwb][ '\"=]?[^\s-])")
_ARGUMENT: Final = LazyPattern(r"[ =]?[\"']?([^\s\"'|;&<>]{4,200}+)")
_ATTACHED: Final = LazyPattern(r"[\"']?([^\s\"'|;&<>]{4,200}+)")
_AFTER_USER: Final = LazyPattern(r"[ =]?[\"']?[^\s:%\"']{1,128}+[:%]([^\s\"'|;&<>]{4,200}+)")
_AFTER_COMMA: Final = LazyPattern(r"[ =]?[\"']?[^\s,\"']{1,128}+,([^\s\"'|;&<>]{4,200}+)")
_COMMANDS: Final = {
    "mysql": (r"(?:mysql|mariadb)\w{0,10}", "p", _ATTACHED),
    "curl": ("curl|https?|xh|httpie", "ua", _AFTER_USER),
    "lftp": ("lftp", "u", _AFTER_COMMA),
    "smb": ("smbclient|smbmap|rpcclient|net|mount", "U", _AFTER_USER),
    "docker": (
        r"sshpass|docker|podman|helm|az|mongo\w{0,8}|twine|oc|skopeo|nmcli|7z|zip|unzip|rar|cqlsh|openssl",
        "pPub",
        _ARGUMENT,
    ),
    "redis": (r"redis-cli|ldap\w{3,8}|keytool|rabbitmqadmin", "awp", _ARGUMENT),
}
"""Programs, the letters of options that take a password, and how the password stands there."""
_PROGRAM: Final = LazyPattern(
    rf"\b(?:{'|'.join(f'(?P<{name}>{programs})' for name, (programs, _, _) in _COMMANDS.items())})\b"
)

_MANIFEST: Final = LazyPattern(r"kind\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?Secret\b(?![\w-])", marks=("Secret",))
_MANIFEST_DATA: Final = LazyPattern(r"(?:^|[\s{,])\\?[\"']?(?:stringData|data)\\?[\"']?[ \t]{0,8}:[ \t]*")
_MANIFEST_BLOCK: Final = LazyPattern(r"(?:#[^\n]{0,500}+)?(?:\n(?:[ \t]+[^\n]*|[ \t]*)){1,2000}+")
_MANIFEST_OBJECT: Final = LazyPattern(r"\{[^{}]{0,100000}+\}")
_MANIFEST_ENTRY: Final = LazyPattern(
    r"[\"']?[\w.-]{1,253}+\\?[\"']?[ \t]{0,8}:[ \t]{0,8}"
    r"(?:\\?[\"'](?P<quoted>[^\"'\n\\]{1,100000}+)"
    r"|[|>][+-]?\d?[ \t]*(?P<block>(?:\n[ \t]{2,40}+[^\n]*){1,500}+)"
    r"|(?P<bare>[^\s\"'{},#|>][^\s,}]{0,100000}+))"
)

_TEMPLATED: Final = LazyPattern(r"\{\{|\$\{|\$\(|^<.*>$|^(.)\1*$")
_EXPORT: Final = LazyPattern(r"(?i)passw|pwd|secret|token|key")
_COLUMN: Final = LazyPattern(r"[\w /@#-]{0,48}(?:\([\w ]{0,20}\))?")
_LOGIN: Final = LazyPattern(r"user|login|mail|url|account|site|host|title|name|origin|id$|group")
_FIELDS: Final = {
    mark: LazyPattern(rf'("(?:[^"]|""){{0,20000}}+"|[^{mark}\n]{{0,20000}}+)({mark}|\n|\Z)')
    for mark in (",", ";", "\t")
}
_SECURE_STRING: Final = LazyPattern(
    r"ConvertTo-[Ss]ecure[Ss]tring\s{1,8}(?:-String\s{1,8})?[\"']([^\"'\n]{4,200}+)[\"']",
    marks=("ConvertTo-",),
)
_MIN_SEED_WORDS: Final = 10
_SEED: Final = LazyPattern(
    r"(?i:seed|mnemonic|recovery)(?i:[ _-]?(?:phrase|words|seed)){0,2}[\"']?(?: for [\w '-]{1,60})?"
    r"\s{0,3}(?:[:=]|is)\s{0,3}[\"']?"
    r"((?:[a-z]{3,8} ){11,23}[a-z]{3,8})\b",
    marks=("eed", "EED", "nemonic", "NEMONIC", "ecovery", "ECOVERY"),
)
_DATA_CENTRE: Final = LazyPattern(r"-us(?<=[0-9a-f]{32}-us)[0-9]{1,2}(?![\w-])", marks=("-us",))
_COOKIES: Final = LazyPattern(r"\ufeff?\s{0,20}# (?:Netscape )?HTTP Cookie File", marks=("HTTP Cookie File",))
_COOKIE: Final = LazyPattern(
    r"^(?:#HttpOnly_)?[^\s#][^\t\n]{0,255}+\t(?:TRUE|FALSE)\t[^\t\n]{0,1000}+\t(?:TRUE|FALSE)\t\d{1,20}\t[^\t\n]{0,500}+\t([^\t\n]{4,8000}+)$",
    re.MULTILINE,
)
_PGPASS: Final = LazyPattern(
    r":(?:5432|5433|6432|\*):[^:\s]{1,64}+:[^:\s]{1,64}+:([^\s:/]{4,200}+)(?=\s|\Z)",
    marks=(":5432:", ":5433:", ":6432:", ":*:"),
)
_FINDERS: Final[tuple[Callable[[str], Iterator[SecretSpan]], ...]] = (
    _url_spans,
    _hash_spans,
    _command_spans,
    _export_spans,
    _cookie_spans,
    _pgpass_spans,
    _shell_spans,
    _service_spans,
)
