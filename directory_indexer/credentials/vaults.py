"""Exports of password managers: what their notes and hidden fields say is as secret as their passwords."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.spans import SecretSpan

NOTE: Final = "secret note"
"""The kind of what a password manager keeps beside a password."""


def vault_object_spans(text: str) -> Iterator[SecretSpan]:
    """Find notes and custom fields in the JSON of Bitwarden, 1Password, Proton Pass, Enpass and others."""
    if _VAULT.search(text):
        for found in chain.from_iterable(pattern.finditer(text) for pattern in (_NOTE, _CUSTOM_FIELD, *_HIDDEN)):
            yield SecretSpan(*found.span(1), NOTE)


def vault_element_spans(text: str) -> Iterator[SecretSpan]:
    """Find notes and protected fields in the XML of KeePass, Password Safe and others."""
    for found in chain(_NOTES_ELEMENT.finditer(text), _PROTECTED.finditer(text)):
        yield SecretSpan(*found.span(1), NOTE)
    if _PASSWORD_ELEMENT.search(text):
        for found in _NOTE_ELEMENT.finditer(text):
            yield SecretSpan(*found.span(1), NOTE)


def is_note_column(column: str) -> bool:
    """Tell by its head, in lower case, whether a column of such an export holds notes or custom fields."""
    return _NOTE_COLUMN.fullmatch(column) is not None


_STRING: Final = r"\"((?:[^\"\\]|\\.){1,100000}+)\""
_VAULT: Final = LazyPattern(
    r"\"notesPlain\"|\"encrypted\"\s{0,4}:\s{0,4}false\s{0,4},[^\0]{0,4000}?\"(?:items|vaults)\"|\"secureNote\"|"
    r"\"(?:sensitive|reprompt)\"\s{0,4}:\s{0,4}\d"
)
_NOTE: Final = LazyPattern(rf"\"(?:notes?|notesPlain|noteText|secure_?note|comments?)\"\s{{0,4}}:\s{{0,4}}{_STRING}")
_CUSTOM_FIELD: Final = LazyPattern(
    rf"\"name\"\s{{0,4}}:\s{{0,4}}\"[^\"\\\n]{{0,200}}+\"\s{{0,4}},\s{{0,40}}\"value\"\s{{0,4}}:\s{{0,4}}{_STRING}"
)
_HIDDEN: Final = (
    LazyPattern(rf"\"(?:concealed|hiddenValue|totp)\"\s{{0,4}}:\s{{0,4}}{_STRING}"),
    LazyPattern(
        rf"\"value\"\s{{0,4}}:\s{{0,4}}{_STRING}\s{{0,4}},\s{{0,40}}\"sensitive\"\s{{0,4}}:\s{{0,4}}(?:1|true)"
    ),
)
_NOTES_ELEMENT: Final = LazyPattern(
    r"<Key>(?:Notes|Comments?)</Key>\s{0,40}<Value(?:[ ][^<>]{0,80})?>([^<]{1,100000}+)</Value>"
)
_PASSWORD_ELEMENT: Final = LazyPattern(r"<(?:password|pass|pwd)>(?:<!\[CDATA\[)?[^<\s]")
_NOTE_ELEMENT: Final = LazyPattern(r"<notes?>(?:<!\[CDATA\[)?([^<\]]{1,100000}+)")
_PROTECTED: Final = LazyPattern(r"<Value[ ]Protect(?:ed|InMemory)=\"True\">([^<]{1,100000}+)</Value>")
_NOTE_COLUMN: Final = LazyPattern(
    r"(?:secure[ _])?notes?(?:[ _]?plain)?|comments?|extra|(?:custom[ _])?fields?|remarks?|notizen?|bemerkung(?:en)?|"
    r"kommentare?|anmerkung(?:en)?|remarques?|notas?|observaciones|opmerkingen|uwagi|заметки|примечание|备注|メモ"
)
