"""SQLite databases: connection pools, ownership of their files, schema migrations, and copies.

Opening one costs as much as a small query: SQLite reads the schema and starts with an empty cache.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.core.errors import DiskFullError, StoreError
from directory_indexer.core.kept_files import directory_mode, file_mode, is_trusted, sync_path
from directory_indexer.core.lock import write_lock


class PooledConnection:
    """A connection that one thread uses at a time.

    `known` caches results of queries; it is valid until somebody writes, which changes the `version`.
    """

    def __init__(self, raw: sqlite3.Connection, identity: tuple[int, int]) -> None:
        self.raw = raw
        self.identity = identity
        self.known: dict[str, object] = {}
        self.version = 0


class ConnectionPool:
    """A pool of connections of this process to the database at `path`; threads may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: deque[PooledConnection] = deque()

    @contextlib.contextmanager
    def reading(self) -> Iterator[PooledConnection]:
        """Yield a connection in a read transaction on the current state."""
        with self.borrow() as connection:
            connection.raw.execute("BEGIN")
            version = connection.raw.execute("PRAGMA data_version").fetchone()[0]
            if version != connection.version:
                connection.known.clear()
                connection.version = version
            yield connection

    @contextlib.contextmanager
    def writing(self, *, waits: bool = True) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction, committed when the block ends and rolled back when it raises.

        It waits for another writer, or fails at once if there is one.

        Raises:
            DiskFullError: the disk is full.
        """
        with self.borrow() as connection:
            require_disk_space(self._path)
            connection.raw.execute(f"PRAGMA busy_timeout = {round(1000 * _BUSY_SECONDS) if waits else 0}")
            connection.raw.execute("BEGIN IMMEDIATE")
            # The version only changes with commits of other connections.
            connection.known.clear()
            yield connection.raw
            connection.raw.execute("COMMIT")

    @contextlib.contextmanager
    def borrow(self) -> Iterator[PooledConnection]:
        """Yield a connection for one transaction, which is rolled back unless the block commits it."""
        # If the file is replaced in between, the connection is not reused.
        connection = self._take_idle() or PooledConnection(identity=_identity(self._path), raw=self.open())
        try:
            yield connection
        except BaseException:
            # A cursor may still be reading from it.
            connection.raw.close()
            raise
        if connection.raw.in_transaction:
            connection.raw.execute("ROLLBACK")
        if len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.raw.close()

    def open(self) -> sqlite3.Connection:
        """Open a connection to a database, which is created, readable by this user only, if there is none.

        Raises:
            DiskFullError: the disk is full.
        """
        require_disk_space(self._path)
        if not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, file_mode()))
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA foreign_keys = ON")
        # The file may come from a backup: its schema must not call functions reserved to the program.
        connection.execute("PRAGMA trusted_schema = OFF")
        # A commit that names a published generation of vectors must survive a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA temp_store = MEMORY")
        # Deleted content is overwritten; deleting a tenth of 100,000 chunks took 2 % more processor time.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = {-_CACHE_KB}")
        return connection

    def close(self) -> None:
        """Close the idle connections."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().raw.close()

    def _take_idle(self) -> PooledConnection | None:
        """Return the last used connection, whose cache is the freshest; None if the file was replaced meanwhile."""
        with contextlib.suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.identity == _identity(self._path):
                    return connection
                connection.raw.close()
        return None


def require_disk_space(path: Path) -> None:
    """Check that SQLite can allocate what it maps into memory of a database, the index of its log.

    SQLite allocates it by the last byte of each page. If blocks are smaller than a page, this leaves holes, and the
    system kills a process that writes to a hole on a full disk.

    Raises:
        DiskFullError: the disk is full.
    """
    if sys.platform == "win32" or not path.parent.is_dir():
        return
    file_system = os.statvfs(path.parent)
    if file_system.f_frsize < _MAPPED_PAGE_BYTES and file_system.f_bavail * file_system.f_frsize < _MIN_FREE_BYTES:
        raise DiskFullError(f"{path}: no space left on device", hint=FREE_SPACE_HINT)


def is_disk_full(error: sqlite3.Error) -> bool:
    """Whether SQLite ran out of space; it allocates the index of its log before mapping it."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_dev, status.st_ino


FREE_SPACE_HINT: Final = "free some disk space and run the same command again: nothing that was written is lost"
_MAPPED_PAGE_BYTES: Final = 4096
_MIN_FREE_BYTES: Final = 1 << 18
_MAX_IDLE: Final = 4
_CACHE_KB: Final = 8_000
_BUSY_SECONDS: Final = 60.0
"""Transactions are short and writers hold dirindex's own lock, so only a suspended process can block for so long."""


def require_owned_file(path: Path) -> None:
    """Refuse a file of another user: it would be shown as this user's, and could redirect writes.

    Raises:
        StoreError: the file or its directory, or the target of either, belongs to another user.
    """
    if sys.platform == "win32" or os.geteuid() == 0:
        return
    for checked in (path.parent, path):
        with contextlib.suppress(FileNotFoundError):
            if not (is_trusted(checked.lstat()) and is_trusted(checked.stat())):
                raise StoreError(
                    f"'{checked}' belongs to another user, who may have put anything there",
                    hint="choose another place with --data-dir, chown it if it is yours, or set "
                    "storage.shared_with_group if you trust its group",
                )


class Schema(NamedTuple):
    """The statements that migrate a database to each version from the one before; `name` is used in messages."""

    name: str
    migrations: Mapping[int, str]

    @property
    def version(self) -> int:
        """Return the current version."""
        return max(self.migrations)

    def open(self, path: Path, *, prepare: Callable[[sqlite3.Connection], None]) -> ConnectionPool:
        """Open the database at `path`; one that is new or outdated is prepared under a lock, private to the user.

        Raises:
            StoreError: it belongs to another user, or a newer dirindex made it.
        """
        require_owned_file(path)
        path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        connections = ConnectionPool(path)
        with connections.borrow() as connection:
            version = self.version_of(connection.raw)
        if version < self.version:
            lock = write_lock(path.with_name(path.name + ".schema-lock"), wait=True)
            with lock, contextlib.closing(connections.open()) as raw:
                prepare(raw)
        return connections

    def version_of(self, connection: sqlite3.Connection) -> int:
        """Return the version of an open database; 0 for a new one.

        Raises:
            StoreError: a newer dirindex made it.
        """
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > self.version:
            raise StoreError(
                f"the {self.name} was made by a newer dirindex (schema {version})",
                hint="upgrade dirindex, or choose another directory with --data-dir",
            )
        return version

    def migrate(self, connection: sqlite3.Connection) -> None:
        """Migrate a database to the current version, each step in one transaction; called under a lock."""
        for version in range(self.version_of(connection) + 1, self.version + 1):
            statements = self.migrations[version]
            connection.executescript(f"BEGIN IMMEDIATE; {statements} PRAGMA user_version = {version}; COMMIT;")

    def create_tables(self, connection: sqlite3.Connection, version: int) -> None:
        """Create the tables of a version in an empty database.

        Raises:
            StoreError: a newer dirindex made this version.
        """
        connection.execute(f"PRAGMA user_version = {version}")
        self.version_of(connection)
        for number in range(1, version + 1):
            connection.executescript(self.migrations[number])


def copy_database(source: Path, target: Path) -> None:
    """Copy a database to a new file that only this user can read, and flush it to the disk.

    Raises:
        StoreError: it cannot be read, or the copy cannot be written.
    """
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, file_mode()))
        with (
            contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as reader,
            contextlib.closing(sqlite3.connect(target)) as writer,
        ):
            reader.backup(writer)
            # The copy is one file, without a log.
            writer.execute("PRAGMA journal_mode = DELETE")
        sync_path(target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"'{source}' cannot be copied to '{target}': {error}", hint="free some disk space") from error


def require_known_schema(path: Path, make: Callable[[sqlite3.Connection, int], None], *, name: str) -> None:
    """Ensure that a closed database is intact, and has exactly the tables of its version.

    `make` creates the tables of a version in an empty database; `name` is used in messages.

    Raises:
        StoreError: it is damaged, not a database, of a newer version, or has other tables, triggers or views.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.executescript("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            _require_schema(connection, _expected_schema(make, version), name=name)
            damage = [row[0] for row in connection.execute("PRAGMA quick_check")]
    except (sqlite3.Error, UnicodeDecodeError) as error:
        damage = [str(error)]
    if damage != ["ok"]:
        raise StoreError(f"'{name}' is damaged: {'; '.join(damage[:3])}", hint=ANOTHER_BACKUP_HINT)


def _expected_schema(make: Callable[[sqlite3.Connection, int], None], version: int) -> set[_SchemaEntry]:
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        make(fresh, version)
        return set(_schema_of(fresh))


def _require_schema(connection: sqlite3.Connection, expected: set[_SchemaEntry], *, name: str) -> None:
    if foreign := set(_schema_of(connection)) ^ expected:
        entries = ", ".join(sorted({" ".join(entry[:2]) for entry in foreign})[:3])
        raise StoreError(f"'{name}' does not have the tables of dirindex: {entries}", hint=ANOTHER_BACKUP_HINT)


def _schema_of(connection: sqlite3.Connection) -> Iterator[_SchemaEntry]:
    """Yield the schema, except for what SQLite creates itself: indexes of constraints, and statistics.

    Names do not distinguish them: a hand-written schema may call a trigger `sqlite_x`.
    """
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if not (kind == "index" and sql is None) and not (kind == "table" and name in _SQLITE_TABLES):
            yield kind, name, table, _INSIGNIFICANT_IN_SQL.sub("", sql or "").lower()


_SchemaEntry: TypeAlias = tuple[str, str, str, str]
_SQLITE_TABLES: Final = frozenset({"sqlite_sequence", "sqlite_stat1", "sqlite_stat4"})
_INSIGNIFICANT_IN_SQL: Final = re.compile(r"[\s\"'`]+")
"""White space, and quotation marks, which some versions of SQLite put around names when they alter a table."""
ANOTHER_BACKUP_HINT: Final = "take another backup"


def enable_wal(path: Path) -> None:
    """Switch a copied database to write-ahead logging, so that it can be read while it is written.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise StoreError(f"'{path}' cannot be written: {error}", hint="choose another place with --data-dir") from error
