"""Rendering of WebP pictures, which MuPDF does not read."""

from __future__ import annotations

import io
import math
import warnings

import PIL.Image

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.pdf.raster import Raster

_DPI = 96
_TURNS = {90: PIL.Image.Transpose.ROTATE_270, 180: PIL.Image.Transpose.ROTATE_180, 270: PIL.Image.Transpose.ROTATE_90}
"""Clockwise turns; the library counts counterclockwise."""


def draw_webp(content: bytes, *, turn: int, is_grey: bool, max_pixels: int) -> Raster:
    """Draw the first picture of a file, on white if it is transparent.

    Raises:
        ExtractionError: it is damaged, or far too large.
    """
    try:
        with warnings.catch_warnings(action="error"), PIL.Image.open(io.BytesIO(content), formats=["WEBP"]) as picture:
            scale = math.sqrt(min(1.0, max_pixels / (picture.width * picture.height)))
            flat = PIL.Image.new("RGB", picture.size, "white")
            coloured = picture.convert("RGBA")
            flat.paste(coloured, mask=coloured.getchannel("A"))
    except (OSError, ValueError, Warning, PIL.Image.DecompressionBombError) as error:
        raise ExtractionError("the picture is damaged, or too large") from error
    drawn = flat.resize((max(int(flat.width * scale), 1), max(int(flat.height * scale), 1))) if scale < 1 else flat
    drawn = drawn.transpose(_TURNS[turn]) if turn else drawn
    drawn = drawn.convert("L") if is_grey else drawn
    return Raster(drawn.width, drawn.height, drawn.tobytes(), len(drawn.getbands()), round(_DPI * scale))
