"""Metadata of an OLE file, from the relevant properties of its summary stream.

olefile reads all properties, and as many values as one claims to have: four billion in eight bytes.
"""

from __future__ import annotations

import struct
from datetime import datetime, timedelta
from typing import Final

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.properties import iso_time, listed, one_value, written_title

MAX_BYTES: Final = 1_000_000


def read_summary(stream: bytes) -> tuple[str, Metadata]:
    """Return the title and the metadata in a summary stream; damaged ones are empty."""
    values_by_number = _properties(stream)
    code_page = values_by_number.get(_CODE_PAGE)
    title, subject, author, keywords = (_text(values_by_number.get(number), code_page) for number in _TEXTS)
    return written_title(title), Metadata(
        authors=listed(author),
        created=_format_time(values_by_number.get(_CREATED)),
        modified=_format_time(values_by_number.get(_SAVED)),
        subject=one_value(subject),
        tags=listed(keywords),
    )


def _properties(stream: bytes) -> dict[int, bytes]:
    """Return the relevant properties by their numbers, each from its type on."""
    try:
        [start] = struct.unpack_from("<I", stream, _FIRST_SECTION_AT)
        _, n_properties = struct.unpack_from("<II", stream, start)
    except struct.error:
        return {}
    index = stream[start + 8 : start + 8 + 8 * n_properties]
    places = struct.iter_unpack("<II", index[: len(index) // 8 * 8])
    return {number: stream[start + offset :][:_MAX_VALUE] for number, offset in places if number in _RELEVANT}


def _text(value: bytes | None, code_page: bytes | None) -> str:
    if not value or len(value) < _LENGTH_END:
        return ""
    kind, length = struct.unpack_from("<II", value)
    if kind == _WIDE_TEXT:
        return value[_LENGTH_END : _LENGTH_END + 2 * length].decode("utf-16-le", "replace").partition("\0")[0]
    if kind not in _TEXT_KINDS:
        return ""
    encoding = _encoding(code_page)
    text = value[_LENGTH_END : _LENGTH_END + length]
    try:
        return text.decode(encoding, "replace").partition("\0")[0]
    except LookupError:
        return text.decode("cp1252", "replace").partition("\0")[0]


def _encoding(code_page: bytes | None) -> str:
    number = struct.unpack_from("<4xH", code_page)[0] if code_page and len(code_page) >= _SHORT_END else 0
    return _ENCODINGS.get(number, f"cp{number}")


def _format_time(value: bytes | None) -> str:
    if not value or len(value) < _TIME_END or value[:4] != _TIME_KIND:
        return ""
    [ticks] = struct.unpack_from("<4xQ", value)
    try:
        time = datetime(1601, 1, 1) + timedelta(microseconds=ticks // 10)  # noqa: DTZ001 - it is in UTC, and formatted as such
    except OverflowError:
        return ""
    return iso_time(f"{time:%Y-%m-%dT%H:%M:%SZ}") if ticks else ""


_FIRST_SECTION_AT: Final = 44
_CODE_PAGE: Final = 1
_TEXTS: Final = (2, 3, 4, 5)
"""Title, subject, author and keywords."""

_CREATED: Final = 12
_SAVED: Final = 13
_RELEVANT: Final = frozenset({_CODE_PAGE, *_TEXTS, _CREATED, _SAVED})
_MAX_VALUE: Final = 20_000
_LENGTH_END: Final = 8
_SHORT_END: Final = 6
_TIME_END: Final = 12
_TIME_KIND: Final = struct.pack("<I", 64)
_TEXT_KINDS: Final = frozenset({8, 30})
_WIDE_TEXT: Final = 31
_ENCODINGS: Final = {0: "cp1252", 1200: "utf-16-le", 10_000: "mac_roman", 65_000: "utf-7", 65_001: "utf-8"}
