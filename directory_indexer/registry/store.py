"""The registry: a database of its own, which no index run locks and no damage to an index reaches.

What is in it cannot be made again from files, unlike an index.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from directory_indexer.databases.connections import FREE_SPACE, Connection, Connections, is_disk_full
from directory_indexer.databases.ownership import require_own
from directory_indexer.databases.stored_values import DamagedValueError
from directory_indexer.errors import CorruptRegistryError, DiskFullError, StoreError
from directory_indexer.lock import write_lock
from directory_indexer.permissions import directory_mode
from directory_indexer.registry.schema import SCHEMA_VERSION, migrate, version_of


class Registry:
    """The registry at `path`; threads and processes may share it. It is made, private to the user, by the first write.

    Raises:
        StoreError: from every method, when the registry cannot be opened, read or written, is not ours, or was made by
            a newer dirindex.
        CorruptRegistryError: what was asked for cannot be what this program has written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Tell whether anything was ever written into it."""
        return self.path.exists()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read one moment of it."""
        with _translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_reading()
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write to it: committed and on disk when the block ends, undone when it raises."""
        with _translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_writing()
            yield connection.raw
            connection.raw.execute("COMMIT")

    def close(self) -> None:
        """Close what nobody uses."""
        if "_connections" in vars(self):
            self._connections.close()

    @cached_property
    def _connections(self) -> Connections:
        require_own(self.path)
        self.path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        connections = Connections(self.path)
        with connections.lend() as connection:
            version = version_of(connection.raw)
        if version < SCHEMA_VERSION:
            with (
                write_lock(self.path.with_name(self.path.name + ".schema-lock"), wait=True),
                contextlib.closing(connections.open()) as raw,
            ):
                raw.execute("PRAGMA journal_mode = WAL")
                migrate(raw)
        return connections


@contextlib.contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Let no error of SQLite or of the disk leave this room as it is."""
    try:
        yield
    except DamagedValueError as error:
        raise CorruptRegistryError(f"{path}: '{error.column}' of a row is damaged", hint=REPAIR) from error
    except sqlite3.Error as error:
        if str(error).startswith("Could not decode"):  # which is not SQLite's, and has no number
            raise CorruptRegistryError(f"{path}: text in it is damaged", hint=REPAIR) from error
        if is_disk_full(error):
            raise DiskFullError(f"{path}: no space left on device ({error})", hint=FREE_SPACE) from error
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise StoreError(f"{path}: {error}", hint=_HINTS.get(code, _RESTORE)) from error
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror}", hint=_ELSEWHERE) from error


REPAIR = "dirindex doctor --repair mends damaged rows, or takes them out, and keeps a copy of what was there"
_ELSEWHERE = "choose another place with --data-dir"
_RESTORE = "bring it back from a backup, for nothing else has what is in it; set aside, a new one is made"
_HINTS = {
    sqlite3.SQLITE_READONLY: _ELSEWHERE,
    sqlite3.SQLITE_CANTOPEN: _ELSEWHERE,
    sqlite3.SQLITE_CORRUPT: _RESTORE,
    sqlite3.SQLITE_NOTADB: _RESTORE,
}
