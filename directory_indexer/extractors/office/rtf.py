"""Rich text (RTF): headings, lists, tables, notes, comments, headers and footers, without hidden or deleted text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import BinaryIO, Final

from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.members import Contents, read_whole
from directory_indexer.extractors.office.rtf_events import read_rtf
from directory_indexer.extractors.office.rtf_flow import Flow
from directory_indexer.extractors.office.rtf_objects import objects_in
from directory_indexer.extractors.office.rtf_properties import INFO, RtfProperties
from directory_indexer.extractors.office.stories import words_of, write_block


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
    return Contents(document, objects_in(content, budget))


def rtf_text(content: bytes) -> str:
    """Return the text of rich text within a file, up to any damage.

    Raises:
        SkipFileError: it has more text than is read.
    """
    reader = _Reader()
    read_rtf(content, reader, _DESTINATIONS)
    reader.finish()
    return reader.draft.document("rtf").text


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
        if destination in _MARKS:
            self._flows[-1].mark = _mark(text)
        elif destination == "atnauthor":
            self._author = " ".join(text.split())
        elif destination in INFO:
            self.properties.add(destination, text)

    def text(self, text: str) -> None:
        if not self._open or self._open[-1] in self._ends:
            self._flows[-1].write(text)
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


def _mark(text: str) -> str:
    mark = text.strip()[:_MAX_MARK]
    return mark if any(map(str.isalnum, mark)) and (len(mark) > 1 or mark.isdecimal()) else "-"


def _line(flow: Flow) -> str:
    return " ".join(" ".join(words_of(flow.blocks)).split())


_HEADER: Final = b"{\\rtf"
_BOXES: Final = frozenset({"shptxt", "dptxbxtext"})
_RUNNING: Final = frozenset({"header", "headerf", "headerl", "headerr", "footer", "footerf", "footerl", "footerr"})
_MARKS: Final = frozenset({"listtext", "pntext"})
_DESTINATIONS: Final = _BOXES | _RUNNING | _MARKS | INFO | {"footnote", "annotation", "atnauthor", "stylesheet", "info"}
_HEADING: Final = re.compile(r"heading ([1-9])|title", re.IGNORECASE)
_BODY_LEVEL: Final = 9
_MAX_DEPTH: Final = 8
_MAX_MARK: Final = 40
_MAX_NAME: Final = 200
