"""Writers of exports: files are added one by one as rows, then the export is finished.

JSON Lines, CSV, and a SQLite database with sqlite-utils, which no other command imports; `docs/export.md` describes
every column.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final, NamedTuple, Protocol, TextIO, TypeAlias

from directory_indexer.core.errors import UnavailableError
from directory_indexer.core.ids import uuid_text
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.files import IndexedFile

with lazily:
    import sqlite3

    from sqlite_utils import Database

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


_BATCH_CHUNKS: Final = 2000
_BATCH_FILES: Final = 500
_STEPS_BETWEEN_STOPS: Final = 100_000
"""SQLite instructions, a few milliseconds, between checks for a stop request."""

_PRAGMAS = (
    # A stopped export is deleted, so no rollback is needed; a complete one is flushed to disk at the end.
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -16000",
)

_PASSAGES = """
    SELECT c.chunk_id, f.path, d.path AS directory, f.kind, f.title, f.size, f.modified_at, c.chunk, h.heading,
           c.page, c.start_line, c.end_line, c.tokens, c.text
    FROM chunks c JOIN files f ON f.id = c.file_id JOIN directories d ON d.id = f.directory_id
    LEFT JOIN headings h ON h.id = c.heading_id
"""

_INDEXES = (
    ("files", ["directory_id"], False),
    ("files", ["path"], False),
    ("files", ["modified_at"], False),
    ("headings", ["file_id"], False),
    ("chunks", ["chunk_id"], True),
    ("chunks", ["file_id", "chunk"], True),
    ("chunks", ["heading_id"], False),
)


class DatabaseWriter:
    """Writes the tables in batches, and finally the indexes and the full-text index.

    Raises:
        UnavailableError: from the constructor and every method, when the file cannot be written.
    """

    def __init__(self, path: str, start: ExportStart) -> None:
        self._must_stop = start.must_stop
        self._files: list[Row] = []
        self._headings: list[Row] = []
        self._chunks: list[Row] = []
        self._n_headings = self._n_chunks = 0
        with self._translated_errors():
            # sqlite-utils would run plugins that were installed for other purposes.
            self._database = Database(sqlite3.connect(path), execute_plugins=False)
            self._database.conn.set_progress_handler(start.must_stop, _STEPS_BETWEEN_STOPS)
            for pragma in _PRAGMAS:
                self._database.conn.execute(pragma)
            self._create(start)

    def add(self, exported: ExportedFile) -> None:
        """Add a file with its chunks, and write the batch when it is full."""
        file_id = exported.file.id
        self._files.append(file_row(exported))
        for heading, group in groupby(exported.chunks, key=lambda stored: stored.chunk.heading):
            under = list(group)
            heading_id = None
            if heading:
                heading_id = self._n_headings = self._n_headings + 1
                self._headings.append(heading_row(heading_id, file_id, under))
            self._chunks += [
                chunk_row(id_, stored, file_id=file_id, heading_id=heading_id)
                for id_, stored in enumerate(under, self._n_chunks + 1)
            ]
            self._n_chunks += len(under)
        if len(self._chunks) >= _BATCH_CHUNKS or len(self._files) >= _BATCH_FILES:
            self._write_batch()

    def finish(self) -> None:
        """Write the last batch, the indexes and the full-text index, and update the statistics."""
        self._write_batch()
        with self._translated_errors():
            for table, columns, is_unique in _INDEXES:
                self._database.table(table).create_index(columns, unique=is_unique)
            self._database.table("chunks").enable_fts(["text"], tokenize="unicode61 remove_diacritics 2")
            self._database.create_view("passages", _PASSAGES)
            self._database.analyze()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _create(self, start: ExportStart) -> None:
        about = self._database.table("about")
        about.create({"name": str, "value": str}, pk="name", not_null={"value"})
        about.insert_all({"name": name, "value": value} for name, value in start.facts.items())
        directories = self._database.table("directories")
        directories.create({"id": int, "path": str}, pk="id", not_null={"path"})
        directories.insert_all({"id": id_, "path": display(path)} for path, id_ in start.directories.items())
        self._database.table("files").create(
            FILE_COLUMNS,
            pk="id",
            foreign_keys=[("directory_id", "directories", "id")],
            not_null=FILE_COLUMNS.keys() - {"id", "title", "checked_at"},
        )
        self._database.table("headings").create(
            HEADING_COLUMNS,
            pk="id",
            foreign_keys=[("file_id", "files", "id")],
            not_null=HEADING_COLUMNS.keys() - {"id", "page"},
        )
        self._database.table("chunks").create(
            CHUNK_COLUMNS,
            pk="id",
            foreign_keys=[("file_id", "files", "id"), ("heading_id", "headings", "id")],
            not_null=CHUNK_COLUMNS.keys() - {"id", "heading_id", "page"},
        )

    def _write_batch(self) -> None:
        with self._translated_errors():
            for table, rows in (("files", self._files), ("headings", self._headings), ("chunks", self._chunks)):
                self._database.table(table).insert_all(rows, batch_size=_BATCH_CHUNKS)
                rows.clear()

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if self._must_stop():
                raise StopRequested from error
            raise UnavailableError(
                f"the database cannot be written: {error}",
                hint="check whether the disk is full, and run the command again",
            ) from error
