"""Files and chunks as rows of an export; `docs/export.md` describes every column."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeAlias

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.files import IndexedFile
from directory_indexer.ids import uuid_text
from directory_indexer.paths import FilePath, display

Row: TypeAlias = dict[str, str | int | None]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

FILE_COLUMNS: dict[str, type] = {
    "id": int,
    "directory_id": int,
    "path": str,
    "kind": str,
    "title": str,
    "size": int,
    "modified_at": str,
    "checked_at": str,
    "masked": int,
    "content_hash": str,
}
HEADING_COLUMNS: dict[str, type] = {
    "id": int,
    "file_id": int,
    "heading": str,
    "page": int,
    "start_line": int,
    "end_line": int,
}
CHUNK_COLUMNS: dict[str, type] = {
    "id": int,
    "chunk_id": str,
    "file_id": int,
    "heading_id": int,
    "chunk": int,
    "page": int,
    "start_line": int,
    "end_line": int,
    "tokens": int,
    "text": str,
}
PASSAGE_COLUMNS = (
    "chunk_id",
    "path",
    "directory",
    "kind",
    "title",
    "size",
    "modified_at",
    "chunk",
    "heading",
    "page",
    "start_line",
    "end_line",
    "tokens",
    "text",
)
"""The columns of CSV, the keys of JSON Lines objects, and the columns of the view `passages`."""


class ExportedFile(NamedTuple):
    """A file with all of its chunks in order, and its tracked directory."""

    file: IndexedFile
    directory: FilePath
    chunks: Sequence[IndexedChunk]


def file_row(exported: ExportedFile) -> Row:
    """Return the row of a file, in the order of `FILE_COLUMNS`."""
    file = exported.file
    return {
        "id": file.id,
        "directory_id": file.directory_id,
        "path": display(file.path),
        "kind": file.facts.kind,
        "title": file.facts.title or None,
        "size": file.size,
        "modified_at": utc(file.mtime_ns),
        "checked_at": utc(file.checked_ns) if file.checked_ns else None,
        "masked": file.n_masked,
        "content_hash": file.hash.hex(),
    }


def heading_row(id_: int, file_id: int, under: Sequence[IndexedChunk]) -> Row:
    """Return the row of a heading, derived from the consecutive chunks below it."""
    first, last = under[0].chunk, under[-1].chunk
    return {
        "id": id_,
        "file_id": file_id,
        "heading": first.heading,
        "page": first.page,
        "start_line": first.start_line,
        "end_line": last.end_line,
    }


def chunk_row(id_: int, stored: IndexedChunk, *, file_id: int, heading_id: int | None) -> Row:
    """Return the row of a chunk, in the order of `CHUNK_COLUMNS`."""
    return {
        "id": id_,
        "chunk_id": uuid_text(stored.chunk_id),
        "file_id": file_id,
        "heading_id": heading_id,
        **_place(stored),
        "text": stored.chunk.text,
    }


def passage_row(exported: ExportedFile, stored: IndexedChunk) -> Row:
    """Return the row of a chunk with its file, in the order of `PASSAGE_COLUMNS`."""
    file = exported.file
    place = _place(stored)
    return {
        "chunk_id": uuid_text(stored.chunk_id),
        "path": display(file.path),
        "directory": display(exported.directory),
        "kind": file.facts.kind,
        "title": file.facts.title or None,
        "size": file.size,
        "modified_at": utc(file.mtime_ns),
        "chunk": place.pop("chunk"),
        "heading": stored.chunk.heading or None,
        **place,
        "text": stored.chunk.text,
    }


def utc(nanoseconds: int) -> str:
    """Format nanoseconds since the epoch as ISO 8601 in UTC, to the second.

    Accepts any year that a file system reports.
    """
    moment = _EPOCH + timedelta(seconds=nanoseconds // 1_000_000_000)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _place(stored: IndexedChunk) -> Row:
    chunk = stored.chunk
    return {
        "chunk": chunk.ordinal + 1,
        "page": chunk.page,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "tokens": chunk.n_tokens,
    }
