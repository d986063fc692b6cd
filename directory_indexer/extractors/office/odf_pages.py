"""OpenDocument presentations and drawings: each slide is a page with its title, text, notes and comments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from directory_indexer.extractors.draft import Draft
from directory_indexer.extractors.office.odf_styles import Styles
from directory_indexer.extractors.office.odf_text import SHAPES, OdfText
from directory_indexer.extractors.office.stories import Block, words_of, write_block


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
        self._text.start("p" if name in _DECLARED else name, attributes)

    def text(self, text: str) -> None:
        """Handle a run of text."""
        self._text.text(text)

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        self._text.end("p" if name in _DECLARED else name)
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
        shapes = [shape for shape in self._shapes if shape.role not in _FURNITURE]
        title = next((shape for shape in shapes if shape.role == "title" and shape.line), None)
        if title:
            self._draft.heading(1, title.line)
            shapes.remove(title)
        for block in (block for shape in shapes if shape.role != "notes" for block in shape.blocks):
            write_block(block, self._draft)
        for text in self._object_texts(self._text.objects):
            self._draft.paragraph(text)
        if notes := [
            line for shape in shapes if shape.role == "notes" for line in words_of(shape.blocks) if line.strip()
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
        return " ".join(" ".join(words_of(self.blocks)).split())


_FURNITURE: Final = frozenset({"page-number", "date-time", "header", "footer", "page", "handout"})
_DECLARED: Final = frozenset({"header-decl", "footer-decl"})
"""The text of headers and footers, which precedes all slides."""
