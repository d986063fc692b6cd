"""All rules, and those that need context: a login, a cookie, or a user or address before the password."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from directory_indexer.secrets.command_lines import COMMAND_RULES
from directory_indexer.secrets.formats import FORMAT_RULES
from directory_indexer.secrets.keyword_context import MESSAGE_RULES, csv_message_spans, spans_after_keyword
from directory_indexer.secrets.prose_rules import PROSE_RULES, prose_spans
from directory_indexer.secrets.recovery_codes import RECOVERY_RULES, bip39_phrase_spans
from directory_indexer.secrets.rule_engine import (
    NON_CODE_KINDS,
    PASSWORD,
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
from directory_indexer.secrets.tables import TABLE_RULES
from directory_indexer.secrets.tokens import KEY_RULES, PRIVATE_KEY
from directory_indexer.secrets.value_classification import (
    Likeness,
    is_certainly_password,
    is_literal,
    looks_generated,
    may_be_chosen_password,
    may_be_password,
    password_likeness,
    word_span,
)
from directory_indexer.secrets.vendor_formats import SYSTEM_RULES


def rule_spans(text: str, lowered: str, literals: frozenset[str], kind: str) -> Iterator[SecretSpan]:
    """Yield secrets by their format and context; `lowered` is the text in lower case."""
    if kind in PROSE_OR_UNKNOWN_KINDS:
        yield from prose_spans(text, lowered, literals)
        yield from spans_after_keyword(text, lowered, literals, kind)
    is_code = kind not in PROSE_OR_UNKNOWN_KINDS and kind not in SETTINGS_KINDS
    if not is_code or not literals.isdisjoint(_SEED_LITERALS):
        yield from bip39_phrase_spans(text, is_code=is_code)
    if kind == "csv":
        yield from csv_message_spans(text)
    for rule in _rules_of(kind):
        if not (rule.literals and literals.isdisjoint(rule.literals)):
            yield from rule.find(text)


@cache
def _rules_of(kind: str) -> tuple[Detector, ...]:
    return tuple(rule for rule in RULES if rule.kinds is None or kind in rule.kinds)


class _CredentialPair(NamedTuple):
    """A position of passwords, the required context before it, and the required likeness."""

    pattern: LazyPattern
    before: LazyPattern | None
    needed: Likeness

    def find(self, text: str) -> Iterator[SecretSpan]:
        """Yield the passwords in this position."""
        may_be_easy = self.before in (None, _LABELLED) and _TITLE.match(text) is not None
        needed = Likeness.CHOSEN if may_be_easy else self.needed
        for match in self.pattern.finditer(text):
            start, end = word_span(match)
            if password_likeness(text[start:end]) < needed:
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
    ("@", _BEHIND_ADDRESS, None, Likeness.HARD),
    ("@", rf"{_ADDRESS}:{_WORD}", LazyPattern(r"(?:\A|\n)?[\w.+-]{1,64}\Z"), Likeness.CHOSEN),
    (" / ", rf"[ ]/[ ][\"'`]?{_WORD}", _USER, Likeness.CHOSEN),
    (" / ", rf"[ ]/[ ][\"'`]?{_WORD}", _LABELLED, Likeness.HARD),
    (" - ", rf"[ ]-[ ][\"'`]?{_WORD}", _LABELLED, Likeness.HARD),
    (" -- ", rf"[ ]--[ ][\"'`]?{_WORD}", _LABELLED, Likeness.HARD),
    ("\nroot:", rf"\nroot:{_WORD}", None, Likeness.CHOSEN),
    ("\nadmin:", rf"\nadmin:{_WORD}", None, Likeness.CHOSEN),
    ("\np: ", rf"\np:[ ]{_WORD}", LazyPattern(r"(?i)\n?u(?:ser|sr)?:[ ][^\n]{1,64}\Z"), Likeness.CHOSEN),
    ("ssh ", _BEHIND_HOST, None, Likeness.HARD),
)
"""Literal, position, context and likeness."""


def _contains_key(value: str) -> bool:
    """Whether a value is a PEM file in base64."""
    return b"PRIVATE KEY" in base64.b64decode(value[:80])


def _is_uncommon(value: str) -> bool:
    """Whether a password is more than a word and a number in one case."""
    likeness = password_likeness(value)
    return likeness >= Likeness.HARD or (likeness == Likeness.CHOSEN and not value.islower() and not value.isupper())


_ARGUMENT: Final = r"(?:\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|[\w.$>\[\]-]{1,60}+(?:\(\))?)"
_LAST: Final = r"[\"']([^\"'\n\\]{6,128}+)[\"']\s{0,4}[,)]"
_CONNECT: Final = (
    rf"(?i)(?:mysqli?_connect|PlainAuth|DBI->connect|ldap_bind|new[ ](?:mysqli|PDO)|getConnection)\(\s{{0,20}}"
    rf"(?:{_ARGUMENT}\s{{0,4}},\s{{0,20}}){{2}}[\"']([^\"'\n\\]{{2,128}}+)[\"']\s{{0,4}}[,)]"
)
_SCRIPTS: Final = frozenset(("javascript", "typescript"))
_CONTEXT_RULES: Final[tuple[Detector, ...]] = (
    *(
        FunctionRule((literal,), _CredentialPair(LazyPattern(pattern), *rest).find, PROSE_OR_UNKNOWN_KINDS)
        for literal, pattern, *rest in _PAIRS
    ),
    Rule(("ls0tls1crudjti",), r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{66,40000}+={0,2}", _contains_key, PRIVATE_KEY, group=0),
    Rule((":::",), r":[0-9]{3,10}:(?:[0-9A-Fa-f]{32}|\*{0,32}):([0-9A-Fa-f]{32}):::", kind="password hash"),  # Windows
    Rule(
        ("cookie",),
        r"=([^\s;=,]{12,4000}+)(?==|;|\s|\Z|[\"'\\])",
        looks_generated,
        "cookie",
        within=r"(?i)cookie(?:\\?[\"'],\s{0,40}\\?[\"']value\\?[\"'])?:\s{0,8}(?:\\?[\"'])?([^\n\"'\\]{8,8000}+)",
    ),
    Rule(('"httponly"', '"cookies"'), r"\"value\"\s{0,4}:\s{0,4}\"([^\"\\\n]{12,4096}+)\"", looks_generated, "cookie"),
    Rule(  # `ann:…@host:5432`
        ("@",),
        r"@(?:(?:tcp|unix)\()?[A-Za-z][\w.-]{0,80}+:\d{2,5}(?!\d)",
        is_certainly_password,
        before=r"[\s\"'=][\w.-]{1,40}+:([^\s:@/\"']{6,64}+)\Z",
        reach=106,
    ),
    *(  # `session.login(user, "…")` and `auth=(user, "…")`
        Rule(literals, pattern, may_be_password, kinds=kinds)
        for literals, kinds in (
            ((".login(",), NON_CODE_KINDS),
            ((".login(", "auth=", "auth = ("), frozenset(("python",))),
        )
        for pattern in (
            rf"\.login\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}",
            r"\.login\([^()\n]{0,80}?key ?= ?[\"']([^\"'\n\\]{20,200}+)[\"']",
            rf"auth ?= ?\w{{0,30}}\(\s{{0,20}}{_ARGUMENT}\s{{0,4}},\s{{0,20}}{_LAST}",
        )
    ),
    *(  # `connect("network", "…")`, `Connection(host, user, "…")`
        Rule(
            literals,
            rf"(?:onnect|onnection|database|begin)\((?:\s{{0,20}}{_ARGUMENT}\s{{0,4}},){{{n_before}}}\s{{0,20}}"
            r"[\"']([^\"'\s\\]{6,128}+)[\"']\s{0,4}[,)]",
            _is_uncommon,
            kinds=frozenset(kinds.split()),
        )
        for literals, kinds in (
            ((".connect(", "connection("), "python"),
            ((".connect(", ":connect(", ".begin(", "database("), "cpp arduino matlab lua"),
        )
        for n_before in (1, 2, 3)
    ),
    *(  # `connect(host, user, "…")` and `new PDO(source, user, "…")`
        Rule(literals, _CONNECT, may_be_chosen_password, kinds=frozenset(kinds.split()))
        for literals, kinds in (
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
_SEED_LITERALS: Final = ("mnemonic", "seed", "phrase", "wallet", "words")
RULE_LITERALS: Final = (*(literal for rule in RULES for literal in rule.literals), *_SEED_LITERALS)
