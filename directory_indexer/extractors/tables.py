"""Tables as lines of text: one row is one line, `| a | b |`, and a spanning cell is repeated in each place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

MAX_COLUMN_SPAN: Final = 64
MAX_ROW_SPAN: Final = 1_000
"""The farthest that a cell reaches; more is a mistake or an attack."""


class Cell(NamedTuple):
    """The text of a cell, with the columns and rows that it spans."""

    text: str
    n_columns: int = 1
    n_rows: int = 1


def row_line(texts: Iterable[str]) -> str:
    """Format the texts of cells as one line; bars and line ends in them become blanks."""
    return f"| {' | '.join(' '.join(text.replace('|', ' ').split()) for text in texts)} |"


def table_lines(rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """Yield rows of cells as lines, without rows that have no text of their own."""
    grid = _Grid()
    for cells in rows:
        texts = grid.row(cells)
        if any(cell.text.strip() for cell in cells):
            yield row_line(texts)


def span(text: str, most: int) -> int:
    """Parse how many columns or rows a cell spans, at most `most`; 1 if it is no number."""
    number = int(text) if text.isdecimal() and len(text) < _MAX_DIGITS else 1
    return max(1, min(number, most))


class _Grid:
    """Lays rows of cells out in columns, repeating the text of a cell wherever it spans.

    Repetition is bounded by the text of the table itself: in a table with little text, a cell spans nothing.
    """

    def __init__(self) -> None:
        self._allowance = _FREE_CHARACTERS
        self._reaching: dict[int, tuple[str, int]] = {}
        """By column: the text of a cell above that reaches down to there, and how many more rows it spans."""

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
