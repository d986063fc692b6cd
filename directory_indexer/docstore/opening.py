"""Creation, migration and version repair of the database file, private to the user."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path

from directory_indexer.databases.connections import Connections
from directory_indexer.databases.ownership import require_own
from directory_indexer.docstore.schema import SCHEMA_VERSION, migrate, tables_of, version_of
from directory_indexer.errors import REBUILD, CorruptIndexError, StoreError
from directory_indexer.lock import write_lock
from directory_indexer.permissions import directory_mode


def opened(path: Path) -> Connections:
    """Open the database at `path`; create it, private to the user, or migrate it where necessary.

    Raises:
        StoreError: it belongs to another user or program, or to a newer dirindex.
        CorruptIndexError: its tables match no version.
    """
    require_own(path)
    path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
    connections = Connections(path)
    with connections.lend() as connection:
        version = version_of(connection.raw)
    if version < SCHEMA_VERSION:
        _create(path, connections)
    return connections


def _create(path: Path, connections: Connections) -> None:
    with (
        write_lock(path.with_name(path.name + ".schema-lock"), wait=True),
        contextlib.closing(connections.open()) as connection,
    ):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        try:
            migrate(connection)
        except sqlite3.OperationalError as error:
            _mend_version(connection, path, error)


def _mend_version(connection: sqlite3.Connection, path: Path, error: sqlite3.OperationalError) -> None:
    """Set the version that the tables match: another tool may have set an earlier one.

    Raises:
        CorruptIndexError: its tables match no version.
        StoreError: it belongs to another program.
    """
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    if not re.search("already exists|duplicate column|no such column", str(error)):
        raise error
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        migrate(fresh)
        expected, tables = tables_of(fresh), tables_of(connection)
    if tables == expected:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    elif "chunks_fts" in tables:
        raise CorruptIndexError(f"{path}: its tables are not those of its version", hint=REBUILD) from error
    else:
        raise StoreError(f"{path} belongs to another program", hint="choose another place with --data-dir") from error
