"""Text of a document as a tree of blocks: paragraphs, and tables whose cells hold blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from directory_indexer.formats.draft import Cell, Draft, table_lines
from directory_indexer.formats.raised_marks import InlineText


class Paragraph(NamedTuple):
    """A paragraph; `level` is that of a heading, 0 for none, and `mark` precedes a list item."""

    text: str
    level: int = 0
    mark: str = ""


class TableCell:
    """A cell with its blocks."""

    def __init__(self, n_columns: int = 1, n_rows: int = 1) -> None:
        self.blocks: list[Block] = []
        self.n_columns = n_columns
        self.n_rows = n_rows
        self.is_continued = False
        """Whether it only continues a cell above."""


class Table:
    """A table, row by row."""

    def __init__(self) -> None:
        self.rows: list[list[TableCell]] = []


Block: TypeAlias = Paragraph | Table


def write_block(block: Block, draft: Draft) -> None:
    """Write a block into a document; a table of one column is a frame around its text."""
    if isinstance(block, Paragraph):
        _write_paragraph(block, draft)
    elif all(len(row) <= 1 for row in block.rows):
        for inner in (inner for row in block.rows for cell in row for inner in cell.blocks):
            write_block(inner, draft)
    else:
        draft.rows(table_lines([_cell(cell) for cell in row] for row in block.rows))


def _write_paragraph(paragraph: Paragraph, draft: Draft) -> None:
    if paragraph.level:
        draft.heading(paragraph.level, f"{paragraph.mark} {paragraph.text}" if paragraph.text.strip() else "")
    elif paragraph.mark:
        draft.item(paragraph.mark, paragraph.text)
    else:
        draft.paragraph(paragraph.text)


def _cell(cell: TableCell) -> Cell:
    return Cell(" ".join(block_texts(cell.blocks)), cell.n_columns, cell.n_rows)


def block_texts(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the text of blocks paragraph by paragraph, at any depth of tables."""
    for block in blocks:
        if isinstance(block, Paragraph):
            yield f"{block.mark} {block.text}" if block.mark else block.text
        else:
            yield from (word for row in block.rows for cell in row for word in block_texts(cell.blocks))


def join_continued_cells(table: Table) -> None:
    """Replace cells that continue those above by row spans."""
    above: dict[int, TableCell] = {}
    for index, row in enumerate(table.rows):
        row_cells: dict[int, TableCell] = {}
        cells: list[TableCell] = []
        column = 0
        for cell in row:
            reaching = above.get(column) if cell.is_continued else None
            if reaching:
                reaching.n_rows += 1
            else:
                cells.append(cell)
            row_cells[column] = reaching or cell
            column += cell.n_columns
        table.rows[index] = cells
        above = row_cells


class BlockBuilder:
    """Takes text in order, and emits each complete block.

    Blocks may lie in the cells of a table, and beside a paragraph, as text boxes do: those come after it. Notes come
    after the whole table or paragraph with their mark. Closings without an opening are ignored.
    """

    def __init__(self, emit: Callable[[Block], None]) -> None:
        self._emit = emit
        self._paragraphs: list[_OpenParagraph] = []
        self._collected: list[list[Block]] = []
        self._notes: list[str] = []
        self.tables = OpenTables(self._collected, self._add)

    @property
    def is_in_paragraph(self) -> bool:
        """Whether a paragraph is open for text."""
        return bool(self._paragraphs)

    def begin_paragraph(self) -> None:
        """Begin a paragraph."""
        self._paragraphs.append(_OpenParagraph())

    def write(self, text: str) -> None:
        """Write into the innermost open paragraph."""
        if self._paragraphs:
            self._paragraphs[-1].text.write(text)

    def write_superscript(self, text: str) -> None:
        """Write superscript text, apart from the words around it if it is the mark of a note."""
        if self._paragraphs:
            self._paragraphs[-1].text.write_superscript(text)

    def begin_span(self) -> None:
        """Begin a part of the open paragraph that will be rewritten."""
        if self._paragraphs:
            self._paragraphs[-1].spans.append(len(self._paragraphs[-1].text.pieces))

    def end_span(self) -> str:
        """Remove the innermost span from the open paragraph, and return its text."""
        if not self._paragraphs or not self._paragraphs[-1].spans:
            return ""
        start, pieces = self._paragraphs[-1].spans.pop(), self._paragraphs[-1].text.pieces
        text = "".join(pieces[start:])
        del pieces[start:]
        return text

    def end_paragraph(self, level: int = 0, mark: str = "") -> None:
        """End the innermost paragraph, which may be a heading, a list item, or neither."""
        if self._paragraphs:
            paragraph = self._paragraphs.pop()
            self._add([Paragraph(paragraph.text.take(), level, mark), *paragraph.beside])

    def begin_aside(self) -> None:
        """Begin blocks beside the open paragraph."""
        self._collected.append([])

    def end_aside(self) -> None:
        """End blocks beside a paragraph."""
        if self._collected:
            self.place(self._collected.pop())

    def place(self, blocks: Iterable[Block]) -> None:
        """Put blocks beside the open paragraph, or after the last one."""
        if self._paragraphs:
            self._paragraphs[-1].beside += blocks
        else:
            self._add(blocks)

    def note(self, text: str) -> None:
        """Add a note or comment to the open block."""
        self._notes.append(text)

    def flush(self) -> None:
        """Emit the remaining notes."""
        self._add([])

    def _add(self, blocks: Iterable[Block]) -> None:
        if self._collected:
            self._collected[-1].extend(blocks)
            return
        for block in blocks:
            self._emit(block)
        if not self._paragraphs:
            for note in self._notes:
                self._emit(Paragraph(note))
            self._notes.clear()


class OpenTables:
    """The open tables of a story, the innermost last; `collected` are the blocks of what is open around the text."""

    def __init__(self, collected: list[list[Block]], add: Callable[[Iterable[Block]], None]) -> None:
        self._collected = collected
        self._add = add
        self._tables: list[Table] = []

    @property
    def innermost(self) -> Table | None:
        """The innermost table."""
        return self._tables[-1] if self._tables else None

    @property
    def cell(self) -> TableCell | None:
        """The last cell of the innermost table."""
        rows = self._tables[-1].rows if self._tables else ()
        return rows[-1][-1] if rows and rows[-1] else None

    def begin(self) -> None:
        """Begin a table."""
        self._tables.append(Table())

    def begin_row(self) -> None:
        """Begin a row of the innermost table."""
        if self._tables:
            self._tables[-1].rows.append([])

    def begin_cell(self, n_columns: int = 1, n_rows: int = 1) -> None:
        """Begin a cell of the innermost row, which holds everything until its end."""
        cell = TableCell(n_columns, n_rows)
        if self._tables and self._tables[-1].rows:
            self._tables[-1].rows[-1].append(cell)
        self._collected.append(cell.blocks)

    def end_cell(self) -> None:
        """End the innermost cell."""
        if self._collected:
            self._collected.pop()

    def end(self) -> None:
        """End the innermost table."""
        if self._tables:
            self._add([self._tables.pop()])


class _OpenParagraph:
    def __init__(self) -> None:
        self.text = InlineText()
        self.spans: list[int] = []
        self.beside: list[Block] = []
