"""EXIF: metadata that cameras write into pictures, as the directories of a TIFF file (CIPA DC-008).

ExifRead knows more tags, those of each maker, but takes 100 ms to import and reads neither XMP nor the texts of PNG.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from directory_indexer.extractors.decoding import decode
from directory_indexer.extractors.properties import iso_time, one_value


def read_exif(content: bytes) -> dict[str, str]:
    """Return the values of the descriptive tags by their names; damaged content has fewer."""
    order = {b"II": "<", b"MM": ">"}.get(content[:2])
    if order is None or len(content) < _HEADER_BYTES:
        return {}
    return dict(_Directories(content, order).tags(struct.unpack_from(f"{order}I", content, 4)[0]))


def time_of(text: str) -> str:
    """Return an EXIF time, `2024:05:01 12:00:00`, in ISO 8601; "" if it is invalid."""
    date, _, time = text.strip().partition(" ")
    day = date.replace(":", "-")
    return iso_time(f"{day}T{time}") or iso_time(day)


class _Directories:
    """The directories of a TIFF file, which may be nested."""

    def __init__(self, content: bytes, order: str) -> None:
        self._content = content
        self._order = order
        self._n_entries = 0

    def tags(self, start: int) -> Iterator[tuple[str, str]]:
        """Yield the tags of the directory at an offset and of those nested in it."""
        pending = [(start, _TAGS)]
        for _ in range(_MAX_DIRECTORIES):
            if not pending:
                return
            offset, names = pending.pop()
            for tag, value in self._entries(offset):
                if tag in _INNER and isinstance(value, tuple) and value and isinstance(value[0], int):
                    pending.append((value[0], _INNER[tag]))
                elif name := names.get(tag):
                    yield name, _format_value(value)

    def _entries(self, start: int) -> Iterator[tuple[int, _Value]]:
        if not _HEADER_BYTES <= start <= len(self._content) - 2:
            return
        (n_entries,) = struct.unpack_from(f"{self._order}H", self._content, start)
        for index in range(min(n_entries, _MAX_ENTRIES)):
            at = start + 2 + index * _ENTRY_BYTES
            if at + _ENTRY_BYTES > len(self._content):
                return
            tag, kind, count = struct.unpack_from(f"{self._order}HHI", self._content, at)
            if (value := self._value(kind, count, at + 8)) is not None:
                yield tag, value

    def _value(self, kind: int, count: int, at: int) -> _Value | None:
        form = _FORMS.get(kind)
        if form is None or not 0 < count <= _MAX_VALUE:
            return None
        size = struct.calcsize(f"{self._order}{form}") * count
        if size > _INLINE_BYTES:
            (at,) = struct.unpack_from(f"{self._order}I", self._content, at)
        if at + size > len(self._content):
            return None
        if form == "s":
            return self._content[at : at + count]
        return struct.unpack_from(f"{self._order}{form * count}", self._content, at)


_Value = bytes | tuple[int, ...]


def _format_value(value: _Value) -> str:
    if isinstance(value, tuple):
        # Windows writes UTF-16 as single bytes.
        content = bytes(number & _BYTE for number in value)
        return one_value(content.decode("utf-16-le", "replace").rstrip("\0"))
    for prefix, encoding in _ENCODINGS:
        if value.startswith(prefix):
            return one_value(value[len(prefix) :].decode(encoding, "replace").strip("\0 "))
    text = value.rstrip(b"\0 ")
    return one_value(decode(text)) if text and b"\0" not in text else ""


_BYTE: Final = 0xFF
_HEADER_BYTES: Final = 8
_ENTRY_BYTES: Final = 12
_INLINE_BYTES: Final = 4
_MAX_DIRECTORIES: Final = 8
_MAX_ENTRIES: Final = 1_000
_MAX_VALUE: Final = 65_536
_FORMS: Final = {1: "B", 2: "s", 3: "H", 4: "I", 7: "s"}
_ENCODINGS: Final = ((b"ASCII\0\0\0", "latin-1"), (b"UNICODE\0", "utf-16-be"), (b"\0" * 8, "latin-1"))
"""Prefixes of user comments that declare their encoding."""

_TAGS: Final = {
    0x010E: "description",
    0x010F: "maker",
    0x0110: "camera",
    0x0132: "modified",
    0x013B: "artist",
    0x8298: "copyright",
    0x9003: "taken",
    0x9286: "comment",
    0xA434: "lens",
    0x9C9B: "title",
    0x9C9C: "comment",
    0x9C9D: "artist",
    0x9C9E: "keywords",
    0x9C9F: "subject",
    0x010D: "document",
}
_INNER: Final[dict[int, dict[int, str]]] = {0x8769: _TAGS}
