"""PowerPoint presentations from before 2007: each slide is a page with its title, text, notes and comments.

A header or footer, which may belong to all pages, is written once, as is a text box that is on each page of notes.

Fast saves append changes and keep the former content: each save has a directory that locates its objects, and refers to
the save before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.draft import Draft

_SLIDE_ENTRY: Final = struct.Struct("<I8xI")
_UINT32: Final = struct.Struct("<I")
_OF_SLIDES: Final = 0
_COMMENT_TEXT: Final = 1
_TITLES: Final = frozenset({0, 6})
_LISTS: Final = frozenset({1, 7, 8})
_NOTES_TEXT: Final = 2
_OTHER_TEXT: Final = 4
_FIELD_PLACEHOLDER: Final = "*"
"""Text that stands for the slide number or for a date."""


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
HEADERS_AND_FOOTERS: Final = 0xFD9

_HEADER: Final = struct.Struct("<HHI")
_CURRENT_USER: Final = struct.Struct("<12xII")
_EDIT_FIELDS: Final = struct.Struct("<8xIII")
_EDIT: Final = 0xFF5
_PERSIST_DIRECTORY: Final = 0x1772
_CONTAINER: Final = 0xF
_ENCRYPTED: Final = 0xF3D1C4DF
_TAGS: Final = 0x138B
"""Extensions of later versions, comments among them."""

_MAX_DEPTH: Final = 32


def read_ppt(stream: bytes, current_user: bytes) -> Document:
    """Read a presentation by its main stream, and by the stream that locates its latest state.

    Raises:
        SkipFileError: it needs a password, or is more than is read.
        ExtractionError: it is damaged.
    """
    number, records_by_number = objects(stream, current_user)
    document = records_by_number.get(number) or _last_document(stream)
    if document is None or document.kind != DOCUMENT:
        raise ExtractionError("damaged presentation: its list of slides is missing")
    slides = list(_slides(stream, document, records_by_number))
    notes = _notes(stream, records_by_number)
    draft = Draft()
    of_all_pages = dict.fromkeys(_headers_and_footers(stream, document))
    for page, slide in enumerate(slides, 1):
        draft.page(page)
        _write_slide(slide.texts, draft)
        for text in slide.headers_and_footers if page > 1 else (*slide.headers_and_footers, *of_all_pages):
            draft.paragraph(text)
        if notes_of_slide := notes.get(slide.slide_id):
            draft.paragraph("\n".join(("Notes:", *notes_of_slide)))
        for comment in slide.comments:
            draft.paragraph(f"> {comment}")
    return draft.document("ppt", metadata=Metadata(n_pages=len(slides)))


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
        if (record.is_container or record.kind == _TAGS) and depth < _MAX_DEPTH:
            yield from all_records(stream, record.start, record.end, depth + 1)


def objects(stream: bytes, current_user: bytes) -> tuple[int, dict[int, Record]]:
    """Return the number of the document, and the latest state of each object by its number; none if unknown.

    Raises:
        SkipFileError: the presentation needs a password.
    """
    if len(current_user) < _CURRENT_USER.size:
        return 0, {}
    token, at = _CURRENT_USER.unpack_from(current_user)
    if token == _ENCRYPTED:
        raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
    document, places = 0, dict[int, int]()
    n_remaining = len(stream) // 4  # Overlapping directories could have more entries than the file has numbers.
    for directory, number in _saved_states(stream, at):
        document = document or number
        for object_number, place in islice(_object_positions(stream, directory), n_remaining):
            places.setdefault(object_number, place)
            n_remaining -= 1
    latest = ((number, _record_at(stream, place)) for number, place in places.items())
    return document, {number: record for number, record in latest if record}


class _Text(NamedTuple):
    """The text of one box; `kind` distinguishes titles and lists from others."""

    kind: int
    text: str


class _Slide(NamedTuple):
    """The content of a slide."""

    slide_id: int
    texts: list[_Text]
    headers_and_footers: list[str]
    comments: list[str]


def _last_document(stream: bytes) -> Record | None:
    documents = [record for record in records(stream, 0, len(stream)) if record.kind == DOCUMENT]
    return documents[-1] if documents else None


def _slides(stream: bytes, document: Record, records_by_number: dict[int, Record]) -> Iterator[_Slide]:
    """Yield the slides in order: their outlines are in the document, all other texts with the slide."""
    seen_starts: set[int] = set()
    seen_edges = set(_headers_and_footers(stream, document))
    for number, slide_id, texts in _outlines(stream, document):
        slide = records_by_number.get(number)
        if slide is None or slide.kind != SLIDE or slide.start in seen_starts:
            yield _Slide(slide_id, texts, [], [])
            continue
        seen_starts.add(slide.start)
        edges = [text for text in _headers_and_footers(stream, slide) if text not in seen_edges]
        seen_edges.update(edges)
        yield _Slide(slide_id, [*texts, *_texts(stream, slide)], edges, list(_comments(stream, slide)))


def _outlines(stream: bytes, document: Record) -> Iterator[tuple[int, int, list[_Text]]]:
    """Yield for each slide its object number, its id and the texts of its outline."""
    lists = (record for record in records(stream, document.start, document.end) if record.kind == SLIDE_LIST)
    for listed in (record for record in lists if record.instance == _OF_SLIDES):
        inner = list(records(stream, listed.start, listed.end))
        starts = [
            at
            for at, record in enumerate(inner)
            if record.kind == PERSISTED_SLIDE and _size(record) >= _SLIDE_ENTRY.size
        ]
        for start, end in zip(starts, [*starts[1:], len(inner)], strict=True):
            number, slide_id = _SLIDE_ENTRY.unpack_from(stream, inner[start].start)
            yield number, slide_id, list(_text_boxes(stream, inner[start + 1 : end]))


def _texts(stream: bytes, container: Record) -> Iterator[_Text]:
    return _text_boxes(stream, all_records(stream, container.start, container.end))


def _text_boxes(stream: bytes, box_records: Iterator[Record] | list[Record]) -> Iterator[_Text]:
    kind = _OTHER_TEXT
    for record in box_records:
        if record.kind == TEXT_KIND and _size(record) >= _UINT32.size:
            [kind] = _UINT32.unpack_from(stream, record.start)
        elif record.kind in {TEXT_CHARACTERS, TEXT_BYTES}:
            yield _Text(kind, _decode_text(stream, record))


def _headers_and_footers(stream: bytes, container: Record) -> Iterator[str]:
    """Yield the headers, footers and fixed dates of a slide, or those that the document has for all pages."""
    for edges in records(stream, container.start, container.end):
        if edges.kind == HEADERS_AND_FOOTERS:
            for string in records(stream, edges.start, edges.end):
                if string.kind == STRING and (text := _decode_text(stream, string).strip()):
                    yield text


def _comments(stream: bytes, slide: Record) -> Iterator[str]:
    for comment in all_records(stream, slide.start, slide.end):
        if comment.kind == COMMENT:
            strings = records(stream, comment.start, comment.end)
            yield from (
                _decode_text(stream, string)
                for string in strings
                if (string.kind, string.instance) == (STRING, _COMMENT_TEXT)
            )


def _notes(stream: bytes, records_by_number: dict[int, Record]) -> dict[int, list[str]]:
    """Return the speaker notes by the id of their slide."""
    notes: dict[int, list[str]] = {}
    seen_boxes = {""}
    for page in {record.start: record for record in records_by_number.values() if record.kind == NOTES}.values():
        notes_of = next((record for record in records(stream, page.start, page.end) if record.kind == NOTES_OF), None)
        if notes_of and _size(notes_of) >= _UINT32.size:
            [slide_id] = _UINT32.unpack_from(stream, notes_of.start)
            notes.setdefault(slide_id, []).extend(_texts_of_notes(stream, page, seen_boxes))
    return notes


def _texts_of_notes(stream: bytes, page: Record, seen_boxes: set[str]) -> Iterator[str]:
    """Yield the notes on a page, and its other texts unless they were seen."""
    for kind, text in _texts(stream, page):
        lines = text.replace("\r", "\n").strip()
        if kind == _NOTES_TEXT and lines:
            yield lines
        elif kind == _OTHER_TEXT and not lines.endswith(_FIELD_PLACEHOLDER) and lines not in seen_boxes:
            seen_boxes.add(lines)
            yield lines


def _write_slide(texts: list[_Text], draft: Draft) -> None:
    has_title = False
    for kind, text in texts:
        lines = [line for line in text.split("\r") if line.strip() and line.strip() != _FIELD_PLACEHOLDER]
        if kind in _TITLES and not has_title and lines:
            has_title = True
            draft.heading(1, " ".join(lines))
        elif kind in _LISTS:
            for line in lines:
                draft.item("-", line)
        else:
            draft.paragraph("\n".join(lines))


def _decode_text(stream: bytes, record: Record) -> str:
    content = stream[record.start : record.end]
    return content.decode("cp1252", "ignore") if record.kind == TEXT_BYTES else content.decode("utf-16-le", "replace")


def _size(record: Record) -> int:
    return record.end - record.start


def _saved_states(stream: bytes, offset: int) -> Iterator[tuple[int, int]]:
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
    if directory is None or directory.kind != _PERSIST_DIRECTORY:
        return
    place = directory.start
    while place + 4 <= directory.end:
        [packed] = struct.unpack_from("<I", stream, place)
        first, n_objects = packed & 0xFFFFF, packed >> 20
        place += 4
        n_objects = min(n_objects, (directory.end - place) // 4)
        yield from enumerate(struct.unpack_from(f"<{n_objects}I", stream, place), first)
        place += 4 * n_objects


def _record_at(stream: bytes, place: int) -> Record | None:
    return next(records(stream, place, len(stream)), None)
