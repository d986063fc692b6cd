"""All rules, and those that need context: a login, a cookie, or a user or address before the password."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from directory_indexer.secrets.command_lines import COMMAND_RULES
from directory_indexer.secrets.formats import FORMAT_RULES
from directory_indexer.secrets.keyword_context import MESSAGE_RULES, row_message_spans, spans_after_keyword
from directory_indexer.secrets.prose_rules import PROSE_RULES, sentence_spans
from directory_indexer.secrets.recovery_codes import RECOVERY_RULES, bip39_phrase_spans
from directory_indexer.secrets.rule_engine import (
    NON_CODE_KINDS,
    PASSWORD,
    PROSE_OR_UNKNOWN_KINDS,
    SETTINGS_KINDS,
    TOKEN,
    Detector,
    LazyPattern,
    Procedure,
    Rule,
    SecretSpan,
    line_start,
)
from directory_indexer.secrets.tables import TABLE_RULES
from directory_indexer.secrets.tokens import KEY_RULES, PRIVATE_KEY
from directory_indexer.secrets.value_classification import (
    Shape,
    is_certainly_password,
    is_literal,
    is_strong,
    may_be_chosen_password,
    may_be_password,
    shape_of,
    word_span,
)
from directory_indexer.secrets.vendor_formats import SYSTEM_RULES


def rule_spans(text: str, lowered: str, marks: frozenset[str], kind: str) -> Iterator[SecretSpan]:
    """Yield secrets by their format and context; `lowered` is the text in lower case."""
    if kind in PROSE_OR_UNKNOWN_KINDS:
        yield from sentence_spans(text, lowered, marks)
        yield from spans_after_keyword(text, lowered, marks, kind)
    is_code = kind not in PROSE_OR_UNKNOWN_KINDS and kind not in SETTINGS_KINDS
    if not is_code or not marks.isdisjoint(_SEED_MARKS):
        yield from bip39_phrase_spans(text, is_code=is_code)
    if kind == "csv":
        yield from row_message_spans(text)
    for rule in _rules_of(kind):
        if not (rule.marks and marks.isdisjoint(rule.marks)):
            yield from rule.find(text)


@cache
def _rules_of(kind: str) -> tuple[Detector, ...]:
    return tuple(rule for rule in RULES if rule.kinds is None or kind in rule.kinds)


class _CredentialPair(NamedTuple):
    """A position of passwords, the required context before it, and the required shape."""

    pattern: LazyPattern
    before: LazyPattern | None
    needed: Shape

    def find(self, text: str) -> Iterator[SecretSpan]:
        """Yield the passwords in this position."""
        may_be_easy = self.before in (None, _LABELLED) and _TITLE.match(text) is not None
        needed = Shape.CHOSEN if may_be_easy else self.needed
        for match in self.pattern.finditer(text):
            start, end = word_span(match)
            if shape_of(text[start:end]) < needed:
                continue
            line = line_start(text, match.start(), _MAX_BEFORE)
            if self.before is None or self.before.search(text, line, match.start()):
                yield SecretSpan(start, end, PASSWORD)


_MAX_BEFORE: Final = 120
_WORD: Final = r"(?P<word>[!#-\[\]-~]{6,120}+)(?=\s|\Z)"
_ADDRESS: Final = r"@[\w-]{1,63}(?:\.[\w-]{1,63}){1,3}"
_USER: Final = LazyPattern(
    r"(?i)(?:^|\W)(?:root|admin|administrator|user|guest|sa|pi|ubuntu|postgres|operator|manager|test|demo)[\"'`*]{0,2}\Z"
)
_LABELLED: Final = LazyPattern(
    r"(?:\A|(?<=\n))[ \t*\u2022-]{0,8}[^\W\d_][^\n:;,.|]{1,40}?(?::|[ ]-|[ ][ ]|\))[ ]{1,8}[\w.@+-]{2,40}\Z"
)
"""The purpose of a login, and the user: `Library: ann / …`."""
_TITLE: Final = LazyPattern(
    r"(?i)[\s#*=_\ufeff]{0,12}(?:[^\W\d_][\w-]{0,20}[ ]){0,3}[\w-]{0,20}(?:zug[aä]ng|passw|paßw|logins?|kennw|"
    r"wachtwoord|accounts|accès|mots de passe|contraseñas|senhas|hasła|hesla|lösenord|adgangskoder|salasanat|parole)"
)
"""First lines of lists of logins."""
_BEHIND_ADDRESS: Final = (
    rf"{_ADDRESS}[\"'`*]{{0,2}}"
    rf"(?:[ \t]{{1,2}}[/|\u2013\u2014-][ \t]{{1,2}}|[:;,]|[ \t]{{1,4}}|[ \t\r]{{0,4}}\n[ \t]{{0,8}}){_WORD}"
)
_BEHIND_HOST: Final = (
    rf"ssh[ ](?:-\w[ ]\S{{1,60}}[ ]){{0,4}}[\w.-]{{1,40}}@[\w.-]{{1,80}}[ \t]{{1,4}}[(\[#/|-]{{1,2}}[ ]?{_WORD}"
)
_PAIRS: Final = (
    ("@", _BEHIND_ADDRESS, None, Shape.HARD),
    ("@", rf"{_ADDRESS}:{_WORD}", LazyPattern(r"(?:\A|\n)?[\w.+-]{1,64}\Z"), Shape.CHOSEN),
    (" / ", rf"[ ]/[ ][\"'`]?{_WORD}", _USER, Shape.CHOSEN),
    (" / ", rf"[ ]/[ ][\"'`]?{_WORD}", _LABELLED, Shape.HARD),
    (" - ", rf"[ ]-[ ][\"'`]?{_WORD}", _LABELLED, Shape.HARD),
    (" -- ", rf"[ ]--[ ][\"'`]?{_WORD}", _LABELLED, Shape.HARD),
    ("\nroot:", rf"\nroot:{_WORD}", None, Shape.CHOSEN),
    ("\nadmin:", rf"\nadmin:{_WORD}", None, Shape.CHOSEN),
    ("\np: ", rf"\np:[ ]{_WORD}", LazyPattern(r"(?i)\n?u(?:ser|sr)?:[ ][^\n]{1,64}\Z"), Shape.CHOSEN),
    ("ssh ", _BEHIND_HOST, None, Shape.HARD),
)
"""Mark, position, context and shape."""


def _contains_key(value: str) -> bool:
    """Whether a value is a PEM file in base64."""
    return b"PRIVATE KEY" in base64.b64decode(value[:80])


def _is_uncommon(value: str) -> bool:
    """Whether a password is more than a word and a number in one case."""
    shape = shape_of(value)
    return shape >= Shape.HARD or (shape == Shape.CHOSEN and not value.islower() and not value.isupper())


_ARGUMENT: Final = r"(?:\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|[\w.$>\[\]-]{1,60}+(?:\(\))?)"
_LAST: Final = r"[\"']([^\"'\n\\]{6,128}+)[\"']\s{0,4}[,)]"
_CONNECT: Final = (
    rf"(?i)(?:mysqli?_connect|PlainAuth|DBI->connect|ldap_bind|new[ ](?:mysqli|PDO)|getConnection)\(\s{{0,20}}"
    rf"(?:{_ARGUMENT}\s{{0,4}},\s{{0,20}}){{2}}[\"']([^\"'\n\\]{{2,128}}+)[\"']\s{{0,4}}[,)]"
)
_SCRIPTS: Final = frozenset(("javascript", "typescript"))
_CONTEXT_RULES: Final[tuple[Detector, ...]] = (
    *(
        Procedure((mark,), _CredentialPair(LazyPattern(pattern), *rest).find, PROSE_OR_UNKNOWN_KINDS)
        for mark, pattern, *rest in _PAIRS
    ),
    Rule(("ls0tls1crudjti",), r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{66,40000}+={0,2}", _contains_key, PRIVATE_KEY, group=0),
    Rule((":::",), r":[0-9]{3,10}:(?:[0-9A-Fa-f]{32}|\*{0,32}):([0-9A-Fa-f]{32}):::", kind="password hash"),  # Windows
    Rule(
        ("cookie",),
        r"=([^\s;=,]{12,4000}+)(?==|;|\s|\Z|[\"'\\])",
        is_strong,
        "cookie",
        within=r"(?i)cookie(?:\\?[\"'],\s{0,40}\\?[\"']value\\?[\"'])?:\s{0,8}(?:\\?[\"'])?([^\n\"'\\]{8,8000}+)",
    ),
    Rule(('"httponly"', '"cookies"'), r"\"value\"\s{0,4}:\s{0,4}\"([^\"\\\n]{12,4096}+)\"", is_strong, "cookie"),
    Rule(  # `ann:…@host:5432`
        ("@",),
        r"@(?:(?:tcp|unix)\()?[A-Za-z][\w.-]{0,80}+:\d{2,5}(?!\d)",
        is_certainly_password,
        before=r"[\s\"'=][\w.-]{1,40}+:([^\s:@/\"']{6,64}+)\Z",
        reach=106,
    ),
    *(  # `session.login(user, "…")` and `auth=(user, "…")`
        Rule(marks, pattern, may_be_password, kinds=kinds)
        for marks, kinds in (((".login(",), NON_CODE_KINDS), ((".login(", "auth=", "auth = ("), frozenset(("python",))))
        for pattern in (
            rf"\.login\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}",
            r"\.login\([^()\n]{0,80}?key ?= ?[\"']([^\"'\n\\]{20,200}+)[\"']",
            rf"auth ?= ?\w{{0,30}}\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}",
        )
    ),
    *(  # `connect("network", "…")`, `Connection(host, user, "…")`
        Rule(
            marks,
            rf"(?:onnect|onnection|database|begin)\((?:\s{{0,20}}{_ARGUMENT}\s{{0,4}},){{{n_before}}}\s{{0,20}}"
            r"[\"']([^\"'\s\\]{6,128}+)[\"']\s{0,4}[,)]",
            _is_uncommon,
            kinds=frozenset(kinds.split()),
        )
        for marks, kinds in (
            ((".connect(", "connection("), "python"),
            ((".connect(", ":connect(", ".begin(", "database("), "cpp arduino matlab lua"),
        )
        for n_before in (1, 2, 3)
    ),
    *(  # `connect(host, user, "…")` and `new PDO(source, user, "…")`
        Rule(marks, _CONNECT, may_be_chosen_password, kinds=frozenset(kinds.split()))
        for marks, kinds in (
            (("getconnection(",), "java kotlin scala"),
            (("plainauth(",), "go"),
            (("dbi->connect",), "perl"),
            (("mysql", "new pdo(", "ldap_bind"), "php"),
        )
    ),
    Rule(
        ("networkcredential(",),
        rf"NetworkCredential\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}",
        may_be_password,
        kinds=frozenset(("csharp",)),
    ),
    Rule(  # tools for blockchains
        ("accounts:",),
        r"accounts\\?[\"']?:\s{0,8}\[\s{0,40}\\?[\"'](?:0x)?([0-9a-fA-F]{64})\\?[\"']",
        is_literal,
        PRIVATE_KEY,
        _SCRIPTS,
    ),
    Rule(
        ("infura.io", "alchemy.com"),
        r"/v[23]/(?:(?<=infura\.io/v3/)|(?<=alchemy\.com/v2/))([\w-]{32})(?![\w-])",
        kind=TOKEN,
        kinds=_SCRIPTS,
    ),
)
RULES: Final[tuple[Detector, ...]] = (
    *(*FORMAT_RULES, *COMMAND_RULES, *KEY_RULES, *RECOVERY_RULES, *SYSTEM_RULES, *TABLE_RULES),
    *(*PROSE_RULES, *MESSAGE_RULES, *_CONTEXT_RULES),
)
_SEED_MARKS: Final = ("mnemonic", "seed", "phrase", "wallet", "words")
RULE_MARKS: Final = (*(mark for rule in RULES for mark in rule.marks), *_SEED_MARKS)
