"""The database of an index: base classes of queries and writes, the scope of a run or a count, translation of errors.

A chunk lies in each tracked directory that has a file with its text, whichever of these files owns it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

from directory_indexer.core.batching import batched
from directory_indexer.core.errors import REBUILD_HINT, CorruptIndexError, DiskFullError, StoreError
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.databases import FREE_SPACE_HINT, is_disk_full
from directory_indexer.storage.databases.stored_values import DamagedValueError, parse_path, parse_stored


@contextlib.contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Translate errors of SQLite and of the disk."""
    try:
        yield
    except DamagedValueError as error:
        raise CorruptIndexError(f"{path}: '{error.column}' of a row is damaged", hint=REPAIR_HINT) from error
    except sqlite3.Error as error:
        if str(error).startswith("Could not decode"):  # raised by the sqlite3 module without an error code
            raise CorruptIndexError(f"{path}: text in it is damaged", hint=REBUILD_HINT) from error
        if is_disk_full(error):
            raise DiskFullError(f"{path}: no space left on device ({error})", hint=FREE_SPACE_HINT) from error
        detailed = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        code = detailed & 0xFF
        hint = _HINTS_BY_CODE.get(detailed) or _HINTS_BY_CODE.get(code, _CHECK_HINT)
        raise _ERRORS_BY_CODE.get(code, StoreError)(f"{path}: {error}", hint=hint) from error
    except (UnicodeDecodeError, zlib.error) as error:
        # The program wrote valid text; the sqlite3 module fails to decode names and messages that are damaged.
        raise CorruptIndexError(f"{path}: text in it is damaged", hint=REBUILD_HINT) from error
    except OSError as error:
        if not isinstance(error.filename, str | Path) or Path(error.filename) not in {path, *path.parents}:
            raise
        raise StoreError(f"{error.filename}: {error.strerror}", hint="choose another place with --data-dir") from error


REPAIR_HINT = "dirindex doctor --repair repairs it, or sets the database aside and builds the index again"
_CHECK_HINT = "dirindex doctor checks the index"
_ERRORS_BY_CODE = {sqlite3.SQLITE_CORRUPT: CorruptIndexError, sqlite3.SQLITE_NOTADB: CorruptIndexError}
_HINTS_BY_CODE = {
    sqlite3.SQLITE_READONLY: "make the index directory writable, or choose another one with --data-dir",
    sqlite3.SQLITE_CANTOPEN: "make the index directory readable and writable, or choose another with --data-dir; "
    "when too many files are open, ulimit -n raises the limit",
    sqlite3.SQLITE_IOERR: "the disk reported an error: check it, then run dirindex doctor",
    sqlite3.SQLITE_BUSY: "another process has stopped in the middle of a write: dirindex status shows which",
    sqlite3.SQLITE_CORRUPT: REBUILD_HINT,
    sqlite3.SQLITE_CORRUPT_VTAB: "dirindex doctor --repair builds the full-text index again from the stored texts",
    sqlite3.SQLITE_NOTADB: REBUILD_HINT,
}


Answer = TypeVar("Answer")

_MAX_PARAMETERS: Final = 500
"""Fits into SQLite's limit of bound parameters."""


class SnapshotQueries:
    """Queries on one snapshot of the index.

    `known` caches results for this snapshot.
    """

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object]) -> None:
        self._connection = connection
        self._known = known

    def _meta(self, key: str) -> str | None:
        values = self._compute_once("meta", lambda: dict(self._connection.execute("SELECT key, value FROM meta")))
        return values.get(key)

    @property
    def n_chunks(self) -> int:
        """Return the number of chunks."""
        return self._compute_once("n_chunks", lambda: self._count("SELECT count(*) FROM chunks"))

    def _count_waiting(self) -> int:
        return self._compute_once(
            "n_chunks_to_embed", lambda: self._count("SELECT count(*) FROM chunks WHERE is_embedded = 0")
        )

    def _tracked(self) -> dict[FilePath, int]:
        def read() -> dict[FilePath, int]:
            rows = self._connection.execute("SELECT path, id FROM directories ORDER BY path")
            return {parse_stored("directories.path", parse_path, path): id_ for path, id_ in rows}

        return self._compute_once("directories", read)

    def _compute_once(self, name: str, compute: Callable[[], Answer]) -> Answer:
        if name not in self._known:
            self._known[name] = compute()
        return cast("Answer", self._known[name])

    def _count(self, query: str, arguments: Sequence[object] = ()) -> int:
        return int(self._connection.execute(query, arguments).fetchone()[0])

    def _select(self, query: str, *arguments: object) -> sqlite3.Cursor:
        return self._connection.execute(query, arguments)

    def _values(self, query: str, *arguments: object) -> list[Any]:
        """Return the first column of a query."""
        return [row[0] for row in self._connection.execute(query, arguments)]

    def _rows_for(self, query: str, values: Iterable[object], *arguments: object) -> list[tuple[Any, ...]]:
        return rows_for(self._connection, query, values, *arguments)


class TableWrites:
    """Writes to a table in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _execute_each(self, statement: str, values: Iterable[object]) -> None:
        """Execute a statement for each of the values, its only parameter."""
        self._connection.executemany(statement, ((value,) for value in values))


def placeholders(values: Collection[object]) -> str:
    """Return a placeholder for each of the values."""
    return ",".join("?" * len(values))


def rows_for(
    connection: sqlite3.Connection, query: str, values: Iterable[object], *arguments: object
) -> list[tuple[Any, ...]]:
    """Return the rows of a query for any number of values, whose placeholders replace `{}`, before other arguments."""
    rows: list[tuple[Any, ...]] = []
    for batch in batched(values, _MAX_PARAMETERS):
        rows += connection.execute(query.replace("{}", placeholders(batch)), [*batch, *arguments])
    return rows


class IndexScope(NamedTuple):
    """Tracked directories; without any, the whole index."""

    roots: tuple[FilePath, ...] = ()

    def plus(self, roots: Iterable[FilePath]) -> IndexScope:
        """Return a scope with further directories; the whole index stays whole."""
        return IndexScope(tuple(dict.fromkeys((*self.roots, *roots)))) if self.roots else self


WHOLE_INDEX: Final = IndexScope()


class ScopedQueries(SnapshotQueries):
    """Queries on one snapshot of the index that can be limited to tracked directories."""

    def _covers_all_roots(self, scope: IndexScope) -> bool:
        return not scope.roots or self._tracked().keys() <= set(scope.roots)

    def _files_in(self, scope: IndexScope) -> tuple[str, list[int]]:
        """Return the SQL condition on `files f` and its arguments; for the whole index it is trivial."""
        if self._covers_all_roots(scope):
            return "1", []
        tracked = self._tracked()
        directory_ids = [tracked[root] for root in scope.roots if root in tracked]
        return f"f.directory_id IN ({placeholders(directory_ids)})", directory_ids

    def _chunks_in(self, scope: IndexScope) -> tuple[str, list[int]]:
        """Return the SQL condition on `chunks c` and its arguments; for the whole index it is trivial."""
        if self._covers_all_roots(scope):
            return "1", []
        condition, arguments = self._files_in(scope)
        return f"c.file_id IN (SELECT coalesce(f.holder_id, f.id) FROM files f WHERE {condition})", arguments  # noqa: S608
