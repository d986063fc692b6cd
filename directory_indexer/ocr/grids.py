"""Layout of recognised tables in rows: spanning cells are repeated, column headings are joined.

Row, column and span numbers of a service are only trusted within fixed bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product, takewhile
from typing import Any, Final, NamedTuple

from directory_indexer.extractors.tables import MAX_COLUMN_SPAN, MAX_ROW_SPAN, row_line
from directory_indexer.ocr.values import count_in, items_in, text_in


class Piece(NamedTuple):
    """A cell of the answer, with its position."""

    row: int
    column: int
    cell: dict[str, Any]


class Row(NamedTuple):
    """A line of a table, and the cells that begin in it."""

    text: str
    pieces: tuple[Piece, ...]


def rows_of(table: dict[str, Any]) -> list[Row]:
    """Return the rows of a table that have text; none if it is larger than any real one."""
    n_rows, n_columns = count_in(table, "rowCount"), count_in(table, "columnCount")
    if not 0 < n_rows * n_columns <= _MAX_CELLS or n_columns > _MAX_COLUMNS:
        return []
    pieces = [piece for piece in _pieces(table) if piece.row < n_rows and piece.column < n_columns]
    grid = _grid(pieces, n_rows, n_columns)
    headings = {piece.row for piece in pieces if text_in(piece.cell, "kind") == "columnHeader"}
    n_headings = max(1, sum(1 for _ in takewhile(headings.__contains__, range(n_rows))))
    return list(_rows(grid, pieces, n_headings))


def _pieces(table: dict[str, Any]) -> Iterator[Piece]:
    for cell in items_in(table, "cells")[:_MAX_CELLS]:
        yield Piece(count_in(cell, "rowIndex"), count_in(cell, "columnIndex"), cell)


def _grid(pieces: Sequence[Piece], n_rows: int, n_columns: int) -> list[list[str]]:
    """Write each cell to its position and, within a budget, to the positions it spans."""
    grid = [[""] * n_columns for _ in range(n_rows)]
    texts = [_text(piece) for piece in pieces]
    allowance = _FREE_CHARACTERS + _GROWTH * sum(map(len, texts))
    for piece, text in zip(pieces, texts, strict=True):
        repeated = text[:_REPEATED_CHARACTERS]
        for row, column in _reached(piece, n_rows, n_columns) if repeated else ():
            allowance -= len(repeated)
            if allowance < 0:
                break
            grid[row][column] = repeated
    for piece, text in zip(pieces, texts, strict=True):
        grid[piece.row][piece.column] = text
    return grid


def _text(piece: Piece) -> str:
    return " ".join(text_in(piece.cell, "content").replace(":unselected:", "☐").replace(":selected:", "☒").split())


def _reached(piece: Piece, n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    down = max(1, min(count_in(piece.cell, "rowSpan"), MAX_ROW_SPAN))
    across = max(1, min(count_in(piece.cell, "columnSpan"), MAX_COLUMN_SPAN))
    rows = range(piece.row, min(piece.row + down, n_rows))
    return product(rows, range(piece.column, min(piece.column + across, n_columns)))


def _rows(grid: Sequence[list[str]], pieces: Sequence[Piece], n_headings: int) -> Iterator[Row]:
    by_row: dict[int, list[Piece]] = {}
    for piece in pieces:
        by_row.setdefault(max(piece.row - n_headings + 1, 0), []).append(piece)
    heading = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*grid[:n_headings], strict=True)]
    for index, texts in enumerate((heading, *grid[n_headings:])):
        if any(texts):
            yield Row(row_line(texts), tuple(by_row.get(index, ())))


_MAX_COLUMNS: Final = 60
_MAX_CELLS: Final = 5_000
_REPEATED_CHARACTERS: Final = 200
_GROWTH: Final = 8
_FREE_CHARACTERS: Final = 2_000
