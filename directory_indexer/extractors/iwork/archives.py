"""IWA archives, in which Pages, Numbers and Keynote store text since 2013: protocol buffers, packed by Snappy.

There is no published specification; the numbers of messages and fields are those found by
https://github.com/obriensp/iWorkFileFormat and the readers of LibreOffice (libetonyek).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from directory_indexer.errors import ExtractionError


def texts_of(content: bytes) -> Iterator[str]:
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
