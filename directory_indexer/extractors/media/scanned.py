"""Pictures of text: which of them are to be read, and what was read before as a document."""

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


def with_text(said: Document, content: bytes, recognised: RecognisedPages) -> Document:
    """Add to what is said about a picture the text that was read on it, or note that it is to be read."""
    scans: list[Scan] = []
    pages: list[Page] = []
    of_content = content_hash(content)
    for number, size in enumerate(sizes_of(content, said.kind), start=1):
        if not _is_large(size, said.kind):
            continue
        key = key_of_picture(of_content, number)
        if number > MAX_PAGES:
            scans.append(Scan(number, key, problem=f"only the first {MAX_PAGES:,} pages of a picture's file are read"))
            break
        found = recognised.get(key)
        scan = scan_of(number, key, found)
        scans.append(scan)
        if isinstance(found, Recognition):
            pages.append(_page(number, size, found, scan))
    if not pages:
        return said._replace(scans=tuple(scans))
    read = document_of(pages, said.kind, outline=(), title=said.title)
    return _joined(said, read)._replace(scans=tuple(scans))


def may_hold_text(content: bytes, kind: str) -> bool:
    """Tell whether a picture is large enough for text."""
    return any(_is_large(size, kind) for size in sizes_of(content, kind))


def key_of_picture(of_content: ContentHash, page: int) -> PageKey:
    """Tell what a page of a picture's file is known by; a TIFF may have several, and is hashed once for all of them."""
    return PageKey(content_hash(page.to_bytes(4, "big") + of_content))


def _is_large(size: Size, kind: str) -> bool:
    return size.width * size.height >= (_SMALL_PIXELS_OF_SCANS if kind in _OF_SCANNERS else _SMALL_PIXELS)


def _page(number: int, size: Size, found: Recognition, scan: Scan) -> Page:
    width, height = _LONG_SIDE * size.width // max(size), _LONG_SIDE * size.height // max(size)
    return Page(number, height, whole_rows(rows_of(found, width=width, height=height)), scan)


def _joined(said: Document, read: Document) -> Document:
    """Put what is said about a picture behind its text, where the places of pages stay as they are."""
    if not read.text.strip():
        return said
    end = f"\n\n{said.text}" if said.text else ""
    return read._replace(text=read.text + end, title=said.title or read.title, metadata=said.metadata)


_SMALL_PIXELS: Final = 100_000
"""Smaller pictures are symbols and logos."""

_SMALL_PIXELS_OF_SCANS: Final = 30_000
_OF_SCANNERS: Final = frozenset({"bmp", "pnm"})
"""What scanners and screenshots write, and the web does not have."""

_LONG_SIDE: Final = 8420
"""A picture is taken for as large as a page of A4, in tenths of a point: its file does not know better."""
