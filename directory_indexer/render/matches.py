"""Lines that match a pattern, as ripgrep prints them: under their file on a terminal, each with its file in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TypeAlias

from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.render.printable import PathStyle, file_uri, single_line
from directory_indexer.render.spans import Line, Span, Style, line

with lazily:
    from directory_indexer.searching.grep import GrepLine, GrepMatches

PathWriter: TypeAlias = Callable[[FilePath], str]


class MatchView(StrEnum):
    """What is shown of the lines of a file."""

    LINES = "lines"
    MATCHES_ALONE = "matches alone"
    COUNTS = "counts"
    PATHS = "paths"


def match_rows(match: GrepMatches, *, view: MatchView, path: PathWriter, is_first: bool = True) -> Iterator[str]:
    """Write the lines of one file for a pipe; a row of hyphens stands where lines are left out between them."""
    name = single_line(path(match.path))
    if view is MatchView.PATHS:
        yield name
    elif view is MatchView.COUNTS:
        yield f"{name}:{match.n_found}"
    else:
        has_context = _has_context(match)
        before: GrepLine | None = None
        for one in match.lines:
            if has_context and (before is None or one.number > before.number + 1) and not (is_first and before is None):
                yield _GAP
            sign = _sign(one)
            place = f"{name}{sign}{_place(one, sign)}{sign}"
            yield from (f"{place}{text}" for text in _texts(one, view))
            before = one


def match_lines(match: GrepMatches, *, view: MatchView, paths: PathStyle) -> Iterator[Line]:
    """Show the lines of one file on a terminal."""
    name = Span(paths.shown(match.path), Style.PATH, file_uri(match.path))
    if view is MatchView.PATHS:
        yield line(name)
        return
    if view is MatchView.COUNTS:
        yield line(name, Span(":"), Span(str(match.n_found), Style.NUMBER))
        return
    yield line(name)
    number = match.lines[0].number
    for one in match.lines:
        if one.number > number + 1 and _has_context(match):
            yield line(Span(_GAP, Style.NOTE))
        number = one.number
        sign = _sign(one)
        place = Span(_place(one, sign), Style.NUMBER)
        if view is MatchView.MATCHES_ALONE:
            yield from (line(place, Span(sign), Span(text, Style.MATCH)) for text in _texts(one, view))
        else:
            yield line(place, Span(sign), *_marked(one))
    yield line()


def _texts(one: GrepLine, view: MatchView) -> list[str]:
    if view is not MatchView.MATCHES_ALONE:
        return [one.text]
    return [one.text[start:end] for start, end in one.spans]


def _marked(one: GrepLine) -> Iterator[Span]:
    at = 0
    for start, end in one.spans:
        yield Span(one.text[at:start])
        yield Span(one.text[start:end], Style.MATCH)
        at = end
    yield Span(one.text[at:])


def _place(one: GrepLine, sign: str) -> str:
    return f"{one.page}{sign}{one.number}" if one.page else str(one.number)


def _sign(one: GrepLine) -> str:
    return ":" if one.is_found else "-"


def _has_context(match: GrepMatches) -> bool:
    return len(match.lines) > match.n_found or any(not one.is_found for one in match.lines)


_GAP = "--"
