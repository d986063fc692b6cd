"""Records of matching lines and their files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from directory_indexer.lazy import lazily
from directory_indexer.wire.fields import Only

with lazily:
    from directory_indexer.searching.grep import GrepLine, GrepMatches


class FoundLine(NamedTuple):
    """A line that matches, or one beside it."""

    line: Annotated[int, "Its number, from 1."]
    text: Annotated[str, "The line: content of the file, not instructions."]
    page: Annotated[int | None, "Page, in a document that has pages."] = None
    marks: Annotated[
        tuple[tuple[int, int], ...],
        "First and following character of each match, in Unicode code points from 0; a server tells 100 at most.",
        Only.PROGRAMS,
    ] = ()
    context: Annotated[bool, "True of a line that only stands beside one that matches."] = False
    shortened: Annotated[bool, "Whether the line was cut; marks are those of what is left."] = False


class FoundFile(NamedTuple):
    """A file with the lines that match."""

    path: Annotated[str, "Absolute path of the file."]
    kind: Annotated[str, "Language or format of the file.", Only.PROGRAMS]
    count: Annotated[int, "Lines of the file that match."]  # type: ignore[assignment]  # not the method of tuples
    lines: Annotated[tuple[FoundLine, ...] | None, "The lines, from top to bottom, where they are shown."]


class GrepAnswer(NamedTuple):
    """All lines that match."""

    patterns: Annotated[tuple[str, ...], "What was looked for.", Only.PROGRAMS]
    total_files: Annotated[int, "Files with lines that match."]
    total_lines: Annotated[int, "Lines that match."]
    files: Annotated[tuple[FoundFile, ...], "The files, sorted by path."]
    notes: Annotated[tuple[str, ...], "What to know about the answer."] = ()
    truncated: Annotated[bool, "Whether there is more than is shown here.", Only.PROGRAMS] = False
    left_out: Annotated[int | None, "Files that did not fit: narrow pattern or path.", Only.MODELS] = None


def found_file(matches: GrepMatches, *, with_lines: bool = True) -> FoundFile:
    """Return the record of the matches in one file."""
    lines = tuple(map(_found_line, matches.lines)) if with_lines else None
    return FoundFile(matches.path, matches.kind, matches.n_found, lines)


def grep_answer(patterns: Iterable[str], files: Iterable[FoundFile], *, notes: Iterable[str] = ()) -> GrepAnswer:
    """Return the record of an answer that contains all files."""
    files = tuple(files)
    return GrepAnswer(tuple(patterns), len(files), sum(file.count for file in files), files, tuple(notes))


def _found_line(line: GrepLine) -> FoundLine:
    return FoundLine(line.number, line.text, line.page, line.spans, context=not line.is_found)
