"""The collections of a server, and their named scopes: sets of directories within a collection.

The default collection needs no row.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from directory_indexer.config.collections import CollectionName, collection_name
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_epoch_seconds,
    parse_intact_rows,
    parse_stored,
    parse_text,
)
from directory_indexer.storage.registry.store import Registry

COLLECTION_COLUMNS = "name, description, created_at, is_leaving"
_SELECT = f"SELECT {COLLECTION_COLUMNS} FROM collections ORDER BY name"  # noqa: S608 - constants


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
        return self._registry.cached_rows(_SELECT, parse_collection)

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
    name, path = (parse_stored("scopes", parse_text, value) for value in row)
    if not os.path.isabs(path) or "\0" in path:
        raise DamagedValueError("scopes.path")
    return name, FilePath(path)


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
