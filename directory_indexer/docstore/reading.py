"""What all questions to one moment of the index share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar, cast

from directory_indexer.chunker.chunks import Chunk
from directory_indexer.docstore.texts import unpacked
from directory_indexer.ids import ChunkId, chunk_id_from_bytes
from directory_indexer.paths import FilePath, prefix_of

Answer = TypeVar("Answer")

CHUNK_COLUMNS = """
    c.id, c.chunk_id, f.path, f.kind, f.title, f.mtime_ns,
    c.ordinal, t.text, c.n_tokens, c.start_char, c.end_char, c.start_line, c.end_line, c.page, c.heading
"""
CHUNK_TABLES = "chunks c JOIN chunk_texts t ON t.id = c.id JOIN files f ON f.id = c.file_id"


class IndexedChunk(NamedTuple):
    """A chunk as the index holds it, with what is known of its file."""

    id: int
    chunk_id: ChunkId
    path: FilePath
    kind: str
    title: str
    mtime_ns: int
    chunk: Chunk


class Reading:
    """Questions to one moment of the index; all of them read the same state.

    `known` is what was found out about this state before, and takes up what is found out now.
    """

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object]) -> None:
        self._connection = connection
        self._known = known

    def meta(self, key: str) -> str | None:
        """Read a remembered value."""
        values = self._once("meta", lambda: dict(self._connection.execute("SELECT key, value FROM meta")))
        return values.get(key)

    @property
    def n_chunks(self) -> int:
        """Count the chunks."""
        return self._once("n_chunks", lambda: self._count("SELECT count(*) FROM chunks"))

    def _once(self, name: str, find_out: Callable[[], Answer]) -> Answer:
        if name not in self._known:
            self._known[name] = find_out()
        return cast("Answer", self._known[name])

    def _count(self, query: str, arguments: Sequence[object] = ()) -> int:
        return int(self._connection.execute(query, arguments).fetchone()[0])


def within_condition(path: FilePath | None) -> tuple[str, list[object]]:
    """Make the SQL condition over `files f` for a file, or for everything below a directory."""
    if path is None:
        return "1", []
    first = prefix_of(path)
    return "(f.path = ? OR (f.path >= ? AND f.path < ?))", [path, first, first[:-1] + chr(ord(os.sep) + 1)]


def indexed_chunk(row: Sequence[object]) -> IndexedChunk:
    """Make a record of a row of `CHUNK_COLUMNS`."""
    id_, chunk_id, path, kind, title, mtime_ns = row[:6]
    ordinal, stored, *place = row[6:15]
    chunk = Chunk(ordinal, unpacked(stored), *place)  # type: ignore[arg-type]  # the columns stand in the order of the fields
    return IndexedChunk(id_, chunk_id_from_bytes(chunk_id), FilePath(path), kind, title, mtime_ns, chunk)  # type: ignore[arg-type]


def marks(values: Sequence[object]) -> str:
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
