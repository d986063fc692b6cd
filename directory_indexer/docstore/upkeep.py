"""Keeps the database small and its log short, overwrites what was removed, and looks whether the file is whole."""

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
    """The care of one database file; whoever writes to it holds the write lock.

    Raises:
        StoreError: from every method, when the database cannot be opened, read or written.
    """

    def __init__(self, path: Path, connections: Connections) -> None:
        self._path = path
        self._connections = connections

    def checkpoint(
        self, *, words_kept_seconds: float = removed_words.KEPT_SECONDS, must_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Drop words that were removed so long ago, give unused pages back, and empty the write-ahead log.

        The log only as far as readers allow. What is stopped meanwhile goes on the next time.
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
        """Write the database anew without what was removed from it, so that nothing of it stays on disk.

        Damaged databases that were set aside go, too, and so do files that killed processes have left. `left_behind`
        tells what could not go.
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
        """Say what may still hold what was removed after the database was compacted."""
        return left_behind(self._path)

    def damaged_values(self) -> list[str]:
        """Name the values that this program cannot have written."""
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            return sorted({name for name, _, _ in damaged_values(connection)})

    def mend_values(self) -> list[str]:
        """Mend the values that this program cannot have written, and name them.

        Raises:
            CorruptIndexError: one of them says what the rest means.
        """
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            mended = mend_values(connection)
            connection.execute("COMMIT")
            return mended

    def require_integrity(self) -> None:
        """Let SQLite check every page and index but that of the words, and look whether every text can be read.

        Raises:
            CorruptIndexError: the database is damaged; the message says how.
        """
        with translated_errors(self._path), contextlib.closing(self._connections.open()) as connection:
            found = damage_in(connection)
        if found:
            raise CorruptIndexError(f"{self._path}: {'; '.join(found)}", hint=REBUILD)


def _empty_log(connection: sqlite3.Connection) -> None:
    # A reader that was stopped in the middle of a question must not hold up the one who writes.
    connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MS}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
