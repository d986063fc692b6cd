"""Rows of files: the columns of indexed, skipped and failed ones.

A row keeps its id while the file is known, since chunks, metadata and members refer to it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from directory_indexer.docstore.known import FileState
from directory_indexer.docstore.reading import marks
from directory_indexer.extractors.document import FileFacts
from directory_indexer.files import FileFailure, SkippedFile, SourceFile
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, well_formed

with lazily:
    from directory_indexer.parsing.outcomes import ParsedFile, UnchangedFile


class Place(NamedTuple):
    """The location of a file: its tracked directory, and for a member the row of its container on disk."""

    directory_id: int
    container_id: int | None = None


class NewRow(NamedTuple):
    """The values of a file that was read and has no row yet.

    `dated` is the date of the document, `holder_id` the file that owns its text.
    """

    place: Place
    parsed: ParsedFile
    dated: float | None
    holder_id: int | None = None


class FileRows:
    """Writes to the table of files, and to no other."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def id_of(self, path: FilePath) -> int | None:
        """Return the row of a file; None if there is none."""
        row = self._connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        return int(row[0]) if row else None

    def known(self, paths: Iterable[FilePath]) -> set[FilePath]:
        """Return which of these paths have rows."""
        rows = self._connection.execute(
            "SELECT path FROM files WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(list(paths)),)
        )
        return {FilePath(path) for (path,) in rows}

    def is_on_disk(self, path: FilePath) -> bool:
        """Whether there is a row for a file on disk, as opposed to a member."""
        query = "SELECT 1 FROM files WHERE path = ? AND container_id IS NULL"
        return self._connection.execute(query, (path,)).fetchone() is not None

    def members_of(self, path: FilePath) -> dict[FilePath, bool]:
        """Return the members of a container, and whether each has text."""
        rows = self._connection.execute(
            "SELECT path, hash IS NOT NULL FROM files WHERE container_id = (SELECT id FROM files WHERE path = ?)",
            (path,),
        )
        return {FilePath(member): bool(has_text) for member, has_text in rows}

    def add(self, files: Sequence[NewRow], *, recipe: int) -> range:
        """Insert rows of files that have none, and return their ids."""
        first = int(self._connection.execute("SELECT 1 + coalesce(max(id), 0) FROM files").fetchone()[0])
        ids = range(first, first + len(files))
        self._connection.executemany(
            _ADD_NUMBERED,
            [
                (*_read_values(file.place, file.parsed, recipe, dated=file.dated, holder_id=file.holder_id), file_id)
                for file_id, file in zip(ids, files, strict=True)
            ],
        )
        return ids

    def put(
        self, place: Place, parsed: ParsedFile, *, recipe: int, dated: float | None, holder_id: int | None = None
    ) -> int:
        """Write the row of a file that was read, and return its id.

        `dated` is the date of the document, `holder_id` the file that owns its text.
        """
        values = _read_values(place, parsed, recipe, dated=dated, holder_id=holder_id)
        return self._put(parsed.source.path, values)

    def put_skipped(self, place: Place, skipped: SkippedFile, *, recipe: int) -> int:
        """Write the row of a skipped file, and return its id."""
        return self._put(
            skipped.path,
            (
                *_stamp_values(skipped.source or SourceFile(skipped.path, 0, 0), skipped.seen_ns),
                *(*place, FileState.SKIPPED, None, recipe, *FileFacts(), ""),
                *(skipped.reason, well_formed(skipped.detail), 0, None, None, None, None),
            ),
        )

    def put_failure(self, place: Place, failure: FileFailure, *, recipe: int) -> None:
        """Write a failure to the row of a file; its text columns stay."""
        values = (
            *_stamp_values(failure.source or SourceFile(failure.path, 0, 0), failure.seen_ns),
            *(FileState.FAILED, failure.stage, well_formed(failure.message)),
            *(failure.hash, recipe if failure.hash else None),
        )
        self._connection.execute(
            f"""INSERT INTO files ({_FAILURE_COLUMNS}, directory_id, container_id, recipe)
                VALUES ({marks(values)}, ?, ?, 0)
                ON CONFLICT (path) DO UPDATE SET ({_FAILURE_COLUMNS}) = ({_EXCLUDED})""",  # noqa: S608 - made of constants
            (*values, *place),
        )

    def renew_stamps(self, unchanged: Sequence[UnchangedFile]) -> None:
        """Write new stamps of files whose content is unchanged."""
        self._connection.executemany(
            f"""UPDATE files SET ({_STAMP_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?),
                    state = 'indexed', reason = '', detail = '', broken_hash = NULL, broken_recipe = NULL
                WHERE path = ?""",  # noqa: S608 - made of constants
            [(*_stamp_values(file.source, file.seen_ns), file.source.path) for file in unchanged],
        )

    def outdate(self, kinds: Collection[str], suffixes: Collection[str]) -> None:
        """Mark files of these kinds, with these suffixes, and all files without text, to be read again.

        Their containers are marked, too.
        """
        has_suffix = " OR ".join(["path LIKE ?"] * len(suffixes)) or "0"
        self._connection.execute(
            f"""UPDATE files SET recipe = 0, broken_recipe = NULL
                WHERE state <> 'indexed' OR kind IN ({marks(kinds)}) OR {has_suffix}""",  # noqa: S608
            [*kinds, *(f"%.{suffix}" for suffix in suffixes)],
        )
        self._connection.execute(
            """UPDATE files SET recipe = 0
               WHERE id IN (SELECT container_id FROM files WHERE container_id IS NOT NULL AND recipe = 0)"""
        )

    def outdate_on_disk(self, path: FilePath) -> None:
        """Mark one file on disk to be read again."""
        self._connection.execute("UPDATE files SET recipe = 0 WHERE path = ? AND container_id IS NULL", (path,))

    def remove(self, path: FilePath) -> None:
        """Delete a row."""
        self._connection.execute("DELETE FROM files WHERE path = ?", (path,))

    def _put(self, path: FilePath, values: Sequence[object]) -> int:
        # An upsert, or RETURNING, needs a savepoint of its own, before which SQLite makes FTS5 flush: a segment for
        # every file, and a quarter of the time of a batch.
        file_id = self.id_of(path)
        if file_id is None:
            return int(self._connection.execute(_ADD_FILE, values).lastrowid or 0)
        self._connection.execute(_CHANGE_FILE, (*values, file_id))
        return file_id


def _read_values(
    place: Place, parsed: ParsedFile, recipe: int, *, dated: float | None, holder_id: int | None
) -> tuple[object, ...]:
    return (
        *_stamp_values(parsed.source, parsed.seen_ns),
        *(*place, FileState.INDEXED, parsed.hash, recipe, *parsed.facts),
        *(" ".join(map(str, parsed.page_starts)), "", "", parsed.n_masked, dated),
        *(None, None, holder_id),
    )


def _stamp_values(source: SourceFile, seen_ns: int) -> tuple[object, ...]:
    return (*source, source.is_settled(seen_ns), seen_ns)


_STAMP_COLUMNS = "path, size, mtime_ns, changed_ns, inode, is_settled, checked_ns"
_FAILURE_COLUMNS = f"{_STAMP_COLUMNS}, state, reason, detail, broken_hash, broken_recipe"
_EXCLUDED = ", ".join(f"excluded.{name}" for name in _FAILURE_COLUMNS.split(", "))
_FILE_COLUMNS = (
    f"{_STAMP_COLUMNS}, directory_id, container_id, state, hash, recipe, {', '.join(FileFacts._fields)}, "
    "page_starts, reason, detail, n_masked, dated_at, broken_hash, broken_recipe, holder_id"
)
_FILE_MARKS = marks(_FILE_COLUMNS.split(","))
_ADD_FILE = f"INSERT INTO files ({_FILE_COLUMNS}) VALUES ({_FILE_MARKS})"  # noqa: S608 - made of constants
_ADD_NUMBERED = f"INSERT INTO files ({_FILE_COLUMNS}, id) VALUES ({_FILE_MARKS}, ?)"  # noqa: S608 - made of constants
_CHANGE_FILE = f"UPDATE files SET ({_FILE_COLUMNS}) = ({_FILE_MARKS}) WHERE id = ?"  # noqa: S608 - made of constants
