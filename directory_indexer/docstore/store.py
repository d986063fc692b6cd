"""Access to the SQLite database of an index.

Readers get a `Snapshot`: everything read through it is consistent. Writers get a `Transaction`, which is atomic. Only a
holder of the write lock opens transactions, except those that store results of a search and the one that pauses a run;
readers never wait for them (WAL).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from directory_indexer.databases.stored_values import DamagedValueError
from directory_indexer.docstore.failures import translated_errors
from directory_indexer.docstore.opening import opened
from directory_indexer.docstore.snapshot import Snapshot
from directory_indexer.errors import CorruptIndexError, GenerationGoneError, StoreError, VectorsLostError
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.docstore.leftovers import mistyped, set_aside
    from directory_indexer.docstore.transaction import Transaction
    from directory_indexer.docstore.upkeep import Upkeep

__all__ = ["THREADS_MAY_SHARE_A_SNAPSHOT", "DocStore", "Snapshot", "Transaction", "set_aside"]

_MEMORY_FRACTION = 8
_ATTEMPTS = 10

THREADS_MAY_SHARE_A_SNAPSHOT = sqlite3.threadsafety == 3  # noqa: PLR2004 - "serialized", as PEP 249 numbers it
"""Whether SQLite was built so that two threads may query one connection at the same time."""

Answer = TypeVar("Answer")


class DocStore:
    """The SQLite database at `path`; created, private to the user, when it is first opened.

    Raises:
        StoreError: from the constructor and every method, when the database cannot be opened, read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with translated_errors(path):
            self._connections = opened(path)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield a state of the index that no writer can change meanwhile."""
        with translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_reading()
            try:
                yield Snapshot(connection.raw, connection.known)
            except (TypeError, AttributeError, ValueError, OverflowError) as error:
                if column := mistyped(connection.raw):  # otherwise it is a bug, and is raised as one
                    raise DamagedValueError(column) from error
                raise

    def read(self, query: Callable[[Snapshot], Answer]) -> Answer:
        """Return the result of a query on one snapshot, retried on a newer one if its vectors were replaced meanwhile.

        Raises:
            VectorsLostError: the vectors that the index names are missing after several attempts.
        """
        for _ in range(_ATTEMPTS):
            try:
                with self.snapshot() as snapshot:
                    return query(snapshot)
            except GenerationGoneError as error:
                gone = error
        raise VectorsLostError(
            f"the vectors of the index are not there: {gone.message}",
            hint="dirindex index makes them again from the stored texts",
        ) from gone

    @contextlib.contextmanager
    def transaction(self, *, waits: bool = True) -> Iterator[Transaction]:
        """Yield a transaction, committed when the block ends and rolled back when it raises.

        Raises:
            StoreError: it does not wait, and another process writes.
        """
        with translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_writing(waits=waits)
            yield Transaction(connection.raw)
            connection.raw.execute("COMMIT")

    def bring_into_memory(self) -> None:
        """Read the database from the disk into the system's cache, unless it is large for the memory of this machine.

        The file is not opened directly: closing it would release the locks that this process has on it.
        """
        with contextlib.suppress(StoreError), self.snapshot() as snapshot:
            if self.path.stat().st_size * _MEMORY_FRACTION <= _memory_bytes():
                snapshot.read_through()

    def index_id(self) -> str:
        """Return the id of this index, which distinguishes its vectors from those of other indexes on a server."""
        with self.snapshot() as snapshot:
            known = snapshot.meta.get("index_id")
        if known:
            return known
        with self.transaction() as transaction:
            return transaction.meta.index_id()

    @cached_property
    def upkeep(self) -> Upkeep:
        """Maintenance and integrity checks of the database file."""
        return Upkeep(self.path, self._connections)

    def has_whole_words(self) -> bool:
        """Whether FTS5 finds its index intact, which is more than readable; blocks other writers meanwhile."""
        try:
            with self.transaction() as transaction:
                transaction.words.check()
        except CorruptIndexError:
            return False
        return True

    def size_bytes(self) -> int:
        """Return the size of the database and its write-ahead log on disk."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close the connections; a later call opens the database again."""
        self._connections.close()


def _memory_bytes() -> int:
    """Return the size of the memory; 0 if the system does not report it this way, as on Windows."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
