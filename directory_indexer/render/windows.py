"""Excerpts of passages: the few lines around the matches, each with its number and marked spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from directory_indexer.extractors.kinds import MAILS
from directory_indexer.lazy import lazily
from directory_indexer.render.spans import Span, Style

with lazily:
    from directory_indexer.searching.answers import Hit


LONGEST_LINE: Final = 240
"""A longer line, such as a paragraph, is reduced to the part that matched."""

_HEADER = re.compile(r"(?:Subject|From|To|Cc|Date): ")
_TAB = " " * 4
_BEFORE = 60


class Stretch(NamedTuple):
    """A styled range of characters."""

    start: int
    end: int
    style: Style


class NumberedLine(NamedTuple):
    """One line of a file."""

    number: int
    spans: tuple[Span, ...]


def window(
    hit: Hit, *, n_lines: int, colours: Sequence[Stretch] = (), longest: int = LONGEST_LINE
) -> list[NumberedLine]:
    """Return at most `n_lines` lines of a passage, around its best line or those with most matches.

    `colours` are the highlighted ranges of its text.
    """
    offset = max(hit.text.find(hit.excerpt.text), 0)
    marks = [Stretch(start + offset, end + offset, Style.MATCH) for start, end in sorted(hit.excerpt.marks)]
    rows = _rows(hit.text)
    n_left_out = _n_header_rows(hit, rows)
    rows, start_line = rows[n_left_out:], hit.start_line + n_left_out
    anchors = marks
    if hit.excerpt.best_line is not None and hit.excerpt.best_line >= start_line:
        offset, end = rows[hit.excerpt.best_line - start_line]
        anchors = [mark for mark in marks if offset <= mark.start < end]
    first, last = _most_marked(hit.text, rows, anchors, min(n_lines, len(rows)), at=offset)
    row_numbers = _without_blank_ends(hit.text, rows, first, last)
    indent = _shared_indent([hit.text[slice(*rows[row])] for row in row_numbers])
    return [
        NumberedLine(start_line + row, _spans(hit.text, _part(rows[row], indent, marks, longest), marks, colours))
        for row in row_numbers
    ]


def _n_header_rows(hit: Hit, rows: Sequence[tuple[int, int]]) -> int:
    """Return the number of header rows of a mail; the head of the hit already shows its subject."""
    if hit.facts.kind not in MAILS or not _HEADER.match(hit.text):
        return 0
    texts = [hit.text[slice(*row)].strip() for row in rows]
    n_headers = next((number for number, text in enumerate(texts) if not text), len(texts))
    return next((number for number, text in enumerate(texts) if number > n_headers and text), 0)


def _rows(text: str) -> list[tuple[int, int]]:
    rows, start = [], 0
    for line in text.removesuffix("\n").split("\n"):
        rows.append((start, start + len(line.removesuffix("\r"))))
        start += len(line) + 1
    return rows


def _most_marked(
    text: str, rows: Sequence[tuple[int, int]], marks: Sequence[Stretch], n_lines: int, *, at: int
) -> tuple[int, int]:
    """Return the range of rows with the most distinct marked words; remaining rows are split before and after it."""
    marked = {number: [mark for mark in marks if start <= mark.start < end] for number, (start, end) in enumerate(rows)}
    anchors = [number for number, row_marks in marked.items() if row_marks]
    if not anchors:
        first = next((number for number, (_, end) in enumerate(rows) if end >= at), 0)
        return first, min(first + n_lines, len(rows))

    def n_words(first: int) -> int:
        row_marks = (mark for number in range(first, first + n_lines) for mark in marked.get(number, ()))
        return len({text[mark.start : mark.end].casefold() for mark in row_marks})

    best = max(anchors, key=lambda anchor: (n_words(anchor), -anchor))
    last = max(anchor for anchor in anchors if anchor < best + n_lines)
    first = max(best - (n_lines - (last - best + 1)) // 2, 0)
    end = min(first + n_lines, len(rows))
    return max(end - n_lines, 0), end


def _without_blank_ends(text: str, rows: Sequence[tuple[int, int]], first: int, end: int) -> range:
    while end - first > 1 and not text[slice(*rows[end - 1])].strip():
        end -= 1
    while end - first > 1 and not text[slice(*rows[first])].strip():
        first += 1
    return range(first, end)


def _shared_indent(lines: Sequence[str]) -> int:
    return min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)


def _part(row: tuple[int, int], indent: int, marks: Sequence[Stretch], longest: int) -> tuple[int, int]:
    """Return the visible range of a line: all of it, or the part around the first mark of a long one."""
    start, end = min(row[0] + indent, row[1]), row[1]
    if end - start <= longest:
        return start, end
    first = next((mark.start for mark in marks if start <= mark.start < end), start)
    start = max(start, min(first - _BEFORE, end - longest))
    return start, min(start + longest, end)


def _spans(text: str, part: tuple[int, int], marks: Sequence[Stretch], colours: Sequence[Stretch]) -> tuple[Span, ...]:
    """Split a part of a line where its style changes; marks take precedence."""
    start, end = part
    styles = [Style.PLAIN] * (end - start)
    for stretch in (*colours, *marks):
        first, last = max(stretch.start, start), min(stretch.end, end)
        if first < last:
            styles[first - start : last - start] = [stretch.style] * (last - first)
    spans: list[Span] = [Span("…", Style.NOTE)] if start > 0 and text[start - 1] not in "\n " else []
    at = 0
    while at < len(styles):
        run = next((index for index in range(at, len(styles)) if styles[index] is not styles[at]), len(styles))
        spans.append(Span(text[start + at : start + run].replace("\t", _TAB), styles[at]))
        at = run
    return (*spans, Span("…", Style.NOTE)) if end < len(text) and text[end] not in "\r\n" else tuple(spans)
