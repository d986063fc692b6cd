"""Printed tables: their rows, and their detection in a text, with the headings above their columns.

MuPDF splits the cells of one row into several blocks when they stand apart. Text on one baseline is joined if it is a
label and the cells to its right: numbers, currency signs, dashes. Prose is left alone, since its neighbour in another
column is no cell; columns of prose that were drawn line by line, across all of them, are separated.

A long table is detected by a caption, names, periods and units above its columns, or by its first row: names above
columns to which the cells below are aligned, across pages.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from directory_indexer.formats.document import single_line
from directory_indexer.formats.draft import LONG_TABLE
from directory_indexer.formats.pdf.flow import PlacedRow
from directory_indexer.formats.pdf.pages import Cell, Row, join_side_by_side

_MIN_COLUMNS: Final = 2
_MIN_LINES: Final = 4
_MIN_WORDY_ROWS: Final = 2
"""If four of five lines are wordy in each of three columns, at least two are wordy in all of them."""

_MIN_WORDS: Final = 4
_MIN_WORDY_SHARE: Final = 0.8
_MAX_LEADING: Final = 2
_FIRST_COLUMN_BLOCK: Final = 1_000_000
_BASELINE_STEP: Final = 12
_MAX_NEAR: Final = 200
_MAX_CELL: Final = 160
_SIGNS: Final = r"[$\u20ac\u00a3\u00a5%()\[\]\u2013\u2014*\u2020\u2021+/-]*"
_CELL_NUMBER: Final = r"(?:\d[\d.,:'/-]*|[nN]\.?/?[aAmM]\.?)?"
_UNIT: Final = r"(?:bps|bp|pts?|million|billion|mm|bn|[mMxX])?"
_CELL_WORD: Final = re.compile(rf"{_SIGNS}{_CELL_NUMBER}{_SIGNS}{_UNIT}")

_MAX_ROWS: Final = 200
_MIN_DATED_ROWS: Final = 3
_MAX_CAPTION_ROWS: Final = 4
_MAX_NOTE_ROWS: Final = 2
_MAX_CAPTION: Final = 110
_MAX_LABEL: Final = 120
_NUMBER: Final = re.compile(r"\d[\d.,]*")
_YEAR: Final = re.compile(r"(?:19|20)\d\d,?")
_DAY: Final = re.compile(r"[0-3]?\d,?")
_DATA: Final = re.compile(r"(?:\d[\d.,]{0,30}\)?\s?%?\)?|[\u2013\u2014-])\s*\Z")

_MAX_GRID_ROWS: Final = 2000
_MIN_NAMES: Final = 3
_MIN_CELLS: Final = 2
_MIN_DATA_ROWS: Final = 3
_MAX_NAME: Final = 40
_MAX_OVERLAP: Final = 20
"""Two points: cells of neighbouring columns may touch."""


def join_row_cells(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return rows with labels and the cells to their right joined, each at the position of its first part."""
    are_cells = [_is_cell(row.text) for row in rows]
    if not any(are_cells):
        return tuple(rows)
    joined: dict[int, Row] = {}
    for line in _baselines(rows):
        for group in _labelled_cells(line, are_cells):
            joined[min(group)] = join_side_by_side([rows[index] for index in group])
    return tuple(joined[index] for index in sorted(joined))


def separate_columns(rows: Sequence[Row]) -> list[Row]:
    """Return rows with columns of prose that were drawn line by line put one after the other."""
    wordy = (all(cell.text.count(" ") >= _MIN_WORDS - 1 for cell in row.cells) for row in rows if row.cells)
    if sum(wordy) < _MIN_WORDY_ROWS:
        return list(rows)
    separated: list[Row] = []
    lines: list[Row] = []
    for row in rows:
        if lines and not _continues_columns(lines[-1], row):
            separated += _by_column(lines, _FIRST_COLUMN_BLOCK + len(separated))
            lines = []
        lines.append(row)
    return separated + _by_column(lines, _FIRST_COLUMN_BLOCK + len(separated))


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
        if last.start + len(last.row.text) - table[0].start > LONG_TABLE:
            last = (*table, *_notes_below(rows, index + 1 + len(table)))[-1]
            end = last.start + len(last.row.text)
            caption = _caption(rows, index)
            columns = single_line(" ".join(placed.row.text for placed in (*caption, rows[index])))
            start = next(
                (placed.start for placed, is_first in _with_block_starts(rows, index, len(caption)) if is_first),
                table[0].start,
            )
            top = _top_of_page(rows, index - len(caption))
            yield HeadedTable(start, rows[index].start, table[0].start, end, columns, top)
        index += len(table)


def rows_below_names(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow]:
    """Return the rows of the table whose column names are the row at `index`; none if it has no names."""
    names = rows[index].row
    if not _may_be_names(names):
        return []
    table = list(_aligned_rows(names.cells, rows[index + 1 : index + 1 + _MAX_GRID_ROWS]))
    while table and len(table[-1].row.cells) < _MIN_CELLS:
        table.pop()
    data = [placed.row for placed in table if len(placed.row.cells) >= _MIN_CELLS]
    return table if len(data) >= _MIN_DATA_ROWS and _names_differ(names, data) else []


def _continues_columns(above: Row, below: Row) -> bool:
    """Whether a row is the next line of the same columns: as many cells, none of which spans a gap of the other."""
    if len(above.cells) < _MIN_COLUMNS or len(above.cells) != len(below.cells):
        return False
    is_next = 0 < below.top - above.top <= _MAX_LEADING * above.size and above.size == below.size
    gaps = zip(pairwise(above.cells), pairwise(below.cells), strict=True)
    return is_next and all(
        max(left.right, other_left.right) < min(right.left, other_right.left)
        for (left, right), (other_left, other_right) in gaps
    )


def _by_column(lines: Sequence[Row], block: int) -> list[Row]:
    columns = [[(row, row.cells[index]) for row in lines] for index in range(len(lines[0].cells))] if lines else []
    if len(lines) < _MIN_LINES or not all(_is_prose([cell.text for _, cell in column]) for column in columns):
        return list(lines)
    return [
        row._replace(text=cell.text, left=cell.left, right=cell.right, cells=(), block=block + index)
        for index, column in enumerate(columns)
        for row, cell in column
    ]


def _is_prose(texts: Sequence[str]) -> bool:
    """Whether the cells of a column are lines of sentences: a few words each, most of them beginning in lower case."""
    n_wordy = sum(len(text.split()) >= _MIN_WORDS for text in texts)
    n_lower_case = sum(text[:1].islower() for text in texts)
    return n_wordy >= _MIN_WORDY_SHARE * len(texts) and 2 * n_lower_case >= len(texts)


def _baselines(rows: Sequence[Row]) -> Iterator[list[int]]:
    """Yield the numbers of the rows on each baseline, from left to right."""
    by_height: defaultdict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_height[_middle(row) // _BASELINE_STEP].append(index)
    done: set[int] = set()
    for index, row in enumerate(rows):
        if index in done:
            continue
        step = _middle(row) // _BASELINE_STEP
        near = [other for at in (step - 1, step, step + 1) for other in by_height[at]]
        line = [index]
        if len(near) <= _MAX_NEAR:
            tolerance = max(_BASELINE_STEP, row.size // 4)
            line += [
                other_index
                for other_index in near
                if other_index != index and other_index not in done and _is_level(rows[other_index], row, tolerance)
            ]
        done.update(line)
        yield sorted(line, key=lambda other_index: rows[other_index].left)


def _labelled_cells(line: list[int], are_cells: Sequence[bool]) -> Iterator[list[int]]:
    group: list[int] = []
    for index in line:
        if group and not are_cells[index]:
            yield group
            group = []
        group.append(index)
    yield group


def _is_cell(text: str) -> bool:
    return len(text) <= _MAX_CELL and all(_CELL_WORD.fullmatch(word) for word in text.split())


def _is_level(row: Row, with_row: Row, tolerance: int) -> bool:
    overlaps = row.left < with_row.right and with_row.left < row.right
    return not overlaps and abs(_middle(row) - _middle(with_row)) <= tolerance


def _middle(row: Row) -> int:
    return (row.top + row.bottom) // 2


def _table_below(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow] | None:
    """Return the rows of the same page up to the next periods or prose, cut after the last row with numbers."""
    page = rows[index].page
    below = rows[index + 1 : index + 1 + _MAX_ROWS]
    table = list(takewhile(lambda placed: placed.page == page and not _ends_table(placed.row.text), below))
    while table and not _DATA.search(table[-1].row.text):
        table.pop()
    is_table = sum(_DATA.search(placed.row.text) is not None for placed in table) >= _MIN_DATED_ROWS
    return table if is_table else None


def _top_of_page(rows: Sequence[PlacedRow], index: int) -> str:
    """Return the first line of the page of the row at `index`, if that is another row and may be a title."""
    first = bisect_left(rows, rows[index].page, key=lambda placed: placed.page)
    text = rows[first].row.text
    return single_line(text) if first < index and _may_be_caption(text) else ""


def _notes_below(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow]:
    """Return the few rows that follow a table on its page: alone they would join the table of the next page."""
    below = list(
        takewhile(lambda placed: placed.page == rows[index - 1].page, rows[index : index + _MAX_NOTE_ROWS + 1])
    )
    is_little = len(below) <= _MAX_NOTE_ROWS and all(len(placed.row.text) <= _MAX_LABEL for placed in below)
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
    return not (is_data or len(text) > _MAX_CAPTION or text.endswith("."))


def _with_block_starts(rows: Sequence[PlacedRow], index: int, n_caption: int) -> Iterator[tuple[PlacedRow, bool]]:
    """Yield the rows of a caption and the row of names, each with whether it begins a block."""
    for number in range(index - n_caption, index + 1):
        before = rows[number - 1] if number else None
        row = rows[number]
        yield row, before is None or (before.page, before.row.block) != (row.page, row.row.block)


def _names_periods(text: str) -> bool:
    """Whether a row has years, and no numbers but years and days: `As of June 30, 2023 2022`."""
    if len(text) > _MAX_CAPTION or text.endswith("."):
        return False
    return any(map(_YEAR.fullmatch, _NUMBER.findall(text))) and _has_only_dates(text)


def _has_only_dates(text: str) -> bool:
    """Whether all numbers of a row are years and days."""
    return all(_YEAR.fullmatch(number) or _DAY.fullmatch(number) for number in _NUMBER.findall(text))


def _ends_table(text: str) -> bool:
    return _names_periods(text) or (len(text) > _MAX_LABEL and not _DATA.search(text))


def _may_be_names(row: Row) -> bool:
    """Whether a row has short cells, each with letters and without digits."""
    return len(row.cells) >= _MIN_NAMES and all(
        len(cell.text) <= _MAX_NAME and any(map(str.isalpha, cell.text)) and not _has_digit(cell) for cell in row.cells
    )


def _aligned_rows(names: Sequence[Cell], rows: Sequence[PlacedRow]) -> Iterator[PlacedRow]:
    """Yield the rows up to the first that spans all columns, as a line of prose does."""
    for placed in rows:
        row = placed.row
        # The gap between two cells may be as narrow as one between words, so that they look like one.
        is_prose = not row.cells and all(_overlap(row, name) for name in names)
        if is_prose or len(row.cells) > len(names) + 1:
            return
        yield placed


def _names_differ(names: Row, data: Sequence[Row]) -> bool:
    """Whether names differ from the rows below them: only they are bold, or they stand above numbers."""
    if names.is_bold and not all(row.is_bold for row in data):
        return True
    n_with_digits = sum(any(map(_has_digit, row.cells)) for row in data)
    return 2 * n_with_digits > len(data)


def _overlap(row: Row, name: Cell) -> bool:
    return min(row.right, name.right) - max(row.left, name.left) > _MAX_OVERLAP


def _has_digit(cell: Cell) -> bool:
    return any(map(str.isdigit, cell.text))
