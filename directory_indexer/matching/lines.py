"""Lines of a text that match a pattern, and those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from directory_indexer.matching.patterns import LinePattern


class LineSpan(NamedTuple):
    """A line of a text: its number, counted from that of the first line, and the offsets of its start and end."""

    number: int
    start: int
    end: int


def matching_lines(text: bytes, pattern: LinePattern, *, first_line: int = 1) -> Iterator[LineSpan]:
    """Yield the matching lines from top to bottom."""
    at, number, counted = 0, first_line, 0
    while at < len(text) and (span := pattern.first(text, at)) is not None and span[0] < len(text):
        start = text.rfind(b"\n", 0, span[0]) + 1
        end = _line_end(text, span[0])
        number += text.count(b"\n", counted, start)
        counted = start
        yield LineSpan(number, start, end)
        at = end + 1


def other_lines(text: bytes, lines: Iterable[LineSpan], *, first_line: int = 1) -> Iterator[LineSpan]:
    """Return the lines that are not among `lines`."""
    excluded_starts = {line.start for line in lines}
    return (line for line in all_lines(text, first_line=first_line) if line.start not in excluded_starts)


def all_lines(text: bytes, *, first_line: int = 1) -> Iterator[LineSpan]:
    """Yield all lines of a text."""
    start, number = 0, first_line
    while start < len(text):
        end = _line_end(text, start)
        yield LineSpan(number, start, end)
        start, number = end + 1, number + 1


def _line_end(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end
