"""Base of all queries on one snapshot of the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar, cast

from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    import sqlite3

Answer = TypeVar("Answer")


class Reading:
    """Queries on one snapshot of the index.

    `known` caches results for this snapshot.
    """

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object]) -> None:
        self._connection = connection
        self._known = known

    def _meta(self, key: str) -> str | None:
        values = self._once("meta", lambda: dict(self._connection.execute("SELECT key, value FROM meta")))
        return values.get(key)

    @property
    def n_chunks(self) -> int:
        """Return the number of chunks."""
        return self._once("n_chunks", lambda: self._count("SELECT count(*) FROM chunks"))

    def _count_waiting(self) -> int:
        return self._once("n_chunks_to_embed", lambda: self._count("SELECT count(*) FROM chunks WHERE is_embedded = 0"))

    def _tracked(self) -> dict[FilePath, int]:
        def read() -> dict[FilePath, int]:
            rows = self._connection.execute("SELECT path, id FROM directories ORDER BY path")
            return {FilePath(path): id_ for path, id_ in rows}

        return self._once("directories", read)

    def _once(self, name: str, compute: Callable[[], Answer]) -> Answer:
        if name not in self._known:
            self._known[name] = compute()
        return cast("Answer", self._known[name])

    def _count(self, query: str, arguments: Sequence[object] = ()) -> int:
        return int(self._connection.execute(query, arguments).fetchone()[0])


def marks(values: Collection[object]) -> str:
    """Return a placeholder for each of the values."""
    return ",".join("?" * len(values))


def batches(values: Iterable[object], size: int = 500) -> Iterator[list[object]]:
    """Yield lists of values; each fits twice into SQLite's limit of bound parameters."""
    batch: list[object] = []
    for value in values:
        batch.append(value)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
