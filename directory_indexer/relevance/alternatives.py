"""Queries with `OR` and parentheses, parted into what is asked for in any case and groups of which one will do.

`OR` binds what stands right beside it: `a b OR c` is `a` with `b` or `c`. Without an `OR`, parentheses mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

_OR: Final = "OR"
_NOT: Final = "-("
_MOST: Final = 32
"""Of more alternatives, what is written side by side and not within each other is still told apart."""

_DEEPEST: Final = 20


class Parted(NamedTuple):
    """What is asked for in any case, and groups of alternatives, as they were typed."""

    rest: str
    groups: tuple[tuple[str, ...], ...] = ()


def parted(text: str) -> Parted:
    """Part a query at its `OR`; one without it, or with more than can be told apart, is left as it is."""
    if _OR not in text:
        return Parted(text)
    tokens = _tokens(text)
    if _OR not in tokens[1:-1]:
        return Parted(text)
    reader = _Reader(tokens)
    rest: list[str] = []
    groups: list[tuple[str, ...]] = []
    while reader.at < len(tokens):
        alternatives = reader.item(0)
        if len(alternatives) == 1:
            rest += alternatives[0]
        elif len(alternatives) > 1:
            groups.append(tuple(" ".join(one) for one in alternatives))
    return Parted(" ".join(rest), tuple(groups))


class _Reader:
    """Reads tokens from left to right; every item is a list of alternatives, each of them a list of tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self.at = 0

    def item(self, depth: int) -> list[list[str]]:
        """Read what stands between two blanks, with all that `OR` joins to it."""
        alternatives = self._one(depth)
        while self._peek() == _OR and self.at + 1 < len(self._tokens) and self._tokens[self.at + 1] != ")":
            self.at += 1
            alternatives = (alternatives + self._one(depth))[:_MOST]
        return [one for one in alternatives if one]

    def _one(self, depth: int) -> list[list[str]]:
        opening = self._tokens[self.at]
        self.at += 1
        if opening in {")", _OR}:
            return [[]]
        if opening not in {"(", _NOT}:
            return [[opening]]
        if depth >= _DEEPEST:
            return [[]]
        found = self._inside(depth)
        if opening == _NOT:
            # Neither of them is wanted, so none has to be told from the others.
            return [list(dict.fromkeys(f"-{one.removeprefix('-')}" for all_of in found for one in all_of))]
        return found

    def _inside(self, depth: int) -> list[list[str]]:
        found: list[list[str]] = [[]]
        while self._peek() not in {")", ""}:
            inner = self.item(depth + 1) or [[]]
            found = [[*first, *second] for first, second in product(found, inner)][:_MOST]
        self.at += 1
        return found

    def _peek(self) -> str:
        return self._tokens[self.at] if self.at < len(self._tokens) else ""


def _tokens(text: str) -> list[str]:
    """Cut a query at blanks that are not in quotes, and at parentheses that hold whole words."""
    tokens: list[str] = []
    word, is_quoted, n_open = "", False, 0
    for sign in f"{text} ":
        if sign == '"':
            is_quoted = not is_quoted
        if not is_quoted and sign.isspace():
            tokens += _without_closing(word, n_open)
            n_open = max(tokens.count("(") + tokens.count("-(") - tokens.count(")"), 0)
            word = ""
        elif not is_quoted and sign == "(" and word in {"", "-"}:
            tokens.append(f"{word}(")
            n_open += 1
            word = ""
        else:
            word += sign
    return tokens + ([word] if word.strip() else [])


def _without_closing(word: str, n_open: int) -> list[str]:
    """Part a word from the parentheses behind it that close none of its own."""
    n_closing = 0
    while word.endswith(")") and n_closing < n_open and word.count(")") > word.count("("):
        word, n_closing = word[:-1], n_closing + 1
    return [*([word] if word else []), *[")"] * n_closing]
