"""Schema versions of a database, and the migrations between them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from directory_indexer.core.errors import StoreError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import write_lock
from directory_indexer.core.permissions import directory_mode
from directory_indexer.storage.databases.connections import Connections, require_owned_file

with lazily:
    import sqlite3


class Schema(NamedTuple):
    """The statements that migrate a database to each version from the one before; `name` is used in messages."""

    name: str
    migrations: Mapping[int, str]

    @property
    def version(self) -> int:
        """Return the current version."""
        return max(self.migrations)

    def open(self, path: Path, *, prepare: Callable[[sqlite3.Connection], None]) -> Connections:
        """Open the database at `path`; one that is new or outdated is prepared under a lock, private to the user.

        Raises:
            StoreError: it belongs to another user, or a newer dirindex made it.
        """
        require_owned_file(path)
        path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        connections = Connections(path)
        with connections.lend() as connection:
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

    def make_tables(self, connection: sqlite3.Connection, version: int) -> None:
        """Create the tables of a version in an empty database.

        Raises:
            StoreError: a newer dirindex made this version.
        """
        connection.execute(f"PRAGMA user_version = {version}")
        self.version_of(connection)
        for number in range(1, version + 1):
            connection.executescript(self.migrations[number])
