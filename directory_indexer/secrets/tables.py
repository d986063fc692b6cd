"""Passwords in tables, by column header: in Markdown, spreadsheets, documents and exports of password managers.

Notes and hidden fields in an export are as secret as its passwords.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from directory_indexer.secrets.rule_engine import (
    PROSE_OR_UNKNOWN_KINDS,
    SETTINGS_KINDS,
    Detector,
    FunctionRule,
    LazyPattern,
    NameKind,
    Rule,
    SecretSpan,
)
from directory_indexer.secrets.secret_names import secret_kind_of_name
from directory_indexer.secrets.value_classification import (
    is_certainly_password,
    is_password,
    is_placeholder,
    looks_generated,
    looks_like_password,
    may_be_chosen_password,
)


def _ruled_table_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys in tables whose header is above a rule, as in Markdown."""
    end = 0
    for rule in _RULE.finditer(text):
        if rule.start() < end:  # inside the previous table
            continue
        head = text[text.rfind("\n", max(rule.start() - _MAX_HEAD, 0), rule.start()) + 1 : rule.start()]
        if columns := _parse_header(head):
            end = rule.end()
            while row := _ROW.match(text, end):
                yield from _row_spans(row.start(1), row[1], columns)
                end = row.end()


def _sheet_spans(text: str) -> Iterator[SecretSpan]:
    """Yield passwords and keys in tables of spreadsheets and documents, whose header is one of the first rows."""
    for block in chain.from_iterable(pattern.finditer(text) for pattern in _BLOCKS):
        columns: _SecretColumns | None = None
        for at, row in enumerate(_BLOCK_ROW.finditer(text, *block.span(1))):
            if columns:
                yield from _row_spans(row.start(1), row[1], columns)
            elif at < _MAX_ROWS_ABOVE:
                columns = _parse_header(row[1], is_login=True)
            else:
                break


class _SecretColumns(NamedTuple):
    """The kind of secret in each column, and whether another column names the user."""

    namings: Sequence[NameKind | None]
    is_login: bool
    has_users: bool


def _parse_header(head: str, *, is_login: bool = False) -> _SecretColumns | None:
    names = [cell.strip(" *_`:") for cell in head.strip().strip("|").split("|")]
    namings = [secret_kind_of_name(name.replace(" ", "_")) if len(name) <= _MAX_COLUMN else None for name in names]
    if not any(namings) or len(names) == 1:
        return None
    is_login = is_login or any(map(USER_COLUMN.search, names))
    return _SecretColumns(namings, is_login=is_login, has_users=any(map(_LOGIN.search, names)))


def _row_spans(at: int, row: str, columns: _SecretColumns) -> Iterator[SecretSpan]:
    for cell, naming in zip(row.split("|"), columns.namings, strict=False):
        value = cell.strip(" *_`")
        if naming and " " not in value and _is_secret(value, naming, columns):
            start = at + cell.index(value)
            yield SecretSpan(start, start + len(value), naming.value)
        at += len(cell) + 1


def _is_secret(value: str, naming: NameKind, columns: _SecretColumns) -> bool:
    if looks_generated(value):
        return True
    if naming != NameKind.PASSWORD:
        return False
    if columns.has_users and may_be_chosen_password(value):
        return True
    is_any = is_password(value) or _NUMBER.fullmatch(value) is not None
    return is_any if columns.is_login else is_certainly_password(value)


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
USER_COLUMN: Final = LazyPattern(
    r"(?i)user|login|mail|url|account|site|host|server|name|service|system|website|app|benutz|nutzer|dienst|konto|portal|"
    r"anmeld|utilis|compte|identif|usuari|cuenta|servi[cz]|utente|sito|gebruiker|użytk|uživ|användar|bruker|bruger|käyttäjä|"
    r"felhaszn|логин|пользов|сайт|имя|用户|账号|帳號|ユーザ|アカウント|아이디|사용자|kullan\u0131c\u0131|^id$|^ip\b|wlan|ssid|netz|network|gerät|device"
)
"""Headers of columns that name a user or a service."""


NOTE_KIND: Final = "secret note"
"""The kind of other secrets in a password manager's entry."""


def is_note_column(column: str) -> bool:
    """Whether a column header, in lower case, denotes notes, fields or second factors in such an export."""
    return _NOTE_COLUMN.fullmatch(column) is not None


def _hidden_field_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the value in a JSON object that is marked as a password or as hidden."""
    for match in _OBJECT.finditer(text):
        members = list(_MEMBER.finditer(text, *match.span(1)))
        if any(_HIDDEN_FIELD_MARK.fullmatch(member[0]) for member in members):
            for member in members:
                if member["value"] and member["name"].lower() in _VALUE_NAMES and not is_placeholder(member["value"]):
                    yield SecretSpan(*member.span("value"), NOTE_KIND)


_SCALAR: Final = r"(?:\"(?:[^\"\\]|\\.){0,20000}+\"|[\w.+-]{1,40}+|\[\s{0,8}\])"
_OBJECT: Final = LazyPattern(
    rf"\{{\s{{0,80}}+((?:\"[^\"\\\n]{{1,60}}+\"\s{{0,4}}:\s{{0,4}}{_SCALAR}\s{{0,80}}+,?\s{{0,80}}+){{2,30}}+)"
)
"""The members of an object up to the first nested object or list."""
_MEMBER: Final = LazyPattern(
    r"\"(?P<name>[^\"\\\n]{1,60}+)\"\s{0,4}:\s{0,4}(?:\"(?P<value>(?:[^\"\\]|\\.){0,20000}+)\"|[\w.+-]{1,40}+|\[)"
)
_HIDDEN_FIELD_MARK: Final = LazyPattern(
    r"(?i)\"(?:type|kind|k|field_?type|designation|purpose)\"\s{0,4}:\s{0,4}"
    r"\"(?:password|concealed|hidden|secret|totp|otp|pin|one[-_]time[-_]password|P)\"|"
    r"\"(?:is_?)?(?:sensitive|concealed|protected|hidden|secret|masked)\"\s{0,4}:\s{0,4}(?:1|true)"
)
_VALUE_NAMES: Final = frozenset(("value", "v", "content", "data", "text"))
_STRING: Final = r"\"((?:[^\"\\]|\\.){1,100000}+)\""
_VAULT_EXPORT_MARK: Final = (
    r"\"notesPlain\"|\"encrypted\"\s{0,4}:\s{0,4}false\s{0,4},[^\0]{0,4000}?\"(?:items|vaults)\"|\"secureNote\"|"
    r"\"(?:sensitive|reprompt)\"\s{0,4}:\s{0,4}\d"
)
_NOTE_COLUMN: Final = LazyPattern(
    r"(?:login[ _])?t?otp(?:[ _-]?(?:auth|url|uri|secret|key|code))?|(?:2|two)[ -]?fa(?:ctor)?(?:[ _](?:secret|key))?|"
    r"mfa|authenticator(?:[ _-]key)?(?:[ ]\(totp\))?|one[ _-]time[ _-](?:password|code)s?|"
    r"(?:secure[ _])?notes?(?:[ _]?plain)?|comments?|extra|(?:custom[ _])?fields?|"
    r"remarks?|notizen?|bemerkung(?:en)?|"
    r"kommentare?|anmerkung(?:en)?|remarques?|notas?|observaciones|opmerkingen|uwagi|заметки|примечание|备注|メモ"
)
_ELEMENT_LITERALS: Final = ("<key>notes</key>", "protectinmemory", "<notes>", "<note>", "<field ")
_FIELD_ELEMENT: Final = (
    r"<field[ ](?:[\w-]{1,20}=\"[^\"<>]{0,80}+\"[ ]){0,4}type=\"(?:password|secret|pin|one_time_password|hidden|"
    r"concealed)\"(?:[ ][^<>]{0,80})?>([^<]{1,10000}+)<"
)
TABLE_RULES: Final[tuple[Detector, ...]] = (
    FunctionRule(("-|", "- |"), _ruled_table_spans),
    FunctionRule((" | ",), _sheet_spans, PROSE_OR_UNKNOWN_KINDS),
    FunctionRule(
        ('"sensitive"', '"concealed"', '"protected"', '"hidden"', '"password"', '"totp"', '"pin"'),
        _hidden_field_spans,
        SETTINGS_KINDS,
    ),
    *(  # notes and custom fields in JSON exports of Bitwarden, 1Password, Proton Pass, Enpass and others
        Rule(
            ('"notes', '"note"', '"notetext"', '"securenote"'),
            pattern,
            bool,
            NOTE_KIND,
            SETTINGS_KINDS,
            requires=_VAULT_EXPORT_MARK,
        )
        for pattern in (
            rf"\"(?:notes?|notesPlain|noteText|secure_?note|comments?)\"\s{{0,4}}:\s{{0,4}}{_STRING}",
            rf"\"name\"\s{{0,4}}:\s{{0,4}}\"[^\"\\\n]{{0,200}}+\"\s{{0,4}},\s{{0,40}}\"value\"\s{{0,4}}:\s{{0,4}}{_STRING}",
            rf"\"(?:concealed|hiddenValue|totp)\"\s{{0,4}}:\s{{0,4}}{_STRING}",
            rf"\"value\"\s{{0,4}}:\s{{0,4}}{_STRING}\s{{0,4}},\s{{0,40}}\"sensitive\"\s{{0,4}}:\s{{0,4}}(?:1|true)",
        )
    ),
    *(  # notes and protected fields in XML exports of KeePass, Password Safe and others
        Rule(_ELEMENT_LITERALS, pattern, bool, NOTE_KIND, SETTINGS_KINDS)
        for pattern in (
            r"<Key>(?:Notes|Comments?)</Key>\s{0,40}<Value(?:[ ][^<>]{0,80})?>([^<]{1,100000}+)</Value>",
            r"<Value[ ]Protect(?:ed|InMemory)=\"True\">([^<]{1,100000}+)</Value>",
            _FIELD_ELEMENT,
        )
    ),
    Rule(
        _ELEMENT_LITERALS,
        r"<notes?>(?:<!\[CDATA\[)?([^<\]]{1,100000}+)",
        bool,
        NOTE_KIND,
        SETTINGS_KINDS,
        requires=r"<(?:password|pass|pwd)>(?:<!\[CDATA\[)?[^<\s]",
    ),
    Rule(  # the cell after a label in CSV exports with alternating names and values (Enpass)
        (),
        r"(?i)[,;\t]\"?\*?(?:password|passwort|passwd|kennwort|pin|mot de passe|contraseña|senha|"
        r"wachtwoord|hasło|heslo|parola|"
        r"lösenord|adgangskode|пароль|şifre)\*?\"?[,;\t]\"?([^\"\n,;\t]{4,128}+)",
        looks_like_password,
        NOTE_KIND,
        frozenset(("csv",)),
    ),
)
