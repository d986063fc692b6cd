"""Paragraphs of rich text, of which only the ends are marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from directory_indexer.extractors.office.rtf_tables import OpenTable
from directory_indexer.extractors.office.stories import Block, Paragraph


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
        self._parts: list[str] = []
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
        self._parts.append(text)

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
        text = "".join(self._parts)
        mark = "  " * self.depth + self.mark if self.mark else ""
        blocks = [*([Paragraph(text, self.level, mark)] if text.strip() else []), *self._beside]
        self.mark = ""
        self._parts.clear()
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
