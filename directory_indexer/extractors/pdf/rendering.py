"""Rendering of a page of a PDF or picture file as pixels, for OCR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.media.scanned import key_of_picture
from directory_indexer.extractors.pdf.opening import DAMAGE, LOCK, opened, pymupdf
from directory_indexer.extractors.pdf.raster import Raster
from directory_indexer.extractors.pdf.verdicts import key_of
from directory_indexer.ids import content_hash
from directory_indexer.lazy import lazily
from directory_indexer.scans import PageKey

with lazily:
    from directory_indexer.extractors.pdf.webp import draw_webp

MAX_PIXELS: Final = 20_000_000
"""A page with more pixels is drawn smaller, whatever the resolution."""


class Drawing(NamedTuple):
    """A rendered page, with the OCR key of its content."""

    key: PageKey
    raster: Raster


def draw_page(content: bytes, kind: str, page: int, *, dpi: int, turn: int = 0, is_grey: bool = True) -> Drawing:
    """Draw a page, counted from 1, of a PDF or of a picture, whose own pixels are kept.

    It is turned clockwise by `turn` degrees, a multiple of 90.

    Raises:
        ExtractionError: there is no such page, or it is damaged.
    """
    if kind == "webp":
        raster = draw_webp(content, turn=turn, is_grey=is_grey, max_pixels=MAX_PIXELS)
        return Drawing(key_of_picture(content_hash(content), page), raster)
    with LOCK:
        try:
            with opened(content, kind) as document:
                if page > document.page_count:
                    raise ExtractionError(f"has no page {page}")
                drawn = document[page - 1]
                key = key_of(drawn) if kind == "pdf" else key_of_picture(content_hash(content), page)
                scale = _scale(drawn.rect, dpi if kind == "pdf" else _own_dpi(drawn))
                space = pymupdf.csGRAY if is_grey else pymupdf.csRGB
                matrix = pymupdf.Matrix(scale, scale).prerotate(turn)
                pixels = drawn.get_pixmap(matrix=matrix, colorspace=space, alpha=False)
                dpi = round(scale * _POINTS_PER_INCH)
                return Drawing(key, Raster(pixels.width, pixels.height, pixels.samples, pixels.n, dpi))
        except DAMAGE as error:
            raise ExtractionError(f"page {page} cannot be drawn") from error
        finally:
            pymupdf.TOOLS.store_shrink(100)


def _own_dpi(page: pymupdf.Page) -> int:
    """Return the resolution at which a page that is one picture is drawn pixel by pixel."""
    sizes: Sequence[dict[str, float]] = page.get_image_info()
    if not sizes or not page.rect.width:
        return _POINTS_PER_INCH
    widest = float(max(size["width"] for size in sizes))
    return round(_POINTS_PER_INCH * widest / float(page.rect.width))


def _scale(rect: pymupdf.Rect, dpi: int) -> float:
    scale = dpi / _POINTS_PER_INCH
    pixels = max(rect.width * rect.height, 1.0) * scale * scale
    return scale * math.sqrt(min(1.0, MAX_PIXELS / pixels))


_POINTS_PER_INCH: Final = 72
