"""Sheets as text: each row is one line below the name of the sheet, located by its first cell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from directory_indexer.formats.draft import Draft, row_line


class SheetCell(NamedTuple):
    """A cell that is not empty; columns count from 0."""

    column: int
    text: str


class Sheet:
    """A sheet that is written row by row."""

    def __init__(self, name: str, draft: Draft) -> None:
        self._name = name if _PLAIN_NAME.fullmatch(name) else f"'{name.replace(chr(39), chr(39) * 2)}'"
        self._draft = draft
        draft.heading(1, name)

    def write_row(self, number: int, cells: Iterable[SheetCell]) -> None:
        """Write a row, counted from 1, of cells from left to right; a few empty ones between them are kept.

        With 16,384 columns, a row of two cells might otherwise take 50 kB.
        """
        texts: list[str] = []
        first = next_column = n_left_out = 0
        for column, text in cells:
            if not texts:
                first = next_column = column
            texts += [""] * min(max(column - next_column, 0), MAX_GAP)
            n_left_out += max(column - next_column - MAX_GAP, 0)
            texts.append(text)
            next_column = column + 1
        if texts:
            letters = "" if n_left_out else column_name(first)
            self._draft.row(row_line(texts), f"{self._name}!{letters}{number}")


def column_name(column: int) -> str:
    """Return the name of a column, counted from 0: A, Z, AA."""
    name = ""
    column += 1
    while column > 0:
        column, letter = divmod(column - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def column_number(reference: str) -> int | None:
    """Parse the column of a cell like `AB12`, counted from 0; None if it has none."""
    column = 0
    for character in reference[:_MAX_LETTERS]:
        if not "A" <= character <= "Z":
            break
        column = column * 26 + ord(character) - ord("A") + 1
    return column - 1 if column else None


MAX_GAP: Final = 16
_MAX_LETTERS: Final = 3
_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*")
