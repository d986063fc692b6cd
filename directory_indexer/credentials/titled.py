"""Files whose name or title announces secrets: settings called secrets, lists of passwords.

In them, labels need not be names of secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming
from directory_indexer.credentials.settings import PROSE_KINDS, SETTINGS_KINDS
from directory_indexer.credentials.shapes import Shape, bare, shape_of
from directory_indexer.credentials.spans import SecretSpan
from directory_indexer.credentials.strength import is_password, is_phrase, is_placeholder, is_strong

_READ_KINDS: Final = PROSE_KINDS - frozenset("html man latex numbers ods xls xlsb xlsx subtitles".split())
"""Kinds of files in which people keep lists of passwords, one per line."""


def titled_spans(text: str, kind: str, name: str) -> Iterator[SecretSpan]:
    """Yield the secrets of a file whose name or first line announces them."""
    if kind in SETTINGS_KINDS:
        if _SECRETS_NAME.fullmatch(name) and not _MANIFEST.search(text):
            yield from _scalar_spans(text)
    elif (not kind or kind in _READ_KINDS) and _is_list(text, name):
        yield from _entry_spans(text)


def _is_list(text: str, name: str) -> bool:
    match = _FIRST_LINE.match(text)
    first = match[1] if match else ""
    title = (name.rpartition(".")[0] or name).translate(_SEPARATORS)
    if not (is_title(first) or is_title(title)) or _OTHER.search(first):
        return False
    return is_title(first) or _OTHER.search(title) is None


def is_title(line: str) -> bool:
    """Whether a line is a title that mentions passwords; the stem test is a fast path."""
    lowered = line.lower()
    if line.isascii() and not any(stem in lowered for stem in _STEMS):
        return False
    return _TITLE.fullmatch(line) is not None


def _scalar_spans(text: str) -> Iterator[SecretSpan]:
    """Yield every literal value."""
    for match in _SCALAR.finditer(text):
        start, end = match.span(str(match.lastgroup))
        value = text[start:end].rstrip()
        if not is_placeholder(value) and not _LITERAL.fullmatch(value) and (match["quote"] or _is_single_value(value)):
            yield SecretSpan(start, start + len(value), Naming.TOKEN.value)


def _is_single_value(value: str) -> bool:
    return " " not in value or is_phrase(value)


def _entry_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values after labels, and numbers after a word for a code."""
    for match in _ENTRY.finditer(text):
        first, last = bare(match["word"])
        value = match["word"][first:last]
        if (
            not _OTHER_LABEL.search(match["label"])
            and not _SETTING.fullmatch(value)
            and (shape_of(value) >= Shape.CHOSEN or is_strong(value))
        ):
            yield SecretSpan(match.start("word") + first, match.start("word") + last, Naming.PASSWORD.value)
    for match in _CODE.finditer(text):
        value = match["word"]
        if value.isdigit() or is_password(value):
            yield SecretSpan(*match.span("word"), Naming.PASSWORD.value)


_SECRETS_NAME: Final = LazyPattern(
    r"(?i)[._]?secrets?(?:[-_.](?:prod(?:uction)?|dev(?:elopment)?|stag(?:e|ing)|local|live|private|old|bak|backup))?"
    r"\.(?:ya?ml|json|toml|ini|properties|conf|cfg)"
)
_MANIFEST: Final = LazyPattern(
    r"(?:\A|\n)[ \t]{0,4}\"?(?:apiVersion|sops|jobs|runs-on|\$schema|openapi|swagger)\"?[ \t]{0,4}:"
)
"""Keys of files about secrets that contain none: manifests, workflows, descriptions."""
_SCALAR: Final = LazyPattern(
    r"(?m)^[ \t{]{0,40}+[\"']?[\w.:$/ -]{1,80}?[\"']?[ \t]{0,8}[:=][ \t]{1,8}"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{4,4000}+)[\"']|"
    r"(?!\#\s)(?P<bare>[^\s\"'|>&*{\[!](?:[^\n\s]|[ \t](?!\#)){3,4000}+))"
)
_LITERAL: Final = LazyPattern(r"(?i)true|false|null|none|yes|no|off|https?://[^\s@]{1,200}|[a-z]{1,12}")
_FIRST_LINE: Final = LazyPattern(r"[\s#=*_>\ufeff-]{0,40}+([^\n]{1,60}+)(?=\n|\Z)")
_SEPARATORS: Final = str.maketrans("-_.", "   ")
_WORDS: Final = (
    *("passwords?", "passw[oö]rt(?:er)?", "passcodes", "pwd?s", "pws", "kennw[oö]rt(?:er)?", "zugangsdaten"),
    *("zug[aä]nge?", "logindaten", "logins?", "credentials", "access codes", "mots? de passe", "codes d.acc[eè]s"),
    *("mes codes", "identifiants", "contrase(?:ñ|n)as?", "mis claves", "claves", "parole d.ordine", "credenziali"),
    *("i miei codici", "senhas?", "palavras[- ]passe", "wachtwoord(?:en)?", "inloggegevens", "mijn codes"),
    *("has[lł][aoe]", "dost[eę]py", "hesl[aáo]", "přístupy", "pristupy", "losenord", "lösenord", "inloggningar"),
    *("adgangskoder", "kodeord", "passord", "salasanat?", "sifre(?:ler)?(?:im)?", "şifre(?:ler)?(?:im)?", "parolalar"),
    *("jelszavak", "jelsz[oó]k?", "parolele?", "lozinke", "gesla", "парол[иь]", "доступы", "паролі", "κωδικοί"),
    *(
        "パスワード",
        "密[码碼]",
        "비밀번호",
        "סיסמאות",
        "كلمات المرور",
        "slaptažodžiai",
        "paroolid",
        "mật khẩu",
        "kata sandi",
    ),
    *("รหัสผ่าน", "पासवर्ड"),
)
"""Patterns of words for passwords."""


def _stem(word: str) -> str:
    """Return the ASCII prefix of everything that a pattern matches; "" if there is none."""
    letters = re.match("[a-z ]*", word)[0]  # type: ignore[index]  # which matches every text
    following = word[len(letters) :]
    if following and not following[0].isascii():
        return ""
    return letters[:-1] if following.startswith(("?", "*", "{")) else letters


_STEMS: Final = tuple(dict.fromkeys(filter(None, map(_stem, _WORDS))))
_TITLE: Final = LazyPattern(
    r"(?i)(?:[^\W\d_][\w&+'-]{0,20}[ ]){0,3}[\w-]{0,12}"
    rf"(?:{'|'.join(_WORDS)})"
    r"(?:[ ]?[:(\[!-][^\n]{0,40}|"
    r"[ ](?!(?:is|are|ist|sind|est|sont|was|must|may|reset|manager)\b)[^\W\d_][^\n.:;?]{0,30})?[\s:=*#]{0,8}"
)
_OTHER: Final = LazyPattern(
    r"(?i)polic|polit|rule|require|guide|recommend|richtlin|regel|regeln|vorgabe|consigne|norma|reglas|faq|how|rotat|reset|"
    r"change|änder|chang|manag|hash|generat|best|good|strong|test|api|\?|about|explain|instruct|anleitung|help|hilfe|spec|"
    r"format|tutorial|protect|secur|sicher|forgot|vergess|lost|expir|storage|wordlist|common|breach"
)
"""Words in titles of texts about passwords, as opposed to lists of them."""
_ENTRY: Final = LazyPattern(
    r"(?m)^[ \t>*\u2022-]{0,12}+(?P<label>[^\W_][^\n:=|\t>→]{0,60}?)[ \t*_]{0,4}(?::|=>?|->|→|\||\t|[ ][\u2013\u2014-])"
    r"[ \t*_]{1,12}"
    r"[\"'`]?(?P<word>[!-~]{5,120}+)[ \t\r*_|]{0,8}$"
)
_OTHER_LABEL: Final = LazyPattern(
    r"(?i)licen[cs]e|class|type|user|usr|login|mail|name|nutzer|nummer|number|konto|account|\bid\b|tel|phone|dat(?:um|e)|iban|"
    r"version|url|web|link|site|server|host|port|\bip\b|ssid|benutzer|utilisateur|identifiant|usuario|utente|gebruiker|"
    r"numéro|número|numero|cliente|abone|adres|brukernavn|użytkownik|uživatel|kullan|example|beispiel|exemple|ejemplo"
)
_SETTING: Final = LazyPattern(r"[a-z]{1,12}=.*|[a-z]{1,8}-\d{1,4}")
_CODE: Final = LazyPattern(
    r"(?i)(?<![^\W_])(?:[^\W\d_]{0,12}(?:pin|puk|code|schlüssel|kennwort|passwort|password|key)|"
    r"pin[ -]?code|codigo|código|codice|chiave|"
    r"clave|clé|kod|kodi|kód|код|пин|sleutel|nyckel|[sş]ifre\w{0,4}|parola|senha|has[lł]o|heslo|wachtwoord|mdp|psw|pwd?)"
    r"(?:[ ](?:[^\W\d_]{2,16}[ ]?){1,2})?[ ]?[:=]?[ \t]{0,8}[\"'`(]?(?<![^\W\d_])"
    r"(?P<word>\d{4,32}|(?=[A-Za-z]{0,40}\d)[!#-~]{6,64})(?=[\"'`),;.]|[ \t\r]{0,8}(?:[\n(]|\Z))"
)
"""A word for a code, anywhere in a line, and the number or password after it."""
