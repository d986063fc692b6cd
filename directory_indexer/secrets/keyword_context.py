"""Passwords after a keyword: on its line, alone on a line below, in a list, or in the next message.

The keywords are words for passwords in many languages. The closer the keyword and the clearer the wording, the less
password-like a value has to look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from directory_indexer.secrets.rule_engine import (
    PASSWORD,
    SETTINGS_KINDS,
    Detector,
    FunctionRule,
    LazyPattern,
    SecretSpan,
    line_start,
    lower_preserving_length,
)
from directory_indexer.secrets.value_classification import (
    Likeness,
    is_pass_phrase,
    may_be_chosen_password,
    password_likeness,
    word_span,
)

_EXPLAINING_KINDS: Final = frozenset(
    "asciidoc bibtex epub fictionbook html latex man markdown notebook restructuredtext svg textile typst wiki".split()
)
"""Kinds of texts that explain passwords more often than they contain one."""

_NOTE_KINDS: Final = frozenset("text email emlx msg doc docx odt rtf pdf pages contacts transcript".split())
"""Kinds of texts in which people share passwords."""


def spans_after_keyword(text: str, lowered: str, literals: frozenset[str], kind: str) -> Iterator[SecretSpan]:
    """Yield the passwords after keywords; `lowered` is the text in lower case, `literals` the stems in it."""
    is_note, size, read_until = kind not in _EXPLAINING_KINDS or _GREETING.match(text) is not None, len(text), 0
    for mention, following in pairwise(
        (*_mentions_without_vague_repeats(text, lowered, literals), KeywordMention(size, size, is_vague=True))
    ):
        # The text between two mentions is read once, however many there are.
        line = _REST.match(text, mention.end, max(following.start, mention.end))
        if line is None:
            continue
        yield from _values_on_line(text, mention, line, is_note=is_note)
        if is_note and not mention.is_vague:
            yield from _spans_after_label(text, mention, line, kind)
        if text[line.end() : line.end() + 1] in _ENDS:
            yield from _spans_below(text, line, Likeness.CHOSEN if is_note and not mention.is_vague else Likeness.HARD)
            if mention.start >= read_until and _is_heading(text, mention, line):
                entries = list(_entries(text, line.end()))
                # A list is read once, even if its entries contain keywords.
                read_until = entries[-1].end() if entries else 0
                yield from _spans_in_list(entries, is_note=is_note)


def _mentions_without_vague_repeats(text: str, lowered: str, literals: frozenset[str]) -> Iterator[KeywordMention]:
    """Yield the mentions in order, without vague ones that follow a clear one closely on the same line."""
    last = KeywordMention(0, 0, is_vague=True)
    for mention in sorted(keyword_mentions(text, lowered, literals)):
        gap = text[last.end : mention.start] if mention.start - last.end < _NEAR else "\n"
        if not mention.is_vague or last.is_vague or "\n" in gap:
            yield mention
            last = mention


def _message_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in messages of a JSON export."""
    lowered = lower_preserving_length(text)
    literals = _keyword_literals(lowered)
    yield from spans_after_keyword(text, lowered, literals, "log" if _CONVERSATION.search(text) else "html")
    for mention in keyword_mentions(text, lowered, literals):
        if not mention.is_vague and (reply := _REPLY.match(text, mention.end)):
            yield from _span_of_lone_word(reply, Likeness.CHOSEN)


def csv_message_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the passwords in messages of a CSV export, recognised by its header."""
    if _MESSAGE_HEADS.match(text):
        lowered = lower_preserving_length(text)
        yield from spans_after_keyword(text, lowered, _keyword_literals(lowered), "log")


def _keyword_literals(lowered: str) -> frozenset[str]:
    return frozenset(literal for literal in KEYWORD_LITERALS if literal in lowered)


def _values_on_line(text: str, mention: KeywordMention, line: re.Match[str], *, is_note: bool) -> Iterator[SecretSpan]:
    """Yield the passwords after a mention on its line; a random word lowers the bar for the words beside it."""
    phrase = _PHRASE.fullmatch(line[0]) if is_note and not mention.is_vague else None
    if phrase and is_pass_phrase(phrase[1]) and _GRAMMAR.isdisjoint(phrase[1].split()):
        yield SecretSpan(line.start() + phrase.start(1), line.start() + phrase.end(1), PASSWORD)
        return
    spans = [word_span(word) for word in _WORD.finditer(text, *line.span())]
    likenesses = [password_likeness(text[start:end]) for start, end in spans]
    lowered_bar = Likeness.HARD if Likeness.RANDOM in likenesses else Likeness.RANDOM
    for (start, end), likeness in zip(spans, likenesses, strict=True):
        gap = text[mention.end : start]
        if likeness >= min(
            lowered_bar, _required_likeness(gap, mention, is_note=is_note)
        ) and not EXAMPLE_INTRODUCTION.search(gap):
            yield SecretSpan(start, end, PASSWORD)


def _required_likeness(gap: str, mention: KeywordMention, *, is_note: bool) -> Likeness:
    """Return the likeness that a word must have at this distance from a mention."""
    if _STATES_VALUE.fullmatch(gap):
        return Likeness.CHOSEN if is_note and not mention.is_vague else Likeness.HARD
    is_near = len(gap) < (_NEAR if is_note and not mention.is_vague else _NEXT)
    return Likeness.HARD if is_near else Likeness.RANDOM


def _spans_after_label(text: str, mention: KeywordMention, rest: re.Match[str], kind: str) -> Iterator[SecretSpan]:
    """Yield the password after its label, whatever it looks like: on the line below the user, and in notes."""
    match = _ANY_VALUE.match(text, rest.start())  # a password may itself contain a keyword
    if match is None:
        return
    word = word_span(match)
    if not may_be_chosen_password(text[slice(*word)]) or _NO_VALUE.search(text, *word):
        return
    start = line_start(text, mention.start, _MAX_HEADING)
    is_beside_user = _INDENT.fullmatch(text[start - 1 : mention.start]) and _USER_LINE.search(
        text, max(mention.start - _NEAR, 0), mention.start
    )
    if is_beside_user or (kind in _NOTE_KINDS and _LABEL.fullmatch(text, start, mention.start)):
        yield SecretSpan(*word, PASSWORD)


def _spans_below(text: str, announcing: re.Match[str], needed: Likeness) -> Iterator[SecretSpan]:
    """Yield a word that is alone on one of the next lines, or alone in one of the next messages."""
    at, is_announced = announcing.end(), _ANNOUNCES.fullmatch(announcing[0]) is not None
    follows_question = _SPOKEN.match(text, line_start(text, announcing.start(), _MAX_ENTRY)) is not None
    spans: list[SecretSpan] = []
    for _ in range(_LINES_BELOW):
        line = _LINE_BELOW.match(text, at)
        if line is None:
            return
        at = line.end()
        if message := _ALONE.fullmatch(text, *line.span(1)):
            is_answer = message["speaker"] and follows_question
            if is_announced or message["dated"] or is_answer:
                spans = [*_span_of_lone_word(message, needed if is_announced or message["dated"] else Likeness.HARD)]
        elif follows_question and _ANSWER.fullmatch(text, *line.span(1)):
            words = (word_span(word) for word in _WORD.finditer(text, *line.span(1)))
            spans = [
                SecretSpan(*word, PASSWORD) for word in words if password_likeness(text[slice(*word)]) >= Likeness.HARD
            ]
        if spans:
            yield from spans
            return


def _span_of_lone_word(message: re.Match[str], needed: Likeness) -> Iterator[SecretSpan]:
    start, end = word_span(message)
    if password_likeness(message.string[start:end]) >= needed:
        yield SecretSpan(start, end, PASSWORD)


def _is_heading(text: str, mention: KeywordMention, rest: re.Match[str]) -> bool:
    """Whether a line consists of little more than the mention, and so introduces the lines below it."""
    before = text[line_start(text, mention.start, _MAX_HEADING) : mention.start]
    return (
        len(before) < _MAX_HEADING
        and _RULES.search(rest[0]) is None
        and _BEFORE_HEADING.fullmatch(before) is not None
        and _AFTER_HEADING.fullmatch(rest[0]) is not None
    )


def _entries(text: str, at: int) -> Iterator[re.Match[str]]:
    """Yield the lines below a heading, until two are blank or another heading follows."""
    n_blank = 0
    if underline := _UNDERLINE.match(text, at):
        at = underline.end()
    for _ in range(_MAX_LISTED):
        line = _LINE_BELOW.match(text, at)
        if line is None or _NEXT_HEADING.match(line[1]) or len(line[1]) > _MAX_ENTRY:
            return
        n_blank = 0 if line[1].strip() else n_blank + 1
        if n_blank > _MAX_BLANK:
            return
        at = line.end()
        yield line


def _spans_in_list(lines: Sequence[re.Match[str]], *, is_note: bool) -> Iterator[SecretSpan]:
    """Yield the passwords in the entries below a heading: `Label: …`, `user / …`."""
    for line in lines:
        if entry := _ENTRY.fullmatch(line.string, *line.span(1)):
            yield from _span_of_lone_word(
                entry,
                Likeness.CHOSEN if is_note and not _OTHER_LABEL.search(line[1]) else Likeness.HARD,
            )


_NEAR: Final = 100
_PHRASE: Final = LazyPattern(r"[^\n:=]{0,30}[:=][ \t]{1,4}([a-z]{3,12}(?: [a-z]{3,12}){3,7})[ \t\r]{0,4}")
_GRAMMAR: Final = frozenset(
    "the and are was were been for with from has had have its that not can may than then them they his she her our how "
    "will you please ask same all one two any see use used need send sent kept stored written given via only also some "
    "this here there when where what which who why more most less least long short letters digits characters words "
    "number numbers upper lower case know forgot forgotten changed change set reset off none".split()
)
"""Function words of sentences, which generated pass phrases rarely contain."""
_NEXT: Final = 10
_LINES_BELOW: Final = 3
_ENDS: Final = ("", "\n", "\r", '"')
_LETTER: Final = "[!#-\\[\\]-~]"  # printable ASCII without quotes and backslashes
_REST: Final = LazyPattern(r"\"[ \t]{0,4}[:=][^\n\"]{0,40}|[^\n\"\\]{0,300}+")
_WORD: Final = LazyPattern(rf"(?<![À-ɏ])(?P<word>{_LETTER}{{6,120}}+)(?![À-ɏ])")
_COPULAS: Final = (
    "is|ist|lautet|was|war|est|es|è|é|to|auf|in|now|jest|je|är|er|on|is now|это|είναι|adalah|là|wurde|sarà"
)
_STATES_VALUE: Final = LazyPattern(
    r"(?i)(?:[^\n.;|!?]{0,70}?(?:[:=\uff1a\uff1d→]|[ ][-\u2013\u2014]>?|"
    rf"[ ](?:{_COPULAS})(?:[ ](?:now|jetzt|nun|still))?:?(?=[ ])))"
    r"[\s*]{0,6}[\"'`„“«*_(\[]{0,3}|"
    r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af\uff1a\uff1d ]{1,16}"
)
_ANNOUNCES: Final = LazyPattern(r"[^\n:?]{0,80}[:?\uff1a\uff1f][ \t*_]{0,4}\r?|[ \t*_#=-]{0,4}\r?")
_LEAD: Final = (
    r"(?:(?i:ok|sure|klar)[ ,]{1,2})?"
    r"(?:(?i:it'?s|it is|try|use|here(?: it is| you go)?|es ist|ist|c'est|es|è)[ :,]{1,3})?"
)
_SPOKEN: Final = LazyPattern(
    r"[ \t>*_-]{0,8}(?:[\[<(]?\d[\d./:,\- ]{3,24}(?:[AaPp][Mm])?[\])]?[ ]?(?:-[ ])?)?"
    r"(?:<[^<>\n]{1,40}>|[^\W\d][^\n:]{0,40}(?::\d\d\)?)?:)[ ]"
)
"""The beginning of a chat message: date and author."""
_ANSWER: Final = LazyPattern(rf"{_SPOKEN.pattern}[^\n]{{6,60}}")
_ALONE: Final = LazyPattern(
    r"[\s>*_-]{0,12}(?P<dated>[\[<(]?[\d./:,\- ]{4,24}(?:[ ]?[AaPp][Mm])?[\])]?[ ]?(?:-[ ])?)?"
    r"(?P<speaker>(?:<[^<>\n]{1,40}>|[^\n:]{1,40}(?::\d\d\)?)?:)(?=[ ]))?"
    rf"[\s*_]{{0,4}}{_LEAD}(?P<word>{_LETTER}{{6,120}}+)[\s*_]{{0,4}}"
)
"""A line, or a message after its date and author, that consists of one word."""
_GREETING: Final = LazyPattern(
    r"(?i)\s{0,20}(?:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|guten (?:tag|morgen)|moin|bonjour|salut|"
    r"ch[eè]re?|hola|estimad[oa]s?|ciao|gentile|beste|hej|cześć|dzień dobry|olá|car[oa])(?![\w-])[^\n.!?:;]{0,40}[,!]"
)
"""Salutations of letters, including letters written as a page."""
_MESSAGE_HEADS: Final = LazyPattern(
    r"(?i)\ufeff?(?=[^\n]{0,300}?\b(?:texts?|messages?|body|content|nachricht(?:en)?|mensaje|sms)\b)"
    r"[^\n]{0,300}?\b(?:date|datum|fecha|time|timestamp|from|sender|number|address|phone|contact|author|user)"
)
_CONVERSATION: Final = LazyPattern(
    r"\"(?:messages|user|from|sender|author|sender_name|username)\"[ ]?:|<(?:sms|mms|message|msg)[ ]"
)
_REPLY: Final = LazyPattern(
    r"[^\"\\\n]{0,100}\"[^\[\]]{0,300}?\"(?:text|content|body|message|msg)\"\s{0,2}:\s{0,2}"
    rf"\"{_LEAD}(?P<word>{_LETTER}{{6,120}}+)\""
)
_MAX_HEADING: Final = 50
_BEFORE_HEADING: Final = LazyPattern(r"[\s#*=_>-]{0,12}(?:[^\W\d_][\w&+-]{0,20}[ ]){0,3}[\w-]{0,20}")
_RULES: Final = LazyPattern(
    r"(?i)polic|rule|requirement|guideline|recommend|richtlinie|regel|vorgabe|consigne|norma|reglas"
)
"""Words in headings of texts about passwords, as opposed to lists of them."""
_AFTER_HEADING: Final = LazyPattern(r"(?:[ ][^\n@<>]{1,40}|[\w-]{0,12})?[ ]?[:\uff1a]?[ \t\r*_#=-]{0,8}")
_MAX_LISTED: Final = 60
_MAX_ENTRY: Final = 120
_MAX_BLANK: Final = 1
_LINE_BELOW: Final = LazyPattern(r"\r?\n([^\n]{0,300}+)")
_UNDERLINE: Final = LazyPattern(r"\r?\n[ \t]{0,8}[=_*#~-]{2,200}+[ \t\r]{0,8}(?=\n)")
_NEXT_HEADING: Final = LazyPattern(r"#{1,6}[ ]|={3,}|\*{1,3}[ ]\S")
_ENTRY: Final = LazyPattern(
    r"[ \t>*\u2022-]{0,12}[\w(\[\"'`*][^\n]{0,80}?(?:[:=|/\t]|[ ]{2}|[ ][\u2013\u2014-])[ \t*_]{0,20}"
    rf"[\"'`]?(?P<word>{_LETTER}{{6,120}}+)[\"'`]?[\s|*_]{{0,6}}"
)
_OTHER_LABEL: Final = LazyPattern(
    r"(?i)licen[cs]e|class|type|user|login|mail|name|nutzer|nummer|number|konto|account|\bid\b|tel|phone|datum|date|iban|"
    r"version|https?:"
)
_ANY_VALUE: Final = LazyPattern(
    rf"\**[ \t]{{0,12}}[:=]\**[ \t]{{0,12}}(?P<word>{_LETTER}{{2,64}}+)[ \t\r]{{0,4}}(?=\n|\Z)"
)
_LABEL: Final = LazyPattern(r"[ \t>*\u2022-]{0,12}(?:[^\W_][\w&+/-]{0,20}[ ]){0,3}[\w-]{0,12}")
_INDENT: Final = LazyPattern(r"\n?[ \t>*-]{0,12}")
_USER_LINE: Final = LazyPattern(
    r"(?i)\n?[ \t>*-]{0,8}(?:\busr|\buser(?:[ ]?name|[ ]?id)?|\blogin|benutzer(?:name)?|nutzer(?:name)?|"
    r"\bbn|e-?mail(?:[ ]address)?|utilisateur|identifiant|usuario|utente|gebruiker(?:snaam)?|użytkownik|account|konto)"
    r"\**[ \t]{0,12}[:=]\**[ \t]{0,12}[^\s]{2,80}+[ \t\r]{0,4}\n[ \t>*-]{0,12}\Z"
)
_NO_VALUE: Final = LazyPattern(
    r"(?i)passw|secret|requir|option|string|varchar|prompt|empty|none|blank|see$|text$|hidden|\(|[\[{<]"
)


class KeywordMention(NamedTuple):
    """A word for a password; a vague one names only a login or network that may have one."""

    start: int
    end: int
    is_vague: bool


def keyword_mentions(text: str, lowered: str, literals: frozenset[str]) -> Iterator[KeywordMention]:
    """Yield the words for passwords, by stem; `lowered` is the text in lower case, `literals` the stems in it."""
    for stem in KEYWORD_LITERALS:
        haystack, needle = (text, stem.upper()) if stem in _CAPITALS else (lowered, stem)
        at = haystack.find(needle) if stem in literals else -1
        while at >= 0:
            match = _KEYWORD.match(text, at)
            if match and not (match["short"] and at and _WORD_CHARACTER.match(text, at - 1)):
                yield KeywordMention(*match.span(), match["vague"] is not None)
            at = haystack.find(needle, at + len(stem))


_CAPITALS: Final = ("pin", "puk")
"""Stems that mean a password only in capitals."""
KEYWORD_LITERALS: Final = (
    *_CAPITALS,
    *"pass pw kennwort contrase clave parola senha wachtwoord heslo mdp adgangskode kodeord salasana lozink".split(),
    *"sifre psw pswd p/w haslo geslo parool psk zugang credential login wlan wi-fi wifi kw: ww: authcode".split(),
    *"auth-code wpa2: wpa3: netzwerkschl".split(),
    *("parole d", "kata sandi", "access code", "wpa key", "ww ", "auth code", "mật khẩu", "clé wpa", "clé wi"),
    *"paßw hasł lösenord парол şifre jelszó κωδικ סיסמ รหัสผ่าน पासवर्ड slaptažod zugäng 密码 密碼 口令 비번".split(),
    *"パスワード パスコード 暗号化キー 暗証番号 비밀번호 암호 السر المرور".split(),
)
"""Stems in lower case."""
_WORD_CHARACTER: Final = LazyPattern(r"\w")
_KEYWORD: Final = LazyPattern(
    r"(?i)(?P<short>mdp|ww|pwd?|psw|pswd|p/w|haslo|psk|clave|heslo|geslo|sifre|senha|parola)(?:s|y|m|a)?(?!\w)|"
    r"passw(?:or[dt]s?|örter|d)(?!\d{1,4}[,;)!])"
    r"(?![ \t]{1,24}(?:\[[\w= -]{3,80}\]|\w{6,10})[ \t]{1,24}\S{0,40}pam_)|"  # not of PAM
    r"(?:login|zugangs)-?codes?(?!\w)|(?P<vague>zugang(?:sdaten)?|zugänge|credentials?|logins?|wlan|wi-?fi)(?![^\W\d_])"
    r"(?![- ]?(?:code|key|schlüssel|psk))|"
    r"parol[ae] d[\x27\u2019 ]?ordine|passe?(?<=mot de passe)|passe?(?<=mots de passe)|"
    r"passord|passcodes?|passphrases?|pass(?=:)|"
    r"kw(?=:)|auth[ -]?code|wpa[23](?=:)|(?-i:PIN|PUK)(?!\w)|netzwerkschlüssel(?!\w)|"
    r"paßw(?:ort|örter)|kenn(?:wort|wörter)|contrase(?:ñas?|nas?|nya)|wachtwoord(?:en)?|adgangskoder?|kodeord|salasanat?|"
    r"jelsz[oó]\w{0,3}|lozink[ae]|parool|slaptažod\w{1,4}|kata sandi|hasł[oa]|lösenord(?:et)?|парол[ьи]|şifre\w{0,3}|"
    r"access code|wpa key|(?:wlan|wi-?fi)[- ]?(?:code|key|schlüssel|psk)|비번|"
    r"κωδικ\w{2,4}|סיסמ\w{1,3}|รหัสผ่าน|पासवर्ड|密[码碼]|口令|パスワード|パスコード|暗号化キー|暗証番号|비밀번호|암호|"
    r"السر|المرور|mật khẩu|clé wpa|clé (?:du )?wi-?fi"
)
EXAMPLE_INTRODUCTION: Final = LazyPattern(
    r"(?i)(?:^|\W)(?:such as|like|e\.[ ]?g\.?|for (?:example|instance)|example|z\. ?b\.|zum beispiel|beispiel|etwa|wie|"
    r"comme|par exemple|exemple|p\. ?ej\.|por ejemplo|ejemplo|zoals|bijvoorbeeld|per esempio|np\.)[:,]?[ ]?"
    r"[\s*\"'`„“«(]{0,4}\Z"
)
"""Text before a value that is given as an example."""
MESSAGE_RULES: Final[tuple[Detector, ...]] = (
    FunctionRule(
        (
            *('"text"', '"body"', '"content"', '"message"', '"messages"', '"notes"', '"note"'),
            *("<sms", "<mms", "<message ", "<msg "),
        ),
        _message_spans,
        SETTINGS_KINDS,
    ),
)
