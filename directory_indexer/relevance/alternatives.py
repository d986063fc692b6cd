"""Parsing of `OR` and parentheses into required text and groups of alternatives.

`OR` binds its direct neighbours: `a b OR c` is `a` with `b` or `c`. Without an `OR`, parentheses mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

_OR: Final = "OR"
_NOT: Final = "-("
_MAX_ALTERNATIVES: Final = 32
"""Further alternatives of a group are dropped."""

_MAX_DEPTH: Final = 20


class QueryAlternatives(NamedTuple):
    """The required text of a query, and its groups of alternatives, as they were typed."""

    rest: str
    groups: tuple[tuple[str, ...], ...] = ()


def split_alternatives(text: str) -> QueryAlternatives:
    """Split a query at its `OR`; without one between two items, it is returned unchanged."""
    if _OR not in text:
        return QueryAlternatives(text)
    query_tokens = _tokens(text)
    if _OR not in query_tokens[1:-1]:
        return QueryAlternatives(text)
    reader = _Reader(query_tokens)
    rest: list[str] = []
    groups: list[tuple[str, ...]] = []
    while reader.at < len(query_tokens):
        alternatives = reader.item(0)
        if len(alternatives) == 1:
            rest += alternatives[0]
        elif len(alternatives) > 1:
            groups.append(tuple(" ".join(tokens) for tokens in alternatives))
    return QueryAlternatives(" ".join(rest), tuple(groups))


class _Reader:
    """Reads tokens from left to right; every item is a list of alternatives, each of them a list of tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self.at = 0

    def item(self, depth: int) -> list[list[str]]:
        """Read the text up to the next blank, with everything that `OR` joins to it."""
        alternatives = self._operand(depth)
        while self._peek() == _OR and self.at + 1 < len(self._tokens) and self._tokens[self.at + 1] != ")":
            self.at += 1
            alternatives = (alternatives + self._operand(depth))[:_MAX_ALTERNATIVES]
        return [tokens for tokens in alternatives if tokens]

    def _operand(self, depth: int) -> list[list[str]]:
        opening = self._tokens[self.at]
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
        return self._tokens[self.at] if self.at < len(self._tokens) else ""


def _tokens(text: str) -> list[str]:
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
