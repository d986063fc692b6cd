"""Properties of an Outlook message (MS-OXMSG), its recipients and attachments, and its rich text (MS-OXRTFCP)."""

from __future__ import annotations

import codecs
import io
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import olefile

from directory_indexer.formats.containers import Budget
from directory_indexer.formats.decoding import codec_of, decode_declared, decode_strictly

StoragePath = tuple[str, ...]

INNER_MESSAGE: Final = "__substg1.0_3701000D"


class MessageFile(NamedTuple):
    """An OLE file with the names of its streams and storages, and its budget."""

    streams: olefile.OleFileIO
    names: Sequence[Sequence[str]]
    budget: Budget

    @classmethod
    def of(cls, content: bytes, budget: Budget) -> MessageFile:
        """Open the bytes of a file.

        Raises:
            OSError: it is damaged.
        """
        streams = olefile.OleFileIO(io.BytesIO(content))
        return cls(streams, streams.listdir(streams=True, storages=True), budget)

    def stream(self, path: StoragePath) -> bytes:
        """Return the bytes of a stream; none if there is no such stream."""
        name = list(path)
        if not self.streams.exists(name):
            return b""
        with self.streams.openstream(name) as stream:
            content: bytes = stream.read(self.budget.member_bytes + 1)
        self.budget.take(len(content))
        return content


class MapiProperties:
    """The properties at a path of storages in an OLE file; `encodings` are those of the message around it."""

    def __init__(self, file: MessageFile, path: StoragePath, encodings: Sequence[str] = ()) -> None:
        self._file = file
        self.path = path
        self.numbers = _fixed_properties(file.stream((*path, _FIXED_PROPERTIES)), _header_size(path))
        self.encodings = encodings or encodings_of(self.numbers)

    def has(self, name: str) -> bool:
        """Whether there is a storage or a stream of this name."""
        return bool(self._file.streams.exists([*self.path, name]))

    def content(self, tag: str) -> bytes:
        """Return the bytes of a property."""
        return self._file.stream((*self.path, f"__substg1.0_{tag}0102"))

    def text(self, *tags: str) -> str:
        """Return the text of the first of these properties that has any."""
        return next(filter(None, map(self._text, tags)), "")

    def within(self, prefix: str) -> list[MapiProperties]:
        """Return the properties of the storages with this prefix, sorted by name."""
        depth = len(self.path)
        names = {
            parts[depth]
            for parts in self._file.names
            if len(parts) > depth and parts[depth].startswith(prefix) and tuple(parts[:depth]) == self.path
        }
        return [
            MapiProperties(self._file, (*self.path, name), self.encodings) for name in sorted(names)[:_MAX_STORAGES]
        ]

    def _text(self, tag: str) -> str:
        if wide := self._file.stream((*self.path, f"__substg1.0_{tag}001F")):
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        narrow = self._file.stream((*self.path, f"__substg1.0_{tag}001E"))
        return _decode_with_likeliest(narrow, self.encodings).rstrip("\0")


def encodings_of(numbers: dict[int, int]) -> tuple[str, ...]:
    """Return the likely encodings of texts that are not Unicode, the likeliest first.

    The code page of the message is seldom set. Programs write in the code page of the system's language, and the code
    page of the body, meant for its HTML, holds for texts if it is UTF-8 and they fit it.
    """
    body_page = numbers.get(_CODE_PAGE_OF_BODY, 0)
    utf_8_page = _UTF_8 if body_page == _UTF_8 else 0
    language_page = _code_page_of(numbers[_LANGUAGE]) if _LANGUAGE in numbers else 0
    pages = (utf_8_page, numbers.get(_CODE_PAGE, 0), language_page, body_page)
    return (*(encoding_of(page) for page in pages if page), "cp1252")


def encoding_of(code_page: int) -> str:
    """Return the Python codec of a Windows code page."""
    name = _ENCODINGS.get(code_page, f"cp{code_page}")
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name


def code_page_of_body(numbers: dict[int, int]) -> str | None:
    """Return the encoding of an HTML body that does not declare its own; None if unknown."""
    page = numbers.get(_CODE_PAGE_OF_BODY)
    return encoding_of(page) if page else None


def _decode_with_likeliest(content: bytes, encodings: Sequence[str]) -> str:
    likely = (decode_strictly(content, codec_of(encoding) or encoding) for encoding in encodings[:-1])
    return next((text for text in likely if text is not None), None) or decode_declared(content, encodings[0])


def _fixed_properties(content: bytes, start: int) -> dict[int, int]:
    """Parse the properties of fixed size: numbers and times."""
    numbers: dict[int, int] = {}
    for offset in range(start, len(content) - _PROPERTY_BYTES + 1, _PROPERTY_BYTES):
        kind, tag, _, value = struct.unpack_from("<HHIQ", content, offset)
        if kind in _NUMBERS:
            numbers[tag] = value & 0xFFFF_FFFF if kind == _INTEGER else value
    return numbers


def _header_size(path: StoragePath) -> int:
    if not path:
        return _ROOT_HEADER
    return _INNER_HEADER if path[-1] == INNER_MESSAGE else _SHORT_HEADER


def _code_page_of(language: int) -> int:
    """Return the code page of a Windows language; a few depend on the country or script."""
    return _CODE_PAGES_OF_COUNTRIES.get(language) or _CODE_PAGES.get(language & _PRIMARY_LANGUAGE_MASK, 1252)


_FIXED_PROPERTIES: Final = "__properties_version1.0"
_ROOT_HEADER: Final = 32
_INNER_HEADER: Final = 24
_SHORT_HEADER: Final = 8
_PROPERTY_BYTES: Final = 16
_INTEGER: Final = 3
_NUMBERS: Final = (_INTEGER, 0x40)
_MAX_STORAGES: Final = 20_000
_CODE_PAGE: Final = 0x3FFD
_CODE_PAGE_OF_BODY: Final = 0x3FDE
_LANGUAGE: Final = 0x3FF1
_PRIMARY_LANGUAGE_MASK: Final = 0x3FF
_UTF_8: Final = 65001
_ENCODINGS: Final = {20127: "ascii", 28591: "latin-1", 65000: "utf-7", _UTF_8: "utf-8"}
_CODE_PAGES: Final = {
    language: page
    for page, languages in {
        874: (0x1E,),
        932: (0x11,),
        936: (0x04,),
        949: (0x12,),
        1250: (0x05, 0x0E, 0x15, 0x18, 0x1A, 0x1B, 0x1C, 0x24),
        1251: (0x02, 0x19, 0x22, 0x23, 0x2F, 0x3F, 0x40, 0x44, 0x50),
        1253: (0x08,),
        1254: (0x1F, 0x2C, 0x43),
        1255: (0x0D,),
        1256: (0x01, 0x20, 0x29),
        1257: (0x25, 0x26, 0x27),
        1258: (0x2A,),
    }.items()
    for language in languages
}
"""Code pages of languages, by their primary ids (MS-LCID); all others use 1252."""

_CODE_PAGES_OF_COUNTRIES: Final = {0x0404: 950, 0x0C04: 950, 0x1404: 950, 0x0C1A: 1251, 0x1C1A: 1251}
"""Traditional Chinese, and Serbian in Cyrillic."""


def decompress_rtf(packed: bytes, max_bytes: int) -> bytes:
    """Return the rich text of a compressed body, up to any damage, and at most `max_bytes` of it."""
    if len(packed) < _HEADER_BYTES:
        return b""
    _, size, kind, _ = struct.unpack_from("<IIII", packed)
    size = min(size, max_bytes)
    return packed[_HEADER_BYTES : _HEADER_BYTES + size] if kind == _PLAIN else _decompress(packed, size)


def _decompress(packed: bytes, size: int) -> bytes:
    dictionary = bytearray(_DICTIONARY.ljust(_WINDOW_BYTES, b" "))
    write, position, unpacked = len(_DICTIONARY), _HEADER_BYTES, bytearray()
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
                run = _copy_run(dictionary, offset, length, write)
            for byte in run:
                dictionary[write] = byte
                write = (write + 1) % _WINDOW_BYTES
            unpacked += run
    return bytes(unpacked)


def _copy_run(dictionary: bytearray, offset: int, length: int, write: int) -> bytes:
    """Return a run copied from the dictionary, which may overlap what is being written."""
    distance = (write - offset) % _WINDOW_BYTES
    return bytes(dictionary[(offset + at % distance) % _WINDOW_BYTES] for at in range(length))


_HEADER_BYTES: Final = 16
_PLAIN: Final = 0x414C454D
_WINDOW_BYTES: Final = 4096
_DICTIONARY: Final = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
