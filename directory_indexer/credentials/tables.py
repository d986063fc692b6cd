"""Passwords in tables, by column header: in Markdown, spreadsheets and documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming, naming_of
from directory_indexer.credentials.shapes import Shape, shape_of
from directory_indexer.credentials.spans import SecretSpan
from directory_indexer.credentials.strength import is_chosen, is_password, is_strong


def ruled_table_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys in tables whose header is above a rule, as in Markdown."""
    end = 0
    for rule in _RULE.finditer(text):
        if rule.start() < end:  # inside the previous table
            continue
        head = text[text.rfind("\n", max(rule.start() - _MAX_HEAD, 0), rule.start()) + 1 : rule.start()]
        if columns := _columns(head):
            end = rule.end()
            while row := _ROW.match(text, end):
                yield from _row_spans(row.start(1), row[1], columns)
                end = row.end()


def sheet_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys in tables of spreadsheets and documents, whose header is one of the first rows."""
    for block in chain.from_iterable(pattern.finditer(text) for pattern in _BLOCKS):
        columns: _Columns | None = None
        for at, row in enumerate(_BLOCK_ROW.finditer(text, *block.span(1))):
            if columns:
                yield from _row_spans(row.start(1), row[1], columns)
            elif at < _MAX_ROWS_ABOVE:
                columns = _columns(row[1], is_login=True)
            else:
                break


class _Columns(NamedTuple):
    """The kind of secret in each column, and whether another column names the user."""

    namings: Sequence[Naming | None]
    is_login: bool
    has_users: bool


def _columns(head: str, *, is_login: bool = False) -> _Columns | None:
    names = [cell.strip(" *_`:") for cell in head.strip().strip("|").split("|")]
    namings = [naming_of(name.replace(" ", "_")) if len(name) <= _MAX_COLUMN else None for name in names]
    if not any(namings) or len(names) == 1:
        return None
    is_login = is_login or any(map(USER.search, names))
    return _Columns(namings, is_login=is_login, has_users=any(map(_LOGIN.search, names)))


def _row_spans(at: int, row: str, columns: _Columns) -> Iterator[SecretSpan]:
    for cell, naming in zip(row.split("|"), columns.namings, strict=False):
        value = cell.strip(" *_`")
        if naming and " " not in value and _is_secret(value, naming, columns):
            start = at + cell.index(value)
            yield SecretSpan(start, start + len(value), naming.value)
        at += len(cell) + 1


def _is_secret(value: str, naming: Naming, columns: _Columns) -> bool:
    if is_strong(value):
        return True
    if naming != Naming.PASSWORD:
        return False
    if columns.has_users and is_chosen(value):
        return True
    is_any = is_password(value) or _NUMBER.fullmatch(value) is not None
    return is_any if columns.is_login else shape_of(value) >= Shape.HARD


_NUMBER: Final = LazyPattern(r"(?!(\d)\1*$)\d{6,16}")
_MAX_HEAD: Final = 1_000
_MAX_COLUMN: Final = 40
_MAX_ROWS_ABOVE: Final = 5
_RULE: Final = LazyPattern(r"\n[ \t]{0,8}\|?[ ]{0,8}:?-{2,200}+:?[ ]{0,80}\|[-:| \t]{0,2000}+\n")
_ROW: Final = LazyPattern(r"[ \t]{0,8}\|?([^\n|]{0,2000}+\|[^\n]{0,4000}+)(?:\n|\Z)")
_BLOCKS: Final = tuple(LazyPattern(start + r"((?:\| [^\n]*+(?:\n|\Z))++)") for start in (r"\A", r"\n(?=\| )"))
_BLOCK_ROW: Final = LazyPattern(r"\|([^\n]*+)(?:\n|\Z)")
_LOGIN: Final = LazyPattern(
    r"(?i)^(?:user(?:[ _-]?(?:name|id))?|login|e-?mail|account|benutzer(?:name)?|nutzer|konto|utilisateur|identifiant|"
    r"usuario|utente|gebruiker(?:snaam)?|użytkownik|uživatel|användare|bruker|bruger|käyttäjä)$"
)
USER: Final = LazyPattern(
    r"(?i)user|login|mail|url|account|site|host|server|name|service|system|website|app|benutz|nutzer|dienst|konto|portal|"
    r"anmeld|utilis|compte|identif|usuari|cuenta|servi[cz]|utente|sito|gebruiker|użytk|uživ|användar|bruker|bruger|käyttäjä|"
    r"felhaszn|логин|пользов|сайт|имя|用户|账号|帳號|ユーザ|アカウント|아이디|사용자|kullan\u0131c\u0131|^id$|^ip\b|wlan|ssid|netz|network|gerät|device"
)
"""Headers of columns that name a user or a service."""
