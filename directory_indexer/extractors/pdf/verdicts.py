"""Decides which pages need OCR: by the characters of their text, and by how much pictures without text cover.

No picture is decoded for that: it takes 1 to 3 ms where there are pictures, and nothing elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from directory_indexer.extractors.pdf.opening import pymupdf
from directory_indexer.extractors.pdf.pages import Row
from directory_indexer.ids import content_hash
from directory_indexer.scans import PageKey


class Verdict(Enum):
    """What a page is: it needs nothing, or has to be read beside, or instead of, the text that it has."""

    TEXT = auto()
    PICTURE = auto()
    UNREADABLE = auto()


class Letters(NamedTuple):
    """How many letters and digits the text of a page has, and characters that stand for none."""

    n_good: int
    n_bad: int

    @classmethod
    def of(cls, text: str) -> Letters:
        """Count those of a text."""
        if text.isascii():
            return cls(len(text.encode().translate(None, _NO_LETTERS)), 0)
        return cls(sum(map(str.isalnum, text)), len(_BAD.findall(text)))


def verdict_of(page: Any, letters: Letters, rows: Sequence[Row]) -> Verdict:
    """Judge a page of MuPDF by its text and by the pictures on which there is none."""
    n_all = letters.n_good + letters.n_bad
    if n_all >= _FEW_LETTERS and letters.n_bad > _BAD_SHARE * n_all:
        return Verdict.UNREADABLE
    n_pixels = _SMALL_PIXELS if n_all >= _FEW_LETTERS else _TINY_PIXELS
    if _has_large_pictures(page, n_pixels):
        is_all = n_all < _FEW_LETTERS and _has_large_pictures(page, _SMALL_PIXELS)
        enough = _ONLY_PICTURE_SHARE if is_all else _PICTURE_SHARE
        return Verdict.PICTURE if _bare_share(page, rows, n_pixels) >= enough else Verdict.TEXT
    is_drawn = n_all < _FEW_LETTERS and _draws_letters(page)
    return Verdict.PICTURE if is_drawn else Verdict.TEXT


def key_of(page: Any) -> PageKey:
    """Hash all that a page is drawn from, as it lies in the file: it stays the same wherever the page goes."""
    pdf = page.parent
    pictures = [xref for with_mask in page.get_images(full=True) for xref in with_mask[:2] if xref]
    xrefs = sorted({*pictures, *(one[0] for one in page.get_xobjects())})
    streams = (pdf.xref_stream_raw(xref) or b"" for xref in xrefs)
    drawn = b"".join(content_hash(stream) for stream in (page.read_contents() or b"", *streams))
    return PageKey(content_hash(f"{tuple(page.mediabox)} {tuple(page.cropbox)} {page.rotation}".encode() + drawn))


def _has_large_pictures(page: Any, n_pixels: int) -> bool:
    n_all: int = sum(width * height for _, _, width, height, *_ in page.get_images(full=True))
    return n_all >= n_pixels


def _bare_share(page: Any, rows: Sequence[Row], n_pixels: int) -> float:
    """Return how much of a page is covered by pictures without the text that an earlier OCR leaves on them.

    A stamp or the line of a fax machine on a scan is none: there is too little of it, or it stands at the rim.
    """
    area = (abs(page.rect) or 1) * _TENTHS * _TENTHS
    share = 0.0
    for picture in page.get_image_info():
        left, top, right, bottom = (page.rect & picture["bbox"]) * _TENTHS
        is_small = picture["width"] * picture["height"] < n_pixels / _PIECES
        if is_small or right <= left or bottom <= top:
            continue
        covered = (right - left) * (bottom - top) / area
        rim = (bottom - top) * _RIM if covered > _MOST_OF_PAGE else 0
        inner = (left, top + rim, right, bottom - rim)
        on_it = [row for row in rows if _lies_in(row, inner)]
        written = sum((row.right - row.left) * (row.bottom - row.top) for row in on_it) / area
        is_stamp = written < _SHARE_OF_STAMP * covered and sum(len(row.text) for row in on_it) < _LETTERS_OF_STAMP
        is_empty = sum(len(row.text) for row in on_it) < _FEW_LETTERS
        if is_empty or (is_stamp and not _has_hidden_text(page)):
            share += covered
    return share


def _lies_in(row: Row, sides: tuple[float, float, float, float]) -> bool:
    x, y = (row.left + row.right) // 2, (row.top + row.bottom) // 2
    return sides[0] <= x <= sides[2] and sides[1] <= y <= sides[3]


def _has_hidden_text(page: Any) -> bool:
    """Whether most of the text is drawn invisibly, as that of an earlier OCR is."""
    blocks = page.get_text("dict", flags=pymupdf.TEXT_MEDIABOX_CLIP)["blocks"]
    spans = [span for block in blocks for line in block.get("lines", ()) for span in line["spans"]]
    n_hidden = sum(len(span["text"]) for span in spans if not span["char_flags"] & _IS_PAINTED)
    return 2 * n_hidden > sum(len(span["text"]) for span in spans)


def _draws_letters(page: Any) -> bool:
    """Whether letters may have been drawn as paths, as programs do that avoid fonts."""
    return len(page.read_contents() or b"") > _LONG_DRAWING and len(page.get_cdrawings()) > _MANY_PATHS


_BAD: Final = re.compile("[\ue000-\uf8ff\ufffd]")
_NO_LETTERS: Final = bytes(code for code in range(0x80) if not chr(code).isalnum())
_FEW_LETTERS: Final = 20
_BAD_SHARE: Final = 0.1
_SMALL_PIXELS: Final = 100_000
_TINY_PIXELS: Final = 10_000
"""On a page without letters a picture counts that would be a symbol beside text."""

_PIECES: Final = 20
"""Scanners cut a page into strips: each counts that has so small a part of what a small picture has."""

_PICTURE_SHARE: Final = 0.15
_ONLY_PICTURE_SHARE: Final = 0.02
"""Of a page that has nothing else than a picture that is large enough for text."""

_LETTERS_OF_STAMP: Final = 150
_SHARE_OF_STAMP: Final = 0.02
"""Of a picture, that is covered by what a stamp says; a page of text covers ten times as much."""

_MOST_OF_PAGE: Final = 0.5
_RIM: Final = 0.06
_IS_PAINTED: Final = 16 | 32
"""The flags of MuPDF for characters that are filled, and stroked."""

_LONG_DRAWING: Final = 4_000
_MANY_PATHS: Final = 100
_TENTHS: Final = 10
