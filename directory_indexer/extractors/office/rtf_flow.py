"""Paragraphs of rich text, which has no elements: only their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from directory_indexer.extractors.office.rtf_tables import OpenTable
from directory_indexer.extractors.office.stories import Block, Paragraph


class Flow:
    """Text that goes on from paragraph to paragraph: that of the body, of one note, of one text box.

    What is complete is handed on, or kept as `blocks`.
    """

    def __init__(self, hand_on: Callable[[Block], None] | None = None) -> None:
        self.blocks: list[Block] = []
        self.level = 0
        """That of a heading; it and the next two hold until they are reset."""

        self.depth = 0
        self.is_in_table = False
        self.mark = ""
        """What stands before the open paragraph, and no other."""

        self.is_endnote = False
        self._hand_on = hand_on or self.blocks.append
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
        """Take a control word without a number."""
        if act := self._words.get(word):
            act()
        else:
            self._table.control(word)

    def end_paragraph(self) -> None:
        """End a paragraph; one that is not in a table ends the table before it."""
        if self.is_in_table:
            self._table.add(self._take_paragraph())
        else:
            self._end_table()
            for block in self._take_paragraph():
                self._hand_on(block)
            self._hand_on_notes()

    def place(self, blocks: Iterable[Block]) -> None:
        """Put blocks beside the open paragraph."""
        self._beside += blocks

    def note(self, text: str) -> None:
        """Add a note, or a comment, which comes after the open paragraph or the whole table."""
        self._notes.append(text)

    def finish(self) -> None:
        """Hand on what is left."""
        self.end_paragraph()
        self._end_table()
        self._hand_on_notes()

    def _take_paragraph(self) -> list[Block]:
        text = "".join(self._parts)
        mark = "  " * self.depth + self.mark if self.mark else ""
        blocks = [*([Paragraph(text, self.level, mark)] if text.strip() else []), *self._beside]
        self.mark = ""
        self._parts.clear()
        self._beside = []
        return blocks

    def _hand_on_notes(self) -> None:
        for note in self._notes:
            self._hand_on(Paragraph(note))
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
            self._hand_on(table)
            self._hand_on_notes()
