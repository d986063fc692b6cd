"""Detection of tables by their first row: names above columns to which the cells below are aligned, across pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from directory_indexer.extractors.pdf.flow import PlacedRow
from directory_indexer.extractors.pdf.pages import Cell, Row


def rows_below_names(rows: Sequence[PlacedRow], index: int) -> list[PlacedRow]:
    """Return the rows of the table whose column names are the row at `index`; none if it has no names."""
    names = rows[index].row
    if not _may_be_names(names):
        return []
    table = list(_aligned_rows(names.cells, rows[index + 1 : index + 1 + _MAX_GRID_ROWS]))
    while table and len(table[-1].row.cells) < _FEW_CELLS:
        table.pop()
    data = [placed.row for placed in table if len(placed.row.cells) >= _FEW_CELLS]
    return table if len(data) >= _FEW_DATA_ROWS and _are_unlike(names, data) else []


def _may_be_names(row: Row) -> bool:
    """Whether a row has short cells, each with letters and without digits."""
    return len(row.cells) >= _FEW_NAMES and all(
        len(cell.text) <= _LONG_NAME and any(map(str.isalpha, cell.text)) and not _has_digit(cell) for cell in row.cells
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


def _are_unlike(names: Row, data: Sequence[Row]) -> bool:
    """Whether names differ from the first of many rows: only they are bold, or they stand above numbers."""
    if names.is_bold and not all(row.is_bold for row in data):
        return True
    n_with_digits = sum(any(map(_has_digit, row.cells)) for row in data)
    return 2 * n_with_digits > len(data)


def _overlap(row: Row, name: Cell) -> bool:
    return min(row.right, name.right) - max(row.left, name.left) > _TOUCHING


def _has_digit(cell: Cell) -> bool:
    return any(map(str.isdigit, cell.text))


_MAX_GRID_ROWS: Final = 2000
_FEW_NAMES: Final = 3
_FEW_CELLS: Final = 2
_FEW_DATA_ROWS: Final = 3
_LONG_NAME: Final = 40
_TOUCHING: Final = 20
"""Two points: cells of neighbouring columns may touch."""
