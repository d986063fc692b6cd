"""The truth about files, texts and runs, in one SQLite database.

Readers get a `Snapshot`: everything read through it belongs to one moment. Writers get a `Transaction`: all of it
happens or nothing. Only a holder of the write lock opens transactions, but for those that keep what a search has made
and the one that pauses a run; readers never wait for them (WAL).
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

_PARTS_OF_MEMORY = 8
_ATTEMPTS = 10

THREADS_MAY_SHARE_A_SNAPSHOT = sqlite3.threadsafety == 3  # noqa: PLR2004 - "serialized", as PEP 249 numbers it
"""Whether SQLite was built so that two threads may ask questions of one connection at the same time."""

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
        """Read a state of the index that no writer can change meanwhile."""
        with translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_reading()
            try:
                yield Snapshot(connection.raw, connection.known)
            except (TypeError, AttributeError, ValueError, OverflowError) as error:
                if column := mistyped(connection.raw):  # otherwise it is a bug, and says so
                    raise DamagedValueError(column) from error
                raise

    def read(self, query: Callable[[Snapshot], Answer]) -> Answer:
        """Answer a query from one moment; from a newer one when its vectors were replaced meanwhile.

        Raises:
            VectorsLostError: the vectors that the index names are not there, however often they are looked for.
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
        """Write a batch: committed and on disk when the block ends, undone when it raises.

        Raises:
            StoreError: it does not wait, and somebody else writes.
        """
        with translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_writing(waits=waits)
            yield Transaction(connection.raw)
            connection.raw.execute("COMMIT")

    def bring_into_memory(self) -> None:
        """Have the database read from the disk, unless that would take much of the memory of this machine.

        Not by opening the file: to close it again would give up the locks that this process has on it.
        """
        with contextlib.suppress(StoreError), self.snapshot() as snapshot:
            if self.path.stat().st_size * _PARTS_OF_MEMORY <= _memory_bytes():
                snapshot.read_through()

    def index_id(self) -> str:
        """Give the id of this index, which tells its vectors from those of other indexes on a server."""
        with self.snapshot() as snapshot:
            known = snapshot.meta.get("index_id")
        if known:
            return known
        with self.transaction() as transaction:
            return transaction.meta.index_id()

    @cached_property
    def upkeep(self) -> Upkeep:
        """What keeps the file small, and tells whether it is whole."""
        return Upkeep(self.path, self._connections)

    def has_whole_words(self) -> bool:
        """Tell whether FTS5 finds its index whole, which is more than that it can be read; nobody writes meanwhile."""
        try:
            with self.transaction() as transaction:
                transaction.words.check()
        except CorruptIndexError:
            return False
        return True

    def size_bytes(self) -> int:
        """Add up the database and its write-ahead log on disk."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Give back files and memory; a later call opens the database again."""
        self._connections.close()


def _memory_bytes() -> int:
    """Give the size of the memory; 0 where the system does not tell it this way, as on Windows."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
