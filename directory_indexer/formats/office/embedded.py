"""Files embedded in office documents and rich text: wrapped in an OLE file with their name, or as they are.

Rich text has them as hex digits of OLE objects (MS-OLEDS 2.2), of which whole files are members.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import olefile

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.formats.containers import Budget, Member
from directory_indexer.formats.packages import Package
from directory_indexer.formats.scanned_pictures import may_hold_text

_OLE_HEADER: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_EMBEDDED: Final = re.compile(
    r"(?:word|ppt|xl|visio)[/\\]embeddings[/\\][^/\\]+$|(?:\./)?Object \d{1,9}$", re.IGNORECASE
)
"""The folders of embedded files in Office Open XML and OpenDocument."""

_KINDS: Final = {
    **{suffix: suffix for suffix in ("bmp", "gif", "jpeg", "png", "tiff", "webp")},
    "jpg": "jpeg",
    "tif": "tiff",
}
_PICTURE: Final = re.compile(
    rf"^(?:(?:word|ppt|xl|visio)[/\\]media|(?:\./)?Pictures)[/\\][^/\\]+\.({'|'.join(_KINDS)})$", re.IGNORECASE
)
_NATIVE: Final = "\x01Ole10Native"
_WHOLE_FILES: Final = ("Package", "CONTENTS")
"""Streams with a document of Office, and with a PDF."""

_SIZE_BYTES: Final = 4
_PACKED: Final = re.compile(
    rb"\x02\x00(?P<name>[^\0]{0,260})\0[^\0]{0,1000}\0.{4}(?P<length>.{4})[^\0]{0,1000}\0(?P<size>.{4})", re.DOTALL
)

_OBJECT: Final = re.compile(rb"\\objdata(?![a-zA-Z])([0-9a-fA-F \t\r\n]*+)")
_NO_DIGITS: Final = re.compile(rb"[^0-9a-fA-F]+")
_FIXED_BYTES: Final = 8
_IS_EMBEDDED: Final = b"\2\0\0\0"
_PACKAGER: Final = b"Package"
_WHOLE_FILE_HEADERS: Final = (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\3\4", b"%PDF-")


def embedded_files(package: Package, budget: Budget) -> Iterator[Member]:
    """Yield the files embedded in a package, by their own names if known, and large pictures.

    Raises:
        SkipFileError: they are more than is read.
    """
    for part in filter(_EMBEDDED.match, package.names()):
        name = part.rpartition("/")[2]
        try:
            file = unwrap_ole(name, b"".join(package.pieces(part)))
        except SkipFileError as error:
            if budget.is_spent:
                raise
            yield Member(name, problem=error)
        except ExtractionError as error:
            yield Member(name, problem=error)
        else:
            yield Member(file.name, file.content)
    if budget.reads_pictures:
        yield from _pictures(package, budget)


class EmbeddedFile(NamedTuple):
    """An embedded file with its name, which may be anything."""

    name: str
    content: bytes


def unwrap_ole(name: str, content: bytes) -> EmbeddedFile:
    """Return the file in an OLE wrapper; an office document is returned as it is.

    Raises:
        ExtractionError: the OLE file is damaged.
    """
    if not content.startswith(_OLE_HEADER):
        return EmbeddedFile(name, content)
    try:
        with olefile.OleFileIO(io.BytesIO(content)) as ole:
            if ole.exists(_NATIVE):
                return read_ole_package(name, ole.openstream(_NATIVE).read()[_SIZE_BYTES:])
            for stream in _WHOLE_FILES:
                if ole.exists(stream):
                    return EmbeddedFile(name, ole.openstream(stream).read())
    except (OSError, ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ExtractionError(f"is damaged in the document ({type(error).__name__})") from error
    return EmbeddedFile(name, content)


def read_ole_package(name: str, stream: bytes) -> EmbeddedFile:
    """Return the file in an OLE package: its name, its path, and then its bytes, each behind its length or before NUL.

    MS-OLEDS 2.3.6 leaves the content of the stream to programs; this is what Windows writes behind its length.
    """
    match = _PACKED.match(stream)
    if not match:
        return EmbeddedFile(name, stream)
    label = match["name"].decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
    size = int.from_bytes(match["size"], "little")
    return EmbeddedFile(label or name, stream[match.end() : match.end() + size])


def embedded_objects(content: bytes, budget: Budget) -> Iterator[Member]:
    """Yield the files embedded in rich text, by their own names if known.

    Raises:
        SkipFileError: they are more than is read.
    """
    for number, match in enumerate(_OBJECT.finditer(content), 1):
        budget.take_member()
        digits = _NO_DIGITS.sub(b"", match[1])
        stored = bytes.fromhex(digits[: len(digits) // 2 * 2].decode("ascii"))
        if member := _member(f"object {number}", stored, budget):
            yield member


def _pictures(package: Package, budget: Budget) -> Iterator[Member]:
    """Yield the pictures that may have text."""
    for part, match in ((part, _PICTURE.search(part)) for part in package.names()):
        if match is None:
            continue
        try:
            content = b"".join(package.pieces(part))
        except (SkipFileError, ExtractionError):
            if budget.is_spent:
                raise
            continue
        if may_hold_text(content, _KINDS[match[1].lower()]):
            yield Member(part, content)


def _member(name: str, stored: bytes, budget: Budget) -> Member | None:
    """Return the file in an object; None if it is a picture or a link."""
    program, content = _embedded(stored)
    try:
        if program == _PACKAGER:
            file = read_ole_package(name, content)
        elif content.startswith(_WHOLE_FILE_HEADERS):
            file = unwrap_ole(name, content)
        else:
            return None
    except ExtractionError as error:
        return Member(name, problem=error)
    return budget.member(file.name, file.content)


def _embedded(stored: bytes) -> tuple[bytes, bytes]:
    """Return the class and the content of an object, behind a header of three length-prefixed texts."""
    if stored[4:8] != _IS_EMBEDDED:
        return b"", b""
    offset, texts = _FIXED_BYTES, []
    for _ in range(3):
        length = int.from_bytes(stored[offset : offset + 4], "little")
        texts.append(stored[offset + 4 : offset + 4 + length])
        offset += 4 + length
    size = int.from_bytes(stored[offset : offset + 4], "little")
    return texts[0].rstrip(b"\0"), stored[offset + 4 : offset + 4 + size]
