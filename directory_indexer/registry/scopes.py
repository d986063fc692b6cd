"""Sets of directories that have a name, within one collection each."""

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
        DamagedValueError: one of them is none.
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
        """Give the paths of each, by its name."""
        if not self._registry.exists():
            return {}
        with self._registry.reading() as connection:
            rows = connection.raw.execute(
                "SELECT name, path FROM scopes WHERE collection = ? ORDER BY name, path", (self._collection,)
            ).fetchall()
        found: dict[str, tuple[FilePath, ...]] = {}
        for name, path in intact_rows(scope_row, rows):
            found[name] = (*found.get(name, ()), path)
        return found

    def put(self, name: str, paths: Iterable[FilePath]) -> None:
        """Let a name mean these paths, and no other ones."""
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM scopes WHERE collection = ? AND name = ?", (self._collection, name))
            connection.executemany(
                "INSERT OR IGNORE INTO scopes VALUES (?, ?, ?)", [(self._collection, name, path) for path in paths]
            )

    def remove(self, name: str) -> bool:
        """Forget a name, and tell whether it meant something."""
        with self._registry.writing() as connection:
            done = connection.execute("DELETE FROM scopes WHERE collection = ? AND name = ?", (self._collection, name))
            return done.rowcount > 0
