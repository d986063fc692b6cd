"""Files embedded in office documents, either wrapped in an OLE file with their name, or as they are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import olefile

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.media.scanned import may_hold_text
from directory_indexer.extractors.members import Member
from directory_indexer.extractors.packages import Package


def embedded_in(package: Package, budget: Budget) -> Iterator[Member]:
    """Yield the files embedded in a package, by their own names if known, and large pictures.

    Raises:
        SkipFileError: they are more than is read.
    """
    for part in filter(_EMBEDDED.match, package.names()):
        name = part.rpartition("/")[2]
        try:
            file = unwrapped(name, b"".join(package.pieces(part)))
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


class EmbeddedFile(NamedTuple):
    """An embedded file with its name, which may be anything."""

    name: str
    content: bytes


def unwrapped(name: str, content: bytes) -> EmbeddedFile:
    """Return the file in an OLE wrapper; an office document is returned as it is.

    Raises:
        ExtractionError: the OLE file is damaged.
    """
    if not content.startswith(_OLE_HEADER):
        return EmbeddedFile(name, content)
    try:
        with olefile.OleFileIO(io.BytesIO(content)) as ole:
            if ole.exists(_NATIVE):
                return packed_file(name, ole.openstream(_NATIVE).read()[_SIZE_BYTES:])
            for stream in _WHOLE_FILES:
                if ole.exists(stream):
                    return EmbeddedFile(name, ole.openstream(stream).read())
    except (OSError, ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ExtractionError(f"is damaged in the document ({type(error).__name__})") from error
    return EmbeddedFile(name, content)


def packed_file(name: str, stream: bytes) -> EmbeddedFile:
    """Return the file in an OLE package: its name, its path, and then its bytes, each behind its length or before NUL.

    MS-OLEDS 2.3.6 leaves the content of the stream to programs; this is what Windows writes behind its length.
    """
    match = _PACKED.match(stream)
    if not match:
        return EmbeddedFile(name, stream)
    label = match["name"].decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
    size = int.from_bytes(match["size"], "little")
    return EmbeddedFile(label or name, stream[match.end() : match.end() + size])


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
