"""Text of OpenDocument files: paragraphs, lists, tables, notes, comments and text boxes, wherever they occur.

Tracked deletions are kept apart from the text, so a single skipped element leaves them out.
"""

# ruff: noqa: PLW0108 - the flow of an element is known only when it comes, so bound methods cannot be passed

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from directory_indexer.extractors.office.odf_asides import Asides
from directory_indexer.extractors.office.odf_flows import Flow, Flows
from directory_indexer.extractors.office.odf_paragraphs import Paragraphs
from directory_indexer.extractors.office.odf_styles import Styles, number_in
from directory_indexer.extractors.office.stories import Block
from directory_indexer.extractors.tables import MAX_COLUMN_SPAN, MAX_ROW_SPAN, span


class OdfText:
    """Turns elements into blocks and emits each complete one; `comment` takes those of no paragraph."""

    def __init__(
        self, styles: Styles, emit: Callable[[Block], None], comment: Callable[[str], None] | None = None
    ) -> None:
        self.objects: list[str] = []
        """The folders of charts and formulas in the text; their reader empties the list."""

        self._flows = Flows(styles, emit)
        paragraphs, asides = Paragraphs(self._flows, styles), Asides(self._flows, comment)
        self._starts: dict[str, Callable[[dict[str, str]], object]] = {
            "p": paragraphs.begin,
            "h": paragraphs.begin_heading,
            "s": lambda attributes: self._write(" " * min(number_in(attributes.get("c", ""), 1), _MAX_BLANKS)),
            "tab": lambda _: self._write("\t"),
            "line-break": lambda _: self._write("\n"),
            "list": lambda attributes: self._flow.lists.begin_list(attributes),
            "list-item": lambda attributes: self._flow.lists.begin_item(attributes),
            "table": lambda _: self._flow.story.tables.begin(),
            "table-row": lambda _: self._flow.story.tables.begin_row(),
            "table-cell": self._begin_cell,
            "covered-table-cell": lambda _: self._flows.begin(),
            "note": asides.begin_note,
            "annotation": lambda _: self._flows.begin(),
            "creator": lambda _: asides.begin_author(),
            "title": lambda _: paragraphs.begin_description(),
            "desc": lambda _: paragraphs.begin_description(),
            "object": lambda attributes: self.objects.append(attributes.get("href", "")),
            **dict.fromkeys(SHAPES, lambda _: self._flows.begin()),
        }
        self._ends: dict[str, Callable[[], object]] = {
            "p": paragraphs.end,
            "h": paragraphs.end,
            "list": lambda: self._flow.lists.end_list(),
            "list-item": lambda: self._flow.lists.end_item(),
            "table": lambda: self._flow.story.tables.end(),
            "table-cell": lambda: self._flow.story.tables.end_cell(),
            "covered-table-cell": self._flows.end,
            "note": asides.end_note,
            "annotation": asides.end_annotation,
            "creator": asides.end_author,
            "title": paragraphs.end_description,
            "desc": paragraphs.end_description,
            **dict.fromkeys(SHAPES, self._end_shape),
        }

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if begin := self._starts.get(name):
            begin(attributes)

    def text(self, text: str) -> None:
        """Handle a run of text, whose line ends and indents are those of the XML."""
        if self._flow.is_author_open:
            self._flow.author += text[:_MAX_AUTHOR]
        else:
            self._write(_SPACES.sub(" ", text))

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        if end := self._ends.get(name):
            end()

    def flush(self) -> None:
        """Emit the remaining blocks."""
        self._flow.story.flush()

    @property
    def _flow(self) -> Flow:
        return self._flows.current

    def _write(self, text: str) -> None:
        self._flow.story.write(text)

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        spanned = span(attributes.get("number-columns-spanned", ""), MAX_COLUMN_SPAN)
        repeated = span(attributes.get("number-columns-repeated", ""), MAX_COLUMN_SPAN)
        n_rows = span(attributes.get("number-rows-spanned", ""), MAX_ROW_SPAN)
        self._flow.story.tables.begin_cell(min(spanned * repeated, MAX_COLUMN_SPAN), n_rows)

    def _end_shape(self) -> None:
        shape = self._flows.end()
        self._flow.story.place(shape.blocks)


SHAPES: Final = frozenset(
    "frame custom-shape rect square ellipse circle line polyline polygon regular-polygon path connector measure "
    "caption control page-thumbnail g".split()
)
SKIPPED: Final = frozenset(
    "tracked-changes forms scripts script event-listeners binary-data font-face-decls settings ruby-text note- "
    "citation footnote-citation endnote-citation table-of-content-source illustration-index-source table-index-source "
    "object-index-source user-index-source alphabetical-index-source bibliography-source dde-links content- "
    "validations math".split()
)
"""Elements without text of the document, or without visible text."""

_SPACES: Final = re.compile(r"[ \t\r\n]+")
_MAX_BLANKS: Final = 40
_MAX_AUTHOR: Final = 200
