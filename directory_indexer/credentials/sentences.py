"""Secrets stated in prose: notes, letters, chats and set-up messages.

Sentences mention many passwords and contain few, so a value in one must be stronger than a value in settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming
from directory_indexer.credentials.randomness import surprise
from directory_indexer.credentials.shapes import Shape, shape_of
from directory_indexer.credentials.spans import SecretSpan, line_start
from directory_indexer.credentials.strength import is_password, is_placeholder, is_strong
from directory_indexer.credentials.wordings import EXAMPLE

_PASSWORD_WORDS: Final = tuple("pass kennwort contrase clave parola senha wachtwoord hasło пароль".split())
"""Stems of words for a password, in lower case."""
_KEY_WORDS: Final = tuple("key token secret schlüssel clé".split())
SENTENCE_MARKS: Final = (*_PASSWORD_WORDS, *_KEY_WORDS, "wifi:")


def sentence_spans(text: str, lowered: str, marks: frozenset[str]) -> Iterator[SecretSpan]:
    """Yield the passwords stated in sentences, or announced by one and alone on a line below."""
    for word in (*_PASSWORD_WORDS, *_KEY_WORDS):
        at = lowered.find(word) if word in marks else -1
        while at >= 0:
            yield from _stated_spans(text, at, word)
            at = lowered.find(word, at + len(word))
    for match in _NETWORK_CODE.finditer(text) if "wifi:" in marks else ():
        if not is_placeholder(match[1]):
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _numbers(matches: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    for match in matches:
        if len(set(match[1])) > 1:
            yield SecretSpan(*match.span(1), Naming.PASSWORD.value)


def _stated_spans(text: str, at: int, word: str) -> Iterator[SecretSpan]:
    subject = _SUBJECT.match(text, at)
    if subject and word in _PASSWORD_WORDS:
        yield from _stated(text, subject)
    # Most sentences about a key neither end in a colon nor contain a digit or sign after it.
    if subject is None or not _PROMISING.match(text, subject.end()):
        return
    start, end = line_start(text, at, _MAX_BEFORE), subject.end()
    if (match := _TELLING.match(text, end)) and _is_stated_secret(word, text[start : match.start("value")], match):
        value = match["value"].rstrip(_MARKS)
        yield SecretSpan(match.start("value"), match.start("value") + len(value), Naming.PASSWORD.value)
    elif (announced := _ANNOUNCING.match(text, end)) and is_strong(announced[1]):
        yield SecretSpan(*announced.span(1), Naming.TOKEN.value)
    elif (number := _NETWORK_KEY.match(text, end)) and _NETWORK.search(text, start, at):
        yield SecretSpan(*number.span(1), Naming.PASSWORD.value)


def _stated(text: str, subject: re.Match[str]) -> Iterator[SecretSpan]:
    """Yield a number, or four random words of four letters, stated to be a password."""
    number = _STATED.match(text, subject.end())
    before = max(subject.start() - _MAX_BEFORE, 0)
    if number and (number["bare"] is None or _USER.search(text, before, subject.start())):
        yield SecretSpan(*number.span(2), Naming.PASSWORD.value)
    words = _SPACED.match(text, subject.end())
    if words and surprise(words[1].replace(" ", "")) >= _MIN_SURPRISE:
        yield SecretSpan(*words.span(1), Naming.PASSWORD.value)


def login_sentence_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in sentences about logging in: `you get in with …`, `anmelden mit …`."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _LOGIN_PHRASES):
        value = match[1].rstrip(_MARKS)
        is_harmless = shape_of(value) < Shape.CHOSEN or _PRODUCT.fullmatch(value)
        if not is_harmless and _LOGGING_IN.search(text, max(match.start() - _MAX_BEFORE, 0), match.start()):
            yield SecretSpan(match.start(1), match.start(1) + len(value), Naming.PASSWORD.value)


def pin_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the PINs of cards and locks."""
    if "PIN" not in text and "PUK" not in text:
        return
    yield from _numbers(chain(_PIN.finditer(text), _PUK.finditer(text), _PUK_ALONE.finditer(text)))
    for match in _PIN_ALONE.finditer(text):
        if _PIN_OF.search(text, max(match.start() - _MAX_BEFORE, 0), match.start()):
            yield from _numbers((match,))


def safe_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the numbers of safes, and of cards in German."""
    for match in _SAFE.finditer(text):
        yield SecretSpan(*match.span(1 if match[1] else 2), Naming.PASSWORD.value)


def entry_code_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the codes of doors and alarms."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _ENTRY_CODES):
        if _LOCK.search(text, max(match.start() - _MAX_BEFORE, 0), match.start(1)):
            yield from _numbers((match,))


def _is_stated_secret(word: str, before: str, match: re.Match[str]) -> bool:
    """Whether a value is a secret, given its keyword: keys are generated; passwords are chosen by people."""
    value, is_quoted = match["value"].rstrip(_MARKS), bool(match["quote"])
    if EXAMPLE.search(before):
        return False
    if word in _KEY_WORDS and not (word == "secret" and is_quoted):
        return _GENERATED.fullmatch(value) is not None and is_strong(value) and _PUBLIC.search(before) is None
    if is_strong(value) or _APP_PASSWORD.fullmatch(value):
        return True
    is_hard = is_quoted or _EASY.fullmatch(value) is None
    return len(value) >= _MIN_STATED and is_hard and is_password(value) and _TECHNICAL.search(value) is None


_MARKS: Final = ".,;:)"
_MIN_STATED: Final = 8
_MAX_BEFORE: Final = 60
LOGIN_SENTENCE_MARKS: Final = (
    *("get in", "log in", "sign in", "logs in", "gets in", "log on", "unlock"),
    *("kommst du", "kommt man", "anmelde", "einlogg", "connecte"),
)
_LOGIN_PHRASES: Final = tuple(
    LazyPattern(rf" {word} [\"'`„“«]?(?=[!-~]{{0,40}}\d)([!-~]{{8,64}}+)") for word in ("with", "using", "mit", "avec")
)
_LOGGING_IN: Final = LazyPattern(
    r"(?:(?:[gG]ets?|[lL]ogs?|[sS]igns?)[ ](?:in|on)|[uU]nlocks?(?:[ ]it)?|ommst[ ]du|ommt[ ]man|nmelden|inloggen|"
    r"onnecte[rz]?)(?![^\W\d_])[^\n.,;:!?]{0,50}\Z"
)
_PRODUCT: Final = LazyPattern(r"[A-Z]?[a-z]+\d{1,3}|[A-Z]+-?\d+|\d.*")
_PUBLIC: Final = LazyPattern(
    r"(?i)public|cache|fingerprint|identifier|checksum|digest|hash|host|sort|partition|primary|foreign|commit"
)
_GENERATED: Final = LazyPattern(r"[0-9A-Za-z_]{16,128}")
_PROMISING: Final = LazyPattern(r"[^\n\d!#$%&*+?@:-]{0,220}+(?:[\d!#$%&*+?@-]|:)")
_TELLING: Final = LazyPattern(
    r"[^\n.:=|;]{0,70}?(?:[ ]{0,2}[:=]|"
    r"[ ](?:is|ist|lautet|est|es|è|é|to|auf|in|was|war|now|jest)(?:[ ](?:now|jetzt|now:))?[ ]?:?)[ *]{1,4}"
    r"(?P<quote>[\"'`„“«]{0,2})[ ]?"
    r"(?=[^\s\d!#$%&*+?@]{0,40}[\d!#$%&*+?@]|[a-z]{4}-[a-z]{4}-)(?P<value>[\w!#$%&*+?@~^.,;:)-]{8,128}+)(?=[\s\"'`“”»*]|\Z)"
)
_ANNOUNCING: Final = LazyPattern(
    r"[^\n]{0,120}:[ \t]{0,4}(?:\r?\n){1,3}[ \t]{0,8}(?![\w.-]{1,60}=[^\s=]|\w{2,12}://)"
    r"(\w[!-~]{11,4000}+)[ \t]{0,8}(?=\r?\n[ \t]{0,8}\r?\n|\r?\n?\Z)"
)
_APP_PASSWORD: Final = LazyPattern(r"[a-z]{4}(?:-[a-z]{4}){3}")
_EASY: Final = LazyPattern(r"[a-z]{1,20}[-_]?\d{1,4}|\d{1,6}-?[A-Za-z]{1,12}|[A-Za-z]+[!?*]+|[\w-]*[.:,;].*")
_TECHNICAL: Final = LazyPattern(
    r"(?i)sha-?\d|aes-?\d|rsa-?\d|hmac|pbkdf|argon|crypt|base-?\d|utf-?\d|oauth|25519|^[A-Z]{2,8}-\d{2,5}|^v?\d+[.-]\d|"
    r"@[\w-]+\.|^\+?[\d-]+$|^(?:windows|python|postgres|mysql|java|version|step|level|section|type|option)\W?\d"
)
_SUBJECT: Final = LazyPattern(
    r"(?i)pass(?:words?|wort|phrase|code|e(?![a-z]))|kennwort|contraseña|clave|parola|senha|wachtwoord|hasło|пароль|"
    r"(?:key|token|secret|schlüssel|clé)(?![^\W\d_])"
)
_NETWORK: Final = LazyPattern(r"(?i)netzwerk|network|security|wlan|wi-?fi|wpa")
_NETWORK_KEY: Final = LazyPattern(r"(?:[ ]?\([^()\n]{0,20}\))?[ ]{0,2}[:=][ \t]{0,8}(\d[\d ]{6,28}\d)(?!\w)")
_STATED: Final = LazyPattern(
    r"(?:[ ](?:wurde|ist|was|is|wird)(?:[ ](?:jetzt|now|set|changed))?(?:[ ](?:auf|to))?|(?P<bare>))[ ]"
    r"(\d{6,16})(?![\w-])"
)
_USER: Final = LazyPattern(r"(?i)(?:usuario|user|login|gebruiker|benutzer|utilisateur)[ ][\w.@-]{2,40}, \Z")
_SPACED: Final = LazyPattern(r"[ \t]{0,4}[:=]?[ \t]{1,12}([a-z]{4}(?: [a-z]{4}){3})(?=[ \t\r]{0,8}(?:\n|\Z))")
"""A password for one program, as mail services show them."""
_MIN_SURPRISE: Final = 5.5
_NETWORK_CODE: Final = LazyPattern(r"WIFI:(?:[^;\n]{0,80};){0,4}P:([^;\n]{4,64}+);")
_NUMBER: Final = r"[^\n.:=|;\d]{0,40}?(?:[:=]|[ ](?:is|ist|lautet|est|es|è))[ \t]{0,12}[\"'`]?(\d{4,8})(?!\w)"
_PIN: Final = LazyPattern(rf"PIN(?<!\wPIN)(?!\w){_NUMBER}")
_SAFE: Final = LazyPattern(
    rf"(?i)(?:tresor|zahlenschloss|geheimzahl)(?!\w)(?:(?=[ ]?:){_NUMBER}|[ ](\d{{4,6}})(?![\w-]))"
)
_PUK: Final = LazyPattern(rf"PUK\d?(?!\w){_NUMBER}")
_PUK_ALONE: Final = LazyPattern(r"PUK\d?(?<!\wPUK)[ \t]{1,4}(\d{8})(?![\w-])")
_PIN_ALONE: Final = LazyPattern(r"PIN(?<!\wPIN)[ \t]{1,4}(\d{4,8})(?![\w-])")
_PIN_OF: Final = LazyPattern(
    r"(?i)abfrage|mailbox|voicemail|windows|card|karte|bank|visa|sim|handy|phone|tablet|laptop|ipad|mobil|konto|debit|credit|safe|carte|tarjeta|carta"
)
_ENTRY_NUMBER: Final = (
    r"(?!\w)[^\n.=|;\d]{0,40}?(?:[:=]|[ ](?:is|ist|lautet|est|es|è|da|do))?[ \t]{1,12}[\"'`]?(\d{4,8})(?![\w-])"
)
_ENTRY_CODES: Final = tuple(
    LazyPattern(word + _ENTRY_NUMBER) for word in ("ode(?<=[Cc]ode)", "ódigo", "odice", "ombination", " pin")
)
_LOCK: Final = LazyPattern(
    r"(?i)(?<![^\W\d_])(?:alarm|(?:front|back|garage|house)?doors?|gate|garage|safe|locker|padlock|(?:lock|key) ?box|"
    r"key ?safe|schlüssel(?:box|tresor|safe)|(?:haus)?tür|tor|"
    r"tresor|kluis|cassaforte|coffre|caja fuerte|sejf|"
    r"schloss|schließfach|iphone|ipad|smartphone|laptop|fahrrad|koffer|porta|porte|portail|puerta|cancello|allarme|alarma)(?![^\W\d_])|türcode"
)
