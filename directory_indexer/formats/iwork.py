"""Pages, Numbers and Keynote documents: by the PDF preview in the file, else by their IWA archives.

The preview has a document as printed, with its pages. IWA archives store the text since 2013: protocol buffers, packed
by Snappy. There is no published specification; the numbers of messages and fields are those found by
https://github.com/obriensp/iWorkFileFormat and the readers of LibreOffice (libetonyek).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.packages import Package
from directory_indexer.formats.xml_events import read_xml

with lazily:
    from directory_indexer.formats.pdf.reader import extract_pdf


def is_iwork(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a document of Pages, Numbers or Keynote, which its parts do not distinguish."""
    return has_extension and head.startswith(b"PK\3\4")


def extract_iwork(content: bytes, kind: str, budget: Budget) -> Document:
    """Read a document by its preview, else by the parts with its text, of 2009 or of 2013 and later.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    package = Package(content, budget)
    if any(part in package for part in _PASSWORD_PARTS):
        raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
    if preview := b"".join(package.pieces("QuickLook/Preview.pdf")):
        try:
            return extract_pdf(preview, kind)
        except (ExtractionError, SkipFileError):
            pass  # the parts may have text when the preview is damaged, or only a picture
    for part in _MAIN_PARTS:
        if part in package:
            return _from_xml(package, part, kind)
    return _from_archives(package, kind, budget)


def _from_xml(package: Package, part: str, kind: str) -> Document:
    paragraphs = _Paragraphs()
    error = read_xml(package.pieces(part), paragraphs, skipped=_WITHOUT_TEXT)
    if error and paragraphs.draft.is_empty:
        raise error
    return paragraphs.draft.document(kind)


def _from_archives(package: Package, kind: str, budget: Budget) -> Document:
    draft = Draft()
    if packed := next((part for part in package.names() if part.endswith("Index.zip")), ""):
        package = Package(b"".join(package.pieces(packed)), budget)
    for part in sorted(filter(_PART_WITH_TEXT.fullmatch, package.names()), key=_in_reading_order):
        for text in archive_texts(b"".join(package.pieces(part))):
            for paragraph in text.split("\n"):
                draft.paragraph(paragraph)
    return draft.document(kind)


def _in_reading_order(part: str) -> tuple[bool, int, str]:
    """Return a sort key that puts the main part first, and slides in the order of their numbers."""
    return not part.endswith("Document.iwa"), len(part), part


class _Paragraphs:
    """Collects the paragraphs of a document of 2009, and the cells of its tables."""

    def __init__(self) -> None:
        self.draft = Draft()
        self._text: list[str] = []
        self._depth = 0
        self._n_slides = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "slide":
            self._n_slides += 1
            self.draft.page(self._n_slides)
        elif name == "p":
            self._depth += 1
        elif name in _BREAKS:
            self._text.append(_BREAKS[name])
        elif name in _CELLS and "s" in attributes:
            self.draft.paragraph(attributes["s"])

    def end(self, name: str) -> None:
        if name != "p":
            return
        self._depth -= 1
        if not self._depth:
            self.draft.paragraph("".join(self._text))
            self._text = []

    def text(self, text: str) -> None:
        if self._depth:
            self._text.append(text)


_PART_WITH_TEXT: Final = re.compile(
    r"(?:[^/]+/){0,4}Index/(?!MasterSlide|TemplateSlide|ViewState|Theme|DocumentStylesheet).*\.iwa"
)
"""Templates are excluded: they hold placeholders such as "Title Text"."""

_PASSWORD_PARTS: Final = (".iwpv2", ".iwph", ".iwpv")
_MAIN_PARTS: Final = ("index.apxl", "index.xml")
_WITHOUT_TEXT: Final = frozenset({"stylesheet", "version-history", "master-slides", "theme-list", "headers-prototype"})
_BREAKS: Final = {
    "tab": "\t",
    "br": "\n",
    "lnbr": "\n",
    "crbr": "\n",
    "pgbr": "\n",
    "contbr": "\n",
    "selection-start": "",
}
_CELLS: Final = frozenset({"ct", "so"})
"""Text in the cells of a table, and among the choices of a cell."""


def archive_texts(content: bytes) -> Iterator[str]:
    """Yield the text of each story, and of the cells of tables.

    Raises:
        ExtractionError: the archive is damaged.
    """
    try:
        stream = b"".join(_unpack_blocks(content))
        for kind, message in _messages(stream):
            if kind in _STORIES:
                yield from (_text(value) for field, value in _fields(message) if field == _STORY_TEXT)
            elif kind == _CELL_TEXTS:
                yield from _cell_texts(message)
    except (IndexError, ValueError) as error:
        raise ExtractionError("damaged document: its parts cannot be unpacked") from error


def _messages(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and the content of each message."""
    at = 0
    while at < len(stream):
        size, at = _varint(stream, at)
        header, at = stream[at : at + size], at + size
        for field, value in _fields(header):
            if field != _MESSAGE_INFO or not isinstance(value, bytes):
                continue
            info = dict(_fields(value))
            kind, length = info.get(1, 0), info.get(3, 0)
            if not isinstance(kind, int) or not isinstance(length, int):
                return
            yield kind, stream[at : at + length]
            at += length


def _cell_texts(message: bytes) -> Iterator[str]:
    for field, entry in _fields(message):
        if field == _CELL_ENTRY and isinstance(entry, bytes):
            yield from (_text(value) for inner, value in _fields(entry) if inner == _ENTRY_TEXT)


def _text(value: int | bytes) -> str:
    """Return a text without the placeholders of anchored objects."""
    return value.decode("utf-8", "replace").replace("\ufffc", "") if isinstance(value, bytes) else ""


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: numbers, and length-delimited values."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value: int | bytes
        match key & 7:
            case 0:
                value, at = _varint(message, at)
            case 1:
                value, at = message[at : at + 8], at + 8
            case 2:
                size, at = _varint(message, at)
                value, at = message[at : at + size], at + size
            case 5:
                value, at = message[at : at + 4], at + 4
            case _:
                return
        yield key >> 3, value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        value |= (byte & ~_MORE) << shift
        if not byte & _MORE:
            return value, at
    raise ValueError("a number of more than 10 bytes")


def _unpack_blocks(content: bytes) -> Iterator[bytes]:
    """Yield the unpacked blocks of an archive: each has a type, three bytes of length, and no checksum."""
    at, total = 0, 0
    while at + _BLOCK_HEADER <= len(content):
        size = int.from_bytes(content[at + 1 : at + _BLOCK_HEADER], "little")
        block = _unpack_snappy(content[at + _BLOCK_HEADER : at + _BLOCK_HEADER + size])
        total += len(block)
        if total > _MAX_STREAM:
            raise ValueError("more than is read")
        yield block
        at += _BLOCK_HEADER + size


def _unpack_snappy(packed: bytes) -> bytes:
    """Unpack a Snappy block (https://github.com/google/snappy/blob/main/format_description.txt)."""
    size, at = _varint(packed, 0)
    if size > _MAX_BLOCK:
        raise ValueError("a block of more than 64 KiB")
    out = bytearray()
    while at < len(packed):
        tag = packed[at]
        at += 1
        if tag & 3 == 0:
            length, at = _literal_length(packed, tag >> 2, at)
            out += packed[at : at + length]
            at += length
        else:
            length, offset, at = _copy_element(packed, tag, at)
            _repeat(out, offset, length)
        if len(out) > _MAX_BLOCK:
            raise ValueError("a block of more than 64 KiB")
    return bytes(out)


def _literal_length(packed: bytes, length: int, at: int) -> tuple[int, int]:
    if length < _LONG_LITERAL:
        return length + 1, at
    n_bytes = length - _LONG_LITERAL + 1
    return int.from_bytes(packed[at : at + n_bytes], "little") + 1, at + n_bytes


def _copy_element(packed: bytes, tag: int, at: int) -> tuple[int, int, int]:
    if tag & 3 == 1:
        return (tag >> 2 & 7) + 4, (tag >> 5) << 8 | packed[at], at + 1
    n_bytes = 2 if tag & 1 == 0 else 4
    return (tag >> 2) + 1, int.from_bytes(packed[at : at + n_bytes], "little"), at + n_bytes


def _repeat(out: bytearray, offset: int, length: int) -> None:
    if not 0 < offset <= len(out):
        raise ValueError("a copy of what was not there")
    start = len(out) - offset
    piece = out[start : start + length]
    while len(piece) < length:
        piece += piece[: length - len(piece)]
    out += piece


_MORE: Final = 0x80
"""The continuation bit, set in each byte of a number but the last."""

_BLOCK_HEADER: Final = 4
_MAX_BLOCK: Final = 1 << 18
_MAX_STREAM: Final = 256_000_000
_LONG_LITERAL: Final = 60
_MESSAGE_INFO: Final = 2
_STORIES: Final = frozenset({2001, 2005})
_STORY_TEXT: Final = 3
_CELL_TEXTS: Final = 6005
_CELL_ENTRY: Final = 3
_ENTRY_TEXT: Final = 3
