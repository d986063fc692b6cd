"""Content of signed messages (CMS, RFC 5652): opaque S/MIME and `.p7m` files, which are readable without a key.

Signatures are not verified. Programs write BER: lengths may be indefinite, and an octet string may come in pieces.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole


def is_signed(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a signed or encrypted CMS message."""
    start = head[:_OID_WITHIN]
    return _CMS_OID in start or (has_extension and _CMS_OID in _decode_base64(head[:_MAX_ARMOUR])[:_OID_WITHIN])


def open_signed(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a signed file, whose only member is the signed content.

    Raises:
        SkipFileError: it is encrypted, or holds a signature alone.
        ExtractionError: it is damaged.
    """
    content = read_whole(file)
    signed = signed_content(content)
    if signed is None:
        raise SkipFileError(SkipReason.ENCRYPTED, "it is encrypted for the key of its recipient")
    if not signed:
        raise SkipFileError(SkipReason.NO_TEXT, "it contains only a signature")
    budget.take_member()
    return Contents(None, [Member("", b"".join(budget.counted([signed], packed_bytes=len(content))))])


def signed_content(content: bytes) -> bytes | None:
    """Return the content of a signed message, b"" for a detached signature; None if it is encrypted.

    Raises:
        ExtractionError: it is damaged.
    """
    ber = _decode_base64(content)
    if _SIGNED_DATA_OID not in ber[:_OID_WITHIN]:
        return None
    try:
        _, wrapped, *_ = _children(ber, _element(ber, 0))
        signed = _element(ber, wrapped.start)
        inner = next(part for part in _children(ber, signed) if part.tag == _SEQUENCE)
        _, *contents = _children(ber, inner)
        return b"".join(_octet_strings(ber, contents[0])) if contents else b""
    except (IndexError, ValueError, StopIteration) as error:
        raise ExtractionError("its signature is damaged") from error


def _decode_base64(content: bytes) -> bytes:
    """Return bytes that may be written in Base64, with armour lines or without."""
    if content[:1] == b"0":
        return content
    base64_text = re.sub(rb"-----[^\n]*\n?|\s+", b"", content)
    try:
        return base64.b64decode(base64_text[: len(base64_text) // 4 * 4])
    except binascii.Error:
        return b""


class _Element(NamedTuple):
    """An element: its tag, the range of its contents, and the start of the next element."""

    tag: int
    start: int
    end: int
    after: int


def _element(ber: bytes, at: int) -> _Element:
    tag, start, size = _header(ber, at)
    if size is None:
        end = _end_of_indefinite(ber, start)
        return _Element(tag, start, end, end + len(_END_OF_CONTENTS))
    # A truncated element extends to the end of the file.
    return _Element(tag, start, min(start + size, len(ber)), start + size)


def _header(ber: bytes, at: int) -> tuple[int, int, int | None]:
    tag, first = ber[at], ber[at + 1]
    if first < _LONG_FORM:
        return tag, at + 2, first
    start = at + 2 + (first & ~_LONG_FORM)
    return tag, start, None if first == _LONG_FORM else int.from_bytes(ber[at + 2 : start], "big")


def _end_of_indefinite(ber: bytes, at: int) -> int:
    """Return the end of the contents of an element of indefinite length: before its end mark."""
    depth = 1
    while at < len(ber):
        if ber.startswith(_END_OF_CONTENTS, at):
            depth -= 1
            if not depth:
                return at
            at += len(_END_OF_CONTENTS)
            continue
        _, start, size = _header(ber, at)
        depth += size is None
        at = start + (size or 0)
    return len(ber)


def _children(ber: bytes, element: _Element) -> Iterator[_Element]:
    at = element.start
    while at < element.end:
        child = _element(ber, at)
        yield child
        at = child.after


def _octet_strings(ber: bytes, element: _Element) -> Iterator[bytes]:
    """Yield the pieces of an octet string, however nested."""
    at = element.start
    while at + 1 < element.end:
        tag, start, size = _header(ber, at)
        is_piece = tag == _OCTET_STRING and size is not None
        if is_piece:
            yield ber[start : min(start + (size or 0), element.end)]
        at = start + (size or 0) if is_piece or not tag else start


_CMS_OID: Final = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07"
_SIGNED_DATA_OID: Final = _CMS_OID + b"\x02"
_OID_WITHIN: Final = 32
_MAX_ARMOUR: Final = 1_024
_SEQUENCE: Final = 0x30
_OCTET_STRING: Final = 0x04
_LONG_FORM: Final = 0x80
_END_OF_CONTENTS: Final = b"\0\0"
