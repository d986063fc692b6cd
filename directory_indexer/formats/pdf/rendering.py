"""Rendering of a page of a PDF or picture file: as pixels for OCR, and in colour for the screen.

A page on the screen is no larger than needed and has the positions of its words; remote OCR engines get picture files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.files import PAGE_UNITS, Box, PageKey, Word
from directory_indexer.core.ids import content_hash
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.pdf.mupdf import LOCK, MUPDF_ERRORS, open_document, pymupdf
from directory_indexer.formats.pdf.raster import EncodedPage, Raster
from directory_indexer.formats.pdf.scan_detection import page_key
from directory_indexer.formats.scanned_pictures import picture_page_key

with lazily:
    from directory_indexer.formats.pdf.webp import draw_webp

MAX_PIXELS: Final = 20_000_000
"""A page with more pixels is drawn smaller, whatever the resolution."""

_POINTS_PER_INCH: Final = 72


_WIDEST: Final = 1_200
_MAX_PIXELS: Final = 4_000_000
_MAX_WORDS: Final = 20_000

_MANY_BYTES: Final = 2_500_000
"""Azure accepts 4 MB in its free tier; a noisy scan at 300 dpi has more as PNG."""

_QUALITY: Final = 90


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
        return Drawing(picture_page_key(content_hash(content), page), raster)
    with _open_page(content, kind, page) as opened:
        key = page_key(opened) if kind == "pdf" else picture_page_key(content_hash(content), page)
        scale = _scale(opened.rect, dpi if kind == "pdf" else _own_dpi(opened))
        space = pymupdf.csGRAY if is_grey else pymupdf.csRGB
        pixels = opened.get_pixmap(matrix=pymupdf.Matrix(scale, scale).prerotate(turn), colorspace=space, alpha=False)
        dpi = round(scale * _POINTS_PER_INCH)
        return Drawing(key, Raster(pixels.width, pixels.height, pixels.samples, pixels.n, dpi))


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
    with _open_page(content, kind, page) as opened:
        scale = _screen_scale(opened.rect)
        pixels = opened.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
        raster = Raster(pixels.width, pixels.height, pixels.samples, pixels.n)
        return DrawnForScreen(raster, opened.parent.page_count, tuple(_words(opened)) if kind == "pdf" else ())


def encode_page(page: Raster) -> EncodedPage:
    """Encode a page as PNG, or as JPEG if that is larger than services accept.

    Raises:
        ExtractionError: there are fewer pixels than the size of the page requires.
    """
    with LOCK:
        try:
            space = pymupdf.csGRAY if page.n_channels == 1 else pymupdf.csRGB
            return _encode_pixels(pymupdf.Pixmap(space, page.width, page.height, page.samples, 0), page.dpi)
        except MUPDF_ERRORS as error:
            raise ExtractionError("a page cannot be written as a picture") from error


def split_page(page: EncodedPage) -> tuple[EncodedPage, EncodedPage]:
    """Cut a page into its upper and its lower half.

    Raises:
        ExtractionError: it is no picture, or has a single row.
    """
    with LOCK:
        try:
            pixels = pymupdf.Pixmap(page.content)
            middle = pixels.height // 2
            upper, lower = (_cut_rows(pixels, top, bottom) for top, bottom in ((0, middle), (middle, pixels.height)))
            return _encode_pixels(upper, page.dpi), _encode_pixels(lower, page.dpi)
        except MUPDF_ERRORS as error:
            raise ExtractionError("a page cannot be cut into halves") from error


@contextmanager
def _open_page(content: bytes, kind: str, page: int) -> Iterator[pymupdf.Page]:
    with LOCK:
        try:
            with open_document(content, kind) as document:
                if page > document.page_count:
                    raise ExtractionError(f"has no page {page}")
                yield document[page - 1]
        except MUPDF_ERRORS as error:
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


def _screen_scale(rect: pymupdf.Rect) -> float:
    width, height = max(float(rect.width), 1.0), max(float(rect.height), 1.0)
    return min(_WIDEST / width, math.sqrt(_MAX_PIXELS / (width * height)))


def _words(page: pymupdf.Page) -> Iterator[Word]:
    """Yield the words with their positions on the page as displayed, which may be rotated."""
    rect, turn = page.rect, page.rotation_matrix
    for left, top, right, bottom, text, *_ in page.get_text("words")[:_MAX_WORDS]:
        place = pymupdf.Rect(left, top, right, bottom) * turn
        sides = (place.x0 / rect.width, place.y0 / rect.height, place.x1 / rect.width, place.y1 / rect.height)
        yield Word(text, 100, Box(*(min(max(round(side * PAGE_UNITS), 0), PAGE_UNITS) for side in sides)))


def _cut_rows(pixels: pymupdf.Pixmap, top: int, bottom: int) -> pymupdf.Pixmap:
    rows = pixels.samples_mv[top * pixels.stride : bottom * pixels.stride]
    return pymupdf.Pixmap(pixels.colorspace, pixels.width, bottom - top, bytes(rows), pixels.alpha)


def _encode_pixels(pixels: pymupdf.Pixmap, dpi: int) -> EncodedPage:
    content, media_type = pixels.tobytes("png"), "image/png"
    if len(content) > _MANY_BYTES:
        content, media_type = pixels.tobytes("jpeg", jpg_quality=_QUALITY), "image/jpeg"
    return EncodedPage(content, media_type, pixels.width, pixels.height, dpi)
