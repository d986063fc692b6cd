"""Text of OpenDocument files: paragraphs, lists, tables, notes, comments and text boxes, wherever they occur.

Tracked deletions are kept apart from the text, so a single skipped element leaves them out. Numbers of lists and
headings are not stored, so they are counted here. Notes and comments are kept apart from the paragraph with their mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from directory_indexer.formats.blocks import Block, BlockBuilder, block_texts
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, MAX_ROW_SPAN, span
from directory_indexer.formats.office.odf_styles import MAX_LEVELS, Styles, number_in

# ruff: noqa: PLW0108 - the flow of an element is known only when it comes, so bound methods cannot be passed


class OdfText:
    """Turns elements into blocks and emits each complete one; `comment` takes those of no paragraph."""

    def __init__(
        self, styles: Styles, emit: Callable[[Block], None], comment: Callable[[str], None] | None = None
    ) -> None:
        self.objects: list[str] = []
        """The folders of charts and formulas in the text; their reader empties the list."""

        self._flows = Flows(styles, emit)
        self._are_superscript: list[bool] = []
        """Of each open span, the innermost last."""

        paragraphs, asides = Paragraphs(self._flows, styles), Asides(self._flows, comment)
        self._starts: dict[str, Callable[[dict[str, str]], object]] = {
            "p": paragraphs.begin,
            "h": paragraphs.begin_heading,
            "s": lambda attributes: self._write(" " * min(number_in(attributes.get("c", ""), 1), _MAX_BLANKS)),
            "span": lambda attributes: self._are_superscript.append(
                styles.is_superscript(attributes.get("style-name", ""))
            ),
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
            "span": self._are_superscript.pop,
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
        if self._are_superscript and self._are_superscript[-1]:
            self._flow.story.write_superscript(text)
        else:
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
    "tracked-changes forms scripts script event-listeners binary-data font-face-decls settings ruby-text "
    "note-citation footnote-citation endnote-citation table-of-content-source illustration-index-source "
    "table-index-source object-index-source user-index-source alphabetical-index-source bibliography-source "
    "dde-links content-validations math".split()
)
"""Elements without text of the document, or without visible text."""

_SPACES: Final = re.compile(r"[ \t\r\n]+")
_MAX_BLANKS: Final = 40
_MAX_AUTHOR: Final = 200


class Flow:
    """Text that continues from paragraph to paragraph: the body, a note, a text box."""

    def __init__(self, story: BlockBuilder, lists: OpenLists) -> None:
        self.story = story
        self.lists = lists
        self.blocks: list[Block] = []
        self.forms: list[tuple[int, str]] = []
        """The level and the mark of each open paragraph."""

        self.mark = ""
        self.author = ""
        self.is_author_open = False
        self.is_described = False


class Flows:
    """The open flows, the innermost last; the blocks of the body are emitted."""

    def __init__(self, styles: Styles, emit: Callable[[Block], None]) -> None:
        self._styles = styles
        self._last_counts: dict[tuple[str, int], int] = {}
        self._open = [self._new(emit)]

    @property
    def current(self) -> Flow:
        """The innermost flow."""
        return self._open[-1]

    def begin(self) -> Flow:
        """Begin a flow apart from the open paragraph."""
        blocks: list[Block] = []
        flow = self._new(blocks.append)
        flow.blocks = blocks
        self._open.append(flow)
        return flow

    def end(self) -> Flow:
        """End and return the innermost flow."""
        self.current.story.flush()
        return self._open.pop()

    def _new(self, emit: Callable[[Block], None]) -> Flow:
        return Flow(BlockBuilder(emit), OpenLists(self._styles, self._last_counts))


class Paragraphs:
    """Begins and ends paragraphs in the innermost flow."""

    def __init__(self, flows: Flows, styles: Styles) -> None:
        self._flows = flows
        self._styles = styles
        self._headings = HeadingNumbers(styles)

    def begin(self, attributes: dict[str, str]) -> None:
        """Begin a paragraph, which may have the style of a heading."""
        self._open(self._styles.heading_level(attributes.get("style-name", "")), self._flows.current.lists.next_mark())

    def begin_heading(self, attributes: dict[str, str]) -> None:
        """Begin a heading."""
        level = number_in(attributes.get("outline-level", ""), 1)
        mark = self._flows.current.lists.next_mark().strip()
        is_numbered = attributes.get("is-list-header") != "true" and not self._flows.current.story.tables.innermost
        self._open(level, mark or (self._headings.next_mark(level) if is_numbered else ""))

    def end(self) -> None:
        """End a paragraph or a heading."""
        if self._flows.current.forms:
            self._flows.current.story.end_paragraph(*self._flows.current.forms.pop())

    def begin_description(self) -> None:
        """Begin the title or the description of a shape, which is a paragraph."""
        # A title in a paragraph is a field with the title of the document.
        if not self._flows.current.story.is_in_paragraph:
            self._open(0, "")
            self._flows.current.is_described = True

    def end_description(self) -> None:
        """End the title or the description of a shape."""
        if self._flows.current.is_described:
            self._flows.current.is_described = False
            self.end()

    def _open(self, level: int, mark: str) -> None:
        self._flows.current.story.begin_paragraph()
        self._flows.current.forms.append((level, mark))


class HeadingNumbers:
    """Counts the headings of a document."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._counts = [0] * MAX_LEVELS

    def next_mark(self, level: int) -> str:
        """Return the number of the next heading of a level."""
        level = min(max(level, 1), MAX_LEVELS)
        self._counts[level - 1] += 1
        self._counts[level:] = [0] * (MAX_LEVELS - level)
        return self._styles.heading_mark(self._counts[:level])


class OpenLists:
    """The lists around a paragraph, the innermost last; only the first paragraph of an item has its mark."""

    def __init__(self, styles: Styles, last_counts: dict[tuple[str, int], int]) -> None:
        self._styles = styles
        self._last_counts = last_counts
        """The final counts of the last list of each style and level, for lists that continue it."""

        self._open: list[_OpenList] = []

    def begin_list(self, attributes: dict[str, str]) -> None:
        """Begin a list within the open ones; without a style it has that of the list around it."""
        style = attributes.get("style-name") or (self._open[-1].style if self._open else "")
        depth = len(self._open) + 1
        count = self._styles.first_number(style, depth) - 1
        if attributes.get("continue-numbering") == "true" or "continue-list" in attributes:
            count = self._last_counts.get((style, depth), count)
        self._open.append(_OpenList(style, count))

    def end_list(self) -> None:
        """End the innermost list."""
        if self._open:
            depth, ended = len(self._open), self._open.pop()
            self._last_counts[ended.style, depth] = ended.count

    def begin_item(self, attributes: dict[str, str]) -> None:
        """Begin an item, which is counted at its first paragraph."""
        if self._open:
            self._open[-1].is_fresh = True
            start = attributes.get("start-value", "")
            if start:
                self._open[-1].count = number_in(start, 1) - 1

    def end_item(self) -> None:
        """End an item, which may have had no paragraph."""
        if self._open:
            self._open[-1].is_fresh = False

    def next_mark(self) -> str:
        """Return the mark of a paragraph, indented by two blanks for each outer list; "" if it has none."""
        if not self._open or not self._open[-1].is_fresh:
            return ""
        innermost = self._open[-1]
        innermost.is_fresh = False
        innermost.count += 1
        depth = min(len(self._open), MAX_LEVELS)
        mark = self._styles.mark(innermost.style, [open_list.count for open_list in self._open[-depth:]])
        return "  " * (depth - 1) + mark if mark else ""


class _OpenList:
    def __init__(self, style: str, count: int) -> None:
        self.style = style
        self.count = count
        self.is_fresh = False


class Asides:
    """Numbers notes and places them; `comment` takes comments that belong to no paragraph."""

    def __init__(self, flows: Flows, comment: Callable[[str], None] | None) -> None:
        self._flows = flows
        self._comment = comment
        self._n_notes = {"footnote": 0, "endnote": 0}

    def begin_note(self, attributes: dict[str, str]) -> None:
        """Begin a footnote or an endnote, whose mark is in the text."""
        role = "endnote" if attributes.get("note-class") == "endnote" else "footnote"
        self._n_notes[role] += 1
        mark = f"[^{'e' if role == 'endnote' else ''}{self._n_notes[role]}]"
        self._flows.current.story.write(mark)
        self._flows.begin().mark = mark

    def end_note(self) -> None:
        """End a note."""
        note = self._flows.end()
        self._flows.current.story.note(f"{note.mark}: {_line(note.blocks)}")

    def end_annotation(self) -> None:
        """End a comment."""
        annotation = self._flows.end()
        author, text = " ".join(annotation.author.split()), _line(annotation.blocks)
        comment_text = f"{author}: {text}" if author else text
        if not text:
            return
        if self._comment and not self._flows.current.story.is_in_paragraph:
            self._comment(comment_text)
        else:
            self._flows.current.story.note(f"> {comment_text}")

    def begin_author(self) -> None:
        """Begin the author of a comment, unless it is a field in a paragraph."""
        self._flows.current.is_author_open = not self._flows.current.story.is_in_paragraph

    def end_author(self) -> None:
        """End the author of a comment."""
        self._flows.current.is_author_open = False


def _line(blocks: list[Block]) -> str:
    return " ".join(" ".join(block_texts(blocks)).split())
