"""Tracked directories, and the directories below them that a run can skip while they are unchanged.

Such a directory is settled: a run had nothing to do there and knew every file. Every write about a file unsettles its
directory in the same transaction, so nothing is skipped that a run has to see.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping

from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import FilePath, os_path
from directory_indexer.storage.databases.stored_values import (
    parse_epoch_seconds,
    parse_mapping,
    parse_stored,
    parse_text,
    parse_texts,
)
from directory_indexer.storage.documents.known_files import format_skipped_entries
from directory_indexer.storage.documents.queries import SnapshotQueries, TableWrites
from directory_indexer.storage.documents.shared_texts import CHUNKS_OF_FILES, HAS_TEXT
from directory_indexer.storage.documents.statistics import DirectoryStatus
from directory_indexer.walk.listing import SettledDirectory


class Directories(SnapshotQueries):
    """The tracked directories of one snapshot."""

    def all(self) -> dict[FilePath, int]:
        """Return the tracked directories with their ids, sorted by path."""
        return self._tracked()

    def mounts(self, directory_id: int) -> dict[FilePath, str]:
        """Return the file systems found on the last walk: that of a tracked directory and those mounted below it."""
        [stored] = self._values("SELECT mounts FROM directories WHERE id = ?", directory_id)
        return parse_stored("directories.mounts", parse_mounts, stored)

    def statuses(self) -> tuple[DirectoryStatus, ...]:
        """Return the status of every tracked directory."""
        rows = self._select("SELECT id, path, completed_at FROM directories ORDER BY path").fetchall()
        return tuple(self._status(*row) for row in rows)

    def _status(self, directory_id: int, path: FilePath, completed_at: float | None) -> DirectoryStatus:
        n_files, n_bytes, n_failed, n_masked = self._select(
            """SELECT count(*) FILTER (WHERE state = 'indexed'),
                   coalesce(sum(size) FILTER (WHERE container_id IS NULL AND state = 'indexed'), 0),
                   count(*) FILTER (WHERE state = 'failed'), coalesce(sum(n_masked), 0)
               FROM files WHERE directory_id = ?""",
            directory_id,
        ).fetchone()
        n_chunks, n_embedded, n_tokens_to_embed = self._select(
            f"""SELECT count(*), coalesce(sum(c.is_embedded), 0),
                   coalesce(sum(c.n_tokens) FILTER (WHERE c.is_embedded = 0), 0)
               FROM {CHUNKS_OF_FILES} WHERE f.directory_id = ?""",  # noqa: S608 - made of constants
            directory_id,
        ).fetchone()
        skipped = self._select(
            """SELECT reason, count(*) FROM files WHERE directory_id = ? AND state = 'skipped'
               GROUP BY reason ORDER BY count(*) DESC, reason""",
            directory_id,
        ).fetchall()
        return DirectoryStatus(
            path=path,
            is_available=os.path.isdir(os_path(path)),
            completed_at=None
            if completed_at is None
            else parse_stored("directories.completed_at", parse_epoch_seconds, completed_at),
            n_files=n_files,
            n_bytes=n_bytes,
            n_chunks=n_chunks,
            n_embedded=n_embedded,
            n_tokens_to_embed=n_tokens_to_embed,
            skipped=tuple((parse_stored("files.reason", SkipReason, reason), count) for reason, count in skipped),
            n_failed=n_failed,
            n_masked=n_masked,
            n_refused=self._count(
                f"""SELECT count(*) FROM refused_chunks r JOIN chunks c ON c.id = r.id JOIN files f ON {HAS_TEXT}
                   WHERE f.directory_id = ?""",  # noqa: S608 - made of constants
                (directory_id,),
            ),
        )


def parse_mounts(written: object) -> dict[FilePath, str]:
    """Parse the file systems of a directory."""
    if parse_text(written).startswith("["):  # up to schema 5, mounts are a list of paths
        return {FilePath(mount_point): "" for mount_point in parse_texts(written)}
    return {FilePath(mount_point): parse_text(name) for mount_point, name in parse_mapping(written).items()}


class DirectoryWrites(TableWrites):
    """Writes to the tables of tracked and of settled directories."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._unsettled: set[FilePath] = set()

    def add(self, path: FilePath) -> int:
        """Track a directory and return its id; a tracked one keeps its id."""
        self._execute(
            "INSERT INTO directories (path, added_at) VALUES (?, ?) ON CONFLICT DO NOTHING", path, time.time()
        )
        return int(self._execute("SELECT id FROM directories WHERE path = ?", path).fetchone()[0])

    def complete(self, directory_id: int) -> None:
        """Store that all files of a directory are searchable by keyword as of now."""
        self._execute("UPDATE directories SET completed_at = ? WHERE id = ?", time.time(), directory_id)

    def set_mounts(self, directory_id: int, mounts: Mapping[FilePath, str]) -> None:
        """Store the file systems of a directory and of the mounts below it."""
        self._execute(
            "UPDATE directories SET mounts = ? WHERE id = ?", json.dumps(dict(mounts), sort_keys=True), directory_id
        )

    def remove(self, directory_id: int) -> None:
        """Stop tracking a directory whose files were removed from the index."""
        self._execute("DELETE FROM directories WHERE id = ?", directory_id)

    def settle(self, directory_id: int, settled: Mapping[FilePath, SettledDirectory]) -> None:
        """Mark directories as settled: skipped while unchanged. Any write to a file in one unsettles it."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO settled_directories VALUES (?, ?, ?, ?, ?)",
            [
                (path, directory_id, directory.digest, directory.n_files, format_skipped_entries(path, directory))
                for path, directory in settled.items()
            ],
        )

    def unsettle(self, directories: Iterable[FilePath]) -> None:
        """Unsettle directories, so that the next run reads them again."""
        self._execute_each("DELETE FROM settled_directories WHERE path = ?", directories)

    def unsettle_all(self) -> None:
        """Unsettle every directory."""
        self._execute("DELETE FROM settled_directories")

    def unsettle_parents_of(self, *paths: FilePath) -> None:
        """Unsettle the parent directories of paths."""
        directories = {FilePath(os.path.dirname(path)) for path in paths} - self._unsettled
        self._unsettled |= directories
        self.unsettle(directories)
