"""Literals that every match of a regular expression contains, derived from its syntax tree.

A pattern reduces to clauses: every match contains at least one text of each clause. Constructs that RE2 and Python read
differently, or that are not understood, require nothing, so that no match is missed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

Clause: TypeAlias = frozenset[str]


class _Part(NamedTuple):
    """The texts that a part of a pattern can match: exactly `texts`, or any that contains one text of each clause."""

    texts: Clause | None
    clauses: tuple[Clause, ...] = ()

    @property
    def required(self) -> tuple[Clause, ...]:
        """The clauses of a part that stands by itself."""
        if self.texts is None:
            return self.clauses
        return (self.texts,) if all(self.texts) else ()


def required_clauses(patterns: Sequence[str]) -> tuple[Clause, ...]:
    """Return the clauses of a line that matches any of these regular expressions."""
    return _alternation([_parse_pattern(pattern) for pattern in patterns]).required


def clauses_of_texts(texts: Sequence[str]) -> tuple[Clause, ...]:
    """Return the clauses of a line that contains one of these texts."""
    return _Part(frozenset(texts)).required


def _parse_pattern(pattern: str) -> _Part:
    if _POSIX_CLASS in pattern or len(pattern) > _MAX_PATTERN_LENGTH:
        return _ANYTHING
    try:
        return _concatenation(_PARSE(pattern))
    except (re.error, RecursionError, OverflowError):
        return _ANYTHING


def _concatenation(items: Iterable[tuple[Any, Any]]) -> _Part:
    texts: Clause = _EMPTY
    clauses: list[Clause] = []
    is_exact = True
    for operator, argument in items:
        part = _parse_item(str(operator), argument)
        if part.texts is not None and len(texts) * len(part.texts) <= _MAX_TEXTS:
            texts = frozenset("".join(pair) for pair in product(texts, part.texts))
            continue
        is_exact = False
        clauses += _Part(texts).required
        clauses += part.clauses
        texts = _EMPTY if part.texts is None else part.texts
    if is_exact:
        return _Part(texts)
    return _Part(None, (*clauses, *_Part(texts).required))


def _parse_item(operator: str, argument: Any) -> _Part:
    reader = _READERS.get(operator)
    return reader(argument) if reader else _ANYTHING


def _class_characters(items: Sequence[tuple[Any, Any]]) -> Clause | None:
    """Return the characters of a class, or None if there are many."""
    if len(items) > _MAX_CLASS_CHARACTERS or any(str(operator) != "LITERAL" for operator, _ in items):
        return None
    return frozenset(chr(code) for _, code in items)


def _repetition(least: int, most: int, items: Iterable[tuple[Any, Any]]) -> _Part:
    body = _concatenation(items)
    if most == 1:
        return body if least else _optional(body)
    return _Part(None, body.required) if least else _ANYTHING


def _optional(body: _Part) -> _Part:
    return _ANYTHING if body.texts is None else _Part(body.texts | _EMPTY)


def _alternation(branches: Sequence[_Part]) -> _Part:
    texts = [branch.texts for branch in branches if branch.texts is not None]
    if len(texts) == len(branches):
        return _Part(frozenset().union(*texts))
    required = [branch.required for branch in branches]
    if not all(required):
        return _ANYTHING
    return _Part(None, (frozenset().union(*(max(clauses, key=_min_length) for clauses in required)),))


_READERS: Final[Mapping[str, Callable[[Any], _Part]]] = {
    "LITERAL": lambda code: _Part(frozenset((chr(code),))),
    "AT": lambda _: _Part(_EMPTY),
    "IN": lambda items: _Part(_class_characters(items)),
    "SUBPATTERN": lambda group: _concatenation(group[-1]),
    "BRANCH": lambda branches: _alternation([_concatenation(branch) for branch in branches[1]]),
    "MAX_REPEAT": lambda repeated: _repetition(*repeated),
    "MIN_REPEAT": lambda repeated: _repetition(*repeated),
}


def _min_length(clause: Clause) -> int:
    return min(map(len, clause))


_PARSE: Final = re._parser.parse  # type: ignore[attr-defined]  # noqa: SLF001 - the syntax tree has no public interface
_POSIX_CLASS: Final = "[["
"""RE2 reads `[[:alpha:]]` as a named class, Python as brackets."""

_EMPTY: Final[Clause] = frozenset(("",))
_ANYTHING: Final = _Part(None)
_MAX_TEXTS: Final = 64
_MAX_CLASS_CHARACTERS: Final = 4
_MAX_PATTERN_LENGTH: Final = 4096
"""Parsing takes time quadratic in the length of the pattern; matching does not."""
