"""What the index knows of the files of one tracked directory, for a run to compare with what it meets.

Most files of most runs have not changed. So their stamps come as one set, which is compared as a whole, and what else
is known is read of the others alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from directory_indexer.records import KnownFile

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from directory_indexer.records import FilePath, Stamp

KNOWN_COLUMNS = "path, size, mtime_ns, mtime_ns + 2000000000 < checked_ns, hash, recipe, state, reason"
"""The columns of a path and its `KnownFile`.

A file that was modified less than two seconds before its stamp was taken may have changed again within the same stamp:
two seconds is the coarsest modification time of a file system in use (FAT).
"""

_SETTLED = "state = 'indexed' AND mtime_ns + 2000000000 < checked_ns AND recipe = ?"


class KnownFiles:
    """The files that the index knows in a directory, or none if it does not know the directory."""

    def __init__(self, connection: sqlite3.Connection, directory_id: int | None, *, recipe: int) -> None:
        self._connection = connection
        self._directory_id = directory_id
        self._recipe = recipe

    def settled(self) -> set[Stamp]:
        """Give the stamps of the files that need not be looked at while they have them."""
        rows = self._connection.execute(
            f"SELECT path, size, mtime_ns FROM files WHERE directory_id = ? AND {_SETTLED}",  # noqa: S608
            (self._directory_id, self._recipe),
        )
        return set(rows)

    def details(self, paths: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Tell all that is known of every file that is not settled, and of these."""
        rows = self._connection.execute(
            f"""SELECT {KNOWN_COLUMNS} FROM files WHERE directory_id = ? AND NOT ({_SETTLED})
                UNION ALL SELECT {KNOWN_COLUMNS} FROM files WHERE path IN (SELECT value FROM json_each(?))""",  # noqa: S608
            (self._directory_id, self._recipe, json.dumps(list(paths))),
        )
        return known_by_path(rows)


def known_by_path(rows: Iterable[tuple[object, ...]]) -> dict[FilePath, KnownFile]:
    """Read rows of `KNOWN_COLUMNS`."""
    return {row[0]: KnownFile._make(row[1:]) for row in rows}  # type: ignore[misc]
