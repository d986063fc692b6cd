"""Hits on a terminal: a head line, and an excerpt with the lines around the matches.

The head has number, path, location, heading, date and score on one line. A location is a line of a text, a page, or a
row of a sheet. Each line of an excerpt has its number and marked spans.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from directory_indexer.chunking.chunks import HEADING_SEPARATOR
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.kinds import GROUPS, MAILS, SHEETS, SLIDES
from directory_indexer.formats.table import FORMATS
from directory_indexer.text.formatting import Line, PathStyle, Span, Style, day, file_uri, line

with lazily:
    from directory_indexer.search.requests import Hit

_COMMIT: Final = re.compile(r"(?:^|[/\\])([^/\\]+)[/\\]\.git![/\\]commits[/\\]([0-9a-f]{7})[0-9a-f]*$")
"""Captures the repository and the abbreviated hash of a commit's path."""

MAX_LINE_CHARS: Final = 240
"""A longer line, such as a paragraph, is reduced to the part that matched."""

_HEADER = re.compile(r"(?:Subject|From|To|Cc|Date): ")
_TAB_AS_BLANKS = " " * 4
_DELIMITED: Final = frozenset({"csv", "tsv"})
_BETWEEN_CELLS: Final = " | "
_CHARS_BEFORE_MATCH = 60


def head_line(number: int, hit: Hit, *, paths: PathStyle, is_file: bool = False, has_score: bool = True) -> Line:
    """Format the head of a hit, or with `is_file` of a file; hits of filters alone have no score."""
    commit = _COMMIT.search(hit.path)
    name = f"{commit[1]}@{commit[2]}" if commit else paths.format(hit.path)
    place = "" if is_file else format_location(hit)
    link = "" if commit else file_uri(hit.path, page=hit.page)
    heading = (hit.facts.title or describe_name_hit(hit)) if is_file or commit else _heading(hit)
    author = next(iter(hit.metadata.authors), "").partition(" <")[0] if commit else ""
    return line(
        Span(f"{number:>2}  ", Style.NOTE),
        Span(name + place, Style.SHORTENED_PATH, link),
        Span(_with_gap_before(heading), Style.PLACE),
        Span(_with_gap_before(author), Style.NOTE),
        Span(_with_gap_before(_date(hit)), Style.NOTE),
        Span(f"  {hit.score:.2f}" if has_score else "", Style.NUMBER),
        Span(f"  ({hit.on_disk} since it was indexed)" if hit.on_disk else "", Style.NOTE),
    )


def format_location(hit: Hit) -> str:
    """Format the location of a hit in its file, to follow the path; "" if the reader sees no lines."""
    if not hit.is_passage:
        return ""
    if hit.row:
        return f", row {hit.row}{f', {hit.cell}' if hit.cell else ''}"
    if hit.page:
        return f", {page_noun(hit.facts.kind)} {hit.page}{format_confidence(hit)}"
    file_format = FORMATS.get(hit.facts.kind)
    has_lines = (file_format is None or file_format.is_text) and not _COMMIT.search(hit.path)
    return f":{hit.excerpt.line}" if has_lines else ""


def page_noun(kind: str) -> str:
    """Return the word for a page of a document of this kind."""
    return "slide" if kind in SLIDES else "page"


def format_confidence(hit: Hit) -> str:
    """Format the OCR confidence of a scanned page, to follow its number; "" for other pages."""
    return f" (scanned, {hit.scan.confidence:.0%} sure)" if hit.scan else ""


def describe_name_hit(hit: Hit) -> str:
    """Return what a hit by name alone is: a directory, or a file without text and the reason."""
    if hit.named is None or hit.is_passage:
        return ""
    return "directory" if hit.named.is_directory else f"no text: {hit.named.no_text_reason}"


class StyledRange(NamedTuple):
    """A styled range of characters."""

    start: int
    end: int
    style: Style


class NumberedLine(NamedTuple):
    """One line of a file."""

    number: int
    spans: tuple[Span, ...]


def excerpt_window(
    hit: Hit, *, n_lines: int, colours: Sequence[StyledRange] = (), longest: int = MAX_LINE_CHARS
) -> list[NumberedLine]:
    """Return at most `n_lines` lines of a passage, around its best line or those with most matches.

    `colours` are the highlighted ranges of its text.
    """
    start = max(hit.text.find(hit.excerpt.text), 0)
    marks = [StyledRange(first + start, end + start, Style.MATCH) for first, end in sorted(hit.excerpt.marks)]
    if hit.facts.kind in _DELIMITED:
        text, places = readable_rows(hit.text)
        marks = [StyledRange(places[mark.start], places[mark.end], mark.style) for mark in marks]
        hit, start = hit._replace(text=text), places[start]
    rows = _rows(hit.text)
    n_left_out = _n_header_rows(hit, rows)
    rows, start_line = rows[n_left_out:], hit.start_line + n_left_out
    anchors = marks
    if hit.excerpt.best_line is not None and hit.excerpt.best_line >= start_line:
        start, end = rows[hit.excerpt.best_line - start_line]
        anchors = [mark for mark in marks if start <= mark.start < end]
    first, last = _window_with_most_marks(hit.text, rows, anchors, min(n_lines, len(rows)), at=start)
    row_numbers = _without_blank_ends(hit.text, rows, first, last)
    indent = _common_indent([hit.text[slice(*rows[row])] for row in row_numbers])
    return [
        NumberedLine(
            start_line + row, _spans(hit.text, _visible_part_of_row(rows[row], indent, marks, longest), marks, colours)
        )
        for row in row_numbers
    ]


def readable_rows(text: str) -> tuple[str, Sequence[int]]:
    """Return rows of a CSV file as those of a sheet, with bars between cells, and where each character is in them."""
    rows = [row for row in re.sub('"[^"]*"', "", text).split("\n") if row.strip()]
    n_rows = {sign: sum(sign in row for row in rows) for sign in ";\t|,"}  # cells contain commas
    delimiter = max(n_rows, key=n_rows.__getitem__)
    if n_rows[delimiter] <= len(rows) / 2:
        return text, range(len(text) + 1)
    pieces = list(text)
    for cell in re.finditer(
        rf'(?m)(?:^|(?<=[{delimiter}])) *"((?:[^"]|"")*+)"(?= *(?:[{delimiter}]|\r?$))|[{delimiter}]', text
    ):
        if cell[1] is None:
            pieces[cell.start()] = _BETWEEN_CELLS
        else:
            doubled = (cell.start(1) + quote.start() for quote in re.finditer('""', cell[1]))
            for at in (cell.start(1) - 1, *doubled, cell.end(1)):
                pieces[at] = ""
    return "".join(pieces), list(accumulate(map(len, pieces), initial=0))


def _heading(hit: Hit) -> str:
    heading = hit.heading or hit.facts.title
    if hit.facts.kind in SHEETS:
        heading = heading.partition(HEADING_SEPARATOR)[0]  # the names of its columns follow
    return " · ".join(filter(None, (heading, describe_name_hit(hit))))


def _date(hit: Hit) -> str:
    """Return the day of a document; code has none, since its date is that of the checkout."""
    return "" if hit.dated_at is None or hit.facts.kind in GROUPS["code"] else day(hit.dated_at)


def _with_gap_before(text: str) -> str:
    return f"  {text}" if text else ""


def _n_header_rows(hit: Hit, rows: Sequence[tuple[int, int]]) -> int:
    """Return the number of header rows of a mail; the head of the hit already shows its subject."""
    if hit.facts.kind not in MAILS or not _HEADER.match(hit.text):
        return 0
    texts = [hit.text[slice(*row)].strip() for row in rows]
    n_headers = next((number for number, text in enumerate(texts) if not text), len(texts))
    return next((number for number, text in enumerate(texts) if number > n_headers and text), 0)


def _rows(text: str) -> list[tuple[int, int]]:
    rows, start = [], 0
    for row in text.removesuffix("\n").split("\n"):
        rows.append((start, start + len(row.removesuffix("\r"))))
        start += len(row) + 1
    return rows


def _window_with_most_marks(
    text: str, rows: Sequence[tuple[int, int]], marks: Sequence[StyledRange], n_lines: int, *, at: int
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


def _common_indent(lines: Sequence[str]) -> int:
    return min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)


def _visible_part_of_row(
    row: tuple[int, int], indent: int, marks: Sequence[StyledRange], longest: int
) -> tuple[int, int]:
    """Return the visible range of a line: all of it, or the part around the first mark of a long one."""
    start, end = min(row[0] + indent, row[1]), row[1]
    if end - start <= longest:
        return start, end
    first = next((mark.start for mark in marks if start <= mark.start < end), start)
    start = max(start, min(first - _CHARS_BEFORE_MATCH, end - longest))
    return start, min(start + longest, end)


def _spans(
    text: str, part: tuple[int, int], marks: Sequence[StyledRange], colours: Sequence[StyledRange]
) -> tuple[Span, ...]:
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
        spans.append(Span(text[start + at : start + run].replace("\t", _TAB_AS_BLANKS), styles[at]))
        at = run
    return (*spans, Span("…", Style.NOTE)) if end < len(text) and text[end] not in "\r\n" else tuple(spans)
