"""Secrets stated in prose, and in files whose name or title says that they contain secrets.

Prose is notes, letters, chats and set-up messages. Sentences mention many passwords and contain few, so a value in one
must be stronger than a value in settings. In a file called secrets, or a list of passwords, labels need not be names of
secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.secrets.keyword_context import EXAMPLE_INTRODUCTION
from directory_indexer.secrets.rule_engine import (
    PASSWORD,
    PROSE_KINDS,
    PROSE_OR_UNKNOWN_KINDS,
    SETTINGS_KINDS,
    TOKEN,
    Detector,
    FunctionRule,
    LazyPattern,
    Rule,
    SecretSpan,
    line_start,
)
from directory_indexer.secrets.value_classification import (
    is_pass_phrase,
    is_password,
    is_placeholder,
    looks_generated,
    looks_like_password,
    surprisal,
    word_span,
)

_PASSWORD_WORDS: Final = tuple("pass kennwort contrase clave parola senha wachtwoord hasło пароль".split())
"""Stems of words for a password, in lower case."""
_KEY_WORDS: Final = tuple("key token secret schlüssel clé".split())
SENTENCE_LITERALS: Final = (*_PASSWORD_WORDS, *_KEY_WORDS, "wifi:")


def prose_spans(text: str, lowered: str, literals: frozenset[str]) -> Iterator[SecretSpan]:
    """Yield the passwords stated in sentences, or on a line of their own below such a sentence."""
    for word in (*_PASSWORD_WORDS, *_KEY_WORDS):
        at = lowered.find(word) if word in literals else -1
        while at >= 0:
            yield from _stated_spans(text, at, word)
            at = lowered.find(word, at + len(word))
    for match in _NETWORK_CODE.finditer(text) if "wifi:" in literals else ():
        if not is_placeholder(match[1]):
            yield SecretSpan(*match.span(1), PASSWORD)


def _stated_spans(text: str, at: int, word: str) -> Iterator[SecretSpan]:
    subject = _SUBJECT.match(text, at)
    if subject and word in _PASSWORD_WORDS:
        yield from _stated_number_spans(text, subject)
    # Most sentences about a key neither end in a colon nor contain a digit or sign after it.
    if subject is None or not _VALUE_MAY_FOLLOW.match(text, subject.end()):
        return
    start, end = line_start(text, at, _MAX_BEFORE), subject.end()
    if (match := _STATEMENT.match(text, end)) and _is_stated_secret(word, text[start : match.start("value")], match):
        value = match["value"].rstrip(_LITERALS)
        yield SecretSpan(match.start("value"), match.start("value") + len(value), PASSWORD)
    elif (announced := _ANNOUNCEMENT.match(text, end)) and looks_generated(announced[1]):
        yield SecretSpan(*announced.span(1), TOKEN)
    elif (number := _NETWORK_KEY.match(text, end)) and _NETWORK.search(text, start, at):
        yield SecretSpan(*number.span(1), PASSWORD)


def _stated_number_spans(text: str, subject: re.Match[str]) -> Iterator[SecretSpan]:
    """Yield a number, or four random words of four letters, stated to be a password."""
    number = _STATED_NUMBER.match(text, subject.end())
    before = max(subject.start() - _MAX_BEFORE, 0)
    if number and (number["bare"] is None or _USER.search(text, before, subject.start())):
        yield SecretSpan(*number.span(2), PASSWORD)
    words = _SPACED_APP_PASSWORD.match(text, subject.end())
    if words and surprisal(words[1].replace(" ", "")) >= _MIN_SURPRISE:
        yield SecretSpan(*words.span(1), PASSWORD)


def _is_stated_secret(word: str, before: str, match: re.Match[str]) -> bool:
    """Whether a value is a secret, given its keyword: keys are generated; passwords are chosen by people."""
    value, is_quoted = match["value"].rstrip(_LITERALS), bool(match["quote"])
    if EXAMPLE_INTRODUCTION.search(before):
        return False
    if word in _KEY_WORDS and not (word == "secret" and is_quoted):
        return _GENERATED.fullmatch(value) is not None and looks_generated(value) and _PUBLIC.search(before) is None
    if looks_generated(value) or _APP_PASSWORD.fullmatch(value):
        return True
    is_hard = is_quoted or _EASY_PASSWORD.fullmatch(value) is None
    return len(value) >= _MIN_STATED and is_hard and is_password(value) and _TECHNICAL_WORD.search(value) is None


_LITERALS: Final = ".,;:)"
_MIN_STATED: Final = 8
_MAX_BEFORE: Final = 60
_PUBLIC: Final = LazyPattern(
    r"(?i)public|cache|fingerprint|identifier|checksum|digest|hash|host|sort|partition|primary|foreign|commit"
)
_GENERATED: Final = LazyPattern(r"[0-9A-Za-z_]{16,128}")
_VALUE_MAY_FOLLOW: Final = LazyPattern(r"[^\n\d!#$%&*+?@:-]{0,220}+(?:[\d!#$%&*+?@-]|:)")
_STATEMENT: Final = LazyPattern(
    r"[^\n.:=|;]{0,70}?(?:[ ]{0,2}[:=]|"
    r"[ ](?:is|ist|lautet|est|es|è|é|to|auf|in|was|war|now|jest)(?:[ ](?:now|jetzt|now:))?[ ]?:?)[ *]{1,4}"
    r"(?P<quote>[\"'`„“«]{0,2})[ ]?"
    r"(?=[^\s\d!#$%&*+?@]{0,40}[\d!#$%&*+?@]|[a-z]{4}-[a-z]{4}-)(?P<value>[\w!#$%&*+?@~^.,;:)-]{8,128}+)(?=[\s\"'`“”»*]|\Z)"
)
_ANNOUNCEMENT: Final = LazyPattern(
    r"[^\n]{0,120}:[ \t]{0,4}(?:\r?\n){1,3}[ \t]{0,8}(?![\w.-]{1,60}=[^\s=]|\w{2,12}://)"
    r"(\w[!-~]{11,4000}+)[ \t]{0,8}(?=\r?\n[ \t]{0,8}\r?\n|\r?\n?\Z)"
)
_APP_PASSWORD: Final = LazyPattern(r"[a-z]{4}(?:-[a-z]{4}){3}")
_EASY_PASSWORD: Final = LazyPattern(r"[a-z]{1,20}[-_]?\d{1,4}|\d{1,6}-?[A-Za-z]{1,12}|[A-Za-z]+[!?*]+|[\w-]*[.:,;].*")
_TECHNICAL_WORD: Final = LazyPattern(
    r"(?i)sha-?\d|aes-?\d|rsa-?\d|hmac|pbkdf|argon|crypt|base-?\d|utf-?\d|oauth|25519|^[A-Z]{2,8}-\d{2,5}|^v?\d+[.-]\d|"
    r"@[\w-]+\.|^\+?[\d-]+$|^(?:windows|python|postgres|mysql|java|version|step|level|section|type|option)\W?\d"
)
_SUBJECT: Final = LazyPattern(
    r"(?i)pass(?:words?|wort|phrase|code|e(?![a-z]))|kennwort|contraseña|clave|parola|senha|wachtwoord|hasło|пароль|"
    r"(?:key|token|secret|schlüssel|clé)(?![^\W\d_])"
)
_NETWORK: Final = LazyPattern(r"(?i)netzwerk|network|security|wlan|wi-?fi|wpa")
_NETWORK_KEY: Final = LazyPattern(r"(?:[ ]?\([^()\n]{0,20}\))?[ ]{0,2}[:=][ \t]{0,8}(\d[\d ]{6,28}\d)(?!\w)")
_STATED_NUMBER: Final = LazyPattern(
    r"(?:[ ](?:wurde|ist|was|is|wird)(?:[ ](?:jetzt|now|set|changed))?(?:[ ](?:auf|to))?|(?P<bare>))[ ]"
    r"(\d{6,16})(?![\w-])"
)
_USER: Final = LazyPattern(r"(?i)(?:usuario|user|login|gebruiker|benutzer|utilisateur)[ ][\w.@-]{2,40}, \Z")
_SPACED_APP_PASSWORD: Final = LazyPattern(
    r"[ \t]{0,4}[:=]?[ \t]{1,12}([a-z]{4}(?: [a-z]{4}){3})(?=[ \t\r]{0,8}(?:\n|\Z))"
)
"""A password for one program, as mail services show them."""
_MIN_SURPRISE: Final = 5.5
_NETWORK_CODE: Final = LazyPattern(r"WIFI:(?:[^;\n]{0,80};){0,4}P:([^;\n]{4,64}+);")


def _is_number(value: str) -> bool:
    return len(set(value)) > 1


def _is_no_product(value: str) -> bool:
    return looks_like_password(value) and not _PRODUCT.fullmatch(value)


def _entry_code_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the codes of doors and alarms, which are named before or after the word for a code."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _ENTRY_CODES):
        is_lock = _LOCK.search(text, max(match.start() - _MAX_BEFORE, 0), match.start(1))
        if is_lock and _is_number(match[1]):
            yield SecretSpan(*match.span(1), PASSWORD)


_NUMBER: Final = r"[^\n.:=|;\d]{0,40}?(?:[:=]|[ ](?:is|ist|lautet|est|es|è))[ \t]{0,12}[\"'`]?(\d{4,8})(?!\w)"
_PRODUCT: Final = LazyPattern(r"[A-Z]?[a-z]+\d{1,3}|[A-Z]+-?\d+|\d.*")
_LOCK: Final = LazyPattern(
    r"(?i)(?<![^\W\d_])(?:alarm|(?:front|back|garage|house)?doors?|gate|garage|safe|locker|padlock|(?:lock|key) ?box|"
    r"key ?safe|schlüssel(?:box|tresor|safe)|(?:haus)?tür|tor|tresor|kluis|cassaforte|coffre|caja fuerte|sejf|"
    r"schloss|schließfach|iphone|ipad|smartphone|laptop|fahrrad|koffer|porta|porte|portail|puerta|cancello|allarme|"
    r"alarma)(?![^\W\d_])|türcode"
)
_ENTRY_NUMBER: Final = (
    r"(?!\w)[^\n.=|;\d]{0,40}?(?:[:=]|[ ](?:is|ist|lautet|est|es|è|da|do))?[ \t]{1,12}[\"'`]?(\d{4,8})(?![\w-])"
)
_ENTRY_CODES: Final = tuple(
    LazyPattern(word + _ENTRY_NUMBER) for word in ("ode(?<=[Cc]ode)", "ódigo", "odice", "ombination", " pin")
)
PROSE_RULES: Final[tuple[Detector, ...]] = (
    *(  # sentences about logging in: `you get in with …`, `anmelden mit …`
        Rule(
            (
                *("get in", "log in", "sign in", "logs in", "gets in", "log on", "unlock"),
                *("kommst du", "kommt man", "anmelde", "einlogg", "connecte"),
            ),
            rf" {word} [\"'`„“«]?(?=[!-~]{{0,40}}\d)([!-~]{{8,64}}+)",
            _is_no_product,
            kinds=PROSE_OR_UNKNOWN_KINDS,
            closing=_LITERALS,
            before=r"(?:(?:[gG]ets?|[lL]ogs?|[sS]igns?)[ ](?:in|on)|[uU]nlocks?(?:[ ]it)?|ommst[ ]du|ommt[ ]man|"
            r"nmelden|inloggen|onnecte[rz]?)(?![^\W\d_])[^\n.,;:!?]{0,50}\Z",
            reach=_MAX_BEFORE,
        )
        for word in ("with", "using", "mit", "avec")
    ),
    *(  # cards
        Rule(("pin", "puk"), pattern, _is_number)
        for pattern in (
            rf"PIN(?<!\wPIN)(?!\w){_NUMBER}",
            rf"PUK\d?(?!\w){_NUMBER}",
            r"PUK\d?(?<!\wPUK)[ \t]{1,4}(\d{8})(?![\w-])",
        )
    ),
    Rule(
        ("pin", "puk"),
        r"PIN(?<!\wPIN)[ \t]{1,4}(\d{4,8})(?![\w-])",
        _is_number,
        before=r"(?i)abfrage|mailbox|voicemail|windows|card|karte|bank|visa|sim|handy|phone|tablet|laptop|ipad|mobil|konto|"
        r"debit|credit|safe|carte|tarjeta|carta",
        reach=_MAX_BEFORE,
    ),
    *(  # safes, and cards in German
        Rule(
            ("geheimzahl", "tresor", "zahlenschlo"),
            rf"(?i)(?:tresor|zahlenschloss|geheimzahl)(?!\w)(?:(?=[ ]?:){_NUMBER}|[ ](\d{{4,6}})(?![\w-]))",
            group=group,
        )
        for group in (1, 2)
    ),
    FunctionRule(("code", "código", "codice", "combination", " pin "), _entry_code_spans),
)


_READ_KINDS: Final = PROSE_KINDS - frozenset("html man latex numbers ods xls xlsb xlsx subtitles".split())
"""Kinds of files in which people keep lists of passwords, one per line."""


def spans_in_titled_file(text: str, kind: str, file_name: str) -> Iterator[SecretSpan]:
    """Yield the secrets of a file whose name or first line says that it contains some, such as `passwords.txt`."""
    if kind in SETTINGS_KINDS:
        if _SECRETS_NAME.fullmatch(file_name) and not _MANIFEST.search(text):
            yield from _literal_value_spans(text)
    elif (not kind or kind in _READ_KINDS) and _is_list(text, file_name):
        yield from _entry_spans(text)


def _is_list(text: str, file_name: str) -> bool:
    match = _FIRST_LINE.match(text)
    first = match[1] if match else ""
    title = (file_name.rpartition(".")[0] or file_name).translate(_SEPARATORS)
    if not (is_title(first) or is_title(title)) or _TITLE_OF_ADVICE.search(first):
        return False
    return is_title(first) or _TITLE_OF_ADVICE.search(title) is None


def is_title(line: str) -> bool:
    """Whether a line is a title that mentions passwords; the stem test is a fast path."""
    lowered = line.lower()
    if line.isascii() and not any(stem in lowered for stem in _STEMS):
        return False
    return _TITLE.fullmatch(line) is not None


def _literal_value_spans(text: str) -> Iterator[SecretSpan]:
    """Yield every literal value."""
    for match in _SCALAR.finditer(text):
        start, end = match.span(str(match.lastgroup))
        value = text[start:end].rstrip()
        if not is_placeholder(value) and not _LITERAL.fullmatch(value) and (match["quote"] or _is_single_value(value)):
            yield SecretSpan(start, start + len(value), TOKEN)


def _is_single_value(value: str) -> bool:
    return " " not in value or is_pass_phrase(value)


def _entry_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values after labels, and numbers after a word for a code."""
    for match in _ENTRY.finditer(text):
        start, end = word_span(match)
        value = text[start:end]
        if (
            not _OTHER_LABEL.search(match["label"])
            and not _SETTING.fullmatch(value)
            and (looks_like_password(value) or looks_generated(value))
        ):
            yield SecretSpan(start, end, PASSWORD)
    for match in _ENTRY_OR_ACCESS_CODE.finditer(text):
        value = match["word"]
        if value.isdigit() or is_password(value):
            yield SecretSpan(*match.span("word"), PASSWORD)


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
_TITLE_OF_ADVICE: Final = LazyPattern(
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
_ENTRY_OR_ACCESS_CODE: Final = LazyPattern(
    r"(?i)(?<![^\W_])(?:[^\W\d_]{0,12}(?:pin|puk|code|schlüssel|kennwort|passwort|password|key)|"
    r"pin[ -]?code|codigo|código|codice|chiave|"
    r"clave|clé|kod|kodi|kód|код|пин|sleutel|nyckel|[sş]ifre\w{0,4}|parola|senha|has[lł]o|heslo|wachtwoord|mdp|psw|pwd?)"
    r"(?:[ ](?:[^\W\d_]{2,16}[ ]?){1,2})?[ ]?[:=]?[ \t]{0,8}[\"'`(]?(?<![^\W\d_])"
    r"(?P<word>\d{4,32}|(?=[A-Za-z]{0,40}\d)[!#-~]{6,64})(?=[\"'`),;.]|[ \t\r]{0,8}(?:[\n(]|\Z))"
)
"""A word for a code, anywhere in a line, and the number or password after it."""
