"""Compressed rich-text bodies of Outlook messages (MS-OXRTFCP)."""

from __future__ import annotations

import struct
from typing import Final


def unpacked_rtf(packed: bytes, max_bytes: int) -> bytes:
    """Return the rich text of a compressed body, up to any damage, and at most `max_bytes` of it."""
    if len(packed) < _HEADER_BYTES:
        return b""
    _, size, kind, _ = struct.unpack_from("<IIII", packed)
    size = min(size, max_bytes)
    return packed[_HEADER_BYTES : _HEADER_BYTES + size] if kind == _PLAIN else _decompress(packed, size)


def _decompress(packed: bytes, size: int) -> bytes:
    window = bytearray(_WINDOW.ljust(_WINDOW_BYTES, b" "))
    write, position, unpacked = len(_WINDOW), _HEADER_BYTES, bytearray()
    while position < len(packed) and len(unpacked) < size:
        flags = packed[position]
        position += 1
        for bit in range(8):
            n_bytes = 1 + (flags >> bit & 1)
            token = packed[position : position + n_bytes]
            position += n_bytes
            if len(token) < n_bytes:
                return bytes(unpacked)
            if n_bytes == 1:
                run = token
            else:
                offset, length = token[0] << 4 | token[1] >> 4, (token[1] & 15) + 2
                if offset == write:
                    return bytes(unpacked)
                run = _copy_run(window, offset, length, write)
            for byte in run:
                window[write] = byte
                write = (write + 1) % _WINDOW_BYTES
            unpacked += run
    return bytes(unpacked)


def _copy_run(window: bytearray, offset: int, length: int, write: int) -> bytes:
    """Return a run copied from the window, which may overlap what is being written."""
    distance = (write - offset) % _WINDOW_BYTES
    return bytes(window[(offset + at % distance) % _WINDOW_BYTES] for at in range(length))


_HEADER_BYTES: Final = 16
_PLAIN: Final = 0x414C454D
_WINDOW_BYTES: Final = 4096
_WINDOW: Final = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
