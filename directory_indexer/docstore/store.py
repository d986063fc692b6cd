"""The truth about files, texts and runs, in one SQLite database.

Readers get a `Snapshot`: everything read through it belongs to one moment. Writers get a `Transaction`: all of it
happens or nothing. Only a holder of the write lock opens transactions; readers never wait for them (WAL).
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from directory_indexer.docstore import removed_words
from directory_indexer.docstore.connections import Connections
from directory_indexer.docstore.schema import SCHEMA_VERSION, migrate, tables_of, version_of
from directory_indexer.docstore.snapshot import Snapshot
from directory_indexer.docstore.texts import unpacked
from directory_indexer.docstore.transaction import Transaction
from directory_indexer.errors import CorruptIndexError, GenerationGoneError, StoreError, VectorsLostError
from directory_indexer.lock import write_lock

__all__ = ["THREADS_MAY_SHARE_A_SNAPSHOT", "DocStore", "Snapshot", "Transaction", "set_aside"]

_CHECKPOINT_MS = 500
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
        with _translated_errors(path):
            _require_own(path)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connections = Connections(path)
            with self._connections.lend() as connection:
                version = version_of(connection.raw)
            if version < SCHEMA_VERSION:
                self._create()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Read a state of the index that no writer can change meanwhile."""
        with _translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_reading()
            yield Snapshot(connection.raw, connection.known)

    def ask(self, question: Callable[[Snapshot], Answer]) -> Answer:
        """Ask a question of one moment; of a newer one when its vectors were replaced meanwhile.

        Raises:
            VectorsLostError: the vectors that the index names are not there, however often they are looked for.
        """
        for _ in range(_ATTEMPTS):
            try:
                with self.snapshot() as snapshot:
                    return question(snapshot)
            except GenerationGoneError as error:
                gone = error
        raise VectorsLostError(
            f"the vectors of the index are not there: {gone.message}",
            hint="dirindex index makes them again from the stored texts",
        ) from gone

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write a batch: committed and on disk when the block ends, undone when it raises."""
        with _translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_writing()
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

    def checkpoint(
        self, *, words_kept_seconds: float = removed_words.KEPT_SECONDS, must_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Drop words that were removed so long ago, give unused pages back, and empty the write-ahead log.

        The log only as far as readers allow. What is stopped meanwhile goes on the next time.
        """
        with _translated_errors(self.path), contextlib.closing(self._connections.open()) as connection:
            removed_words.drop_removed(
                connection, now=time.time(), kept_seconds=words_kept_seconds, must_stop=must_stop
            )
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` stops after the first page
            _empty_log(connection)

    def compact(self) -> None:
        """Write the database anew without what was removed from it, so that nothing of it stays on disk.

        Damaged databases that were set aside go, too. `left_behind` tells what could not go.
        """
        with _translated_errors(self.path), contextlib.closing(self._connections.open()) as connection:
            removed_words.drop_all(connection)
            connection.execute("VACUUM")
            _empty_log(connection)
        for damaged in self._set_aside():
            with contextlib.suppress(OSError):
                damaged.unlink()

    def left_behind(self) -> list[str]:
        """Say what may still hold what was removed after the database was compacted."""
        log = self.path.with_name(self.path.name + "-wal")
        found = [f"'{damaged}' cannot be removed, and may tell of it" for damaged in self._set_aside()]
        with contextlib.suppress(FileNotFoundError):
            if log.stat().st_size:  # a log that could be emptied has no bytes
                found.append(
                    "another command is reading the index; what it still holds on to leaves the disk with the next run"
                )
        return found

    def _set_aside(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{glob.escape(self.path.name)}.damaged-*"))

    def require_integrity(self) -> None:
        """Let SQLite check every page and index but that of the words, and look whether every text can be read.

        Raises:
            CorruptIndexError: the database is damaged; the message says how.
        """
        with _translated_errors(self.path), contextlib.closing(self._connections.open()) as connection:
            lines = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
            # SQLite 3.44 and newer look at the full-text index, too, which can be made again by itself.
            found = [line for line in lines if line != "ok" and "FTS5 table" not in line]
            if not found:
                for (stored,) in connection.execute("SELECT text FROM chunk_texts"):
                    unpacked(stored)
        if found:
            raise CorruptIndexError(f"{self.path}: {'; '.join(found)}", hint=_REBUILD)

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

    def _create(self) -> None:
        with (
            write_lock(self.path.with_name(self.path.name + ".schema-lock"), wait=True),
            contextlib.closing(self._connections.open()) as connection,
        ):
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            try:
                migrate(connection)
            except sqlite3.OperationalError as error:
                _mend_version(connection, self.path, error)


def _mend_version(connection: sqlite3.Connection, path: Path, error: sqlite3.OperationalError) -> None:
    """Let a database have the version that its tables are of: another tool may have set an earlier one.

    Raises:
        CorruptIndexError: its tables are of no version.
        StoreError: it is not ours.
    """
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    if not re.search("already exists|duplicate column|no such column", str(error)):
        raise error
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        migrate(fresh)
        expected, found = tables_of(fresh), tables_of(connection)
    if found == expected:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    elif "chunks_fts" in found:
        raise CorruptIndexError(f"{path}: its tables are not those of its version", hint=_REBUILD) from error
    else:
        raise StoreError(f"{path} belongs to another program", hint="choose another place with --data-dir") from error


def _empty_log(connection: sqlite3.Connection) -> None:
    # A reader that was stopped in the middle of a question must not hold up the one who writes.
    connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MS}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _require_own(path: Path) -> None:
    """Refuse what another user has put there: it would be shown as ours, and could make us write elsewhere."""
    if sys.platform == "win32" or os.geteuid() == 0:
        return
    for place in (path.parent, path):
        with contextlib.suppress(FileNotFoundError):
            if {place.lstat().st_uid, place.stat().st_uid} - {os.geteuid(), 0}:
                raise StoreError(
                    f"'{place}' belongs to another user, who may have put anything there",
                    hint="choose another place with --data-dir, or chown it if it is yours",
                )


def set_aside(path: Path) -> Path:
    """Rename what is damaged, so that something new can take its place; tell its new name."""
    damaged = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return path.rename(damaged)


@contextlib.contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if str(error).startswith("Could not decode"):  # which is not SQLite's, and has no number
            raise CorruptIndexError(f"{path}: text in it is damaged", hint=_REBUILD) from error
        detailed = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        code = detailed & 0xFF
        hint = _HINTS.get(detailed) or _HINTS.get(code, _CHECK)
        raise _ERRORS.get(code, StoreError)(f"{path}: {error}", hint=hint) from error
    except (UnicodeDecodeError, zlib.error) as error:
        # What was written was valid; the sqlite3 module itself decodes names and messages that damage has reached.
        raise CorruptIndexError(f"{path}: text in it is damaged", hint=_REBUILD) from error
    except OSError as error:
        if not isinstance(error.filename, str | Path) or Path(error.filename) not in {path, *path.parents}:
            raise
        raise StoreError(f"{error.filename}: {error.strerror}", hint="choose another place with --data-dir") from error


_CHECK = "dirindex doctor checks the index"
_REBUILD = "dirindex doctor --repair sets the damaged database aside and builds the index again"
_ERRORS = {sqlite3.SQLITE_CORRUPT: CorruptIndexError, sqlite3.SQLITE_NOTADB: CorruptIndexError}
_HINTS = {
    sqlite3.SQLITE_FULL: "free some disk space and run the same command again: nothing that was written is lost",
    sqlite3.SQLITE_READONLY: "make the index directory writable, or choose another one with --data-dir",
    sqlite3.SQLITE_CANTOPEN: "make the index directory readable and writable, or choose another with --data-dir; "
    "when too many files are open, ulimit -n raises the limit",
    sqlite3.SQLITE_IOERR: "the disk reported an error: check it, then run dirindex doctor",
    sqlite3.SQLITE_BUSY: "another process has stopped in the middle of a write: dirindex status shows which",
    sqlite3.SQLITE_CORRUPT: _REBUILD,
    sqlite3.SQLITE_CORRUPT_VTAB: "dirindex doctor --repair builds the full-text index again from the stored texts",
    sqlite3.SQLITE_NOTADB: _REBUILD,
}


def _memory_bytes() -> int:
    """Give the size of the memory; 0 where the system does not tell it this way, as on Windows."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
