"""Writers of exports: files are added one by one as rows, then the export is finished.

JSON Lines and CSV are written here; `docs/export.md` describes every column.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol, TextIO, TypeAlias

from directory_indexer.core.ids import uuid_text
from directory_indexer.core.paths import FilePath, display
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.files import IndexedFile

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

_FORMULA = re.compile("['=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""First characters of cells that a spreadsheet would evaluate; and the apostrophe, so that it can always be removed."""


class ExportStart(NamedTuple):
    """Header of an export: its metadata, and the tracked directories with their ids."""

    facts: Mapping[str, str]
    directories: Mapping[FilePath, int]
    must_stop: Callable[[], bool]


class ExportWriter(Protocol):
    """Writes one export."""

    def add(self, exported: ExportedFile) -> None:
        """Write a file with its chunks, now or with the next ones.

        Raises:
            StopRequested: it should stop.
        """

    def finish(self) -> None:
        """Write the rest.

        Raises:
            StopRequested: it should stop.
        """


class ExportedFile(NamedTuple):
    """A file with all of its chunks in order, and its tracked directory."""

    file: IndexedFile
    directory: FilePath
    chunks: Sequence[IndexedChunk]


class FileWriter(ExportWriter, Protocol):
    """Writes one export into a file that it opens and closes."""

    def close(self) -> None:
        """Close the file."""


class StopRequested(Exception):  # noqa: N818 - a request, not an error
    """The export is interrupted and will be discarded."""


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
        **_location(stored),
        "text": stored.chunk.text,
    }


def passage_row(exported: ExportedFile, stored: IndexedChunk) -> Row:
    """Return the row of a chunk with its file, in the order of `PASSAGE_COLUMNS`."""
    file = exported.file
    place = _location(stored)
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


class JsonLines:
    """One JSON object per line, in ASCII: some readers split lines at Unicode line separators."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, exported: ExportedFile) -> None:
        """Write the passages of a file."""
        for chunk in exported.chunks:
            self._stream.write(json.dumps(passage_row(exported, chunk)) + "\n")

    def finish(self) -> None:
        """Flush the stream."""
        self._stream.flush()


class CsvLines:
    """One row per passage below a header; no cell is a formula."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # With a bare line feed, Python before 3.13 does not quote a lone carriage return, which would end a row.
        self._rows = csv.writer(stream, lineterminator="\r\n")
        self._rows.writerow(PASSAGE_COLUMNS)

    def add(self, exported: ExportedFile) -> None:
        """Write the passages of a file."""
        for chunk in exported.chunks:
            self._rows.writerow([_without_formula(value) for value in passage_row(exported, chunk).values()])

    def finish(self) -> None:
        """Flush the stream."""
        self._stream.flush()


def _location(stored: IndexedChunk) -> Row:
    chunk = stored.chunk
    return {
        "chunk": chunk.ordinal + 1,
        "page": chunk.page,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "tokens": chunk.n_tokens,
    }


def _without_formula(value: str | int | None) -> str | int | None:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
