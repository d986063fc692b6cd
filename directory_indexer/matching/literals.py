"""Which texts every match of a regular expression holds, read off its syntax tree.

A pattern comes to clauses: of each clause, one text is a part of every match. What the two dialects read in different
ways, and what is not understood, demands nothing, so that no match is ever missed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

Clause: TypeAlias = frozenset[str]


class _Part(NamedTuple):
    """What a part of a pattern can match: these texts and no others, or anything that holds one of each clause."""

    texts: Clause | None
    clauses: tuple[Clause, ...] = ()

    @property
    def demands(self) -> tuple[Clause, ...]:
        """Give the clauses of a part that stands by itself."""
        if self.texts is None:
            return self.clauses
        return (self.texts,) if all(self.texts) else ()


def required_clauses(patterns: Sequence[str]) -> tuple[Clause, ...]:
    """Give the clauses of a line that matches any of these regular expressions."""
    return _either([_parsed(pattern) for pattern in patterns]).demands


def clauses_of_texts(texts: Sequence[str]) -> tuple[Clause, ...]:
    """Give the clauses of a line that has one of these texts in it."""
    return _Part(frozenset(texts)).demands


def _parsed(pattern: str) -> _Part:
    if _READ_OTHERWISE in pattern or len(pattern) > _LONGEST_PATTERN:
        return _ANYTHING
    try:
        return _sequence(_PARSE(pattern))
    except (re.error, RecursionError, OverflowError):
        return _ANYTHING


def _sequence(items: Iterable[tuple[Any, Any]]) -> _Part:
    texts: Clause = _NOTHING
    clauses: list[Clause] = []
    is_exact = True
    for operator, argument in items:
        part = _part(str(operator), argument)
        if part.texts is not None and len(texts) * len(part.texts) <= _MOST_TEXTS:
            texts = frozenset("".join(pair) for pair in product(texts, part.texts))
            continue
        is_exact = False
        clauses += _Part(texts).demands
        clauses += part.clauses
        texts = _NOTHING if part.texts is None else part.texts
    if is_exact:
        return _Part(texts)
    return _Part(None, (*clauses, *_Part(texts).demands))


def _part(operator: str, argument: Any) -> _Part:
    read = _READERS.get(operator)
    return read(argument) if read else _ANYTHING


def _letters(items: Sequence[tuple[Any, Any]]) -> Clause | None:
    """Give the letters of a class, unless they are many."""
    if len(items) > _MOST_LETTERS or any(str(operator) != "LITERAL" for operator, _ in items):
        return None
    return frozenset(chr(code) for _, code in items)


def _repeated(least: int, most: int, items: Iterable[tuple[Any, Any]]) -> _Part:
    body = _sequence(items)
    if most == 1:
        return body if least else _optional(body)
    return _Part(None, body.demands) if least else _ANYTHING


def _optional(body: _Part) -> _Part:
    return _ANYTHING if body.texts is None else _Part(body.texts | _NOTHING)


def _either(branches: Sequence[_Part]) -> _Part:
    texts = [branch.texts for branch in branches if branch.texts is not None]
    if len(texts) == len(branches):
        return _Part(frozenset().union(*texts))
    demands = [branch.demands for branch in branches]
    if not all(demands):
        return _ANYTHING
    return _Part(None, (frozenset().union(*(max(clauses, key=_shortest) for clauses in demands)),))


_READERS: Final[Mapping[str, Callable[[Any], _Part]]] = {
    "LITERAL": lambda code: _Part(frozenset((chr(code),))),
    "AT": lambda _: _Part(_NOTHING),
    "IN": lambda items: _Part(_letters(items)),
    "SUBPATTERN": lambda group: _sequence(group[-1]),
    "BRANCH": lambda branches: _either([_sequence(branch) for branch in branches[1]]),
    "MAX_REPEAT": lambda repeated: _repeated(*repeated),
    "MIN_REPEAT": lambda repeated: _repeated(*repeated),
}


def _shortest(clause: Clause) -> int:
    return min(map(len, clause))


_PARSE: Final = re._parser.parse  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public way to the syntax tree
_READ_OTHERWISE: Final = "[["
"""Where RE2 knows names of classes, `[[:alpha:]]`, and Python sees brackets."""

_NOTHING: Final[Clause] = frozenset(("",))
_ANYTHING: Final = _Part(None)
_MOST_TEXTS: Final = 64
_MOST_LETTERS: Final = 4
_LONGEST_PATTERN: Final = 4096
"""Reading a pattern takes time that grows with the square of its length; matching does not."""
