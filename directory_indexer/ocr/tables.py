"""Parser of Tesseract's TSV output, which is not trusted to be well-formed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.scans import WHOLE, Box, Line, Word


def lines_of(written: str, width: int, height: int) -> Iterator[Line]:
    """Yield the lines of a page of the given size, in reading order; rows that are no words are skipped."""
    blocks: dict[tuple[str, ...], int] = {}
    for place, rows in itertools.groupby(_rows(written), key=lambda row: row.place):
        words = tuple(word for row in rows if (word := _word(row, width, height)))
        if words:
            yield Line(words, blocks.setdefault(place[:-1], len(blocks)))


class _Row(NamedTuple):
    """A word, and the numbers of its block, paragraph and line."""

    place: tuple[str, ...]
    box: list[str]
    confidence: str
    text: str


def _rows(written: str) -> Iterator[_Row]:
    for line in written.split("\n"):
        values = line.split("\t", _N_COLUMNS - 1)
        if len(values) == _N_COLUMNS and values[0] == _WORD:
            yield _Row(tuple(values[2:5]), values[6:10], values[10], " ".join(values[11].split()))


def _word(row: _Row, width: int, height: int) -> Word | None:
    try:
        left, top, across, down = map(int, row.box)
        confidence = round(float(row.confidence))
    except (ValueError, OverflowError):
        return None
    if not row.text or confidence < _LEAST_CONFIDENCE:
        return None
    right, bottom = left + max(across, 0), top + max(down, 0)
    box = Box(_share(left, width), _share(top, height), _share(right, width), _share(bottom, height))
    return Word(row.text, min(confidence, 100), box)


def _share(pixels: int, of_pixels: int) -> int:
    return WHOLE * min(max(pixels, 0), of_pixels) // max(of_pixels, 1)


_N_COLUMNS: Final = 12
_WORD: Final = "5"
_LEAST_CONFIDENCE: Final = 20
"""Words below this confidence are mostly noise, in photographs and at margins."""
