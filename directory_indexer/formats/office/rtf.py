"""Rich text (RTF): headings, lists, tables, notes, comments, headers and footers, without hidden or deleted text.

Only the ends of paragraphs, cells and rows, and merged cells, are marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import BinaryIO, Final

from directory_indexer.formats.blocks import (
    Block,
    Paragraph,
    Table,
    TableCell,
    block_texts,
    join_continued_cells,
    write_block,
)
from directory_indexer.formats.containers import Budget, Contents, read_whole
from directory_indexer.formats.document import Metadata
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, Draft
from directory_indexer.formats.metadata import iso_time, single_line_value, split_list
from directory_indexer.formats.office.embedded import embedded_objects
from directory_indexer.formats.office.rtf_parser import read_rtf
from directory_indexer.formats.raised_marks import InlineText

INFO: Final = frozenset({"title", "subject", "author", "keywords", "creatim", "revtim"})
"""The destinations with a property each."""

_TIMES: Final = frozenset({"creatim", "revtim"})

_HEADER: Final = b"{\\rtf"
_BOXES: Final = frozenset({"shptxt", "dptxbxtext"})
_RUNNING: Final = frozenset({"header", "headerf", "headerl", "headerr", "footer", "footerf", "footerl", "footerr"})
_MARKERS: Final = frozenset({"listtext", "pntext"})
_DESTINATIONS: Final = (
    _BOXES | _RUNNING | _MARKERS | INFO | {"footnote", "annotation", "atnauthor", "stylesheet", "info"}
)
_HEADING: Final = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
_BODY_LEVEL: Final = 9
_MAX_DEPTH: Final = 8
_MAX_MARKER: Final = 40
_MAX_NAME: Final = 200

_MERGING: Final = frozenset({"clmrg", "clvmrg"})
_MAX_CELLS: Final = 1_000
"""The most cells of a row whose form is kept; word processors have 63."""


class RtfProperties:
    """Collects the properties of a document."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._times: dict[str, dict[str, int]] = {}
        self._n_pages: int | None = None

    @property
    def title(self) -> str:
        """The title."""
        return self._texts.get("title", "")

    @property
    def metadata(self) -> Metadata:
        """The metadata beside the title."""
        return Metadata(
            authors=split_list(self._texts.get("author", "")),
            created=self._format_time("creatim"),
            modified=self._format_time("revtim"),
            subject=single_line_value(self._texts.get("subject", "")),
            tags=split_list(self._texts.get("keywords", "")),
            n_pages=self._n_pages or None,
        )

    def add(self, name: str, text: str) -> None:
        """Add the text of the destination of a property."""
        if text.strip():
            self._texts.setdefault(name, text)

    def control(self, destination: str, word: str, number: int | None) -> None:
        """Apply a control word, in the destination of a property or between them."""
        if destination in _TIMES and number is not None:
            self._times.setdefault(destination, {})[word] = number
        elif word == "nofpages":
            self._n_pages = number if number and number > 0 else None

    def _format_time(self, name: str) -> str:
        fields = self._times.get(name, {})
        year, month, day, hour, minute = (fields.get(word, 0) for word in ("yr", "mo", "dy", "hr", "min"))
        return iso_time(f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}")


def is_rtf(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is rich text."""
    return head.startswith(_HEADER)


def open_rtf(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a document, with the files embedded in it.

    Raises:
        SkipFileError: it is larger, or has more text, than is read.
        ExtractionError: it is damaged, and nothing of it can be read.
    """
    reader, content = _Reader(), read_whole(file)
    problem = read_rtf(content, reader, _DESTINATIONS)
    reader.finish()
    if problem and reader.draft.is_empty:
        raise problem
    document = reader.draft.document(kind, reader.properties.title, reader.properties.metadata)
    return Contents(document, embedded_objects(content, budget))


def rtf_text(content: bytes) -> str:
    """Return the text of rich text within a file, up to any damage.

    Raises:
        SkipFileError: it has more text than is read.
    """
    reader = _Reader()
    read_rtf(content, reader, _DESTINATIONS)
    reader.finish()
    return reader.draft.document("rtf").text


class Flow:
    """Text that continues from paragraph to paragraph: the body, a note, a text box.

    Complete blocks are emitted, or collected as `blocks`.
    """

    def __init__(self, emit: Callable[[Block], None] | None = None) -> None:
        self.blocks: list[Block] = []
        self.level = 0
        """The level of a heading; it and the next two apply until they are reset."""

        self.depth = 0
        self.is_in_table = False
        self.mark = ""
        """The mark of the open paragraph, and of no other."""

        self.is_endnote = False
        self._emit = emit or self.blocks.append
        self._text = InlineText()
        self._beside: list[Block] = []
        self._notes: list[str] = []
        self._table = OpenTable()
        self._words: dict[str, Callable[[], None]] = {
            "par": self.end_paragraph,
            "sect": self.end_paragraph,
            "page": lambda: self.write("\n"),
            "column": lambda: self.write("\n"),
            "pard": self._reset,
            "intbl": self._enter_table,
            "cell": lambda: self._table.end_cell(self._take_paragraph()),
            "nestcell": lambda: self._table.add(self._take_paragraph()),
            "row": self._table.end_row,
        }

    def write(self, text: str) -> None:
        """Write into the open paragraph."""
        self._text.write(text)

    def write_superscript(self, text: str) -> None:
        """Write superscript text into the open paragraph."""
        self._text.write_superscript(text)

    def control(self, word: str) -> None:
        """Apply a control word without a number."""
        if act := self._words.get(word):
            act()
        else:
            self._table.control(word)

    def end_paragraph(self) -> None:
        """End a paragraph; outside of a table, it ends the table before it."""
        if self.is_in_table:
            self._table.add(self._take_paragraph())
        else:
            self._end_table()
            for block in self._take_paragraph():
                self._emit(block)
            self._emit_notes()

    def place(self, blocks: Iterable[Block]) -> None:
        """Put blocks beside the open paragraph."""
        self._beside += blocks

    def note(self, text: str) -> None:
        """Add a note, or a comment, which comes after the open paragraph or the whole table."""
        self._notes.append(text)

    def finish(self) -> None:
        """Emit the remaining blocks."""
        self.end_paragraph()
        self._end_table()
        self._emit_notes()

    def _take_paragraph(self) -> list[Block]:
        text = self._text.take()
        mark = "  " * self.depth + self.mark if self.mark else ""
        blocks = [*([Paragraph(text, self.level, mark)] if text.strip() else []), *self._beside]
        self.mark = ""
        self._beside = []
        return blocks

    def _emit_notes(self) -> None:
        for note in self._notes:
            self._emit(Paragraph(note))
        self._notes.clear()

    def _reset(self) -> None:
        self.level = self.depth = 0
        self.is_in_table = False

    def _enter_table(self) -> None:
        self.is_in_table = True

    def _end_table(self) -> None:
        if self._table.is_in_cell:
            self._table.end_cell(self._take_paragraph())
        if table := self._table.take():
            self._emit(table)
            self._emit_notes()


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
        if word in _MERGING:
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


class _Reader:
    """Builds a document from events."""

    def __init__(self) -> None:
        self.draft = Draft()
        self.properties = RtfProperties()
        self._flows = [Flow(partial(write_block, draft=self.draft))]
        self._styles = _Styles()
        self._n_notes = {"footnote": 0, "endnote": 0}
        self._running: dict[str, None] = {}
        self._author = ""
        self._open: list[str] = []
        """The open destinations, the innermost last."""

        self._collected: list[str] = []
        """The text in a destination without paragraphs."""

        self._ends: dict[str, Callable[[Flow], None]] = {
            "footnote": self._end_note,
            "annotation": self._end_comment,
            **dict.fromkeys(_BOXES, self._end_box),
            **dict.fromkeys(_RUNNING, self._end_running),
        }

    def begin(self, destination: str) -> None:
        self._open.append(destination)
        if destination in self._ends:
            self._flows.append(Flow())
        else:
            self._collected.clear()

    def end(self, destination: str) -> None:
        self._open.pop()
        if end := self._ends.get(destination):
            flow = self._flows.pop()
            flow.finish()
            end(flow)
            return
        text = "".join(self._collected)
        if destination in _MARKERS:
            self._flows[-1].mark = _list_marker(text)
        elif destination == "atnauthor":
            self._author = " ".join(text.split())
        elif destination in INFO:
            self.properties.add(destination, text)

    def text(self, text: str, *, is_superscript: bool) -> None:
        if not self._open or self._open[-1] in self._ends:
            flow = self._flows[-1]
            (flow.write_superscript if is_superscript else flow.write)(text)
        elif self._open[-1] == "stylesheet":
            self._styles.text(text)
        else:
            self._collected.append(text)

    def control(self, word: str, number: int | None) -> None:
        innermost = self._open[-1] if self._open else ""
        if innermost == "stylesheet":
            self._styles.control(word, number)
        elif innermost in INFO or innermost == "info":
            self.properties.control(innermost, word, number)
        elif not innermost or innermost in self._ends:
            self._control_flow(self._flows[-1], word, number)

    def finish(self) -> None:
        """Write the remaining text; headers and footers come last, each text once."""
        self._flows[-1].finish()
        for text in self._running:
            self.draft.paragraph(text)

    def _control_flow(self, flow: Flow, word: str, number: int | None) -> None:
        if word == "s":
            flow.level = self._styles.levels.get(number or 0, 0)
        elif word == "outlinelevel":
            flow.level = _level(number)
        elif word == "ilvl":
            flow.depth = min(max(number or 0, 0), _MAX_DEPTH)
        elif word == "ftnalt":
            flow.is_endnote = True
        else:
            flow.control(word)

    def _end_note(self, flow: Flow) -> None:
        role = "endnote" if flow.is_endnote else "footnote"
        if text := _line(flow):
            self._n_notes[role] += 1
            mark = f"[^{'e' if flow.is_endnote else ''}{self._n_notes[role]}]"
            self._flows[-1].write(mark)
            self._flows[-1].note(f"{mark}: {text}")

    def _end_comment(self, flow: Flow) -> None:
        if text := _line(flow):
            self._flows[-1].note(f"> {self._author}: {text}" if self._author else f"> {text}")
        self._author = ""

    def _end_box(self, flow: Flow) -> None:
        self._flows[-1].place(flow.blocks)

    def _end_running(self, flow: Flow) -> None:
        draft = Draft()
        for block in flow.blocks:
            write_block(block, draft)
        self._running[draft.document("rtf").text] = None


class _Styles:
    """The heading levels of styles, by their numbers; built-in styles have English names."""

    def __init__(self) -> None:
        self.levels: dict[int, int] = {}
        self._style = self._level = 0
        self._name = ""

    def control(self, word: str, number: int | None) -> None:
        if word == "s":
            self._style = number or 0
        elif word == "outlinelevel":
            self._level = _level(number)

    def text(self, text: str) -> None:
        self._name += text[:_MAX_NAME]
        if ";" not in text:
            return
        match = _HEADING.fullmatch(self._name.partition(";")[0].strip())
        if level := self._level or (int(match[1] or 1) if match else 0):
            self.levels[self._style] = level
        self._style = self._level = 0
        self._name = ""


def _level(outline: int | None) -> int:
    return outline + 1 if outline is not None and 0 <= outline < _BODY_LEVEL else 0


def _list_marker(text: str) -> str:
    mark = text.strip()[:_MAX_MARKER]
    return mark if any(map(str.isalnum, mark)) and (len(mark) > 1 or mark.isdecimal()) else "-"


def _line(flow: Flow) -> str:
    return " ".join(" ".join(block_texts(flow.blocks)).split())
