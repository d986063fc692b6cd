"""Lines that match a pattern, formatted as by ripgrep: below their file on a terminal, each with its file in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TypeAlias

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.text.formatting import Line, PathStyle, Span, Style, file_uri, line, single_line

with lazily:
    from directory_indexer.search.grep import GrepLine, GrepMatches

PathWriter: TypeAlias = Callable[[FilePath], str]


class MatchView(StrEnum):
    """The part of matching lines that is printed."""

    LINES = "lines"
    MATCHES_ALONE = "matches alone"
    COUNTS = "counts"
    PATHS = "paths"
    NULL_PATHS = "paths ended by NUL"


def match_rows(matches: GrepMatches, *, view: MatchView, path: PathWriter, is_first: bool = True) -> Iterator[str]:
    """Yield the lines of one file for a pipe; `--` separates lines that are not adjacent."""
    name = single_line(path(matches.path))
    if view is MatchView.PATHS:
        yield name
    elif view is MatchView.COUNTS:
        yield f"{name}:{matches.n_found}"
    else:
        has_context = _has_context(matches)
        before: GrepLine | None = None
        for row in matches.lines:
            if has_context and (before is None or row.number > before.number + 1) and not (is_first and before is None):
                yield _SEPARATOR
            sign = _line_sign(row)
            place = f"{name}{sign}{_path_and_number(row, sign)}{sign}"
            yield from (f"{place}{text}" for text in _row_texts(row, view))
            before = row


def match_lines(matches: GrepMatches, *, view: MatchView, paths: PathStyle) -> Iterator[Line]:
    """Yield the lines of one file for a terminal."""
    name = Span(paths.format(matches.path), Style.PATH, file_uri(matches.path))
    if view is MatchView.PATHS:
        yield line(name)
        return
    if view is MatchView.COUNTS:
        yield line(name, Span(":"), Span(str(matches.n_found), Style.NUMBER))
        return
    yield line(name)
    number = matches.lines[0].number
    for row in matches.lines:
        if row.number > number + 1 and _has_context(matches):
            yield line(Span(_SEPARATOR, Style.NOTE))
        number = row.number
        sign = _line_sign(row)
        place = Span(_path_and_number(row, sign), Style.NUMBER)
        if view is MatchView.MATCHES_ALONE:
            yield from (line(place, Span(sign), Span(text, Style.MATCH)) for text in _row_texts(row, view))
        else:
            yield line(place, Span(sign), *_spans_with_marks(row))
    yield line()


def _row_texts(row: GrepLine, view: MatchView) -> list[str]:
    if view is not MatchView.MATCHES_ALONE:
        return [row.text]
    return [row.text[start:end] for start, end in row.spans]


def _spans_with_marks(row: GrepLine) -> Iterator[Span]:
    at = 0
    for start, end in row.spans:
        yield Span(row.text[at:start])
        yield Span(row.text[start:end], Style.MATCH)
        at = end
    yield Span(row.text[at:])


def _path_and_number(row: GrepLine, sign: str) -> str:
    return f"{row.page}{sign}{row.number}" if row.page else str(row.number)


def _line_sign(row: GrepLine) -> str:
    return ":" if row.is_found else "-"


def _has_context(matches: GrepMatches) -> bool:
    return len(matches.lines) > matches.n_found or any(not row.is_found for row in matches.lines)


_SEPARATOR = "--"
