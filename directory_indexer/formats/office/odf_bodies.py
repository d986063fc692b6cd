"""Bodies of OpenDocument spreadsheets, presentations and drawings.

Every sheet is read row by row, hidden ones too, with values as displayed. Repeated rows and cells are written once: one
element may stand for a billion cells. Each slide is a page with its title, text, notes and comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from directory_indexer.formats.blocks import Block, block_texts, write_block
from directory_indexer.formats.draft import Draft, span
from directory_indexer.formats.office.odf_styles import Styles
from directory_indexer.formats.office.odf_text import SHAPES, OdfText
from directory_indexer.formats.office.sheets import Sheet, SheetCell, column_name


class OdfSheets:
    """Writes the sheets of a spreadsheet; dates are written in ISO 8601, too."""

    n_pages = 0

    def __init__(self, draft: Draft, styles: Styles, object_texts: Callable[[Iterable[str]], Iterable[str]]) -> None:
        self._draft = draft
        self._object_texts = object_texts
        self._text = OdfText(styles, self._add, self._add_comment)
        self._sheet: Sheet | None = None
        self._row = 0
        self._column = 0
        self._cells: list[SheetCell] = []
        self._blocks: list[Block] = []
        self._date = self._value = ""
        self._comments: list[str] = []
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "table": self._begin_sheet,
            "table-row": self._begin_row,
            "table-cell": self._begin_cell,
            "covered-table-cell": self._begin_cell,
        }
        self._ends: dict[str, Callable[[], None]] = {
            "table": self._end_sheet,
            "table-row": self._end_row,
            "table-cell": self._end_cell,
            "covered-table-cell": self._end_cell,
        }
        self._n_repeated = self._n_repeated_rows = 1
        self._depth = 0
        """The nesting depth of tables: charts in a sheet have tables of their own."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        self._depth += name == "table"
        begin = self._starts.get(name)
        if begin and self._depth == 1:
            begin(attributes)
        else:
            self._text.start(name, attributes)

    def text(self, text: str) -> None:
        """Handle a run of text."""
        self._text.text(text)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        end = self._ends.get(name)
        if end and self._depth == 1:
            end()
        else:
            self._text.end(name)
        self._depth -= name == "table"

    def finish(self) -> None:
        """Write text that is in no sheet."""
        self._end_sheet()

    def _begin_sheet(self, attributes: dict[str, str]) -> None:
        name = attributes.get("name", "")
        self._row = 0
        # A copy of another file, from which formulas take values, is called 'file:///a.ods'#Sheet1.
        self._sheet = None if name.startswith("'") and "'#" in name else Sheet(name, self._draft)

    def _begin_row(self, attributes: dict[str, str]) -> None:
        self._row += 1
        self._column = 0
        self._n_repeated_rows = span(attributes.get("number-rows-repeated", ""), _MAX_ROWS)

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        self._n_repeated = span(attributes.get("number-columns-repeated", ""), _MAX_COLUMNS)
        kind = attributes.get("value-type", "")
        self._date = attributes.get("date-value", "").replace("T", " ").removesuffix(":00") if kind == "date" else ""
        self._value = attributes.get(f"{kind}-value", "") or attributes.get("value", "") if kind else ""

    def _end_cell(self) -> None:
        self._text.flush()
        displayed = " ".join(" ".join(block_texts(self._blocks)).split())
        if self._date and displayed and self._date not in displayed:
            displayed = f"{displayed} ({self._date})"
        if text := displayed or self._date or self._value:
            self._cells.append(SheetCell(self._column, text))
        self._blocks.clear()
        self._column += self._n_repeated

    def _end_row(self) -> None:
        if self._sheet:
            self._sheet.write_row(self._row, self._cells)
        self._cells.clear()
        self._row += self._n_repeated_rows - 1

    def _end_sheet(self) -> None:
        self._text.flush()
        if self._sheet:
            for block in self._blocks:
                write_block(block, self._draft)
            for text in self._object_texts(self._text.objects):
                self._draft.paragraph(text)
            for comment in self._comments:
                self._draft.paragraph(f"> {comment}")
        self._blocks.clear()
        self._comments.clear()
        self._text.objects.clear()
        self._sheet = None

    def _add(self, block: Block) -> None:
        self._blocks.append(block)

    def _add_comment(self, comment: str) -> None:
        self._comments.append(f"{column_name(self._column)}{self._row} {comment}")


_MAX_ROWS: Final = 1_048_576
_MAX_COLUMNS: Final = 16_384


class OdfPages:
    """Writes the pages of a presentation or drawing."""

    def __init__(self, draft: Draft, styles: Styles, object_texts: Callable[[Iterable[str]], Iterable[str]]) -> None:
        self.n_pages = 0
        self._draft = draft
        self._object_texts = object_texts
        self._text = OdfText(styles, self._add, self._add_comment)
        self._shapes = [_Shape("")]
        self._comments: list[str] = []
        self._depth = 0
        """The nesting depth of shapes."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if name == "page":
            self.n_pages += 1
            self._draft.page(self.n_pages)
        if name in SHAPES:
            if not self._depth:
                self._shapes.append(_Shape(attributes.get("class", "")))
            self._depth += 1
        self._text.start("p" if name in _DECLARATIONS else name, attributes)

    def text(self, text: str) -> None:
        """Handle a run of text."""
        self._text.text(text)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        self._text.end("p" if name in _DECLARATIONS else name)
        if name in SHAPES:
            self._depth -= 1
        elif name == "page":
            self._text.flush()
            self._write_page()

    def finish(self) -> None:
        """Write text that is on no page."""
        self._write_page()

    def _add(self, block: Block) -> None:
        self._shapes[-1].blocks.append(block)

    def _add_comment(self, comment: str) -> None:
        self._comments.append(comment)

    def _write_page(self) -> None:
        shapes = [shape for shape in self._shapes if shape.role not in _MASTER_ROLES]
        title = next((shape for shape in shapes if shape.role == "title" and shape.line), None)
        if title:
            self._draft.heading(1, title.line)
            shapes.remove(title)
        for block in (block for shape in shapes if shape.role != "notes" for block in shape.blocks):
            write_block(block, self._draft)
        for text in self._object_texts(self._text.objects):
            self._draft.paragraph(text)
        if notes := [
            line for shape in shapes if shape.role == "notes" for line in block_texts(shape.blocks) if line.strip()
        ]:
            self._draft.paragraph("\n".join(("Notes:", *notes)))
        for comment in self._comments:
            self._draft.paragraph(f"> {comment}")
        self._shapes = [_Shape("")]
        self._comments.clear()
        self._text.objects.clear()


class _Shape:
    """The content of a shape on a slide; `role` is that of its placeholder, "" for none."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.blocks: list[Block] = []

    @property
    def line(self) -> str:
        return " ".join(" ".join(block_texts(self.blocks)).split())


_MASTER_ROLES: Final = frozenset({"page-number", "date-time", "header", "footer", "page", "handout"})
_DECLARATIONS: Final = frozenset({"header-decl", "footer-decl"})
"""The text of headers and footers, which precedes all slides."""
