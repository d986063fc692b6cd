"""Secrets that stand beside what gives them away: the last argument of a login, a column of a table, a cookie's value.

Each rule reads only texts that hold the word which it is about.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from directory_indexer.credentials.key_blocks import PRIVATE_KEY
from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.named_values import PROSE_KINDS, SETTINGS_KINDS
from directory_indexer.credentials.names import Naming, naming_of
from directory_indexer.credentials.spans import SecretSpan
from directory_indexer.credentials.strength import is_password, is_placeholder, is_strong


def neighbour_spans(text: str, lowered: str, kind: str) -> Iterator[SecretSpan]:
    """Find secrets by their neighbours; `lowered` is the text in lower case."""
    for rule in _RULES_OF.get(kind, ()):
        if any(word in lowered for word in rule.words):
            yield from rule.find(text)


class _Rule(NamedTuple):
    words: tuple[str, ...]
    find: Callable[[str], Iterator[SecretSpan]]


def _encoded_key_spans(text: str) -> Iterator[SecretSpan]:
    """Find PEM files in base64."""
    for found in _ENCODED.finditer(text):
        if b"PRIVATE KEY" in base64.b64decode(found[0][:80]):
            yield SecretSpan(*found.span(), PRIVATE_KEY)


def _login_spans(text: str) -> Iterator[SecretSpan]:
    """Find the password in `connect(host, user, "…")`, `new PDO(source, user, "…")`, `auth=(user, "…")`."""
    for found in chain(_LOGIN.finditer(text), _CONNECT.finditer(text)):
        if _is_chosen(found[1]):
            yield SecretSpan(*found.span(1), Naming.PASSWORD.value)


def _changed_password_spans(text: str) -> Iterator[SecretSpan]:
    """Find the password in `echo user:… | chpasswd`."""
    for found in _CHANGED.finditer(text):
        if _is_chosen(found[1]):
            yield SecretSpan(*found.span(1), Naming.PASSWORD.value)


def _remote_desktop_spans(text: str) -> Iterator[SecretSpan]:
    for found in _REMOTE_DESKTOP.finditer(text):
        if _is_chosen(found[1]):
            yield SecretSpan(*found.span(1), Naming.PASSWORD.value)


def _account_spans(text: str) -> Iterator[SecretSpan]:
    """Find hashes in the form in which Windows' accounts are listed: `name:500:…:…:::`."""
    for found in _ACCOUNT.finditer(text):
        yield SecretSpan(*found.span(1), "password hash")


def _wallet_spans(text: str) -> Iterator[SecretSpan]:
    """Find the keys of the accounts that a program for chains of blocks signs with."""
    for found in _WALLET.finditer(text):
        if not is_placeholder(found[1]):
            yield SecretSpan(*found.span(1), "private key")


def _cookie_spans(text: str) -> Iterator[SecretSpan]:
    """Find the values in headers of cookies, in requests as they are logged, copied and recorded."""
    for header in _HEADER.finditer(text):
        for found in _PAIR.finditer(text, *header.span(1)):
            if is_strong(found[1]):
                yield SecretSpan(*found.span(1), "cookie")


def _cookie_object_spans(text: str) -> Iterator[SecretSpan]:
    """Find the values of cookies that a browser, or an extension of it, wrote as JSON."""
    for found in _COOKIE_VALUE.finditer(text):
        if is_strong(found[1]):
            yield SecretSpan(*found.span(1), "cookie")


def _table_spans(text: str) -> Iterator[SecretSpan]:
    """Find passwords and keys in tables of Markdown, by the names of their columns."""
    end = 0
    for rule in _RULE.finditer(text):
        if rule.start() < end:  # in a table that was read
            continue
        header = text[text.rfind("\n", max(rule.start() - _MAX_HEADER, 0), rule.start()) + 1 : rule.start()]
        columns = [cell.strip(" *_`") for cell in header.strip().strip("|").split("|")]
        namings = [naming_of(column.replace(" ", "_")) if len(column) <= _MAX_COLUMN else None for column in columns]
        if not any(namings) or len(columns) == 1:
            continue
        is_login = any(_USER.search(column) for column in columns)
        end = rule.end()
        while row := _ROW.match(text, end):
            yield from _cell_spans(row.start(1), row[1], namings, is_login=is_login)
            end = row.end()


def _cell_spans(at: int, row: str, namings: list[Naming | None], *, is_login: bool) -> Iterator[SecretSpan]:
    cells = zip(row.split("|"), namings, strict=False)
    for cell, naming in cells:
        value = cell.strip(" *_`")
        is_secret = is_strong(value) or (is_login and naming == Naming.PASSWORD and is_password(value))
        if naming and is_secret and " " not in value:
            start = at + cell.index(value)
            yield SecretSpan(start, start + len(value), naming.value)
        at += len(cell) + 1


def _is_chosen(value: str) -> bool:
    return is_password(value) or is_strong(value)


_MAX_HEADER: Final = 1_000
_MAX_COLUMN: Final = 40
_ARGUMENT: Final = r"(?:\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|[\w.$>\[\]-]{1,60}+(?:\(\))?)"
_LAST: Final = r"[\"']([^\"'\n\\]{6,128}+)[\"']\s{0,4}[,)]"
_LOGIN: Final = LazyPattern(rf"(?i)(?:\.login|auth=\w{{0,30}})\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}")
_CONNECT: Final = LazyPattern(
    rf"(?i)(?:mysqli?_connect|new[ ](?:mysqli|PDO)|getConnection)\(\s{{0,20}}"
    rf"(?:{_ARGUMENT}\s{{0,4}},\s{{0,20}}){{2}}{_LAST}"
)
_ENCODED: Final = LazyPattern(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{66,40000}+={0,2}")  # -----BEGIN
_CHANGED: Final = LazyPattern(
    r"(?:^|(?<=[\s\"']))[\w.-]{1,40}+:([^\s\"'|:]{4,128}+)[\"']?\s{0,4}\|\s{0,4}(?:sudo\s{1,4})?chpasswd", 8
)
_REMOTE_DESKTOP: Final = LazyPattern(r"/p:[\"']?([^\s\"']{4,128}+)")
_ACCOUNT: Final = LazyPattern(r":[0-9]{3,10}:(?:[0-9A-Fa-f]{32}|\*{0,32}):([0-9A-Fa-f]{32}):::")
_WALLET: Final = LazyPattern(r"accounts\\?[\"']?:\s{0,8}\[\s{0,40}\\?[\"'](?:0x)?([0-9a-fA-F]{64})\\?[\"']")
_HEADER: Final = LazyPattern(
    r"(?i)cookie(?:\\?[\"'],\s{0,40}\\?[\"']value\\?[\"'])?:\s{0,8}(?:\\?[\"'])?([^\n\"'\\]{8,8000}+)"
)
_PAIR: Final = LazyPattern(r"=([^\s;=,]{12,4000}+)(?==|;|\s|\Z|[\"'\\])")
_COOKIE_VALUE: Final = LazyPattern(r"\"value\"\s{0,4}:\s{0,4}\"([^\"\\\n]{12,4096}+)\"")
_RULE: Final = LazyPattern(r"\n[ \t]{0,8}\|?[ ]{0,8}:?-{2,200}+:?[ ]{0,80}\|[-:| \t]{0,2000}+\n")
_ROW: Final = LazyPattern(r"[ \t]{0,8}\|?([^\n|]{0,2000}+\|[^\n]{0,4000}+)(?:\n|\Z)")
_USER: Final = LazyPattern(r"(?i)user|login|mail|url|account|site|host|server|name|service|system")
_RULES: Final = (
    _Rule(("ls0tls1crudjti",), _encoded_key_spans),
    _Rule(("chpasswd",), _changed_password_spans),
    _Rule(("freerdp",), _remote_desktop_spans),
    _Rule((":::",), _account_spans),
    _Rule(("cookie",), _cookie_spans),
    _Rule(('"httponly"',), _cookie_object_spans),
    _Rule(("-|", "- |"), _table_spans),
)
"""Words, one of which must be in the text, and what finds secrets beside them."""
_RULES_OF: Final[dict[str, tuple[_Rule, ...]]] = {
    **dict.fromkeys(
        (*PROSE_KINDS, *SETTINGS_KINDS, *"bash batch csv dockerfile fish make powershell".split(), ""), _RULES
    ),
    **dict.fromkeys(("java", "kotlin", "scala"), (_Rule(("getconnection(",), _login_spans),)),
    **dict.fromkeys(("javascript", "typescript"), (_Rule(("accounts:",), _wallet_spans),)),
    "php": (_Rule(("mysql", "new pdo("), _login_spans),),
    "python": (_Rule((".login(", "auth="), _login_spans),),
}
"""By kind of file; source code has few, for looking for a word costs 2 % of the time that all the others take."""
