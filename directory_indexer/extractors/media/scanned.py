"""Text on pictures: which pictures OCR should read, and recognised text as a document."""

from __future__ import annotations

from typing import Final

from directory_indexer.extractors.document import Document
from directory_indexer.extractors.media.sizes import MAX_PAGES, Size, sizes_of
from directory_indexer.extractors.pdf.documents import document_of
from directory_indexer.extractors.pdf.pages import Page
from directory_indexer.extractors.pdf.recognised import rows_of
from directory_indexer.extractors.pdf.tables import whole_rows
from directory_indexer.ids import ContentHash, content_hash
from directory_indexer.scans import PageKey, RecognisedPages, Recognition, Scan, scan_of


def with_text(document: Document, content: bytes, recognised: RecognisedPages) -> Document:
    """Return the document of a picture with the text recognised on it, or with the pages that OCR should read."""
    scans: list[Scan] = []
    pages: list[Page] = []
    picture_hash = content_hash(content)
    for number, size in enumerate(sizes_of(content, document.kind), start=1):
        if not _is_large(size, document.kind):
            continue
        key = key_of_picture(picture_hash, number)
        if number > MAX_PAGES:
            scans.append(Scan(number, key, problem=f"only the first {MAX_PAGES:,} pages of a picture's file are read"))
            break
        result = recognised.get(key)
        scan = scan_of(number, key, result)
        scans.append(scan)
        if isinstance(result, Recognition):
            pages.append(_page(number, size, result, scan))
    if not pages:
        return document._replace(scans=tuple(scans))
    read = document_of(pages, document.kind, outline=(), title=document.title)
    return _join_texts(document, read)._replace(scans=tuple(scans))


def may_hold_text(content: bytes, kind: str) -> bool:
    """Whether a picture is large enough for text."""
    return any(_is_large(size, kind) for size in sizes_of(content, kind))


def key_of_picture(picture_hash: ContentHash, page: int) -> PageKey:
    """Return the OCR key of a page of a picture; a TIFF may have several pages, and is hashed once for all of them."""
    return PageKey(content_hash(page.to_bytes(4, "big") + picture_hash))


def _is_large(size: Size, kind: str) -> bool:
    return size.width * size.height >= (_SMALL_PIXELS_OF_SCANS if kind in _OF_SCANNERS else _SMALL_PIXELS)


def _page(number: int, size: Size, result: Recognition, scan: Scan) -> Page:
    width, height = _LONG_SIDE * size.width // max(size), _LONG_SIDE * size.height // max(size)
    return Page(number, height, whole_rows(rows_of(result, width=width, height=height)), scan)


def _join_texts(document: Document, recognised: Document) -> Document:
    """Return the recognised text with the metadata text behind it, so that the positions of pages stay valid."""
    if not recognised.text.strip():
        return document
    end = f"\n\n{document.text}" if document.text else ""
    return recognised._replace(
        text=recognised.text + end, title=document.title or recognised.title, metadata=document.metadata
    )


_SMALL_PIXELS: Final = 100_000
"""Smaller pictures are symbols and logos."""

_SMALL_PIXELS_OF_SCANS: Final = 30_000
_OF_SCANNERS: Final = frozenset({"bmp", "pnm"})
"""Formats that scanners and screenshots write, and that the web does not have."""

_LONG_SIDE: Final = 8420
"""A picture counts as large as an A4 page, in tenths of a point, since its file does not say."""
