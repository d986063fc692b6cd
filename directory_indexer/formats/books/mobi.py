"""Mobipocket books, and Kindle books from before 2011, which MuPDF unpacks and lays out as pages of HTML."""

from __future__ import annotations

import struct
from typing import Final

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.blocks import write_block
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.decoding import decode_declared
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.html_blocks import page_blocks
from directory_indexer.formats.metadata import (
    distinct_values,
    iso_time,
    primary_language,
    single_line_value,
    split_list,
)
from directory_indexer.formats.pdf.mupdf import LOCK, MUPDF_ERRORS, open_document, pymupdf


def extract_mobi(content: bytes, kind: str, budget: Budget) -> Document:
    """Read a book.

    Raises:
        SkipFileError: it is protected against copying, or is more than is read.
        ExtractionError: it is damaged.
    """
    header = _header(content)
    draft = Draft()
    try:
        with LOCK, open_document(content, "mobi") as book:
            # On a tall page, hardly any paragraph is split.
            book.layout(width=_WIDTH, height=_HEIGHT, fontsize=_FONT_SIZE)
            for page in book:
                source = page.get_text("xhtml", flags=_TEXT)
                budget.take(len(source))
                for block in page_blocks(source):
                    write_block(block, draft)
    except MUPDF_ERRORS as error:
        raise ExtractionError("damaged book: it cannot be unpacked") from error
    title, metadata = _properties(header)
    return draft.document(kind, title, metadata)


def _header(content: bytes) -> bytes:
    """Return the first record of a book, with its format.

    Raises:
        SkipFileError: it is protected against copying.
        ExtractionError: it is damaged.
    """
    if len(content) < _RECORDS_AT + 16:
        raise ExtractionError("damaged book: it has no records")
    start, end = struct.unpack_from(">L4xL", content, _RECORDS_AT)
    header = content[start : max(start, end)]
    if len(header) < _ENCRYPTION.size:
        raise ExtractionError("damaged book: its first record is missing")
    if _ENCRYPTION.unpack_from(header)[0]:
        raise SkipFileError(SkipReason.ENCRYPTED, "is protected against copying")
    return header


def _properties(header: bytes) -> tuple[str, Metadata]:
    """Parse the metadata of a book: records of a number, a length and a text (EXTH)."""
    values_by_type: dict[int, list[str]] = {}
    _, separator, records = header.partition(b"EXTH")
    offset = _FIRST_RECORD_AT
    while separator and offset <= len(records) - _EXTH_RECORD.size and len(values_by_type) < _MAX_TYPES:
        number, size = _EXTH_RECORD.unpack_from(records, offset)
        if number in _TYPES:
            value = records[offset + _EXTH_RECORD.size : offset + size][:_MAX_BYTES]
            values_by_type.setdefault(number, []).append(decode_declared(value, "utf-8").strip())
        offset += max(size, _EXTH_RECORD.size)

    def first(number: int) -> str:
        return next(iter(values_by_type.get(number, ())), "")

    return first(503), Metadata(
        authors=distinct_values(values_by_type.get(100, ())),
        created=iso_time(first(106)),
        language=primary_language(first(524)),
        subject=single_line_value(first(103)),
        tags=distinct_values(tag for subject in values_by_type.get(105, ()) for tag in split_list(subject)),
    )


_RECORDS_AT: Final = 78
_ENCRYPTION: Final = struct.Struct(">12xH")
_TYPES: Final = frozenset({100, 103, 105, 106, 503, 524})
"""Author, description, subject, date, title and language."""

_FIRST_RECORD_AT: Final = 8
_EXTH_RECORD: Final = struct.Struct(">LL")
_MAX_TYPES: Final = 100
_MAX_BYTES: Final = 20_000
_WIDTH, _HEIGHT, _FONT_SIZE = 800, 20_000, 10
_TEXT: Final = pymupdf.TEXTFLAGS_XHTML & ~pymupdf.TEXT_PRESERVE_IMAGES
