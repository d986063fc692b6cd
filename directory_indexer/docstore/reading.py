"""What all questions to one moment of the index share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeVar, cast

from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    import sqlite3

Answer = TypeVar("Answer")


class Reading:
    """Questions to one moment of the index; all of them read the same state.

    `known` is what was found out about this state before, and takes up what is found out now.
    """

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object]) -> None:
        self._connection = connection
        self._known = known

    def _meta(self, key: str) -> str | None:
        values = self._once("meta", lambda: dict(self._connection.execute("SELECT key, value FROM meta")))
        return values.get(key)

    @property
    def n_chunks(self) -> int:
        """Count the chunks."""
        return self._once("n_chunks", lambda: self._count("SELECT count(*) FROM chunks"))

    def _count_waiting(self) -> int:
        return self._once("n_chunks_to_embed", lambda: self._count("SELECT count(*) FROM chunks WHERE is_embedded = 0"))

    def _tracked(self) -> dict[FilePath, int]:
        def read() -> dict[FilePath, int]:
            rows = self._connection.execute("SELECT path, id FROM directories ORDER BY path")
            return {FilePath(path): id_ for path, id_ in rows}

        return self._once("directories", read)

    def _once(self, name: str, find_out: Callable[[], Answer]) -> Answer:
        if name not in self._known:
            self._known[name] = find_out()
        return cast("Answer", self._known[name])

    def _count(self, query: str, arguments: Sequence[object] = ()) -> int:
        return int(self._connection.execute(query, arguments).fetchone()[0])


def marks(values: Collection[object]) -> str:
    """Give a placeholder for each of the values."""
    return ",".join("?" * len(values))


def batches(values: Iterable[object], size: int = 500) -> Iterator[list[object]]:
    """Cut values into lists that fit SQLite's limit of bound parameters twice over."""
    batch: list[object] = []
    for value in values:
        batch.append(value)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
