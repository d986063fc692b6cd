"""Storage of a server for several users: keys, collections, documents, operations and idempotent responses.

The registry is a database of its own. Neither index runs lock it nor does damage to an index affect it. Unlike an
index, it cannot be rebuilt from files. Its tables and migrations are here, and the collections with their scopes; the
default collection needs no row.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

from directory_indexer.config import CollectionName, collection_name
from directory_indexer.core.errors import CorruptRegistryError, DiskFullError, StoreError
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.databases import FREE_SPACE_HINT, ConnectionPool, PooledConnection, Schema, is_disk_full
from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_epoch_seconds,
    parse_intact_rows,
    parse_path,
    parse_stored,
    parse_text,
)

Row = TypeVar("Row")


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
    def reading(self) -> Iterator[PooledConnection]:
        """Yield a connection to one snapshot of the registry."""
        with _translated_errors(self.path), self._connections.reading() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a transaction, committed when the block ends and rolled back when it raises."""
        with _translated_errors(self.path), self._connections.writing() as connection:
            yield connection

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none before the registry has been created."""
        if not self.exists():
            return []
        with self.reading() as connection:
            return connection.raw.execute(query, values).fetchall()

    def cached_rows(self, query: str, parse: Callable[[Any], Row]) -> tuple[Row, ...]:
        """Return the intact rows of a query, which are cached until somebody writes."""
        if not self.exists():
            return ()
        with self.reading() as connection:
            if query not in connection.known:
                rows = connection.raw.execute(query).fetchall()
                connection.known[query] = tuple(parse_intact_rows(parse, rows))
            return cast("tuple[Row, ...]", connection.known[query])

    def change(self, query: str, *values: object) -> int:
        """Execute one statement in a transaction of its own, and return how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(query, values).rowcount

    def close(self) -> None:
        """Close the idle connections."""
        if "_connections" in vars(self):
            self._connections.close()

    @cached_property
    def _connections(self) -> ConnectionPool:
        return SCHEMA.open(self.path, prepare=_prepare_schema)


def _prepare_schema(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    SCHEMA.migrate(connection)


@contextlib.contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Translate errors of SQLite and of the disk."""
    try:
        yield
    except DamagedValueError as error:
        raise CorruptRegistryError(f"{path}: '{error.column}' of a row is damaged", hint=REPAIR_HINT) from error
    except sqlite3.Error as error:
        if str(error).startswith("Could not decode"):  # raised by the sqlite3 module without an error code
            raise CorruptRegistryError(f"{path}: text in it is damaged", hint=REPAIR_HINT) from error
        if is_disk_full(error):
            raise DiskFullError(f"{path}: no space left on device ({error})", hint=FREE_SPACE_HINT) from error
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise StoreError(f"{path}: {error}", hint=_HINTS.get(code, _RESTORE_HINT)) from error
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror}", hint=_OTHER_PLACE_HINT) from error


REPAIR_HINT = "dirindex doctor --repair repairs damaged rows, or takes them out, and keeps a copy of what was there"
_OTHER_PLACE_HINT = "choose another place with --data-dir"
_RESTORE_HINT = "bring it back from a backup, for nothing else has what is in it; set aside, a new one is made"
_HINTS = {
    sqlite3.SQLITE_READONLY: _OTHER_PLACE_HINT,
    sqlite3.SQLITE_CANTOPEN: _OTHER_PLACE_HINT,
    sqlite3.SQLITE_CORRUPT: _RESTORE_HINT,
    sqlite3.SQLITE_NOTADB: _RESTORE_HINT,
}

_KEYS = """
CREATE TABLE keys (
    id           INTEGER PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    digest       BLOB NOT NULL UNIQUE,
    access_right TEXT NOT NULL CHECK (access_right IN ('read', 'write', 'admin', 'metrics')),
    collections  TEXT,
    created_at   REAL NOT NULL,
    expires_at   REAL
);
"""
"""`collections` is a JSON array; NULL means all of them."""

_DOCUMENTS = """
CREATE TABLE collections (
    name        TEXT PRIMARY KEY,
    description TEXT NOT NULL DEFAULT '',
    created_at  REAL NOT NULL,
    is_leaving  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE documents (
    collection     TEXT NOT NULL,
    doc_id         TEXT NOT NULL,
    version        INTEGER NOT NULL,
    source         TEXT NOT NULL CHECK (source IN ('text', 'file', 'url')),
    filename       TEXT NOT NULL,
    stored_name    TEXT NOT NULL,
    url            TEXT NOT NULL DEFAULT '',
    media_type     TEXT NOT NULL,
    n_bytes        INTEGER NOT NULL,
    content_hash   TEXT NOT NULL,
    mtime_ns       INTEGER NOT NULL,
    title          TEXT NOT NULL DEFAULT '',
    metadata       TEXT NOT NULL DEFAULT '{}',
    etag           TEXT NOT NULL DEFAULT '',
    last_modified  TEXT NOT NULL DEFAULT '',
    allows_secrets INTEGER NOT NULL DEFAULT 0,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'words', 'complete', 'failed', 'deleting')),
    message        TEXT NOT NULL DEFAULT '',
    n_chunks       INTEGER NOT NULL DEFAULT 0,
    n_masked       INTEGER NOT NULL DEFAULT 0,
    added_at       REAL NOT NULL,
    changed_at     REAL NOT NULL,
    PRIMARY KEY (collection, doc_id)
) WITHOUT ROWID;
CREATE INDEX documents_to_do ON documents (collection, state) WHERE state IN ('queued', 'words', 'deleting');
CREATE TABLE scopes (
    collection TEXT NOT NULL,
    name       TEXT NOT NULL,
    path       TEXT NOT NULL,
    PRIMARY KEY (collection, name, path)
) WITHOUT ROWID;
"""
"""`url` is the final address of fetched content; `stored_name` is the file of a document on disk.

`mtime_ns` and `n_bytes` distinguish it from another file of that name. `metadata` is the sender's metadata, as JSON.
"""

_OPERATIONS = """
CREATE TABLE operations (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('optimize', 'rebuild', 'backup', 'purge')),
    collection TEXT NOT NULL,
    options    TEXT NOT NULL DEFAULT '{}',
    state      TEXT NOT NULL,
    wish       TEXT NOT NULL DEFAULT '',
    message    TEXT NOT NULL DEFAULT '',
    result     TEXT NOT NULL DEFAULT '{}',
    started_at REAL NOT NULL,
    ended_at   REAL
);
CREATE TABLE answers (
    caller  BLOB NOT NULL,
    name    TEXT NOT NULL,
    request BLOB NOT NULL,
    status  INTEGER NOT NULL,
    headers TEXT NOT NULL,
    body    BLOB NOT NULL,
    at      REAL NOT NULL,
    PRIMARY KEY (caller, name)
) WITHOUT ROWID;
ALTER TABLE documents ADD COLUMN is_paused INTEGER NOT NULL DEFAULT 0;
"""
"""`collection` is empty for operations on all of them; `wish` is the requested state.

A response is looked up by the digest of the caller's key and by the idempotency key of its request.
"""

_LAST_USES = "ALTER TABLE keys ADD COLUMN last_used_at REAL;"

_REPLACED = """
CREATE TABLE replaced (
    collection TEXT NOT NULL,
    doc_id     TEXT NOT NULL,
    document   TEXT NOT NULL,
    PRIMARY KEY (collection, doc_id)
) WITHOUT ROWID;
ALTER TABLE documents ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
"""
"""`document` is the row of the last searchable version, as a JSON array, until its replacement is searchable.

`cancelled` is the last version that was cancelled before.
"""

SCHEMA: Final = Schema("registry", {1: _KEYS, 2: _DOCUMENTS, 3: _OPERATIONS, 4: _LAST_USES, 5: _REPLACED})


COLLECTION_COLUMNS = "name, description, created_at, is_leaving"
_SELECT_COLLECTIONS = f"SELECT {COLLECTION_COLUMNS} FROM collections ORDER BY name"  # noqa: S608 - constants


class CollectionRow(NamedTuple):
    """A collection; one that is being deleted is invisible to clients."""

    name: CollectionName
    description: str
    created_at: float
    """Seconds since the epoch: it distinguishes successive collections of the same name."""

    is_deleting: bool = False


def parse_collection(row: Sequence[Any]) -> CollectionRow:
    """Parse the columns of a row."""
    name, description, created_at, is_deleting = row
    return CollectionRow(
        parse_stored("collections.name", lambda value: collection_name(parse_text(value)), name),
        parse_stored("collections.description", parse_text, description),
        parse_stored("collections.created_at", parse_epoch_seconds, created_at),
        bool(is_deleting),
    )


class CollectionRows:
    """The collections of a registry; lists omit damaged rows, which the doctor reports and repairs."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def all(self) -> tuple[CollectionRow, ...]:
        """Return all collections by name, including those being deleted."""
        return self._registry.cached_rows(_SELECT_COLLECTIONS, parse_collection)

    def get(self, name: str) -> CollectionRow | None:
        """Return a collection by name; None if there is none."""
        return next((row for row in self.all() if row.name == name), None)

    def are_intact(self) -> bool:
        """Whether no row is damaged: only then is a missing collection really gone."""
        return len(self._registry.rows("SELECT 1 FROM collections")) == len(self.all())

    def add(self, name: str, *, description: str) -> bool:
        """Insert a collection; return whether the name was free."""
        statement = "INSERT OR IGNORE INTO collections (name, description, created_at) VALUES (?, ?, ?)"
        return self._registry.change(statement, name, description, time.time()) > 0

    def describe(self, name: str, description: str) -> None:
        """Change the description of a collection."""
        self._registry.change("UPDATE collections SET description = ? WHERE name = ?", description, name)

    def mark_deleting(self, name: str) -> bool:
        """Mark a collection as being deleted; return whether this call did it."""
        with self._registry.writing() as connection:
            cursor = connection.execute(
                "UPDATE collections SET is_leaving = 1 WHERE name = ? AND NOT is_leaving", (name,)
            )
            connection.execute("UPDATE documents SET state = 'deleting' WHERE collection = ?", (name,))
            return cursor.rowcount > 0

    def remove(self, name: str) -> None:
        """Delete a collection with its documents and scopes."""
        with self._registry.writing() as connection:
            for table in ("documents", "replaced", "scopes"):
                connection.execute(f"DELETE FROM {table} WHERE collection = ?", (name,))  # noqa: S608 - constants
            connection.execute("DELETE FROM collections WHERE name = ?", (name,))


def parse_scope(row: Sequence[Any]) -> tuple[str, FilePath]:
    """Parse a name and a path."""
    name, path = row
    return parse_stored("scopes.name", parse_text, name), parse_stored("scopes.path", parse_path, path)


class Scopes:
    """The named scopes of one collection."""

    def __init__(self, registry: Registry, collection: str) -> None:
        self._registry = registry
        self._collection = collection

    def all(self) -> dict[str, tuple[FilePath, ...]]:
        """Return the paths of each scope, by name."""
        query = "SELECT name, path FROM scopes WHERE collection = ? ORDER BY name, path"
        rows = self._registry.rows(query, self._collection)
        scopes: dict[str, tuple[FilePath, ...]] = {}
        for name, path in parse_intact_rows(parse_scope, rows):
            scopes[name] = (*scopes.get(name, ()), path)
        return scopes

    def put(self, name: str, paths: Iterable[FilePath]) -> None:
        """Set the paths of a scope."""
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM scopes WHERE collection = ? AND name = ?", (self._collection, name))
            connection.executemany(
                "INSERT OR IGNORE INTO scopes VALUES (?, ?, ?)", [(self._collection, name, path) for path in paths]
            )

    def remove(self, name: str) -> bool:
        """Delete a scope; return whether there was one."""
        return self._registry.change("DELETE FROM scopes WHERE collection = ? AND name = ?", self._collection, name) > 0
