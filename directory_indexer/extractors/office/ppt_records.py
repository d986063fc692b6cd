"""Records of PowerPoint presentations of before 2007, and the location of the latest ones.

A fast-saved file keeps its former content and appends changes: each save has a directory that locates its objects, and
refers to the save before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from directory_indexer.errors import SkipFileError
from directory_indexer.files import SkipReason

DOCUMENT: Final = 0x3E8
TEXT_KIND: Final = 0xF9F
TEXT_CHARACTERS: Final = 0xFA0
TEXT_BYTES: Final = 0xFA8
STRING: Final = 0xFBA
SLIDE_LIST: Final = 0xFF0
PERSISTED_SLIDE: Final = 0x3F3
SLIDE: Final = 0x3EE
NOTES: Final = 0x3F0
NOTES_OF: Final = 0x3F1
COMMENT: Final = 0x2EE0


class Record(NamedTuple):
    """A record; `start` and `end` are those of its content in the stream."""

    kind: int
    instance: int
    is_container: bool
    start: int
    end: int


def records(stream: bytes, start: int, end: int) -> Iterator[Record]:
    """Yield the records between two positions, up to a broken one."""
    while start + _HEADER.size <= end:
        flags, kind, n_bytes = _HEADER.unpack_from(stream, start)
        start += _HEADER.size
        if start + n_bytes > end:
            return
        yield Record(kind, flags >> 4, flags & 0xF == _CONTAINER, start, start + n_bytes)
        start += n_bytes


def all_records(stream: bytes, start: int, end: int, depth: int = 0) -> Iterator[Record]:
    """Yield the records at every depth, each container before its contents."""
    for record in records(stream, start, end):
        yield record
        if (record.is_container or record.kind == _TAGS) and depth < _MOST_DEPTH:
            yield from all_records(stream, record.start, record.end, depth + 1)


def objects(stream: bytes, current_user: bytes) -> tuple[int, dict[int, Record]]:
    """Return the number of the document, and the latest state of each object by its number; none if unknown.

    Raises:
        SkipFileError: the presentation needs a password.
    """
    if len(current_user) < _USER.size:
        return 0, {}
    token, at = _USER.unpack_from(current_user)
    if token == _ENCRYPTED:
        raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
    document, places = 0, dict[int, int]()
    n_remaining = len(stream) // 4  # Overlapping directories could have more entries than the file has numbers.
    for directory, number in _saves(stream, at):
        document = document or number
        for object_number, place in islice(_object_positions(stream, directory), n_remaining):
            places.setdefault(object_number, place)
            n_remaining -= 1
    latest = ((number, _record_at(stream, place)) for number, place in places.items())
    return document, {number: record for number, record in latest if record}


def _saves(stream: bytes, offset: int) -> Iterator[tuple[int, int]]:
    """Yield the position of the directory of each save and the number of its document, the latest save first."""
    seen_offsets: set[int] = set()
    while offset not in seen_offsets and (edit := _record_at(stream, offset)) and edit.kind == _EDIT:
        seen_offsets.add(offset)
        if edit.end - edit.start < _EDIT_FIELDS.size:
            return
        offset, directory, number = _EDIT_FIELDS.unpack_from(stream, edit.start)
        yield directory, number


def _object_positions(stream: bytes, at: int) -> Iterator[tuple[int, int]]:
    directory = _record_at(stream, at)
    if directory is None or directory.kind != _DIRECTORY:
        return
    place = directory.start
    while place + 4 <= directory.end:
        [described] = struct.unpack_from("<I", stream, place)
        first, n_places = described & 0xFFFFF, described >> 20
        place += 4
        n_places = min(n_places, (directory.end - place) // 4)
        yield from enumerate(struct.unpack_from(f"<{n_places}I", stream, place), first)
        place += 4 * n_places


def _record_at(stream: bytes, place: int) -> Record | None:
    return next(records(stream, place, len(stream)), None)


_HEADER: Final = struct.Struct("<HHI")
_USER: Final = struct.Struct("<12xII")
_EDIT_FIELDS: Final = struct.Struct("<8xIII")
_EDIT: Final = 0xFF5
_DIRECTORY: Final = 0x1772
_CONTAINER: Final = 0xF
_ENCRYPTED: Final = 0xF3D1C4DF
_TAGS: Final = 0x138B
"""Extensions of later versions, comments among them."""

_MOST_DEPTH: Final = 32
