"""Syntax of queries: `OR` and parentheses, moments and periods, and roles of files by their paths.

`OR` binds its direct neighbours: `a b OR c` is `a` with `b` or `c`. Without an `OR`, parentheses mean nothing. Periods
are ages, dates in several notations, and phrases such as `last week`; without a time zone they are in that of this
machine, as dates are displayed. Roles are tests and generated files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise, product
from typing import Final, NamedTuple

_OR: Final = "OR"
_NOT: Final = "-("
_MAX_ACRONYM: Final = 4
"""Letters of an operand that is taken for an acronym: `AWS OR GCP BILLING` has alternatives."""

_MAX_ALTERNATIVES: Final = 32
"""Further alternatives of a group are dropped."""

_MAX_DEPTH: Final = 20


class SplitQuery(NamedTuple):
    """The required text of a query, and its groups of alternatives, as they were typed."""

    required: str
    groups: tuple[tuple[str, ...], ...] = ()


def split_alternatives(text: str) -> SplitQuery:
    """Split a query at its `OR`; without one between two items, or in capitals alone, it is returned unchanged."""
    if _OR not in text:
        return SplitQuery(text)
    query_tokens = _tokenise(text)
    if _OR not in query_tokens[1:-1] or _is_or_a_word(query_tokens):
        return SplitQuery(text)
    reader = _AlternativesParser(query_tokens)
    rest: list[str] = []
    groups: list[tuple[str, ...]] = []
    while reader.at < len(query_tokens):
        alternatives = reader.item(0)
        if len(alternatives) == 1:
            rest += alternatives[0]
        elif len(alternatives) > 1:
            groups.append(tuple(" ".join(tokens) for tokens in alternatives))
    return SplitQuery(" ".join(rest), tuple(groups))


def _is_or_a_word(tokens: Sequence[str]) -> bool:
    """Whether `OR` is a word of a sentence in capitals, such as `WITHOUT WARRANTIES OR CONDITIONS`."""
    if not all(token.isupper() and token[0].isalpha() for token in tokens):
        return False
    pairs = list(pairwise(tokens))
    has_other_words = any(_OR not in pair for pair in pairs)
    return has_other_words and all(len("".join(pair)) > len(_OR) + _MAX_ACRONYM for pair in pairs if _OR in pair)


class _AlternativesParser:
    """Reads tokens from left to right; every item is a list of alternatives, each of them a list of tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokenise = tokens
        self.at = 0

    def item(self, depth: int) -> list[list[str]]:
        """Read the text up to the next blank, with everything that `OR` joins to it."""
        alternatives = self._operand(depth)
        while self._peek() == _OR and self.at + 1 < len(self._tokenise) and self._tokenise[self.at + 1] != ")":
            self.at += 1
            alternatives = (alternatives + self._operand(depth))[:_MAX_ALTERNATIVES]
        return [tokens for tokens in alternatives if tokens]

    def _operand(self, depth: int) -> list[list[str]]:
        opening = self._tokenise[self.at]
        self.at += 1
        if opening in {")", _OR}:
            return [[]]
        if opening not in {"(", _NOT}:
            return [[opening]]
        if depth >= _MAX_DEPTH:
            return [[]]
        alternatives = self._nested(depth)
        if opening == _NOT:
            # All of them are excluded, so they form one alternative.
            return [list(dict.fromkeys(f"-{token.removeprefix('-')}" for tokens in alternatives for token in tokens))]
        return alternatives

    def _nested(self, depth: int) -> list[list[str]]:
        combinations: list[list[str]] = [[]]
        while self._peek() not in {")", ""}:
            inner = self.item(depth + 1) or [[]]
            combinations = [[*first, *second] for first, second in product(combinations, inner)][:_MAX_ALTERNATIVES]
        self.at += 1
        return combinations

    def _peek(self) -> str:
        return self._tokenise[self.at] if self.at < len(self._tokenise) else ""


def _tokenise(text: str) -> list[str]:
    """Split a query at blanks outside quotes, and at parentheses around whole words."""
    tokens: list[str] = []
    word, is_quoted, n_open = "", False, 0
    for character in f"{text} ":
        if character == '"':
            is_quoted = not is_quoted
        if not is_quoted and character.isspace():
            tokens += _split_closing(word, n_open)
            n_open = max(tokens.count("(") + tokens.count("-(") - tokens.count(")"), 0)
            word = ""
        elif not is_quoted and character == "(" and word in {"", "-"}:
            tokens.append(f"{word}(")
            n_open += 1
            word = ""
        else:
            word += character
    return tokens + ([word] if word.strip() else [])


def _split_closing(word: str, n_open: int) -> list[str]:
    """Split off the parentheses at the end of a word that close none of its own."""
    n_closing = 0
    while word.endswith(")") and n_closing < n_open and word.count(")") > word.count("("):
        word, n_closing = word[:-1], n_closing + 1
    return [*([word] if word else []), *[")"] * n_closing]


class Period(NamedTuple):
    """A half-open interval in seconds since the epoch.

    `written` is the ISO 8601 form of a year, a month or a day.
    """

    start: float
    end: float
    written: str = ""


def parse_period(text: str, *, now: float) -> Period | None:
    """Parse an age, a date, an ISO 8601 time, or a phrase such as `yesterday` and `last week`; None if it is none.

    Ages are `7d`, `2 weeks ago` and `last 30 days`, the moment so long ago. Dates are `2026`, `2026-1`, `2026-01-31`,
    `2026/1/31`, `31.1.2026` and `1.2026`. Weeks begin on Monday.
    """
    typed = " ".join(re.sub(_BETWEEN_WORDS, " ", text).lower().split())
    try:
        return (
            _period_of_age(typed, now)
            or _period_of_date(typed)
            or _period_by_name(typed, now)
            or _parse_moment(text.strip())
        )
    except (ValueError, OverflowError, OSError):
        return None


def format_iso_date(text: str) -> str:
    """Format a year, a month or a day as in ISO 8601; return any other text unchanged."""
    period = parse_period(text, now=time.time())
    return (period and period.written) or text


def _period_of_age(typed: str, now: float) -> Period | None:
    match = re.fullmatch(_AGE, typed)
    if not match or match["unit"] not in _SECONDS:
        return None
    seconds = now - int(match["n"]) * _SECONDS[match["unit"]]
    return Period(seconds, seconds)


def _period_of_date(typed: str) -> Period | None:
    """Parse a year, a month or a day in any of the notations."""
    match = next((candidate for form in _DATES if (candidate := re.fullmatch(form, typed))), None)
    if match is None:
        return None
    year, month, day = (int(match[part] or 0) for part in "ymd")
    first = date(year, month or 1, day or 1)
    if day:
        return _period_of_days(first, first + timedelta(days=1), _DAY)
    return (
        _period_of_days(first, _next_month(first), _MONTH)
        if month
        else _period_of_days(first, date(year + 1, 1, 1), _YEAR)
    )


def _period_by_name(typed: str, now: float) -> Period | None:
    """Parse phrases for a moment, a day, or this or the last week, month or year."""
    name = typed.removeprefix("the ").replace("previous ", "last ").replace("past ", "last ")
    if name == "now":
        return Period(now, now)
    today = datetime.fromtimestamp(now).astimezone().date()
    day = timedelta(days=1)
    week, month, year = today - today.weekday() * day, today.replace(day=1), today.replace(month=1, day=1)
    periods = {
        "today": (today, today + day, _DAY),
        "yesterday": (today - day, today, _DAY),
        "this week": (week, week + 7 * day, ""),
        "last week": (week - 7 * day, week, ""),
        "this month": (month, _next_month(month), _MONTH),
        "last month": ((month - day).replace(day=1), month, _MONTH),
        "this year": (year, year.replace(year=year.year + 1), _YEAR),
        "last year": (year.replace(year=year.year - 1), year, _YEAR),
    }
    return _period_of_days(*periods[name]) if name in periods else None


def _parse_moment(typed: str) -> Period:
    seconds = datetime.fromisoformat(typed.upper()).astimezone().timestamp()
    return Period(seconds, seconds)


def _next_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def _period_of_days(first: date, end: date, form: str) -> Period:
    # Each day has its own UTC offset: where clocks are changed, a day has 23 or 25 hours.
    start, after = (datetime(day.year, day.month, day.day).astimezone().timestamp() for day in (first, end))
    return Period(start, after, f"{first:{form}}" if form else "")


_BETWEEN_WORDS: Final = r"(?<=[A-Za-z])[-_](?=[A-Za-z0-9])|(?<=[0-9])[-_](?=[A-SU-Za-su-z])"
_AGE: Final = r"(?:(?:the )?(?:last|past|previous) )?(?P<n>[0-9]{1,9}) ?(?P<unit>[a-z]+)(?: ago)?"
_DATES: Final = (
    r"(?P<y>[0-9]{4})(?:([-/])(?P<m>[0-9]{1,2})(?:\2(?P<d>[0-9]{1,2}))?)?",
    r"(?:(?P<d>[0-9]{1,2})\. ?)?(?P<m>[0-9]{1,2})\. ?(?P<y>[0-9]{4})",
)
_YEAR, _MONTH, _DAY = "%Y", "%Y-%m", "%Y-%m-%d"
_UNITS: Final = {
    1: "s sec secs second seconds",
    60: "min mins minute minutes",
    3600: "h hr hrs hour hours",
    86400: "d day days",
    604800: "w wk wks week weeks",
    2629800: "m mo month months",
    31557600: "y yr yrs year years",
}
_SECONDS: Final = {name: seconds for seconds, names in _UNITS.items() for name in names.split()}


ROLES: Final = ("test", "generated")
"""The values of the filter `is:`."""


def has_role(path: str, role: str) -> bool:
    """Whether a path below a tracked directory, with slashes, is that of a test or of a generated file."""
    return bool(re.search(_TEST if role == "test" else _GENERATED, path))


_TEST: Final = r"""(?x)
    (?:^|/) (?:tests?|testing|__tests__|specs?|testdata|__mocks__|fixtures?|e2e) /
    | (?:^|/) (?:test_[^/]*|conftest\.py) $
    | [._-] (?:tests?|specs?) \.[^/]+ $
    | [a-z0-9] (?:Tests?|Spec) \.\w+ $
"""
_GENERATED: Final = r"""(?x)
    (?:^|/) (?:node_modules|dist|generated|__generated__|gen) /
    | (?:^|/) (?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|Cargo\.lock|composer\.lock|
                Gemfile\.lock|go\.sum|Pipfile\.lock|flake\.lock) $
    | \.min\.(?:js|css)$ | \.(?:js|css)\.map$ | [._-](?:generated|gen|g)\.\w+$
    | _pb2(?:_grpc)?\.pyi?$ | \.pb\.(?:go|cc|h)$ | \.designer\.\w+$ | \.bundle\.js$
"""
