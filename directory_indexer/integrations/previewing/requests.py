"""Requests and answers of preview workers: records of bounded size."""

from __future__ import annotations

from typing import NamedTuple

from directory_indexer.core.files import SourceFile, Word
from directory_indexer.core.paths import FilePath
from directory_indexer.parsing.policy import ParsePolicy


class PageImageRequest(NamedTuple):
    """A page to render, of the document at `path`; `on_disk` is the file or its outermost container."""

    path: FilePath
    on_disk: SourceFile
    page: int
    policy: ParsePolicy


class ColourRequest(NamedTuple):
    """Source code to highlight."""

    text: str
    kind: str


class MarkdownRequest(NamedTuple):
    """Markdown to parse; its first line is `start_line`."""

    text: str
    start_line: int


class TableRequest(NamedTuple):
    """Rows to parse; the first one is on line `start_line`."""

    text: str
    kind: str
    start_line: int


class PageImage(NamedTuple):
    """A page as an image, and its words with their positions."""

    content: bytes
    media_type: str
    width: int
    height: int
    n_pages: int
    words: tuple[Word, ...]


class Colours(NamedTuple):
    """Styled ranges of a text: start, end and style."""

    stretches: tuple[tuple[int, int, str], ...]


class Node(NamedTuple):
    """A node of a document: an element with its children, or text, whose `tag` is empty."""

    tag: str
    text: str = ""
    children: tuple[Node, ...] = ()
    href: str = ""
    line: int = 0
    """The line in which a block begins; 0 within blocks."""

    marks: tuple[tuple[int, int], ...] = ()
    beside: str = ""
    """The unresolved target of a link to a file beside the document, or to a heading."""


class Tree(NamedTuple):
    """The blocks of a document."""

    blocks: tuple[Node, ...]


class Row(NamedTuple):
    """A row of cells, or a heading, which has no cells but a text."""

    line: int
    cells: tuple[str, ...]
    heading: str = ""


class Rows(NamedTuple):
    """The rows of a table."""

    rows: tuple[Row, ...]
