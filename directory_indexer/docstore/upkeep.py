"""Maintenance of the database file: size, log, removal of deleted content and integrity checks."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from directory_indexer.databases.connections import Connections
from directory_indexer.docstore import removed_words
from directory_indexer.docstore.damage import damaged_values, mend_values
from directory_indexer.docstore.failures import translated_errors
from directory_indexer.docstore.kept_words import forget_words
from directory_indexer.docstore.leftovers import damage_in, left_behind, remove_damaged
from directory_indexer.errors import REBUILD, CorruptIndexError
from directory_indexer.scratch import remove_abandoned, scratch_beside

_CHECKPOINT_MS = 500


class Upkeep:
    """Maintenance of one database file; a caller that writes holds the write lock.

    Raises:
        StoreError: from every method, when the database cannot be opened, read or written.
    """

    def __init__(self, path: Path, connections: Connections) -> None:
        self._path = path
        self._connections = connections

    def checkpoint(
        self, *, words_kept_seconds: float = removed_words.KEPT_SECONDS, must_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Purge words removed long ago, release unused pages, and truncate the write-ahead log as far as readers allow.

        What is stopped meanwhile is continued the next time.
        """
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            removed_words.drop_removed(
                connection,
                now=time.time(),
                kept_seconds=words_kept_seconds,
                must_stop=must_stop,
                forget_words=lambda: forget_words(self._path),
            )
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` stops after the first page
            _empty_log(connection)

    def compact(self) -> None:
        """Rewrite the database without removed content, so that none of it stays on disk.

        Damaged databases that were set aside and files of killed processes are removed, too. `left_behind`
        reports what could not be removed.
        """
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            forget_words(self._path)
            removed_words.drop_all(connection)
            forget_words(self._path)
            connection.execute("VACUUM")
            _empty_log(connection)
        remove_damaged(self._path)
        remove_abandoned(scratch_beside(self._path))
        remove_abandoned()

    def left_behind(self) -> list[str]:
        """Return messages about what may still contain removed content after compaction."""
        return left_behind(self._path)

    def damaged_values(self) -> list[str]:
        """Return the names of the values that this program cannot have written."""
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            return sorted({name for name, _, _ in damaged_values(connection)})

    def mend_values(self) -> list[str]:
        """Repair the values that this program cannot have written, and return their names.

        Raises:
            CorruptIndexError: one of them defines the meaning of others.
        """
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            mended = mend_values(connection)
            connection.execute("COMMIT")
            return mended

    def require_integrity(self) -> None:
        """Check every page and index except the full-text one, and that every text can be read.

        Raises:
            CorruptIndexError: the database is damaged; the message describes the damage.
        """
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            problems = damage_in(connection)
        if problems:
            raise CorruptIndexError(f"{self._path}: {'; '.join(problems)}", hint=REBUILD)


def _empty_log(connection: sqlite3.Connection) -> None:
    # A reader that was suspended in the middle of a query must not block the writer.
    connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MS}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
