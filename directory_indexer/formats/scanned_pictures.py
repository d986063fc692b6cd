"""Text on pictures: which pictures OCR should read, by their declared sizes, and recognised text as a document.

Sizes are those that files declare, page by page; nothing is unpacked.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from directory_indexer.core.files import PageKey, RecognisedPages, Recognition, Scan, scan_of
from directory_indexer.core.ids import ContentHash, content_hash
from directory_indexer.formats.document import Document
from directory_indexer.formats.pdf.documents import build_document
from directory_indexer.formats.pdf.pages import Page, recognised_rows
from directory_indexer.formats.pdf.tables import join_row_cells

_SMALL_PIXELS: Final = 100_000
"""Smaller pictures are symbols and logos."""

_SMALL_PIXELS_OF_SCANS: Final = 30_000
_OF_SCANNERS: Final = frozenset({"bmp", "pnm"})
"""Formats that scanners and screenshots write, and that the web does not have."""

_LONG_SIDE: Final = 8420
"""A picture counts as large as an A4 page, in tenths of a point, since its file does not say."""

_MARKER: Final = 0xFF
_STARTS_OF_FRAME: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_PNM_HEADER: Final = 4_096
_PNM_FIELDS: Final = 2
_VP8_SIZE: Final = 0x3FFF
_TIFF_SIZE: Final = (256, 257)
_SHORT: Final = 3
MAX_PAGES: Final = 1_000
"""The limit for a TIFF, which may have many; of those beyond, only the first is reported."""

_MAX_ENTRIES: Final = 200
"""The directories of a TIFF may overlap, with 65,535 entries each; the size is among the first entries."""


def add_recognised_text(document: Document, content: bytes, recognised: RecognisedPages) -> Document:
    """Return the document of a picture with the text recognised on it, or with the pages that OCR should read."""
    scans: list[Scan] = []
    pages: list[Page] = []
    picture_hash = content_hash(content)
    for number, size in enumerate(picture_sizes(content, document.kind), start=1):
        if not _is_large(size, document.kind):
            continue
        key = picture_page_key(picture_hash, number)
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
    read = build_document(pages, document.kind, outline=(), title=document.title)
    return _join_texts(document, read)._replace(scans=tuple(scans))


def may_hold_text(content: bytes, kind: str) -> bool:
    """Whether a picture is large enough for text."""
    return any(_is_large(size, kind) for size in picture_sizes(content, kind))


def picture_page_key(picture_hash: ContentHash, page: int) -> PageKey:
    """Return the OCR key of a page of a picture; a TIFF may have several pages, and is hashed once for all of them."""
    return PageKey(content_hash(page.to_bytes(4, "big") + picture_hash))


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


def picture_sizes(content: bytes, kind: str) -> list[Size]:
    """Return the declared size of each page of a picture, up to any damage."""
    read = _READERS.get(kind)
    sizes: list[Size] = []
    with contextlib.suppress(struct.error, IndexError):
        sizes.extend(read(content) if read else ())
    return sizes


def _is_large(size: Size, kind: str) -> bool:
    return size.width * size.height >= (_SMALL_PIXELS_OF_SCANS if kind in _OF_SCANNERS else _SMALL_PIXELS)


def _page(number: int, size: Size, result: Recognition, scan: Scan) -> Page:
    width, height = _LONG_SIDE * size.width // max(size), _LONG_SIDE * size.height // max(size)
    return Page(number, height, join_row_cells(recognised_rows(result, width=width, height=height)), scan)


def _join_texts(document: Document, recognised: Document) -> Document:
    """Return the recognised text with the metadata text behind it, so that the positions of pages stay valid."""
    if not recognised.text.strip():
        return document
    end = f"\n\n{document.text}" if document.text else ""
    return recognised._replace(
        text=recognised.text + end, title=document.title or recognised.title, metadata=document.metadata
    )


def _png_sizes(content: bytes) -> Iterator[Size]:
    if content[12:16] == b"IHDR":
        yield Size(*struct.unpack_from(">II", content, 16))


def _jpeg_sizes(content: bytes) -> Iterator[Size]:
    at = 2
    while content[at] == _MARKER:
        marker, size = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if marker in _STARTS_OF_FRAME:
            height, width = struct.unpack_from(">HH", content, at + 5)
            yield Size(width, height)
            return
        at += 1 if marker == _MARKER else 2 + size


def _gif_sizes(content: bytes) -> Iterator[Size]:
    if content.startswith(b"GIF8"):
        yield Size(*struct.unpack_from("<HH", content, 6))


def _bmp_sizes(content: bytes) -> Iterator[Size]:
    if content.startswith(b"BM"):
        is_old = content[14:18] == b"\x0c\0\0\0"
        width, height = struct.unpack_from("<HH" if is_old else "<ii", content, 18)
        yield Size(abs(width), abs(height))  # a negative height means that rows are stored from the top


def _pnm_sizes(content: bytes) -> Iterator[Size]:
    header = re.sub(rb"#[^\n]*", b"", content[:_PNM_HEADER]).split(maxsplit=3)
    if len(header) > _PNM_FIELDS and header[0][:1] == b"P" and header[1].isdigit() and header[2].isdigit():
        yield Size(int(header[1]), int(header[2]))


def _webp_sizes(content: bytes) -> Iterator[Size]:
    match content[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", content, 26)
            yield Size(width & _VP8_SIZE, height & _VP8_SIZE)
        case b"VP8L":
            bits = int.from_bytes(content[21:25], "little")
            yield Size((bits & _VP8_SIZE) + 1, (bits >> 14 & _VP8_SIZE) + 1)
        case b"VP8X":
            yield Size(int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1)


def _tiff_sizes(content: bytes) -> Iterator[Size]:
    order = "<" if content.startswith(b"II") else ">"
    (offset,) = struct.unpack_from(f"{order}I", content, 4)
    offsets = {0}  # 0 marks the end
    while offset not in offsets and len(offsets) <= MAX_PAGES + 1:
        offsets.add(offset)
        (n_entries,) = struct.unpack_from(f"{order}H", content, offset)
        read = range(min(n_entries, _MAX_ENTRIES))
        entries = (struct.unpack_from(f"{order}HHI4s", content, offset + 2 + 12 * n) for n in read)
        values = {tag: _value(order, type_, value) for tag, type_, _, value in entries if tag in _TIFF_SIZE}
        yield Size(*(values.get(tag, 0) for tag in _TIFF_SIZE))
        (offset,) = struct.unpack_from(f"{order}I", content, offset + 2 + 12 * n_entries)


def _value(order: str, type_: int, value: bytes) -> int:
    number: int = struct.unpack_from(f"{order}H" if type_ == _SHORT else f"{order}I", value)[0]
    return number


_READERS: Final[dict[str, Callable[[bytes], Iterator[Size]]]] = {
    "bmp": _bmp_sizes,
    "gif": _gif_sizes,
    "jpeg": _jpeg_sizes,
    "png": _png_sizes,
    "pnm": _pnm_sizes,
    "tiff": _tiff_sizes,
    "webp": _webp_sizes,
}
"""PNG (third edition), 11.2.2; JPEG (ITU-T T.81), B.2.2; WebP (RFC 9649), 2.5 to 2.7; TIFF 6.0, 2."""
