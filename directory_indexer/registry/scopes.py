"""Named scopes: sets of directories within a collection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from directory_indexer.databases.stored_values import DamagedValueError, intact_rows, parse_stored, text
from directory_indexer.paths import FilePath
from directory_indexer.registry.store import Registry


def scope_row(row: Sequence[Any]) -> tuple[str, FilePath]:
    """Parse a name and a path.

    Raises:
        DamagedValueError: one of them is invalid.
    """
    name, path = (parse_stored("scopes", text, value) for value in row)
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
        if not self._registry.exists():
            return {}
        with self._registry.reading() as connection:
            rows = connection.raw.execute(
                "SELECT name, path FROM scopes WHERE collection = ? ORDER BY name, path", (self._collection,)
            ).fetchall()
        scopes: dict[str, tuple[FilePath, ...]] = {}
        for name, path in intact_rows(scope_row, rows):
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
        with self._registry.writing() as connection:
            cursor = connection.execute(
                "DELETE FROM scopes WHERE collection = ? AND name = ?", (self._collection, name)
            )
            return cursor.rowcount > 0
