"""Encoding of a drawn page as a picture file, for remote OCR engines."""

from __future__ import annotations

from typing import Final

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.pdf.opening import DAMAGE, LOCK, pymupdf
from directory_indexer.extractors.pdf.raster import EncodedPage, Raster


def encoded(page: Raster) -> EncodedPage:
    """Encode a page as PNG, or as JPEG if that is larger than services accept.

    Raises:
        ExtractionError: there are fewer pixels than the size of the page requires.
    """
    with LOCK:
        try:
            space = pymupdf.csGRAY if page.n_channels == 1 else pymupdf.csRGB
            return _encode_pixels(pymupdf.Pixmap(space, page.width, page.height, page.samples, 0), page.dpi)
        except DAMAGE as error:
            raise ExtractionError("a page cannot be written as a picture") from error


def halves(page: EncodedPage) -> tuple[EncodedPage, EncodedPage]:
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
        except DAMAGE as error:
            raise ExtractionError("a page cannot be cut into halves") from error


def _cut_rows(pixels: pymupdf.Pixmap, top: int, bottom: int) -> pymupdf.Pixmap:
    rows = pixels.samples_mv[top * pixels.stride : bottom * pixels.stride]
    return pymupdf.Pixmap(pixels.colorspace, pixels.width, bottom - top, bytes(rows), pixels.alpha)


def _encode_pixels(pixels: pymupdf.Pixmap, dpi: int) -> EncodedPage:
    content, media_type = pixels.tobytes("png"), "image/png"
    if len(content) > _MANY_BYTES:
        content, media_type = pixels.tobytes("jpeg", jpg_quality=_QUALITY), "image/jpeg"
    return EncodedPage(content, media_type, pixels.width, pixels.height, dpi)


_MANY_BYTES: Final = 2_500_000
"""Azure accepts 4 MB in its free tier; a noisy scan at 300 dpi has more as PNG."""

_QUALITY: Final = 90
