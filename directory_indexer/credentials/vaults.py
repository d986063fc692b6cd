"""Exports of password managers: their notes and hidden fields are as secret as their passwords."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.shapes import Shape, shape_of
from directory_indexer.credentials.spans import SecretSpan
from directory_indexer.credentials.strength import is_placeholder

NOTE: Final = "secret note"
"""The kind of other secrets in a password manager's entry."""


def vault_object_spans(text: str) -> Iterator[SecretSpan]:
    """Yield notes and custom fields in JSON exports of Bitwarden, 1Password, Proton Pass, Enpass and others."""
    if _VAULT.search(text):
        for match in chain.from_iterable(pattern.finditer(text) for pattern in (_NOTE, _CUSTOM_FIELD, *_HIDDEN)):
            yield SecretSpan(*match.span(1), NOTE)


def vault_element_spans(text: str) -> Iterator[SecretSpan]:
    """Yield notes and protected fields in XML exports of KeePass, Password Safe and others."""
    for match in chain.from_iterable(
        element.finditer(text) for element in (_NOTES_ELEMENT, _PROTECTED, _FIELD_ELEMENT)
    ):
        yield SecretSpan(*match.span(1), NOTE)
    if _PASSWORD_ELEMENT.search(text):
        for match in _NOTE_ELEMENT.finditer(text):
            yield SecretSpan(*match.span(1), NOTE)


def hidden_field_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the value in a JSON object that is marked as a password or as hidden."""
    for match in _OBJECT.finditer(text):
        members = list(_MEMBER.finditer(text, *match.span(1)))
        if any(_HIDING.fullmatch(member[0]) for member in members):
            for member in members:
                if member["value"] and member["name"].lower() in _VALUE_NAMES and not is_placeholder(member["value"]):
                    yield SecretSpan(*member.span("value"), NOTE)


def field_cell_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the cell after a password label, in CSV exports with alternating names and values (Enpass)."""
    for match in _CELL.finditer(text):
        if shape_of(match[1]) >= Shape.CHOSEN:
            yield SecretSpan(*match.span(1), NOTE)


def is_note_column(column: str) -> bool:
    """Whether a column header, in lower case, denotes notes, fields or second factors in such an export."""
    return _NOTE_COLUMN.fullmatch(column) is not None


_SCALAR: Final = r"(?:\"(?:[^\"\\]|\\.){0,20000}+\"|[\w.+-]{1,40}+|\[\s{0,8}\])"
_OBJECT: Final = LazyPattern(
    rf"\{{\s{{0,80}}+((?:\"[^\"\\\n]{{1,60}}+\"\s{{0,4}}:\s{{0,4}}{_SCALAR}\s{{0,80}}+,?\s{{0,80}}+){{2,30}}+)"
)
"""The members of an object up to the first nested object or list."""
_MEMBER: Final = LazyPattern(
    r"\"(?P<name>[^\"\\\n]{1,60}+)\"\s{0,4}:\s{0,4}(?:\"(?P<value>(?:[^\"\\]|\\.){0,20000}+)\"|[\w.+-]{1,40}+|\[)"
)
_HIDING: Final = LazyPattern(
    r"(?i)\"(?:type|kind|k|field_?type|designation|purpose)\"\s{0,4}:\s{0,4}"
    r"\"(?:password|concealed|hidden|secret|totp|otp|pin|one[-_]time[-_]password|P)\"|"
    r"\"(?:is_?)?(?:sensitive|concealed|protected|hidden|secret|masked)\"\s{0,4}:\s{0,4}(?:1|true)"
)
_VALUE_NAMES: Final = frozenset(("value", "v", "content", "data", "text"))
_CELL: Final = LazyPattern(
    r"(?i)[,;\t]\"?\*?(?:password|passwort|passwd|kennwort|pin|mot de passe|contraseña|senha|"
    r"wachtwoord|hasło|heslo|parola|"
    r"lösenord|adgangskode|пароль|şifre)\*?\"?[,;\t]\"?([^\"\n,;\t]{4,128}+)"
)
_FIELD_ELEMENT: Final = LazyPattern(
    r"<field[ ](?:[\w-]{1,20}=\"[^\"<>]{0,80}+\"[ ]){0,4}type=\"(?:password|secret|pin|"
    r"one_time_password|hidden|concealed)\""
    r"(?:[ ][^<>]{0,80})?>([^<]{1,10000}+)<"
)
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
    r"(?:login[ _])?t?otp(?:[ _-]?(?:auth|url|uri|secret|key|code))?|(?:2|two)[ -]?fa(?:ctor)?(?:[ _](?:secret|key))?|"
    r"mfa|"
    r"authenticator(?:[ _-]key)?(?:[ ]\(totp\))?|one[ _-]time[ _-](?:password|code)s?|"
    r"(?:secure[ _])?notes?(?:[ _]?plain)?|comments?|extra|(?:custom[ _])?fields?|"
    r"remarks?|notizen?|bemerkung(?:en)?|"
    r"kommentare?|anmerkung(?:en)?|remarques?|notas?|observaciones|opmerkingen|uwagi|заметки|примечание|备注|メモ"
)
