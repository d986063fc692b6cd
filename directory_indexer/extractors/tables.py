"""Tables as lines of text: one row is one line, `| a | b |`, and a cell that spans others stands in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

MAX_COLUMN_SPAN: Final = 64
MAX_ROW_SPAN: Final = 1_000
"""So far does a cell reach; what is declared beyond is a mistake or an attack."""


class Cell(NamedTuple):
    """A cell as it is written down, with the columns and rows that it spans."""

    text: str
    n_columns: int = 1
    n_rows: int = 1


def row_line(texts: Iterable[str]) -> str:
    """Write the texts of cells as one line; bars and line ends in them become blanks."""
    return f"| {' | '.join(' '.join(text.replace('|', ' ').split()) for text in texts)} |"


def table_lines(rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """Write rows of cells as lines; a row without text of its own is left out."""
    grid = _Grid()
    for cells in rows:
        texts = grid.row(cells)
        if any(cell.text.strip() for cell in cells):
            yield row_line(texts)


def span(written: str, most: int) -> int:
    """Read how many columns or rows a cell spans; what is no number is one."""
    number = int(written) if written.isdecimal() and len(written) < _MAX_DIGITS else 1
    return max(1, min(number, most))


class _Grid:
    """Lays rows of cells out in columns, so that the text of a cell stands wherever it reaches.

    What is repeated is bounded by what the table itself says: in one that says little, a cell spans nothing.
    """

    def __init__(self) -> None:
        self._allowance = _FREE_CHARACTERS
        self._reaching: dict[int, tuple[str, int]] = {}
        """By column the text of a cell above that reaches down to there, and into how many rows it still does."""

    def row(self, cells: Iterable[Cell]) -> list[str]:
        texts: list[str] = []
        for cell in cells:
            self._fill(texts)
            self._place(cell, texts)
        self._fill(texts)
        return texts

    def _fill(self, texts: list[str]) -> None:
        while reaching := self._reaching.pop(len(texts), None):
            text, n_rows = reaching
            self._repeat(text, n_rows, texts)

    def _place(self, cell: Cell, texts: list[str]) -> None:
        text = cell.text
        self._allowance += _GROWTH * len(text)
        n_rows = min(cell.n_rows, MAX_ROW_SPAN)
        if n_rows > 1:
            self._reaching[len(texts)] = (text, n_rows - 1)
        texts.append(text)
        for _ in range(min(cell.n_columns, MAX_COLUMN_SPAN) - 1):
            self._repeat(text, n_rows, texts)

    def _repeat(self, text: str, n_rows: int, texts: list[str]) -> None:
        repeated = text[:_REPEATED_CHARACTERS]
        self._allowance -= len(repeated) + len(" | ")
        if self._allowance < 0:
            return
        if n_rows > 1:
            self._reaching[len(texts)] = (repeated, n_rows - 1)
        texts.append(repeated)


_MAX_DIGITS: Final = 10
_REPEATED_CHARACTERS: Final = 200
_GROWTH: Final = 8
_FREE_CHARACTERS: Final = 2_000
