"""Printed documents: one text from the pages, with a section for every page and heading.

Headings come from the outline or, without one, from the typography.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from directory_indexer.formats.document import Document, Heading, Section
from directory_indexer.formats.pdf.flow import Flow, PlacedRow, flow
from directory_indexer.formats.pdf.pages import Page, body_size, in_reading_order, is_larger, remove_running_rows
from directory_indexer.formats.pdf.tables import headed_tables

_MAX_TITLE = 200
_MAX_TITLE_ROWS = 4
_MIN_LETTERS = 3
_PLACEHOLDER_TITLE = re.compile(
    r"(?:\S+\.\w{1,5}|microsoft (?:word|powerpoint) - .*|untitled.*|(?:no )?title|unknown|none|document\d*)?",
    re.IGNORECASE,
)

_MAX_HEADING_ROWS = 3
_MAX_HEADING_CHARS = 160
_MAX_BOLD_CHARS = 60
_MAX_LEVELS = 5
_MAX_HEADING_SHARE = 0.3
_MIN_HEADING_LETTERS = 3
_SIZE_STEP = 5
_NOT_WORD = re.compile(r"[\W_]+")
_NUMBERING = re.compile(r"(?:chapter|section|appendix|part)?\d*")
_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad] (?=[^\W\d_])")
_PAGE_AT_END = re.compile(r"\s\d{1,4}$")
_ENDS_PROSE = tuple(".,;:\u3002\uff0c\uff1b\uff1a")


def build_document(pages: Iterable[Page], kind: str, *, outline: Sequence[OutlineEntry], title: str) -> Document:
    """Return the pages as a document; `title` is the declared one, which is often empty or a file name."""
    body = remove_running_rows([in_reading_order(page) for page in pages])
    size = body_size(body)
    text = flow(body)
    if _PLACEHOLDER_TITLE.fullmatch(title):
        title = _printed_title(text, size)
    headings = headings_by_outline(outline, text) or headings_by_typography(text, body_size=size)
    return Document(text.text, kind, title[:_MAX_TITLE], tuple(_sections(text, title, _without_title(title, headings))))


class OutlineEntry(NamedTuple):
    """An entry of the outline of a document; levels and pages count from 1."""

    level: int
    title: str
    page: int


def headings_by_outline(outline: Iterable[OutlineEntry], flow: Flow) -> list[Heading]:
    """Return the outline entries, located by their words; one not found starts where the previous one does."""
    entries = list(outline)
    rows_by_page: dict[int, list[PlacedRow]] = {entry.page: [] for entry in entries}
    for placed in flow.rows:
        if placed.page in rows_by_page:
            rows_by_page[placed.page].append(placed)
    pages = {page: _PageTitles(rows) for page, rows in rows_by_page.items() if rows}
    headings = [
        Heading(pages[entry.page].start_of(entry.title), entry.level, entry.title)
        for entry in entries
        if entry.page in pages
    ]
    return sorted(headings, key=lambda heading: heading.start)


def headings_by_typography(flow: Flow, *, body_size: int) -> list[Heading]:
    """Return rows clearly larger than the body text, or bold and alone, as headings; none if there are too many."""
    blocks = [list(rows) for _, rows in groupby(flow.rows, key=lambda placed: (placed.page, placed.row.block))]
    candidates = [rows for block in blocks for rows in _heading_candidates(block, body_size)]
    n_chars = sum(len(placed.row.text) for rows in candidates for placed in rows)
    if n_chars > _MAX_HEADING_SHARE * len(flow.text):
        return []
    sizes = sorted({_size_rank(rows[0], body_size) for rows in candidates}, reverse=True)
    levels = {size: min(index, _MAX_LEVELS) for index, size in enumerate(sizes, 1)}
    return [Heading(rows[0].start, levels[_size_rank(rows[0], body_size)], _title(rows)) for rows in candidates]


def _without_title(title: str, headings: Iterable[Heading]) -> Iterator[Heading]:
    """Return the headings without the title of the document, which does not locate a passage."""
    return (heading for heading in headings if heading.title.casefold() != title.casefold())


def _printed_title(text: Flow, size: int) -> str:
    first_page = [placed.row for placed in text.rows if placed.page == text.rows[0].page]
    wordy = [row for row in first_page if sum(map(str.isalpha, row.text)) >= _MIN_LETTERS and "…" not in row.text]
    largest = max(wordy, key=lambda row: row.size, default=None)
    if largest is None or not is_larger(largest, size):
        return ""
    runs = [list(rows) for is_largest, rows in groupby(first_page, lambda row: row.size == largest.size) if is_largest]
    rows = next(rows for rows in runs if largest in rows)
    return " ".join(row.text for row in rows[:_MAX_TITLE_ROWS])


def _sections(text: Flow, title: str, headings: Iterable[Heading]) -> Iterator[Section]:
    """Yield sections at the starts of pages, headings and tables; at equal positions the last state counts."""
    page_starts = {next(rows).start: page for page, rows in groupby(text.rows, lambda placed: placed.page)}
    tables = list(headed_tables(text.rows))
    names = {table.names_start for table in tables}
    paths = _paths(heading for heading in headings if heading.start not in names)
    columns: dict[int, tuple[str, ...]] = {}
    for table in tables:
        top = (table.top,) if table.top and table.top.casefold() != title.casefold() else ()
        columns |= {table.caption_start: (*top, table.columns), table.end: ()}
        for start in [start for start in sorted(paths) if table.caption_start < start < table.names_start]:
            paths[table.caption_start] = paths.pop(start)
    page: int | None = None
    path: tuple[str, ...] = ()
    table_path: tuple[str, ...] = ()
    for start in sorted(page_starts | paths | columns):
        page, path, table_path = page_starts.get(start, page), paths.get(start, path), columns.get(start, table_path)
        yield Section(start, _with_table_headings(path, table_path), page)


def _with_table_headings(path: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the headings above a table with its own names and columns, unless they are among them already."""
    if not names:
        return path
    above = path[:-1] if path and path[-1] in names[-1] else path
    return (*above, *(name for name in names if not any(name in other for other in above)))


def _paths(headings: Iterable[Heading]) -> dict[int, tuple[str, ...]]:
    paths: dict[int, tuple[str, ...]] = {}
    open_headings: list[Heading] = []
    for heading in headings:
        while open_headings and open_headings[-1].level >= heading.level:
            open_headings.pop()
        open_headings.append(heading)
        paths[heading.start] = tuple(opened.title for opened in open_headings)
    return paths


class _PageTitles:
    """The rows of one page, searched from top to bottom for the titles of its outline entries."""

    def __init__(self, rows: Sequence[PlacedRow]) -> None:
        self._rows = rows
        words = [_words(placed.row.text) for placed in rows]
        self._keys = [_title_key("".join(words[i : i + _MAX_HEADING_ROWS])) for i in range(len(rows))]
        self._index = 0

    def start_of(self, title: str) -> int:
        key = _title_key(_words(title))
        places = [index for index in range(self._index, len(self._keys)) if key and self._keys[index].startswith(key)]
        if places:
            self._index = min(places, key=lambda index: (self._has_more_words(index, key), -self._rows[index].row.size))
        return self._rows[self._index].start

    def _has_more_words(self, index: int, key: str) -> bool:
        return len(_title_key(_words(self._rows[index].row.text))) > len(key)


def _words(text: str) -> str:
    return _NOT_WORD.sub("", text[:_MAX_HEADING_CHARS]).casefold()


def _title_key(words: str) -> str:
    return _NUMBERING.sub("", words, count=1) or words


def _size_rank(placed: PlacedRow, body_size: int) -> int:
    return placed.row.size // _SIZE_STEP if is_larger(placed.row, body_size) else 0


def _heading_candidates(block: Sequence[PlacedRow], body_size: int) -> Iterator[list[PlacedRow]]:
    for (rank, is_bold), group in groupby(
        block, key=lambda placed: (_size_rank(placed, body_size), placed.row.is_bold)
    ):
        rows = list(group)
        if rows[0].row.is_ruled:
            continue
        is_alone = len(rows) == len(block)
        if (rank or (is_bold and is_alone)) and _looks_like_heading(rows, is_large=bool(rank)):
            yield rows


def _looks_like_heading(rows: Sequence[PlacedRow], *, is_large: bool) -> bool:
    text = _title(rows)
    if len(rows) > _MAX_HEADING_ROWS or len(text) > _MAX_HEADING_CHARS or "…" in text:
        return False
    letters = sum(map(str.isalpha, text))
    is_wordy = letters >= _MIN_HEADING_LETTERS and 2 * letters >= len(text)
    return is_wordy and (is_large or not _looks_like_prose(text))


def _looks_like_prose(text: str) -> bool:
    return len(text) > _MAX_BOLD_CHARS or text.endswith(_ENDS_PROSE) or bool(_PAGE_AT_END.search(text))


def _title(rows: Sequence[PlacedRow]) -> str:
    return _BROKEN_WORD.sub("", " ".join(placed.row.text for placed in rows))
