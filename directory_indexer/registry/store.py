"""Access to the registry, a database of its own that neither index runs lock nor damage to an index affects.

Unlike an index, it cannot be rebuilt from files.
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
    """The registry at `path`; threads and processes may share it. The first write creates it, private to the user.

    Raises:
        StoreError: from every method, when the registry cannot be opened, read or written, is not ours, or was made by
            a newer dirindex.
        CorruptRegistryError: a requested row is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether the registry has been created."""
        return self.path.exists()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to one snapshot of the registry."""
        with _translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_reading()
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a transaction, committed when the block ends and rolled back when it raises."""
        with _translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_writing()
            yield connection.raw
            connection.raw.execute("COMMIT")

    def close(self) -> None:
        """Close the idle connections."""
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
    """Translate errors of SQLite and of the disk."""
    try:
        yield
    except DamagedValueError as error:
        raise CorruptRegistryError(f"{path}: '{error.column}' of a row is damaged", hint=REPAIR) from error
    except sqlite3.Error as error:
        if str(error).startswith("Could not decode"):  # raised by the sqlite3 module without an error code
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
