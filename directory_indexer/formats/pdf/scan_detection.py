"""Decision which pages need OCR, by the characters of their text and the area of pictures without text.

No picture is decoded: it takes 1 to 3 ms for a page with pictures, and next to nothing for others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from directory_indexer.core.files import PageKey
from directory_indexer.core.ids import content_hash
from directory_indexer.formats.pdf.mupdf import pymupdf
from directory_indexer.formats.pdf.pages import Row


class OcrNeed(Enum):
    """Whether a page needs OCR: no, in addition to its text, or instead of it."""

    TEXT = auto()
    PICTURE = auto()
    UNREADABLE = auto()


class LetterCounts(NamedTuple):
    """The number of letters and digits in the text of a page, and of characters without a meaning."""

    n_good: int
    n_bad: int

    @classmethod
    def of(cls, text: str) -> LetterCounts:
        """Count those of a text."""
        if text.isascii():
            return cls(len(text.encode().translate(None, _ASCII_WITHOUT_LETTERS)), 0)
        return cls(sum(map(str.isalnum, text)), len(_MEANINGLESS.findall(text)))


def ocr_need(page: Any, letters: LetterCounts, rows: Sequence[Row]) -> OcrNeed:
    """Return whether a MuPDF page needs OCR, by its text and by its pictures without text."""
    n_all = letters.n_good + letters.n_bad
    if n_all >= _MIN_LETTERS and letters.n_bad > _BAD_SHARE * n_all:
        return OcrNeed.UNREADABLE
    has_letters = n_all >= _MIN_LETTERS
    min_pixels = _SMALL_PIXELS if has_letters else _TINY_PIXELS
    n_pixels = _n_pixels(page)
    if n_pixels >= min_pixels:
        enough = _PICTURE_SHARE if has_letters or n_pixels < _SMALL_PIXELS else _ONLY_PICTURE_SHARE
        return OcrNeed.PICTURE if _share_without_text(page, rows, min_pixels) >= enough else OcrNeed.TEXT
    is_drawn = not has_letters and _may_draw_letters(page)
    return OcrNeed.PICTURE if is_drawn else OcrNeed.TEXT


def page_key(page: Any) -> PageKey:
    """Return the OCR key of a page: a hash of everything it is drawn from, wherever the page moves."""
    pdf = page.parent
    pictures = [xref for with_mask in page.get_images(full=True) for xref in with_mask[:2] if xref]
    xrefs = sorted({*pictures, *(xobject[0] for xobject in page.get_xobjects())})
    streams = (pdf.xref_stream_raw(xref) or b"" for xref in xrefs)
    drawn = b"".join(content_hash(stream) for stream in (page.read_contents() or b"", *streams))
    return PageKey(content_hash(f"{tuple(page.mediabox)} {tuple(page.cropbox)} {page.rotation}".encode() + drawn))


def _n_pixels(page: Any) -> int:
    """Return the number of pixels of the pictures of a page."""
    return sum(width * height for _, _, width, height, *_ in page.get_images(full=True))


def _share_without_text(page: Any, rows: Sequence[Row], min_pixels: int) -> float:
    """Return the share of a page covered by pictures without text that an earlier OCR left on them.

    A stamp or the fax header on a scan does not count as such text: there is too little of it, or it is at the edge.
    """
    sheet = page.rect
    area = (abs(sheet) or 1) * _TENTHS * _TENTHS
    share = 0.0
    for picture in page.get_image_info():
        left, top, right, bottom = (sheet & picture["bbox"]) * _TENTHS
        is_small = picture["width"] * picture["height"] < min_pixels / _MAX_STRIPS
        if is_small or right <= left or bottom <= top:
            continue
        covered = (right - left) * (bottom - top) / area
        edge = (bottom - top) * _EDGE_SHARE if covered > _MAJORITY_OF_PAGE else 0
        inner = (left, top + edge, right, bottom - edge)
        on_it = [row for row in rows if _lies_in(row, inner)]
        written = sum((row.right - row.left) * (row.bottom - row.top) for row in on_it) / area
        is_stamp = written < _SHARE_OF_STAMP * covered and sum(len(row.text) for row in on_it) < _LETTERS_OF_STAMP
        is_empty = sum(len(row.text) for row in on_it) < _MIN_LETTERS
        if is_empty or (is_stamp and not _has_hidden_text(page)):
            share += covered
    return share


def _lies_in(row: Row, sides: tuple[float, float, float, float]) -> bool:
    x, y = (row.left + row.right) // 2, (row.top + row.bottom) // 2
    return sides[0] <= x <= sides[2] and sides[1] <= y <= sides[3]


def _has_hidden_text(page: Any) -> bool:
    """Whether most of the text is drawn invisibly, as by an earlier OCR."""
    blocks = page.get_text("dict", flags=pymupdf.TEXT_MEDIABOX_CLIP)["blocks"]
    spans = [span for block in blocks for line in block.get("lines", ()) for span in line["spans"]]
    n_hidden = sum(len(span["text"]) for span in spans if not span["char_flags"] & _IS_PAINTED)
    return 2 * n_hidden > sum(len(span["text"]) for span in spans)


def _may_draw_letters(page: Any) -> bool:
    """Whether a page may show letters drawn as paths, by programs that avoid fonts."""
    return len(page.read_contents() or b"") > _LONG_DRAWING and len(page.get_cdrawings()) > _MANY_PATHS


_MEANINGLESS: Final = re.compile("[\ue000-\uf8ff\ufffd]")
_ASCII_WITHOUT_LETTERS: Final = bytes(code for code in range(0x80) if not chr(code).isalnum())
_MIN_LETTERS: Final = 20
_BAD_SHARE: Final = 0.1
_SMALL_PIXELS: Final = 100_000
_TINY_PIXELS: Final = 10_000
"""On a page without letters, even a picture counts that would be a symbol next to text."""

_MAX_STRIPS: Final = 20
"""Scanners cut a page into strips: each of them counts down to this fraction of a small picture."""

_PICTURE_SHARE: Final = 0.15
_ONLY_PICTURE_SHARE: Final = 0.02
"""For a page with nothing but a picture large enough for text."""

_LETTERS_OF_STAMP: Final = 150
_SHARE_OF_STAMP: Final = 0.02
"""The share of a picture that a stamp covers; a page of text covers ten times as much."""

_MAJORITY_OF_PAGE: Final = 0.5
_EDGE_SHARE: Final = 0.06
_IS_PAINTED: Final = 16 | 32
"""The MuPDF flags of filled and stroked characters."""

_LONG_DRAWING: Final = 4_000
_MANY_PATHS: Final = 100
_TENTHS: Final = 10
