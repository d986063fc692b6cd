"""Export as a SQLite database, with sqlite-utils, which no other command imports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from directory_indexer.core.errors import UnavailableError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import display
from directory_indexer.integrations.exporting.writers import (
    CHUNK_COLUMNS,
    FILE_COLUMNS,
    HEADING_COLUMNS,
    ExportedFile,
    ExportStart,
    Row,
    StopRequested,
    chunk_row,
    file_row,
    heading_row,
)

with lazily:
    import sqlite3

    from sqlite_utils import Database


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
