"""Rendering of a page for the screen: in colour, no larger than needed, with the positions of its words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.pdf.opening import DAMAGE, LOCK, opened, pymupdf
from directory_indexer.extractors.pdf.raster import Raster
from directory_indexer.lazy import lazily
from directory_indexer.scans import WHOLE, Box, Word

with lazily:
    from directory_indexer.extractors.pdf.webp import draw_webp

_WIDEST: Final = 1_200
_MAX_PIXELS: Final = 4_000_000
_MOST_WORDS: Final = 20_000


class DrawnForScreen(NamedTuple):
    """A rendered page, the number of pages, and its words."""

    raster: Raster
    n_pages: int
    words: tuple[Word, ...]


def draw_for_screen(content: bytes, kind: str, page: int) -> DrawnForScreen:
    """Draw a page, counted from 1, of a PDF or of a picture.

    Raises:
        ExtractionError: there is no such page, or it is damaged.
    """
    if kind == "webp":
        return DrawnForScreen(draw_webp(content, turn=0, is_grey=False, max_pixels=_MAX_PIXELS), 1, ())
    with LOCK:
        try:
            with opened(content, kind) as document:
                if page > document.page_count:
                    raise ExtractionError(f"has no page {page}")
                drawn = document[page - 1]
                scale = _screen_scale(drawn.rect)
                pixels = drawn.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
                raster = Raster(pixels.width, pixels.height, pixels.samples, pixels.n)
                words = tuple(_words(drawn)) if kind == "pdf" else ()
                return DrawnForScreen(raster, document.page_count, words)
        except DAMAGE as error:
            raise ExtractionError(f"page {page} cannot be drawn") from error
        finally:
            pymupdf.TOOLS.store_shrink(100)


def _screen_scale(rect: pymupdf.Rect) -> float:
    width, height = max(float(rect.width), 1.0), max(float(rect.height), 1.0)
    return min(_WIDEST / width, math.sqrt(_MAX_PIXELS / (width * height)))


def _words(page: pymupdf.Page) -> Iterator[Word]:
    """Yield the words with their positions on the page as displayed, which may be rotated."""
    rect, turn = page.rect, page.rotation_matrix
    for left, top, right, bottom, text, *_ in page.get_text("words")[:_MOST_WORDS]:
        place = pymupdf.Rect(left, top, right, bottom) * turn
        sides = (place.x0 / rect.width, place.y0 / rect.height, place.x1 / rect.width, place.y1 / rect.height)
        yield Word(text, 100, Box(*(min(max(round(side * WHOLE), 0), WHOLE) for side in sides)))
