"""Rendering of PDF pages and images for a screen."""

from __future__ import annotations

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.pdf.rendering import draw_for_screen, encode_page
from directory_indexer.integrations.previewing.forms import DRAWN
from directory_indexer.integrations.previewing.requests import ScreenPage, ScreenRequest
from directory_indexer.ocr.pages import content_of_page


def screen_page(request: ScreenRequest) -> ScreenPage:
    """Render a page, with the positions of its words.

    Raises:
        ExtractionError: there is no such page, or it is damaged.
        SkipFileError: the document cannot be read.
        OSError: it is not there.
    """
    content, kind = content_of_page(request.path, request.on_disk, request.policy)
    if kind not in DRAWN:
        raise ExtractionError(f"is not drawn: it is {kind}")
    drawn = draw_for_screen(content, kind, request.page)
    picture = encode_page(drawn.raster)
    return ScreenPage(picture.content, picture.media_type, picture.width, picture.height, drawn.n_pages, drawn.words)
