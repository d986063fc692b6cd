"""The document of the pages of a PDF: one text, with a section for every page and heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from directory_indexer.extractors.document import Document, Section
from directory_indexer.extractors.pdf.columns import headed_tables
from directory_indexer.extractors.pdf.flow import Flow, flow
from directory_indexer.extractors.pdf.headings import Heading, OutlineEntry, headings_by_outline, headings_by_typography
from directory_indexer.extractors.pdf.pages import Page, body_size, in_reading_order, is_larger, without_running_rows

_MAX_TITLE = 200
_MAX_TITLE_ROWS = 4
_MIN_LETTERS = 3
_NO_TITLE = re.compile(
    r"(?:\S+\.\w{1,5}|microsoft (?:word|powerpoint) - .*|untitled.*|(?:no )?title|unknown|none|document\d*)?",
    re.IGNORECASE,
)


def document_of(pages: Iterable[Page], kind: str, *, outline: Sequence[OutlineEntry], title: str) -> Document:
    """Return the pages as a document; `title` is the declared one, which is often empty or a file name."""
    body = without_running_rows([in_reading_order(page) for page in pages])
    size = body_size(body)
    text = flow(body)
    if _NO_TITLE.fullmatch(title):
        title = _printed_title(text, size)
    headings = headings_by_outline(outline, text) or headings_by_typography(text, body_size=size)
    return Document(text.text, kind, title[:_MAX_TITLE], tuple(_sections(text, title, _without_title(title, headings))))


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
    of_table: tuple[str, ...] = ()
    for start in sorted(page_starts | paths | columns):
        page, path, of_table = page_starts.get(start, page), paths.get(start, path), columns.get(start, of_table)
        yield Section(start, _with_table(path, of_table), page)


def _with_table(path: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
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
