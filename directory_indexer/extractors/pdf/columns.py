"""Detection of long tables in a text, and of the headings above their columns: a caption, names, periods, units."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from directory_indexer.extractors.outline import one_line
from directory_indexer.extractors.pdf.flow import PlacedRow
from directory_indexer.extractors.pdf.grids import rows_below_names


class HeadedTable(NamedTuple):
    """The rows of a table from character `start` to `end`, and the headings above it on one line.

    `names_start` is the character at which the row with the names of its columns begins, and `caption_start` that at
    which the caption above them begins.
    """

    caption_start: int
    names_start: int
    start: int
    end: int
    columns: str
    top: str = ""
    """The first line of the page, if it stands above the caption and may be a title."""


def headed_tables(rows: Sequence[PlacedRow]) -> Iterator[HeadedTable]:
    """Yield the tables that may be longer than a chunk, below the row with the names of their columns or periods."""
    index = 0
    while index < len(rows):
        if rows[index].row.is_ruled:
            index += 1
            continue
        names_periods = _names_periods(rows[index].row.text)
        table = (_table_below(rows, index) if names_periods else None) or rows_below_names(rows, index)
        if not table:
            index += 1
            continue
        last = table[-1]
        if last.start + len(last.row.text) - table[0].start > _LONG:
            last = (*table, *_notes_below(rows, index + 1 + len(table)))[-1]
            end = last.start + len(last.row.text)
            caption = _caption(rows, index)
            columns = one_line(" ".join(placed.row.text for placed in (*caption, rows[index])))
            start = next(
                (placed.start for placed, is_first in _with_block_starts(rows, index, len(caption)) if is_first),
                table[0].start,
            )
            top = _top_of_page(rows, index - len(caption))
            yield HeadedTable(start, rows[index].start, table[0].start, end, columns, top)
        index += len(table)


def _table_below(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow] | None:
    """Return the rows of the same page up to the next periods or prose, cut after the last row with numbers."""
    page = rows[index].page
    below = rows[index + 1 : index + 1 + _MAX_ROWS]
    table = list(takewhile(lambda placed: placed.page == page and not _ends_table(placed.row.text), below))
    while table and not _DATA.search(table[-1].row.text):
        table.pop()
    is_table = sum(_DATA.search(placed.row.text) is not None for placed in table) >= _FEW_ROWS
    return table if is_table else None


def _top_of_page(rows: Sequence[PlacedRow], index: int) -> str:
    """Return the first line of the page of the row at `index`, if that is another row and may be a title."""
    first = bisect_left(rows, rows[index].page, key=lambda placed: placed.page)
    text = rows[first].row.text
    return one_line(text) if first < index and _may_be_caption(text) else ""


def _notes_below(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow]:
    """Return the few rows that follow a table on its page: alone they would join the table of the next page."""
    below = list(
        takewhile(lambda placed: placed.page == rows[index - 1].page, rows[index : index + _MAX_NOTE_ROWS + 1])
    )
    is_little = len(below) <= _MAX_NOTE_ROWS and all(len(placed.row.text) <= _LONG_LABEL for placed in below)
    is_last = index + len(below) == len(rows)
    return below if is_little and not is_last else []


def _caption(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow]:
    """Return the rows above the names of columns: title, units and periods."""
    above = reversed(rows[max(index - _MAX_CAPTION_ROWS, 0) : index])
    caption = takewhile(lambda placed: placed.page == rows[index].page and _may_be_caption(placed.row.text), above)
    return list(caption)[::-1]


def _may_be_caption(text: str) -> bool:
    """Whether a row may be part of a title: no sentence, and no row of a table."""
    is_data = _DATA.search(text) and not _has_only_dates(text)
    return not (is_data or len(text) > _LONG_CAPTION or text.endswith("."))


def _with_block_starts(rows: Sequence[PlacedRow], index: int, n_caption: int) -> Iterator[tuple[PlacedRow, bool]]:
    """Yield the rows of a caption and the row of names, each with whether it begins a block."""
    for number in range(index - n_caption, index + 1):
        before = rows[number - 1] if number else None
        row = rows[number]
        yield row, before is None or (before.page, before.row.block) != (row.page, row.row.block)


def _names_periods(text: str) -> bool:
    """Whether a row has years, and no numbers but years and days: `As of June 30, 2023 2022`."""
    if len(text) > _LONG_CAPTION or text.endswith("."):
        return False
    return _has_only_dates(text) and any(_YEAR.fullmatch(number) for number in _NUMBER.findall(text))


def _has_only_dates(text: str) -> bool:
    """Whether all numbers of a row are years and days."""
    return all(_YEAR.fullmatch(number) or _DAY.fullmatch(number) for number in _NUMBER.findall(text))


def _ends_table(text: str) -> bool:
    return _names_periods(text) or (len(text) > _LONG_LABEL and not _DATA.search(text))


_LONG: Final = 400
_MAX_ROWS: Final = 200
_FEW_ROWS: Final = 3
_MAX_CAPTION_ROWS: Final = 4
_MAX_NOTE_ROWS: Final = 2
_LONG_CAPTION: Final = 110
_LONG_LABEL: Final = 120
_NUMBER: Final = re.compile(r"\d[\d.,]*")
_YEAR: Final = re.compile(r"(?:19|20)\d\d,?")
_DAY: Final = re.compile(r"[0-3]?\d,?")
_DATA: Final = re.compile(r"(?:\d[\d.,]{0,30}\)?\s?%?\)?|[\u2013\u2014-])\s*\Z")
