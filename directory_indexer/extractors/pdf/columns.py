"""Finds the long tables of a text, and what stands above their columns: a caption, names, periods, units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from directory_indexer.extractors.outline import one_line
from directory_indexer.extractors.pdf.flow import PlacedRow
from directory_indexer.extractors.pdf.grids import rows_below_names


class HeadedTable(NamedTuple):
    """The rows of a table from character `start` to `end`, and what stands above them as one line.

    `names_start` is the character at which the row that names its columns begins.
    """

    names_start: int
    start: int
    end: int
    columns: str


def headed_tables(rows: Sequence[PlacedRow]) -> Iterator[HeadedTable]:
    """Yield the tables that may be longer than a chunk, below the row that names their columns or periods."""
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
        end = last.start + len(last.row.text)
        if end - table[0].start > _LONG:
            yield HeadedTable(rows[index].start, table[0].start, end, _columns(rows, index))
        index += len(table)


def _table_below(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow] | None:
    """Take the rows of the same page up to the next periods or prose, and of them those up to the last numbers."""
    page = rows[index].page
    below = rows[index + 1 : index + 1 + _MAX_ROWS]
    table = list(takewhile(lambda one: one.page == page and not _ends_table(one.row.text), below))
    while table and not _DATA.search(table[-1].row.text):
        table.pop()
    is_table = sum(_DATA.search(one.row.text) is not None for one in table) >= _FEW_ROWS
    return table if is_table else None


def _columns(rows: Sequence[PlacedRow], index: int) -> str:
    """Join the caption and the row of names or periods."""
    page, text = rows[index].page, [rows[index].row.text]
    for one in reversed(rows[max(index - _MAX_CAPTION_ROWS, 0) : index]):
        caption = one.row.text
        if one.page != page or len(caption) > _LONG_CAPTION or caption.endswith(".") or _DATA.search(caption):
            break
        text.insert(0, caption)
    return one_line(" ".join(text))


def _names_periods(text: str) -> bool:
    """Tell whether a row has years, and of numbers nothing but years and days: `As of June 30, 2023 2022`."""
    if len(text) > _LONG_CAPTION or text.endswith("."):
        return False
    numbers = _NUMBER.findall(text)
    has_years = any(_YEAR.fullmatch(number) for number in numbers)
    return has_years and all(_YEAR.fullmatch(number) or _DAY.fullmatch(number) for number in numbers)


def _ends_table(text: str) -> bool:
    return _names_periods(text) or (len(text) > _LONG_LABEL and not _DATA.search(text))


_LONG: Final = 400
_MAX_ROWS: Final = 200
_FEW_ROWS: Final = 3
_MAX_CAPTION_ROWS: Final = 3
_LONG_CAPTION: Final = 110
_LONG_LABEL: Final = 120
_NUMBER: Final = re.compile(r"\d[\d.,]*")
_YEAR: Final = re.compile(r"(?:19|20)\d\d,?")
_DAY: Final = re.compile(r"[0-3]?\d,?")
_DATA: Final = re.compile(r"(?:\d[\d.,]{0,30}\)?\s?%?\)?|[\u2013\u2014-])\s*\Z")
