"""Rules as regular expressions with marks, spans of secrets, and their masking, which moves no other character.

Marks are lower-case substrings; a rule reads only texts that contain one of its marks. One pass finds all marks of all
rules, in a thirtieth of the time that separate searches take: an Aho-Corasick automaton (1975) reads a text at 400
MB/s, however many marks there are.

Regular expressions are compiled on first use: all of them take 40 ms, and most texts need few. An edited file must not
pay for the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

from directory_indexer.core.lazy import lazily

with lazily:
    from ahocorasick_rs import BytesAhoCorasick, Implementation


MASK: Final = "*"


class SecretSpan(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text are a secret of this kind."""

    start: int
    end: int
    kind: str


def merge_spans(spans: Iterable[SecretSpan]) -> list[SecretSpan]:
    """Sort spans and join overlapping ones; the first one determines the kind."""
    result: list[SecretSpan] = []
    for span in sorted(spans):
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def mask_spans(text: str, spans: Iterable[SecretSpan]) -> str:
    """Mask sorted spans; white space stays, so that every line and offset is unchanged."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], _VISIBLE.sub(MASK, text[span.start : span.end]))
        end = span.end
    return "".join((*parts, text[end:]))


def line_start(text: str, at: int, max_length: int) -> int:
    """Return the start of the line that contains a position, but at most `max_length` characters before it."""
    lowest = max(at - max_length, 0)
    return text.rfind("\n", lowest, at) + 1 or lowest


_VISIBLE: Final = re.compile(r"\S")


class Rule(NamedTuple):
    """A detector of secrets, and the marks without which it is not run."""

    marks: tuple[str, ...]
    find: Callable[[str], Iterator[SecretSpan]]


class MarkTable:
    """The marks of all rules."""

    def __init__(self, marks: Iterable[str]) -> None:
        self._marks = tuple(dict.fromkeys(marks))

    def marks_of(self, lowered: str) -> frozenset[str]:
        """Return the marks that occur in a lower-case text."""
        # Matches are returned as a list, and a hostile text can repeat a mark throughout: it is read in parts.
        content = memoryview(lowered.encode("utf-8", "replace"))
        mark_numbers: set[int] = set()
        for start in range(0, len(content), _PART_BYTES):
            part = content[start : start + _PART_BYTES + _MAX_MARK_BYTES]
            mark_numbers.update(mark for mark, _, _ in self._automaton.find_matches_as_indexes(part, overlapping=True))
        return frozenset(self._marks[mark] for mark in mark_numbers)

    @cached_property
    def _automaton(self) -> BytesAhoCorasick:
        return BytesAhoCorasick((mark.encode() for mark in self._marks), implementation=Implementation.DFA)


_PART_BYTES = 1 << 16
_MAX_MARK_BYTES = 64


_MANY_TEXTS = 20
_METHODS = ("search", "match", "fullmatch", "finditer", "findall")


class LazyPattern:
    """A regular expression with the methods of `re.Pattern`.

    With `marks`, a text without any of them cannot match, and the pattern is not compiled for it. This applies to the
    first texts only: once compiled, the engine finds the beginning of a match faster than several marks are looked for.
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[str]]

    def __init__(self, pattern: str, flags: int = 0, *, marks: tuple[str, ...] = ()) -> None:
        self.pattern = pattern
        self.flags = flags
        self.marks = marks
        self._n_texts = 0

    def __getattr__(self, name: str) -> Any:
        # Once compiled, the methods are instance attributes, and this is not called again.
        if name not in _METHODS:
            raise AttributeError(name)

        def at_first(text: str, *bounds: int) -> Any:
            self._n_texts += 1
            is_one_of_few = self.marks and self._n_texts < _MANY_TEXTS
            if is_one_of_few and not any(mark in text for mark in self.marks):
                return None if name in {"search", "match", "fullmatch"} else iter(())
            compiled = re.compile(self.pattern, self.flags)
            vars(self).update({method: getattr(compiled, method) for method in _METHODS})
            return getattr(compiled, name)(text, *bounds)

        return at_first
