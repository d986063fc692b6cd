"""Passwords in URLs, connection strings and the addresses that database drivers open.

A connection string is used to log in, so the value of `Password=` in it is a password, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming, is_unmistakable, repeats_name
from directory_indexer.credentials.spans import SecretSpan, line_start
from directory_indexer.credentials.strength import is_chosen, is_strong

_PASSWORD_KIND: Final = Naming.PASSWORD.value


def url_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in URLs, and the tokens in place of a user."""
    for match in _URL.finditer(text):
        user, password = match["user"], match["password"]
        if is_strong(user):
            yield SecretSpan(*match.span("user"), Naming.TOKEN.value)
        if password and _is_password_of(user, password):
            yield SecretSpan(*match.span("password"), _PASSWORD_KIND)


def driver_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in `user:…@tcp(host:3306)/name`, the address format of Go drivers."""
    for address in _DRIVER_ADDRESS.finditer(text):
        login = _DRIVER_LOGIN.search(text, max(address.start() - _MAX_LOGIN, 0), address.start())
        if login and _is_password_of(login["user"], login["password"]):
            yield SecretSpan(*login.span("password"), _PASSWORD_KIND)


def connection_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys beside other pairs: `Server=…;Password=…;`, `host=… password=…`, `?user=…&password=`."""
    for name in _NAME.finditer(text):
        before = text[line_start(text, name.start(), _NEAR) : name.start()]
        separator = next((mark for mark in _PAIR_BEFORE if before.endswith((mark, f"{mark} "))), " ")
        value = (_VALUE if separator in {";", " "} else _PART).match(text, name.end())
        if not value or not is_chosen(value[0]):
            continue
        if _PAIR_BEFORE[separator].search(before) or _PAIR_BEHIND.match(text, value.end()):
            yield SecretSpan(*value.span(), _PASSWORD_KIND)


def storage_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the keys of Azure accounts in client constructors: `StorageSharedKeyCredential(name, "…")`."""
    for match in _STORAGE_KEY.finditer(text):
        if _STORAGE_CALL.search(text, max(match.start() - _NEAR, 0), match.start()):
            yield SecretSpan(*match.span(1), Naming.TOKEN.value)


def fallback_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords that are defaults of a variable: `${DB_PASSWORD:-…}`, `process.env.PASSWORD || "…"`."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _FALLBACKS):
        if is_unmistakable(match[1]) and is_chosen(match[2]) and not repeats_name(match[2], match[1]):
            yield SecretSpan(*match.span(2), _PASSWORD_KIND)


def _is_password_of(user: str, password: str) -> bool:
    lowered = password.lower()
    if lowered == user.lower() or not is_chosen(password) or _URL_WORD.fullmatch(lowered):
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
_STORAGE_KEY: Final = LazyPattern(r"[\"'`]([A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=)[\"'`]")
_STORAGE_CALL: Final = LazyPattern(
    r"(?i)(?:credentials?|cosmos_?client|table_?service|account_?key|storage_?key|shared_?key)\w{0,20}[\"']?"
    r"(?:\(|[ ]?[:=])[^()\n]{0,160}\Z"
)
STORAGE_MARKS: Final = ("credential", "cosmosclient", "cosmos_client", "account_key", "storage_key", "shared_key")
_FALLBACKS: Final = (
    LazyPattern(r"\$\{([\w.]{2,60}+)(?::-|:(?![-?+=\d]))([^\s{}$\"'`]{2,128}+)\}"),
    LazyPattern(r"process\.env\.(\w{2,60}+)[ ]?(?:\|\||\?\?)[ ]?[\"']([^\s\"'\\]{2,128}+)[\"']"),
)
