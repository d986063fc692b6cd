"""OCR by Azure Document Intelligence: words with their positions, paragraphs and tables.

Everything in a result refers to one text by offsets, which assign words to lines, paragraphs and tables. In rows of
tables, spanning cells are repeated and column headings joined; row, column and span numbers of the service are only
trusted within fixed bounds.
"""

from __future__ import annotations

import base64
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice, product, takewhile
from statistics import median_low
from typing import Any, Final, NamedTuple

import httpx

from directory_indexer.core.errors import PageRefusedError, ProviderError
from directory_indexer.core.files import PAGE_UNITS, Box, Line, Word
from directory_indexer.formats.draft import MAX_COLUMN_SPAN, MAX_ROW_SPAN, row_line
from directory_indexer.formats.pdf.raster import EncodedPage
from directory_indexer.http_client import (
    FailureKind,
    RequestError,
    RetryTiming,
    as_number,
    count_in,
    items_in,
    number_in,
    object_in,
    text_in,
    values_in,
)
from directory_indexer.http_client.client import Response
from directory_indexer.ocr.engine import PageEstimate
from directory_indexer.ocr.service import Access, Profile, ServiceClient, Transcript

_PROFILE: Final = Profile("Azure Document Intelligence", "ocr.azure", "ocp-apim-subscription-key")
_API_VERSION: Final = "2024-11-30"
_LAYOUT_VERSION: Final = 1
_MAX_ATTEMPTS: Final = 2
_PENDING: Final = frozenset({"notStarted", "running"})
_FAILED: Final = frozenset({"failed", "canceled", "skipped"})
_SERVICE_FAULTS: Final = frozenset({"InternalServerError", "ServiceUnavailable", "Timeout"})
_FIRST_POLL_SECONDS: Final = 2.0
_MIN_POLL_SECONDS: Final = 1.0
_MAX_POLL_SECONDS: Final = 10.0

_MAX_WORDS: Final = 50_000
_MAX_TABLES: Final = 50
_MAX_REPEATS: Final = 8
_MAX_WORD_CHARS: Final = 1_000
_MIN_COORDINATES: Final = 6
_MAX_COORDINATES: Final = 64
_HEIGHT: Final = 150
_CONFIDENCE: Final = 90
"""Confidence of words for which the service reports none."""

_MAX_COLUMNS: Final = 60
_MAX_CELLS: Final = 5_000
_MAX_REPEATED_CHARS: Final = 200
_MAX_GROWTH: Final = 8
_FREE_CHARS: Final = 2_000


class AzureService:
    """One model of Document Intelligence. A page is submitted, and its result polled."""

    def __init__(self, access: Access, timing: RetryTiming) -> None:
        self._model = access.model
        self.client = ServiceClient(_PROFILE, access, timing)
        self._url = self.client.url(
            f"/documentintelligence/documentModels/{access.model}:analyze",
            **{"api-version": _API_VERSION, "stringIndexType": "unicodeCodePoint"},
        )

    @property
    def recipe(self) -> str:
        """The service, model and versions that affect the result."""
        return f"azure/{self._model} {_API_VERSION}, layout {_LAYOUT_VERSION}"

    def estimate(self) -> PageEstimate:
        """Return the cost of a page, which is counted as a page."""
        return PageEstimate()

    def read(self, page: EncodedPage, *, until: float) -> Transcript:
        """Read a page before a deadline; a failure within the service is retried once."""
        body = json.dumps({"base64Source": base64.b64encode(page.content).decode("ascii")}).encode()
        for _ in range(_MAX_ATTEMPTS - 1):
            try:
                return self._analyse(body, until)
            except RequestError as error:
                if error.kind is not FailureKind.BROKEN:
                    raise
        return self._analyse(body, until)

    def _analyse(self, body: bytes, until: float) -> Transcript:
        accepted = self.client.request("POST", self._url, body, until=until)
        operation = self._operation(accepted)
        result: dict[str, Any] = {}
        reply, n_polls = accepted, 0
        while text_in(result, "status") in _PENDING or not n_polls:
            self.client.retries.pause(self._poll_delay(reply, n_polls), until=until)
            result, reply = self.client.request_json("GET", operation, until=until)
            n_polls += 1
        return self._transcript(result)

    def _operation(self, accepted: Response) -> httpx.URL:
        """Return the URL of the result, if the key may be sent there."""
        written = accepted.headers.get("operation-location", "")
        if not written:
            raise RequestError(FailureKind.INVALID, "did not name the URL of the result")
        try:
            operation = httpx.URL(written)
        except (httpx.InvalidURL, ValueError):
            operation = httpx.URL("")
        ours = self.client.address
        if (operation.scheme, operation.host, operation.port) != (ours.scheme, ours.host, ours.port):
            elsewhere = self.client.cleaned(f"{operation.scheme}://{operation.netloc.decode('ascii', 'replace')}")
            raise ProviderError(
                f"{self.client.place} asks for the key to be sent to {elsewhere}",
                hint="set ocr.azure.endpoint to the resource itself",
            )
        return operation.copy_with(username=None, password=None)

    def _poll_delay(self, reply: Response, n_polls: int) -> float:
        requested = self.client.retries.requested_wait(reply.headers, None)
        usual = min(_FIRST_POLL_SECONDS + n_polls / 2, _MAX_POLL_SECONDS)
        return usual if requested is None else min(max(requested, _MIN_POLL_SECONDS), _MAX_POLL_SECONDS)

    def _transcript(self, answer: dict[str, Any]) -> Transcript:
        status = text_in(answer, "status")
        if status == "succeeded":
            result = object_in(answer, "analyzeResult")
            if not isinstance(result.get("pages"), list):
                raise RequestError(FailureKind.INVALID, "answered without pages")
            return Transcript(lines_of(result))
        if status not in _FAILED:
            raise RequestError(FailureKind.INVALID, "sent a response that is not Document Intelligence's")
        error = object_in(answer, "error")
        inner = object_in(error, "innererror")
        message = self.client.cleaned(text_in(inner, "message") or text_in(error, "message") or status)
        if text_in(error, "code") in _SERVICE_FAULTS:
            raise RequestError(FailureKind.BROKEN, f"failed over a page: {message}")
        raise PageRefusedError(f"{self.client.place} cannot read a page: {message}")


def lines_of(result: dict[str, Any]) -> tuple[Line, ...]:
    """Return the lines of the only page of a result in reading order, those of tables as rows of cells."""
    page = next(iter(items_in(result, "pages")), {})
    words = _WordIndex(page)
    tables = [(table, rows) for table in items_in(result, "tables")[:_MAX_TABLES] if (rows := rows_of(table))]
    in_tables = sorted(span for table, _ in tables for span in _spans(table))
    paragraphs = sorted(span.start for paragraph in items_in(result, "paragraphs") for span in _spans(paragraph))
    lines = [line for line in _lines(page, words, paragraphs) if not _is_within(line.start, in_tables)]
    starts = [min((span.start for span in _spans(table)), default=0) for table, _ in tables]
    cells = [
        _OffsetLine(starts[index], ("table", index), _line_of(row, words))
        for index, (_, rows) in enumerate(tables)
        for row in rows
    ]
    return tuple(_numbered(sorted((*lines, *cells), key=lambda placed: placed.start)))


class TableCell(NamedTuple):
    """A cell of a table, with its position."""

    row: int
    column: int
    content: dict[str, Any]


class Row(NamedTuple):
    """A line of a table, and the cells that begin in it."""

    text: str
    cells: tuple[TableCell, ...]


def rows_of(table: dict[str, Any]) -> list[Row]:
    """Return the rows of a table that have text; none if it is larger than any real one."""
    n_rows, n_columns = count_in(table, "rowCount"), count_in(table, "columnCount")
    if not 0 < n_rows * n_columns <= _MAX_CELLS or n_columns > _MAX_COLUMNS:
        return []
    cells = [cell for cell in _cells(table) if cell.row < n_rows and cell.column < n_columns]
    grid = _grid(cells, n_rows, n_columns)
    headings = {cell.row for cell in cells if text_in(cell.content, "kind") == "columnHeader"}
    n_headings = max(1, sum(1 for _ in takewhile(headings.__contains__, range(n_rows))))
    return list(_rows(grid, cells, n_headings))


class _Range(NamedTuple):
    start: int
    end: int


class _OffsetLine(NamedTuple):
    """A line, its offset in the text, and its owner: lines of one owner form one block."""

    start: int
    owner: tuple[str, int]
    line: Line


class _WordIndex:
    """The words of a page by offset."""

    def __init__(self, page: dict[str, Any]) -> None:
        self.size = number_in(page, "width"), number_in(page, "height")
        spans = ((_span(word), word) for word in islice(items_in(page, "words"), _MAX_WORDS))
        words = sorted((span.start, self._word(word)) for span, word in spans if text_in(word, "content").strip())
        self._starts = [start for start, _ in words]
        self._words = [word for _, word in words]
        self._n_left = _MAX_REPEATS * len(words)
        self.height = median_low([word.box.bottom - word.box.top for word in self._words if word.box] or [_HEIGHT])

    def within(self, spans: Sequence[_Range]) -> list[Word]:
        """Return the words in ranges of the text, within a budget for overlapping ranges."""
        words: list[Word] = []
        for span in spans:
            first, end = (bisect_left(self._starts, at) for at in span)
            self._n_left -= end - first
            if self._n_left < 0:
                break
            words += self._words[first:end]
        return words

    def box(self, polygon: Sequence[object]) -> Box | None:
        """Return the bounding box of a polygon, in ten-thousandths of the page."""
        width, height = self.size
        if width <= 0 or height <= 0 or len(polygon) < _MIN_COORDINATES:
            return None
        across, down = ([as_number(value) for value in polygon[axis:_MAX_COORDINATES:2]] for axis in (0, 1))
        left, right = _page_units(min(across), width), _page_units(max(across), width)
        top, bottom = _page_units(min(down), height), _page_units(max(down), height)
        return Box(left, top, right, bottom) if left < right and top < bottom else None

    def _word(self, word: dict[str, Any]) -> Word:
        text = " ".join(text_in(word, "content").split())[:_MAX_WORD_CHARS]
        return Word(text, _percent(number_in(word, "confidence")), self.box(values_in(word, "polygon")))


def _lines(page: dict[str, Any], words: _WordIndex, paragraphs: Sequence[int]) -> Iterator[_OffsetLine]:
    for line in islice(items_in(page, "lines"), _MAX_WORDS):
        spans = _spans(line)
        start = min((span.start for span in spans), default=0)
        line_words = words.within(spans) or [
            Word(text[:_MAX_WORD_CHARS], _CONFIDENCE, words.box(values_in(line, "polygon")))
            for text in text_in(line, "content").split()
        ]
        if line_words:
            yield _OffsetLine(start, ("paragraph", bisect_right(paragraphs, start)), Line(tuple(line_words)))


def _line_of(row: Row, words: _WordIndex) -> Line:
    row_words = [word for cell in row.cells for word in words.within(_spans(cell.content))]
    confidence = round(sum(word.confidence for word in row_words) / len(row_words)) if row_words else _CONFIDENCE
    box = _box_of_row(row, words)
    return Line(tuple(Word(text, confidence, box) for text in row.text.split(" ")))


def _box_of_row(row: Row, words: _WordIndex) -> Box | None:
    """Return the box of the first line of a row: the height of several lines would pass for large print."""
    boxes = [box for cell in row.cells if (box := words.box(_polygon(cell)))]
    if not boxes:
        return None
    top = min(box.top for box in boxes)
    bottom = min(top + words.height, max(box.bottom for box in boxes))
    return Box(min(box.left for box in boxes), top, max(box.right for box in boxes), bottom)


def _polygon(cell: TableCell) -> Sequence[object]:
    region = next(iter(items_in(cell.content, "boundingRegions")), {})
    return values_in(region, "polygon")


def _numbered(placed: Sequence[_OffsetLine]) -> Iterator[Line]:
    block = 0
    for before, current in zip((None, *placed), placed, strict=False):
        block += before is not None and before.owner != current.owner
        yield current.line._replace(block=block)


def _spans(value: dict[str, Any]) -> list[_Range]:
    return [_range(span) for span in items_in(value, "spans")]


def _span(value: dict[str, Any]) -> _Range:
    span = value.get("span")
    return _range(span if isinstance(span, dict) else {})


def _range(span: dict[str, Any]) -> _Range:
    start = count_in(span, "offset")
    return _Range(start, start + count_in(span, "length"))


def _is_within(start: int, ranges: Sequence[_Range]) -> bool:
    at = bisect_right(ranges, start, key=lambda span: span.start) - 1
    return at >= 0 and start < ranges[at].end


def _page_units(value: float, whole: float) -> int:
    return max(0, min(round(value / whole * PAGE_UNITS), PAGE_UNITS))


def _percent(confidence: float) -> int:
    return round(max(0.0, min(confidence, 1.0)) * 100)


def _cells(table: dict[str, Any]) -> Iterator[TableCell]:
    for cell in items_in(table, "cells")[:_MAX_CELLS]:
        yield TableCell(count_in(cell, "rowIndex"), count_in(cell, "columnIndex"), cell)


def _grid(cells: Sequence[TableCell], n_rows: int, n_columns: int) -> list[list[str]]:
    """Write each cell to its position and, within a budget, to the positions it spans."""
    grid = [[""] * n_columns for _ in range(n_rows)]
    texts = [_text(cell) for cell in cells]
    allowance = _FREE_CHARS + _MAX_GROWTH * sum(map(len, texts))
    for cell, text in zip(cells, texts, strict=True):
        repeated = text[:_MAX_REPEATED_CHARS]
        for row, column in _spanned(cell, n_rows, n_columns) if repeated else ():
            allowance -= len(repeated)
            if allowance < 0:
                break
            grid[row][column] = repeated
    for cell, text in zip(cells, texts, strict=True):
        grid[cell.row][cell.column] = text
    return grid


def _text(cell: TableCell) -> str:
    return " ".join(text_in(cell.content, "content").replace(":unselected:", "☐").replace(":selected:", "☒").split())


def _spanned(cell: TableCell, n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    down = max(1, min(count_in(cell.content, "rowSpan"), MAX_ROW_SPAN))
    across = max(1, min(count_in(cell.content, "columnSpan"), MAX_COLUMN_SPAN))
    rows = range(cell.row, min(cell.row + down, n_rows))
    return product(rows, range(cell.column, min(cell.column + across, n_columns)))


def _rows(grid: Sequence[list[str]], cells: Sequence[TableCell], n_headings: int) -> Iterator[Row]:
    by_row: dict[int, list[TableCell]] = {}
    for cell in cells:
        by_row.setdefault(max(cell.row - n_headings + 1, 0), []).append(cell)
    heading = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*grid[:n_headings], strict=True)]
    for index, texts in enumerate((heading, *grid[n_headings:])):
        if any(texts):
            yield Row(row_line(texts), tuple(by_row.get(index, ())))
