"""Vectors of chunks, as SQLite records them: pending ones, published ones, and stale points.

A new vector is pending until a generation contains it, and searches see it from the first moment. The hash of a removed
text stays as a stale point until the next merge, so that moved and edited files reuse its vector.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from directory_indexer.core.ids import ChunkId, ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, moved_below
from directory_indexer.storage.databases.stored_values import DamagedValueError, parse_stored
from directory_indexer.storage.documents import SnapshotQueries, TableWrites
from directory_indexer.storage.documents.schema import FORMER_PREFIX, GENERATION_KEYS, MetaWrites, parse_space
from directory_indexer.storage.vectors import VectorPlace, VectorPoint

with lazily:
    import numpy as np
    from numpy.typing import NDArray

NOT_REUSABLE = "text_hash NOT IN (SELECT text_hash FROM chunks WHERE is_embedded = 0)"
"""The condition on stale points whose vectors no waiting text can reuse."""

FLOAT_BYTES = 4
"""Vectors are stored as float32 values."""

_PENDING_VECTORS = "pending_vectors"

_MAX_CACHED_VECTOR_BYTES = 8_000_000
"""At most this many bytes are cached for each of a few connections."""

_INTERRUPTED_MERGE = """
    UNION SELECT p.chunk_id FROM pending_vectors p LEFT JOIN chunks c ON c.chunk_id = p.chunk_id
    WHERE coalesce(c.is_embedded, 0) = 0
"""
"""Pending vectors of removed texts: an interrupted merge may have written them to the store."""

_PENDING_CHUNKS = "pending_vectors p CROSS JOIN chunks c ON c.chunk_id = p.chunk_id AND c.is_embedded = 1"
"""Vectors that no generation contains yet, with their chunks.

Without CROSS JOIN, SQLite scans all chunks instead of the few pending vectors: 80 ms of every search at 100 000 chunks.
"""

_IS_CURRENT = """c.is_embedded = 1
    AND NOT EXISTS (SELECT 1 FROM pending_vectors p WHERE p.chunk_id = c.chunk_id)"""

FORMER_WITHOUT_TEXT = "NOT EXISTS (SELECT 1 FROM chunks c WHERE c.chunk_id = p.chunk_id AND c.text_hash = p.text_hash)"

_IS_IN_FORMER_SET = "EXISTS (SELECT 1 FROM former_points p WHERE p.chunk_id = c.chunk_id AND p.text_hash = c.text_hash)"


def is_vector(value: object, dimensions: int) -> bool:
    """Whether a value is a vector of `dimensions` dimensions, or of any number if that is 0."""
    if not isinstance(value, bytes):
        return False
    return len(value) == FLOAT_BYTES * dimensions if dimensions else bool(value) and len(value) % FLOAT_BYTES == 0


class EmbeddedChunk(NamedTuple):
    """The vector of a chunk, as float32 values in native byte order."""

    id: int
    chunk_id: ChunkId
    text_hash: ContentHash
    vector: bytes


class TaggedChunk(NamedTuple):
    """A chunk with a point in the generation."""

    id: int
    chunk_id: ChunkId
    text_hash: ContentHash


class PendingVectors(NamedTuple):
    """Vectors that wait to be merged: their chunks, the ids of their files, and their float32 values, row after row."""

    chunk_ids: tuple[ChunkId, ...]
    file_ids: tuple[int, ...]
    values: bytes


class Vectors(SnapshotQueries):
    """The vectors of one snapshot."""

    def pending(self) -> PendingVectors:
        """Return the vectors that answer and that no generation contains yet; they are cached unless they are large."""
        if known := self._known.get(_PENDING_VECTORS):
            return cast("PendingVectors", known)
        pending = self._read_pending()
        if len(pending.values) <= _MAX_CACHED_VECTOR_BYTES:
            self._known[_PENDING_VECTORS] = pending
        return pending

    def _read_pending(self) -> PendingVectors:
        if self._is_switching:
            return PendingVectors((), (), b"")
        rows = self._select(f"SELECT p.chunk_id, c.file_id, p.vector FROM {_PENDING_CHUNKS}").fetchall()  # noqa: S608
        self._require_vectors(row[2] for row in rows)
        return PendingVectors(
            tuple(row[0] for row in rows), tuple(row[1] for row in rows), b"".join(row[2] for row in rows)
        )

    def pending_of(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Return the vectors of these chunks that no generation contains yet."""
        query = f"SELECT p.chunk_id, p.vector FROM {_PENDING_CHUNKS} WHERE p.chunk_id IN ({{}})"  # noqa: S608
        vectors = dict(self._rows_for(query, chunk_ids))
        self._require_vectors(vectors.values())
        return vectors

    def _require_vectors(self, vectors: Iterable[object]) -> None:
        """Ensure that vectors have the dimensions of their space.

        Raises:
            DamagedValueError: one of them does not.
        """
        space = self._meta("space")
        dimensions = parse_stored("meta.space", parse_space, space).dimensions if space else 0
        if not all(is_vector(vector, dimensions) for vector in vectors):
            raise DamagedValueError("pending_vectors.vector")

    def pending_points(self) -> Iterator[VectorPoint]:
        """Yield the points of the vectors that no generation contains yet."""
        query = f"""SELECT p.chunk_id, p.vector, f.path, d.path, f.tagged_below FROM {_PENDING_CHUNKS}
            JOIN files f ON f.id = c.file_id JOIN directories d ON d.id = f.directory_id"""  # noqa: S608
        for chunk_id, vector, *place in self._select(query):
            self._require_vectors([vector])
            yield VectorPoint(chunk_id, *_tags_of_point(*place), vector)

    def points(self, vectors: Mapping[ChunkId, NDArray[np.float32]]) -> list[VectorPoint]:
        """Return the points of these vectors, with the tags of their chunks."""
        query = """SELECT c.chunk_id, f.path, d.path, f.tagged_below FROM chunks c JOIN files f ON f.id = c.file_id
            JOIN directories d ON d.id = f.directory_id WHERE c.chunk_id IN ({})"""
        return [
            VectorPoint(chunk_id, *_tags_of_point(*place), vectors[chunk_id].tobytes())
            for chunk_id, *place in self._rows_for(query, vectors)
        ]

    def untracked_tags(self) -> list[FilePath]:
        """Return the directories that points are tagged with and that are no longer tracked."""
        return self._values(
            """SELECT DISTINCT tagged_below FROM files
               WHERE tagged_below IS NOT NULL AND tagged_below NOT IN (SELECT path FROM directories)"""
        )

    def tagged_below(self, directory: FilePath) -> list[TaggedChunk]:
        """Return the chunks whose points are tagged with the directory that their text came from."""
        query = f"""SELECT c.id, c.chunk_id, c.text_hash FROM files f JOIN chunks c ON c.file_id = f.id
            WHERE f.tagged_below = ? AND {_IS_CURRENT}"""  # noqa: S608 - made of constants
        return list(map(TaggedChunk._make, self._select(query, directory)))

    def has_current_points(self, file_ids_json: str | None) -> bool:
        """Whether the generation must contain the vector of any text, or of any text in these files."""
        scope, arguments = "", []
        if file_ids_json is not None:
            scope, arguments = "AND c.file_id IN (SELECT value FROM json_each(?))", [file_ids_json]
        query = f"SELECT EXISTS (SELECT 1 FROM chunks c WHERE {self._is_answering} {scope})"  # noqa: S608 - constants
        return bool(self._count(query, arguments))

    def current_points(self, chunk_ids: Sequence[ChunkId], file_ids: frozenset[int] | None) -> set[ChunkId]:
        """Return which points of the generation are vectors of texts that are in the index now.

        If files are given, one of them must own the text. A chunk with a pending vector does not count: its
        point may be of another text that had the same id.
        """
        query = f"SELECT chunk_id, file_id FROM chunks c WHERE chunk_id IN ({{}}) AND {self._is_answering}"  # noqa: S608
        rows = self._rows_for(query, chunk_ids)
        return {chunk_id for chunk_id, file_id in rows if file_ids is None or file_id in file_ids}

    def embedded_chunk_ids(self) -> set[ChunkId]:
        """Return every chunk whose vector the current generation must contain."""
        query = "SELECT chunk_id FROM chunks WHERE is_embedded = 1 EXCEPT SELECT chunk_id FROM pending_vectors"
        return set(self._values(query))

    def embedded_sample(self, limit: int) -> list[ChunkId]:
        """Return some of the chunks that have a vector, from all over the index: ids are hashes."""
        return self._values("SELECT chunk_id FROM chunks WHERE is_embedded = 1 ORDER BY chunk_id LIMIT ?", limit)

    def count_pending(self) -> int:
        """Count the vectors that no generation contains yet."""
        return self._count("SELECT count(*) FROM pending_vectors")

    def count_stored(self) -> int:
        """Count the vectors that the generation must contain, including those of removed texts."""
        n_pending = self._count(f"SELECT count(*) FROM {_PENDING_CHUNKS}")  # noqa: S608
        return self.n_chunks - self._count_waiting() - n_pending + self._count("SELECT count(*) FROM stale_points")

    @property
    def _is_answering(self) -> str:
        """The SQL condition on `chunks c` for those whose point in the answering generation belongs to their text."""
        return _IS_IN_FORMER_SET if self._is_switching else _IS_CURRENT

    @property
    def _is_switching(self) -> bool:
        return self._meta("former_space") is not None


class StalePoints(SnapshotQueries):
    """Stale points of one snapshot: those whose texts were removed from the index."""

    def all(self) -> list[ChunkId]:
        """Return the points of removed texts."""
        return self._values(f"SELECT chunk_id FROM stale_points {_INTERRUPTED_MERGE}")  # noqa: S608 - made of constants

    def unneeded(self) -> list[ChunkId]:
        """Return the stale points whose vectors no waiting text can reuse."""
        return self._values(f"SELECT chunk_id FROM stale_points WHERE {NOT_REUSABLE} {_INTERRUPTED_MERGE}")  # noqa: S608

    def former_points_without_text(self) -> list[ChunkId]:
        """Return the points of a former space whose texts were removed."""
        return self._values(f"SELECT chunk_id FROM former_points p WHERE {FORMER_WITHOUT_TEXT} {_INTERRUPTED_MERGE}")  # noqa: S608

    def count(self) -> int:
        """Count the points of the generation that belong to removed texts."""
        return self._count("SELECT count(*) FROM stale_points")

    def count_unneeded(self) -> int:
        """Count the stale points whose vectors no waiting text can reuse."""
        return self._count(f"SELECT count(*) FROM stale_points WHERE {NOT_REUSABLE}")  # noqa: S608 - made of constants


class VectorWrites(TableWrites):
    """Writes to the vectors of chunks."""

    def __init__(self, connection: sqlite3.Connection, meta: MetaWrites) -> None:
        super().__init__(connection)
        self._meta = meta

    def put(self, embedded: Sequence[EmbeddedChunk]) -> None:
        """Store the vectors of chunks, which makes them searchable by meaning."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO pending_vectors (chunk_id, text_hash, vector) VALUES (?, ?, ?)",
            [(chunk.chunk_id, chunk.text_hash, chunk.vector) for chunk in embedded],
        )
        self._execute_each("UPDATE chunks SET is_embedded = 1 WHERE id = ?", (chunk.id for chunk in embedded))
        self._execute_each("DELETE FROM refused_chunks WHERE id = ?", (chunk.id for chunk in embedded))

    def put_refused(self, refused: Iterable[tuple[int, str]]) -> None:
        """Store, by row ids, which chunks the provider refuses, and why; the next run tries again."""
        self._connection.executemany("INSERT OR REPLACE INTO refused_chunks VALUES (?, ?)", refused)

    def remove_tag(self, directory: FilePath) -> None:
        """Remove the tag of a directory from all texts; their points must all be rewritten."""
        self._execute("UPDATE files SET tagged_below = NULL WHERE tagged_below = ?", directory)

    def publish(self, place: VectorPlace, generation: int) -> None:
        """Publish the generation that contains every vector written so far; no other store has all of them any more."""
        self._meta.forget_generations()
        self._meta.store_generation(place, generation)
        # A new text has the id of a removed one: the vector stored there no longer belongs to the removed text.
        self._execute("DELETE FROM stale_points WHERE chunk_id IN (SELECT chunk_id FROM pending_vectors)")
        self._execute("DELETE FROM pending_vectors")
        self._execute(f"DELETE FROM stale_points WHERE {NOT_REUSABLE}")  # noqa: S608 - made of constants

    def publish_former(self, place: VectorPlace, generation: int) -> None:
        """Publish the generation of a former space that contains no vectors of removed texts."""
        self._meta.set(FORMER_PREFIX + GENERATION_KEYS[place], str(generation))
        self._execute(f"DELETE FROM former_points AS p WHERE {FORMER_WITHOUT_TEXT}")  # noqa: S608 - made of constants

    def delete_all(self) -> None:
        """Delete all vectors, so that every chunk waits again, and start with no generation."""
        self._meta.forget_generations()
        self._execute("DELETE FROM pending_vectors")
        self._execute("DELETE FROM stale_points")
        self._execute("UPDATE chunks SET is_embedded = 0 WHERE is_embedded = 1")

    def mark_published_waiting(self) -> None:
        """Make every chunk wait again whose vector only the generation contained."""
        self._meta.forget_generations()
        self._execute("DELETE FROM stale_points")
        self._execute("""UPDATE chunks SET is_embedded = 0
               WHERE is_embedded = 1 AND chunk_id NOT IN (SELECT chunk_id FROM pending_vectors)""")

    def mark_waiting(self, chunk_ids: Iterable[ChunkId]) -> None:
        """Make chunks wait for their vectors again."""
        self._execute_each("UPDATE chunks SET is_embedded = 0 WHERE chunk_id = ?", chunk_ids)

    def record_stale(self, chunk_ids: Iterable[ChunkId]) -> None:
        """Store points that the vector store should not contain."""
        self._execute_each("INSERT OR IGNORE INTO stale_points (chunk_id, text_hash) VALUES (?, x'')", chunk_ids)


def _tags_of_point(
    path: FilePath, directory: FilePath, tagged_below: FilePath | None
) -> tuple[FilePath, tuple[FilePath, ...]]:
    """Return the file and the directories that points are tagged with: the original place of a shared text."""
    if tagged_below is not None:
        path, directory = moved_below(path, directory, tagged_below), tagged_below
    return path, _parents(path, directory)


def _parents(path: str, directory: str) -> tuple[FilePath, ...]:
    parents = [FilePath(directory)]
    end = path.find(os.sep, len(directory.rstrip(os.sep)) + 1)
    while end != -1:
        parents.append(FilePath(path[:end]))
        end = path.find(os.sep, end + 1)
    return tuple(parents)
