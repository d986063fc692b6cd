"""Tables of rich text, in which only the ends of cells and rows, and merged cells, are marked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from directory_indexer.extractors.office.stories import Block, Table, TableCell, join_continued_cells
from directory_indexer.extractors.tables import MAX_COLUMN_SPAN


class OpenTable:
    """The open table, if there is one."""

    def __init__(self) -> None:
        self._cell: list[Block] = []
        self._row: list[TableCell] = []
        self._table: Table | None = None
        self._forms: list[frozenset[str]] = []
        """The control words that merge the cells of a row with their neighbours."""

        self._form: set[str] = set()

    @property
    def is_in_cell(self) -> bool:
        """Whether a cell has begun and not ended."""
        return bool(self._cell)

    def control(self, word: str) -> None:
        """Apply a control word that shapes cells."""
        if word in _JOINING:
            self._form.add(word)
        elif word == "trowd":
            self._forms.clear()
        elif word == "cellx":
            if len(self._forms) < _MAX_CELLS:
                self._forms.append(frozenset(self._form))
            self._form.clear()

    def add(self, blocks: Iterable[Block]) -> None:
        """Put blocks into the open cell."""
        self._cell += blocks

    def end_cell(self, blocks: Iterable[Block]) -> None:
        """End a cell with these blocks."""
        cell = TableCell()
        cell.blocks = [*self._cell, *blocks]
        self._cell = []
        self._row.append(cell)

    def end_row(self) -> None:
        """End a row, and merge its cells."""
        cells: list[TableCell] = []
        for index, cell in enumerate(self._row):
            form = self._forms[index] if index < len(self._forms) else frozenset()
            cell.is_continued = "clvmrg" in form
            if "clmrg" in form and cells:
                cells[-1].n_columns = min(cells[-1].n_columns + 1, MAX_COLUMN_SPAN)
                cells[-1].blocks += cell.blocks
            else:
                cells.append(cell)
        self._table = self._table or Table()
        self._table.rows.append(cells)
        self._row = []

    def take(self) -> Table | None:
        """End and return the table; None if there was none."""
        if self._row:
            self.end_row()
        table, self._table = self._table, None
        if table:
            join_continued_cells(table)
        return table


_JOINING: Final = frozenset({"clmrg", "clvmrg"})
_MAX_CELLS: Final = 1_000
"""The most cells of a row whose form is kept; word processors have 63."""
