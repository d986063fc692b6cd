"""HTML as blocks: headings, paragraphs, lists, and tables whose rows are lines, for books and web pages.

Unclosed elements end where the next element begins that cannot be nested in them. The main text of a web page, without
menus and banners, needs the extra `web`, which takes 0.2 s to import and a tree of the page in memory, so it is used in
worker processes alone.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from typing import Final

from directory_indexer.formats.blocks import Block, BlockBuilder, write_block
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, MAX_ROW_SPAN, Draft
from directory_indexer.formats.html import main_part, n_visible, title_of
from directory_indexer.formats.html_tokens import (
    TOKEN,
    InvisibleElement,
    alternative_text,
    decode_entities,
    inline_frames,
    read_page_metadata,
)

_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}
_BLOCKS: Final = frozenset(_LEVELS) | frozenset(
    "address article aside blockquote body caption center dd desc details dialog div dl dt fieldset figcaption figure "
    "footer form header hr html legend li main ol p pre section summary svg table tbody td text tfoot th thead title "
    "tr ul".split()
)
_INVISIBLE: Final = frozenset("annotation annotation-xml audio head metadata nav object rt template video".split())
_POSITION: Final = re.compile(r"\s(?:x|y|dy)\s*=")
"""The position of a line in a drawing, which may be an element of its own."""

_SPACES: Final = re.compile(r"\s{2,}|[^\S ]")
_MAX_DEPTH: Final = 8
"""The deepest nesting of lists and tables that is kept."""

_MAX_CHARS: Final = 4_000_000
_MIN_SHARE_OF_TEXT: Final = 0.25
"""If less of the text than this would remain, the page has been misread."""

_TAG: Final = re.compile(r"<[^<>]*>")


def page_blocks(source: str) -> list[Block]:
    """Return the visible blocks of a page."""
    return _Page(inline_frames(source)).read()


def read_page(content: bytes, kind: str) -> Document:
    """Read the main part of a page.

    Raises:
        SkipFileError: it is no text, or more than is read.
    """
    source = inline_frames(decode(content))
    draft = Draft()
    main = main_part(source) or extract_main_content(source, n_visible=n_visible(source)) or source
    for block in page_blocks(main):
        write_block(block, draft)
    return draft.document(kind, title_of(source), read_page_metadata(source))


def extract_main_content(source: str, *, n_visible: int) -> str:
    """Return the source of the main content of a page; "" if it is unknown, so that the whole page is to be read.

    `n_visible` characters of the page are text.
    """
    if importlib.util.find_spec("trafilatura") is None or len(source) > _MAX_CHARS:
        return ""
    import trafilatura  # noqa: PLC0415 - see the docstring of the module

    content = trafilatura.extract(
        source, output_format="html", include_comments=False, include_formatting=True, with_metadata=False
    )
    return content if content and len(_TAG.sub("", content)) >= n_visible * _MIN_SHARE_OF_TEXT else ""


class _Page:
    def __init__(self, source: str) -> None:
        self._source = source
        self._blocks: list[Block] = []
        self._story = BlockBuilder(self._blocks.append)
        self._level = 0
        self._verbatim_depth = 0
        self._is_superscript = False
        self._invisible = InvisibleElement(source, _INVISIBLE)
        self._lists = lists = _Lists()
        self._tables = tables = _Tables(self._story)
        self._starts: dict[str, Callable[[str], None]] = {
            "ul": lists.begin,
            "ol": lists.begin_numbered,
            "li": lists.begin_item,
            "table": tables.begin,
            "tr": tables.begin_row,
            "td": tables.begin_cell,
            "th": tables.begin_cell,
        }
        self._ends: dict[str, Callable[[], None]] = {
            "ul": lists.end,
            "ol": lists.end,
            "li": lists.end_item,
            "td": tables.end_cell,
            "th": tables.end_cell,
            "tr": tables.end_cell,
            "table": tables.end,
        }

    def read(self) -> list[Block]:
        position = 0
        for token in TOKEN.finditer(self._source):
            self._read_text(self._source[position : token.start()])
            position = token.end()
            if name := token["name"]:
                self._read_tag(name.lower().rpartition(":")[2], token)
            elif token["plain"]:
                self._write(token["plain"])
        self._read_text(self._source[position:])
        self._end_paragraph()
        self._tables.end_all()
        return self._blocks

    def _read_text(self, text: str) -> None:
        if not text or self._invisible.name:
            return
        self._write(decode_entities(text))

    def _write(self, text: str) -> None:
        if self._invisible.name:
            return
        if not self._verbatim_depth:
            text = _SPACES.sub(" ", text)
        if not self._story.is_in_paragraph:
            if text.isspace():
                return
            self._story.begin_paragraph()
        if self._is_superscript:
            self._story.write_superscript(text)
        else:
            self._story.write(text)

    def _read_tag(self, name: str, token: re.Match[str]) -> None:
        if self._invisible.consume(name, token):
            return
        if name == "img" and (text := alternative_text(token[0])):
            self._write(f" {text} ")
        elif name == "sup":
            self._is_superscript = not token["end"]
        elif name == "tspan" and _POSITION.search(token[0]):
            self._write(" ")
        elif name == "br":
            if self._story.is_in_paragraph:
                self._story.write("\n")
        elif name in _BLOCKS:
            self._end_paragraph()
            self._read_block(name, token[0], is_end=bool(token["end"]))

    def _read_block(self, name: str, tag: str, *, is_end: bool) -> None:
        self._level = 0 if is_end else _LEVELS.get(name, 0)
        if name == "pre":
            self._verbatim_depth = max(0, self._verbatim_depth - 1) if is_end else self._verbatim_depth + 1
        elif is_end:
            if end := self._ends.get(name):
                end()
        elif begin := self._starts.get(name):
            begin(tag)

    def _end_paragraph(self) -> None:
        if self._story.is_in_paragraph:
            self._story.end_paragraph(self._level, self._lists.take_mark())


class _Lists:
    """The open lists, and the mark of the next item."""

    def __init__(self) -> None:
        self._mark = ""
        self._counts: list[int | None] = []
        """The open lists, the innermost last: the last number of a numbered one, None for bullets."""

    def begin(self, _: str) -> None:
        self._counts.append(None)

    def begin_numbered(self, tag: str) -> None:
        self._counts.append(_number_in(tag, "start", 1) - 1)

    def begin_item(self, _: str) -> None:
        depth = min(len(self._counts), _MAX_DEPTH)
        count = self._counts[-1] if self._counts else None
        if count is not None:
            self._counts[-1] = count = count + 1
        self._mark = "  " * max(depth - 1, 0) + ("-" if count is None else f"{count}.")

    def take_mark(self) -> str:
        mark, self._mark = self._mark, ""
        return mark

    def end_item(self) -> None:
        self._mark = ""

    def end(self) -> None:
        self._mark = ""
        if self._counts:
            self._counts.pop()


class _Tables:
    """The open tables, each with whether a cell is open in it."""

    def __init__(self, story: BlockBuilder) -> None:
        self._tables = story.tables
        self._has_cell: list[bool] = []

    def begin(self, _: str) -> None:
        if len(self._has_cell) < _MAX_DEPTH:
            self._tables.begin()
        self._has_cell.append(False)

    def begin_row(self, _: str) -> None:
        self.end_cell()
        if 0 < len(self._has_cell) <= _MAX_DEPTH:
            self._tables.begin_row()

    def begin_cell(self, tag: str) -> None:
        self.end_cell()
        if 0 < len(self._has_cell) <= _MAX_DEPTH:
            columns, rows = _number_in(tag, "colspan", 1), _number_in(tag, "rowspan", 1)
            self._tables.begin_cell(min(max(columns, 1), MAX_COLUMN_SPAN), min(max(rows, 1), MAX_ROW_SPAN))
            self._has_cell[-1] = True

    def end_cell(self) -> None:
        if self._has_cell and self._has_cell[-1]:
            self._tables.end_cell()
            self._has_cell[-1] = False

    def end(self) -> None:
        self.end_cell()
        if self._has_cell:
            self._has_cell.pop()
            if len(self._has_cell) < _MAX_DEPTH:
                self._tables.end()

    def end_all(self) -> None:
        while self._has_cell:
            self.end()


def _number_in(tag: str, attribute: str, default: int) -> int:
    match = re.search(rf"\b{attribute}\s*=\s*[\"']?(\d{{1,6}})\b", tag)
    return int(match[1]) if match else default
