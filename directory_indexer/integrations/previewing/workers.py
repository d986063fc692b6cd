"""The two preview workers, in which all untrusted content is parsed: one renders pages, the other parses texts.

A process is kept for the next request: starting one and importing its libraries takes a second. Tables become rows of
cells, and Markdown a tree of a few safe elements: no HTML, no images, links only to the web and to files beside it,
which the index resolves.
"""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import singledispatch
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from directory_indexer.core.errors import BusyError, ExtractionError, SkipFileError
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.kinds import GROUPS, SLIDES
from directory_indexer.integrations.previewing.requests import (
    ColourRequest,
    Colours,
    MarkdownRequest,
    Node,
    PageImage,
    PageImageRequest,
    Row,
    Rows,
    TableRequest,
    Tree,
)
from directory_indexer.parsing.one_file import format_origin
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure

with lazily:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

    from directory_indexer.formats.pdf.rendering import draw_for_screen, encode_page
    from directory_indexer.integrations.previewing.colours import colours_of
    from directory_indexer.ocr.pages import content_of_page
    from directory_indexer.parsing.worker_pool import WorkerPool


_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
_MAX_CELLS: Final = 64
_MAX_CELL_CHARS: Final = 2_000


def answer(request: object) -> object:
    """Return the answer to a request, or a failure with its reason."""
    try:
        return _answer(request)
    except (SkipFileError, ExtractionError) as error:
        return WorkerFailure(error.message)
    except OSError as error:
        return WorkerFailure((error.strerror or type(error).__name__).lower())
    except Exception as error:  # noqa: BLE001 - whatever a parser does over one document
        return WorkerFailure(format_origin(error))


@singledispatch
def _answer(request: object) -> object:
    raise TypeError(request)


@_answer.register
def _(request: PageImageRequest) -> object:
    content, kind = content_of_page(request.path, request.on_disk, request.policy)
    if kind not in RENDERED_KINDS:
        raise ExtractionError(f"is not drawn: it is {kind}")
    drawn = draw_for_screen(content, kind, request.page)
    picture = encode_page(drawn.raster)
    return PageImage(picture.content, picture.media_type, picture.width, picture.height, drawn.n_pages, drawn.words)


@_answer.register
def _(request: ColourRequest) -> object:
    return Colours(tuple(colours_of(request.text, request.kind)))


@_answer.register
def _(request: MarkdownRequest) -> object:
    return tree_of(request.text, start_line=request.start_line)


@_answer.register
def _(request: TableRequest) -> object:
    return rows_of(request)


def rows_of(request: TableRequest) -> Rows:
    """Parse the rows of a table."""
    if request.kind in _DELIMITERS:
        return Rows(tuple(_delimited_rows(request)))
    return Rows(tuple(_markdown_rows(request)))


def _delimited_rows(request: TableRequest) -> Iterator[Row]:
    separator = _DELIMITERS[request.kind]
    first = request.text.partition("\n")[0]
    if request.kind == "csv" and first.count(";") > first.count(","):
        separator = ";"
    csv.field_size_limit(1 << 24)
    reader = csv.reader(io.StringIO(request.text), delimiter=separator)
    line = request.start_line
    for cells in reader:
        if cells:
            yield Row(line, _bounded(cells))
        line = request.start_line + reader.line_num


def _markdown_rows(request: TableRequest) -> Iterator[Row]:
    for line, text in enumerate(request.text.split("\n"), request.start_line):
        if text.startswith("| ") and text.endswith(" |"):
            yield Row(line, _bounded(text[2:-2].split(" | ")))
        elif text.strip():
            yield Row(line, (), text.lstrip("# "))


def _bounded(cells: list[str]) -> tuple[str, ...]:
    return tuple(cell[:_MAX_CELL_CHARS] for cell in cells[:_MAX_CELLS])


_MAX_NODES: Final = 20_000
_ELEMENTS: Final = frozenset(
    {
        *("heading", "paragraph", "bullet_list", "ordered_list", "list_item", "blockquote", "hr", "em", "strong", "s"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
)
_BREAKS: Final = {"softbreak": Node("", " "), "hardbreak": Node("br")}
_TEXT_TOKENS: Final = frozenset({"text", "html_inline", "html_block"})
_LITERALS: Final = {"code_inline": "code", "fence": "pre", "code_block": "pre", "image": "image"}
"""Nodes with a text of their own; that of an image is its description."""

_SCHEMES: Final = frozenset({"http", "https"})
_MAX_URL_CHARS: Final = 1_024


def tree_of(text: str, *, start_line: int = 1) -> Tree:
    """Parse Markdown without its front matter."""
    n_lines = _front_matter(text) if start_line == 1 else 0
    body = "\n" * n_lines + "".join(text.splitlines(keepends=True)[n_lines:])
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    parser.disable("html_block")
    tokens: Sequence[Token] = parser.parse(body)
    return Tree(_Reader(start_line).nodes(SyntaxTreeNode(tokens).children))


def _front_matter(text: str) -> int:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:], 2) if line.rstrip() in {"---", "..."}), 0)


class _Reader:
    """Converts nodes, up to the limit of a page."""

    def __init__(self, start_line: int) -> None:
        self._start_line = start_line
        self._n_nodes = 0

    def nodes(self, nodes: Sequence[SyntaxTreeNode]) -> tuple[Node, ...]:
        converted: list[Node] = []
        for node in nodes:
            self._n_nodes += 1
            if self._n_nodes > _MAX_NODES:
                break
            converted.extend(self._read(node))
        return tuple(converted)

    def _read(self, node: SyntaxTreeNode) -> tuple[Node, ...]:
        if node.type in _BREAKS:
            return (_BREAKS[node.type],)
        if node.type in _TEXT_TOKENS:
            return (Node("", node.content),)
        if node.type in _LITERALS:
            return (Node(_LITERALS[node.type], children=(Node("", node.content or "picture"),), line=self._line(node)),)
        children = self.nodes(node.children)
        if node.type == "link":
            href, beside = _link_targets(str(node.attrGet("href")))
            return (Node("link", children=children, href=href, beside=beside),)
        tag = node.tag if node.type == "heading" else node.type
        return (Node(tag, children=children, line=self._line(node)),) if node.type in _ELEMENTS else children

    def _line(self, node: SyntaxTreeNode) -> int:
        return node.map[0] + self._start_line if node.map else 0


def _link_targets(href: str) -> tuple[str, str]:
    """Return the URL of a web link and the path of a link to a local file; other links become text."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return "", ""
    if parts.scheme in _SCHEMES and parts.netloc:
        return href, ""
    is_beside = not parts.scheme and not parts.netloc and not parts.path.startswith(("/", "\\"))
    return "", href if is_beside and len(href) <= _MAX_URL_CHARS else ""


class PreviewWorkers:
    """Two processes, started on first use."""

    def __init__(self, scratch: Path) -> None:
        self.drawing = WarmWorker(answer, scratch)
        self.taking_apart = WarmWorker(answer, scratch)

    def close(self) -> None:
        """End both."""
        self.drawing.close()
        self.taking_apart.close()


_LIMITS: Final = Limits(seconds=15, memory_bytes=1 << 30, clock_seconds=30)
_IDLE_SECONDS: Final = 300.0
_QUEUE_SECONDS: Final = 20.0


class WarmWorker:
    """One process, for one request at a time; it ends when idle, and with this process."""

    def __init__(self, function: Callable[[Any], object], scratch: Path | None = None) -> None:
        self._pool = WorkerPool(function, n_workers=1, scratch=scratch, is_warm=True)
        self._turn = threading.Lock()
        self._end: threading.Timer | None = None

    def ask(self, request: object) -> object:
        """Return the answer to a request; a crash of the process is returned as a failure.

        Raises:
            BusyError: other requests take too long.
            UnavailableError: no process can be started.
        """
        if not self._turn.acquire(timeout=_QUEUE_SECONDS):
            raise BusyError("the preview workers are busy", hint="try again in a moment")
        try:
            self._end_after_idle_time()
            # A crash is not tried again: somebody waits for the answer.
            task = Task((request,), (_LIMITS,), was_tried=True)
            return [result for _, result in self._pool.work(iter([task]), lambda: False)][-1]
        finally:
            self._turn.release()

    @property
    def process_id(self) -> int | None:
        """The id of the process, if it is running."""
        return next(iter(self._pool.process_ids), None)

    def close(self) -> None:
        """End the process."""
        with self._turn:
            if self._end is not None:
                self._end.cancel()
            self._pool.close()

    def _end_after_idle_time(self) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = threading.Timer(_IDLE_SECONDS, self.close)
        self._end.daemon = True
        self._end.start()


class Form(StrEnum):
    """Layout of a document preview."""

    LINES = "lines"
    PROSE = "prose"
    MARKDOWN = "markdown"
    TABLE = "table"
    SLIDES = "slides"
    MESSAGE = "message"
    PAGES = "pages"


RENDERED_KINDS: Final = frozenset({"pdf", "png", "jpeg", "gif", "tiff", "webp", "bmp", "pnm"})
"""Kinds whose pages can be rendered."""

_FORMS: Final = {
    **dict.fromkeys(SLIDES, Form.SLIDES),
    **dict.fromkeys(("csv", "tsv", "xlsx", "xls", "xlsb", "ods", "numbers"), Form.TABLE),
    **dict.fromkeys(("email", "emlx", "msg"), Form.MESSAGE),
    **dict.fromkeys(RENDERED_KINDS, Form.PAGES),
    "markdown": Form.MARKDOWN,
}
_PROSE: Final = frozenset(
    {
        "doc",
        "docx",
        "odt",
        "odg",
        "rtf",
        "pages",
        "epub",
        "fictionbook",
        "hwpx",
        "mobi",
        "vsdx",
        "mhtml",
        "notebook",
        "calendar",
    }
    | {"contacts", "tnef"}
)


def form_of(kind: str) -> Form:
    """Return the layout of a kind; text files are displayed line by line."""
    if kind in _FORMS:
        return _FORMS[kind]
    is_prose = kind in _PROSE or kind in GROUPS["media"] or kind in GROUPS["archives"]
    return Form.PROSE if is_prose else Form.LINES
