"""The tables of the registry, and how an older registry becomes a newer one."""

from __future__ import annotations

import sqlite3

from directory_indexer.errors import StoreError

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
"""`collections` is a list as JSON; NULL means all of them."""

_MIGRATIONS: dict[int, str] = {
    1: _KEYS,
}
"""What to run, in one transaction, to come to each version from the one before."""

SCHEMA_VERSION = max(_MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """Read the schema version of an open registry; 0 means that it is new.

    Raises:
        StoreError: a newer dirindex made it.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the registry was made by a newer dirindex (schema {version})",
            hint="upgrade dirindex, or choose another directory with --data-dir",
        )
    return version


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the registry to the current schema; called under a lock, it does nothing when it is current."""
    for version in range(version_of(connection) + 1, SCHEMA_VERSION + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {_MIGRATIONS[version]} PRAGMA user_version = {version}; COMMIT;")
