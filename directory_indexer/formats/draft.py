"""A builder of documents: paragraphs, list items and table rows in order, under headings and on pages.

A row of a table is one line, `| a | b |`, and a spanning cell is repeated in each place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.document import CellMark, Document, Metadata, Section, single_line
from directory_indexer.formats.metadata import meaningful_title

MAX_CHARACTERS: Final = 64_000_000
"""The maximum length of a document; a longer one is skipped as too large."""

_Block = Literal["heading", "paragraph", "item", "row"]
_SECOND: Final = 2
LONG_TABLE: Final = 400
"""Characters after which the first row may lie in another chunk: numbers have about two characters a token."""

_MAX_NAME: Final = 60
_CAPTION: Final = re.compile(r"(?i:table|tabelle|tab\.|tableau|tabla|tabella|tabela)\s[^\n]{1,108}")
_NUMBER: Final = re.compile(r"[-+\d.,%$\u20ac\u00a3()/: ]+")
_ADJOINING: Final = frozenset({"item", "row"})
_LINE_END: Final = re.compile("\r\n?|[\v\f]")
# Control characters, invisible ones, and those that stand for no character: fonts put bullets and ornaments there.
_JUNK: Final = re.compile("[\0-\x08\x0e-\x1f\x7f\u00ad\u200b\u2060\ufeff\ud800-\udfff\ue000-\uf8ff]")


MAX_COLUMN_SPAN: Final = 64
MAX_ROW_SPAN: Final = 1_000
"""The farthest that a cell reaches; more is a mistake or an attack."""

_MAX_DIGITS: Final = 10
_REPEATED_CHARACTERS: Final = 200
_GROWTH: Final = 8
_FREE_CHARACTERS: Final = 2_000


class Draft:
    """Builds a document; blocks are separated by a blank line, items of a list and rows of a table by a line end.

    Each method that writes raises `SkipFileError` once the text is too long.
    """

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._max_characters = min(max_characters, MAX_CHARACTERS)
        self.title = ""
        """The first title or heading."""

        self._parts: list[str] = []
        self._length = 0
        self._last: _Block | None = None
        self._table = _Rows()
        self._sections: list[Section] = []
        self._cells: list[CellMark] = []
        self._headings: list[tuple[int, str]] = []
        self._page: int | None = None
        self._begins_section = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written."""
        return self._last is None

    def page(self, number: int) -> None:
        """Begin a page or slide, which no earlier heading covers."""
        self._page = number
        self._headings.clear()
        self._begins_section = True

    def heading(self, level: int, text: str) -> None:
        """Write a heading on one line; level 1 is the outermost."""
        if not (text := " ".join(_clean(text).split())):
            return
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, single_line(text)))
        self._begins_section = True
        self.title = self.title or single_line(text)
        self._write("heading", text)

    def paragraph(self, text: str) -> None:
        """Write a paragraph."""
        self._write("paragraph", _clean(text))

    def item(self, mark: str, text: str) -> None:
        """Write a list item behind its mark, `-` or `1.`, which is indented in a nested list."""
        if text := _clean(text):
            self._write("item", f"{mark} {text}")

    def rows(self, lines: Iterable[str]) -> None:
        """Write the rows of one table; those of a long table stand under its caption and the names of its columns."""
        caption = self._parts[-1] if self._last == "paragraph" else ""
        self._last = self._last and "paragraph"
        self._table = _Rows(single_line(caption) if _CAPTION.fullmatch(caption) else "")
        for line in lines:
            self._write_row(line)
        if self._table.is_headed:
            self._begins_section = True

    def row(self, line: str, cell: str) -> None:
        """Write a row of a spreadsheet with the name of its first cell, under the names of the columns."""
        self._write_row(line)
        self._cells.append(CellMark(self._length - len(self._parts[-1]), cell))

    def document(self, kind: str, title: str = "", metadata: Metadata | None = None) -> Document:
        """Return the document; without a title of its own it has that of its first heading."""
        text = "".join([*self._parts, "\n"] if self._parts else [])
        sections = self._sections
        if sections and sections[0].start:
            sections = [Section(0), *sections]
        return Document(
            text,
            kind,
            meaningful_title(title) or self.title,
            tuple(sections),
            tuple(self._cells),
            metadata or Metadata(),
        )

    def _write_row(self, line: str) -> None:
        if not (line := _clean(line)):
            return
        self._write("row", line)
        table, start = self._table, self._length - len(self._parts[-1])
        table.add(line, start)
        is_long = table.start > 0 and self._length - table.start > LONG_TABLE
        names = tuple(filter(None, (table.caption, table.columns)))
        if is_long and names and not table.is_headed:
            path = (*(heading for _, heading in self._headings), *names)
            self._sections.append(Section(table.start, path, self._page))
            table.is_headed = True

    def _write(self, block: _Block, text: str) -> None:
        if not text:
            return
        if self._last:
            self._append("\n" if self._last == block and block in _ADJOINING else "\n\n")
        if self._begins_section:
            path = tuple(heading for _, heading in self._headings)
            self._sections.append(Section(self._length, path, self._page))
            self._begins_section = False
            self._table = _Rows()
        self._append(text)
        self._last = block

    def _append(self, piece: str) -> None:
        self._parts.append(piece)
        self._length += len(piece)
        if self._length > self._max_characters:
            raise SkipFileError(SkipReason.TOO_LARGE, f"more than {self._max_characters:,} characters")


def column_names(cells: Sequence[str]) -> str:
    """Return the names in the cells of a first row; "" if they are no names."""
    names = [cell.strip(" \"'") for cell in cells]
    return single_line(", ".join(filter(None, names))) if len(names) > 1 and all(map(_is_name, names)) else ""


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


class _Rows:
    """State of the table being written.

    `caption` is the numbered title above it, "" if it has none; `columns` are the names in its first row, "" if that
    has none; `start` is the character at which the second row begins, 0 if there is none yet.
    """

    def __init__(self, caption: str = "") -> None:
        self.caption = caption
        self.columns = ""
        self.start = 0
        self.is_headed = False
        self._n_rows = 0

    def add(self, line: str, start: int) -> None:
        """Record a row that begins at a character."""
        self._n_rows += 1
        if self._n_rows == 1:
            self.columns = column_names(line.strip("| ").split(" | "))
        elif self._n_rows == _SECOND:
            self.start = start


def _is_name(text: str) -> bool:
    return len(text) <= _MAX_NAME and not _NUMBER.fullmatch(text)


def _clean(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        text = _JUNK.sub("", _LINE_END.sub("\n", text))
    return text.strip()


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
