"""Conversion of a Document Intelligence result to lines: words by their offsets in its text.

Everything in a result refers to one text by offsets, which assign words to lines, paragraphs and tables.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median_low
from typing import Any, Final, NamedTuple

from directory_indexer.ocr.grids import Piece, Row, rows_of
from directory_indexer.ocr.values import count_in, items_in, number, number_in, text_in, values_in
from directory_indexer.scans import WHOLE, Box, Line, Word


class _Range(NamedTuple):
    start: int
    end: int


class _Placed(NamedTuple):
    """A line, its offset in the text, and its owner: lines of one owner form one block."""

    start: int
    owner: tuple[str, int]
    line: Line


def lines_of(result: dict[str, Any]) -> tuple[Line, ...]:
    """Return the lines of the only page of a result in reading order, those of tables as rows of cells."""
    page = next(iter(items_in(result, "pages")), {})
    words = _Words(page)
    tables = [(table, rows) for table in items_in(result, "tables")[:_MAX_TABLES] if (rows := rows_of(table))]
    in_tables = sorted(span for table, _ in tables for span in _spans(table))
    paragraphs = sorted(span.start for paragraph in items_in(result, "paragraphs") for span in _spans(paragraph))
    lines = [line for line in _lines(page, words, paragraphs) if not _is_within(line.start, in_tables)]
    starts = [min((span.start for span in _spans(table)), default=0) for table, _ in tables]
    cells = [
        _Placed(starts[index], ("table", index), _line_of(row, words))
        for index, (_, rows) in enumerate(tables)
        for row in rows
    ]
    return tuple(_numbered(sorted((*lines, *cells), key=lambda placed: placed.start)))


class _Words:
    """The words of a page by offset."""

    def __init__(self, page: dict[str, Any]) -> None:
        self.size = number_in(page, "width"), number_in(page, "height")
        spans = ((_span(word), word) for word in islice(items_in(page, "words"), _MAX_WORDS))
        words = sorted((span.start, self._word(word)) for span, word in spans if text_in(word, "content").strip())
        self._starts = [start for start, _ in words]
        self._words = [word for _, word in words]
        self._allowance = _MOST_USES * len(words)
        self.height = median_low([word.box.bottom - word.box.top for word in self._words if word.box] or [_HEIGHT])

    def within(self, spans: Sequence[_Range]) -> list[Word]:
        """Return the words in ranges of the text; none if ranges overlap more than on any real page."""
        words: list[Word] = []
        for span in spans:
            first, end = (bisect_left(self._starts, at) for at in span)
            self._allowance -= end - first
            if self._allowance < 0:
                break
            words += self._words[first:end]
        return words

    def box(self, polygon: Sequence[object]) -> Box | None:
        """Return the bounding box of a polygon, in ten-thousandths of the page."""
        width, height = self.size
        if width <= 0 or height <= 0 or len(polygon) < _LEAST_CORNERS:
            return None
        across, down = ([number(value) for value in polygon[axis:_CORNERS:2]] for axis in (0, 1))
        left, right = _part(min(across), width), _part(max(across), width)
        top, bottom = _part(min(down), height), _part(max(down), height)
        return Box(left, top, right, bottom) if left < right and top < bottom else None

    def _word(self, word: dict[str, Any]) -> Word:
        text = " ".join(text_in(word, "content").split())[:_LONGEST_WORD]
        return Word(text, _percent(number_in(word, "confidence")), self.box(values_in(word, "polygon")))


def _lines(page: dict[str, Any], words: _Words, paragraphs: Sequence[int]) -> Iterator[_Placed]:
    for line in islice(items_in(page, "lines"), _MAX_WORDS):
        spans = _spans(line)
        start = min((span.start for span in spans), default=0)
        line_words = words.within(spans) or [
            Word(text[:_LONGEST_WORD], _UNKNOWN, words.box(values_in(line, "polygon")))
            for text in text_in(line, "content").split()
        ]
        if line_words:
            yield _Placed(start, ("paragraph", bisect_right(paragraphs, start)), Line(tuple(line_words)))


def _line_of(row: Row, words: _Words) -> Line:
    row_words = [word for piece in row.pieces for word in words.within(_spans(piece.cell))]
    confidence = round(sum(word.confidence for word in row_words) / len(row_words)) if row_words else _UNKNOWN
    box = _box_of_row(row, words)
    return Line(tuple(Word(text, confidence, box) for text in row.text.split(" ")))


def _box_of_row(row: Row, words: _Words) -> Box | None:
    """Return the box of the first line of a row: the height of several lines would pass for large print."""
    boxes = [box for piece in row.pieces if (box := words.box(_polygon(piece)))]
    if not boxes:
        return None
    top = min(box.top for box in boxes)
    bottom = min(top + words.height, max(box.bottom for box in boxes))
    return Box(min(box.left for box in boxes), top, max(box.right for box in boxes), bottom)


def _polygon(piece: Piece) -> Sequence[object]:
    region = next(iter(items_in(piece.cell, "boundingRegions")), {})
    return values_in(region, "polygon")


def _numbered(placed: Sequence[_Placed]) -> Iterator[Line]:
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


def _part(value: float, whole: float) -> int:
    return max(0, min(round(value / whole * WHOLE), WHOLE))


def _percent(confidence: float) -> int:
    return round(max(0.0, min(confidence, 1.0)) * 100)


_MAX_WORDS: Final = 50_000
_MAX_TABLES: Final = 50
_MOST_USES: Final = 8
_LONGEST_WORD: Final = 1_000
_LEAST_CORNERS: Final = 6
_CORNERS: Final = 64
_HEIGHT: Final = 150
_UNKNOWN: Final = 90
"""Confidence of words for which the service reports none."""
