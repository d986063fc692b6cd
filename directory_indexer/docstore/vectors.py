"""The vectors of chunks: which no generation holds yet, which points are of texts here, and which are stale."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from directory_indexer.databases.stored_values import DamagedValueError, parse_stored
from directory_indexer.docstore.meta import FORMER, GENERATION_KEYS, MetaWrites, space_in
from directory_indexer.docstore.reading import Reading, batches, marks
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, moved_below
from directory_indexer.vectorstore import VectorPlace, VectorPoint

with lazily:
    import numpy as np
    from numpy.typing import NDArray


NEEDLESS = "text_hash NOT IN (SELECT text_hash FROM chunks WHERE is_embedded = 0)"
"""The condition over stale points that no text waits for the vector of."""


FLOAT_BYTES = 4
"""Vectors are stored as float32 values."""


_PENDING_VECTORS = "pending_vectors"


_MOST_REMEMBERED = 8_000_000
"""So many bytes of vectors stay with each of a few connections."""


_CUT_OFF = """
    UNION SELECT p.chunk_id FROM pending_vectors p LEFT JOIN chunks c ON c.chunk_id = p.chunk_id
    WHERE coalesce(c.is_embedded, 0) = 0
"""
"""Pending vectors whose texts are gone: a merge that was cut off may have brought them to the store."""


_PENDING = "pending_vectors p CROSS JOIN chunks c ON c.chunk_id = p.chunk_id AND c.is_embedded = 1"
"""Vectors that no generation holds yet, with their chunks. Left to itself, SQLite goes through all chunks instead of
the few pending vectors: 80 ms of every search at 100 000 chunks."""


_CURRENT = """c.is_embedded = 1
    AND NOT EXISTS (SELECT 1 FROM pending_vectors p WHERE p.chunk_id = c.chunk_id)"""


GONE_FORMER = "NOT EXISTS (SELECT 1 FROM chunks c WHERE c.chunk_id = p.chunk_id AND c.text_hash = p.text_hash)"


_FORMER = "EXISTS (SELECT 1 FROM former_points p WHERE p.chunk_id = c.chunk_id AND p.text_hash = c.text_hash)"


def is_vector(value: object, dimensions: int) -> bool:
    """Whether a value can be a vector of so many dimensions, or of any number where that is 0."""
    if not isinstance(value, bytes):
        return False
    return len(value) == FLOAT_BYTES * dimensions if dimensions else bool(value) and len(value) % FLOAT_BYTES == 0


class EmbeddedChunk(NamedTuple):
    """A chunk's vector, as float32 values in native byte order."""

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
    """Vectors that wait to be merged: of each its chunk, the id of its file, and its float32 values, row after row."""

    chunk_ids: tuple[ChunkId, ...]
    file_ids: tuple[int, ...]
    values: bytes


class Vectors(Reading):
    """The vectors of one moment."""

    def pending(self) -> PendingVectors:
        """Give the vectors that answer and that no generation holds yet; they are remembered unless they are large."""
        if known := self._known.get(_PENDING_VECTORS):
            return cast("PendingVectors", known)
        pending = self._read_pending()
        if len(pending.values) <= _MOST_REMEMBERED:
            self._known[_PENDING_VECTORS] = pending
        return pending

    def _read_pending(self) -> PendingVectors:
        if self._is_switching:
            return PendingVectors((), (), b"")
        rows = self._connection.execute(f"SELECT p.chunk_id, c.file_id, p.vector FROM {_PENDING}").fetchall()  # noqa: S608
        self._require_vectors(row[2] for row in rows)
        return PendingVectors(
            tuple(row[0] for row in rows),
            tuple(row[1] for row in rows),
            b"".join(row[2] for row in rows),
        )

    def pending_of(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Give those of the chunks' vectors that no generation holds yet."""
        found: dict[ChunkId, bytes] = {}
        for batch in batches(chunk_ids):
            rows = self._connection.execute(
                f"SELECT p.chunk_id, p.vector FROM {_PENDING} WHERE p.chunk_id IN ({marks(batch)})",  # noqa: S608
                batch,
            )
            found.update(rows)
        self._require_vectors(found.values())
        return found

    def _require_vectors(self, vectors: Iterable[object]) -> None:
        """Make sure that vectors have the dimensions of their space.

        Raises:
            DamagedValueError: one of them has not.
        """
        space = self._meta("space")
        dimensions = parse_stored("meta.space", space_in, space).dimensions if space else 0
        if not all(is_vector(vector, dimensions) for vector in vectors):
            raise DamagedValueError("pending_vectors.vector")

    def pending_points(self) -> Iterator[VectorPoint]:
        """Give the vectors that no generation holds yet as the vector store wants them."""
        rows = self._connection.execute(
            f"""SELECT p.chunk_id, p.vector, f.path, d.path, f.tagged_below FROM {_PENDING}
                JOIN files f ON f.id = c.file_id JOIN directories d ON d.id = f.directory_id"""  # noqa: S608
        )
        for chunk_id, vector, *place in rows:
            self._require_vectors([vector])
            yield VectorPoint(chunk_id, *_tags(*place), vector)

    def points(self, vectors: Mapping[ChunkId, NDArray[np.float32]]) -> list[VectorPoint]:
        """Give vectors with the places of their chunks, as a vector store wants them."""
        points: list[VectorPoint] = []
        for batch in batches(vectors):
            rows = self._connection.execute(
                f"""SELECT c.chunk_id, f.path, d.path, f.tagged_below FROM chunks c JOIN files f ON f.id = c.file_id
                    JOIN directories d ON d.id = f.directory_id WHERE c.chunk_id IN ({marks(batch)})""",  # noqa: S608
                batch,
            )
            for chunk_id, *place in rows:
                points.append(VectorPoint(chunk_id, *_tags(*place), vectors[chunk_id].tobytes()))
        return points

    def untracked_tags(self) -> list[FilePath]:
        """List the directories that points are tagged with and that are tracked no more."""
        rows = self._connection.execute(
            """SELECT DISTINCT tagged_below FROM files
               WHERE tagged_below IS NOT NULL AND tagged_below NOT IN (SELECT path FROM directories)"""
        )
        return [FilePath(path) for (path,) in rows]

    def tagged_below(self, directory: FilePath) -> list[TaggedChunk]:
        """List the chunks whose points are tagged as lying below a directory that their text came from."""
        rows = self._connection.execute(
            """SELECT c.id, c.chunk_id, c.text_hash FROM files f JOIN chunks c ON c.file_id = f.id
               WHERE f.tagged_below = ? AND c.is_embedded = 1
               AND NOT EXISTS (SELECT 1 FROM pending_vectors p WHERE p.chunk_id = c.chunk_id)""",
            (directory,),
        )
        return list(map(TaggedChunk._make, rows))

    def has_current_points(self, file_ids_json: str | None) -> bool:
        """Tell whether the generation must hold the vector of any text, or of any in these files."""
        scope, arguments = "", []
        if file_ids_json is not None:
            scope, arguments = "AND c.file_id IN (SELECT value FROM json_each(?))", [file_ids_json]
        return bool(
            self._count(
                f"SELECT EXISTS (SELECT 1 FROM chunks c WHERE {self._answers} {scope})",  # noqa: S608
                arguments,
            )
        )

    def current_points(self, chunk_ids: Sequence[ChunkId], file_ids: frozenset[int] | None) -> set[ChunkId]:
        """Tell which points of the generation are vectors of texts that are in the index now.

        If files are given, the text must belong to one of them. A chunk with a pending vector does not count: its
        point may stem from another text that had the same place.
        """
        current: set[ChunkId] = set()
        for batch in batches(chunk_ids):
            rows = self._connection.execute(
                f"SELECT chunk_id, file_id FROM chunks c WHERE chunk_id IN ({marks(batch)}) AND {self._answers}",  # noqa: S608
                batch,
            )
            current.update(row[0] for row in rows if file_ids is None or row[1] in file_ids)
        return current

    def embedded_chunk_ids(self) -> set[ChunkId]:
        """Give every chunk whose vector the current generation must hold."""
        rows = self._connection.execute(
            "SELECT chunk_id FROM chunks WHERE is_embedded = 1 EXCEPT SELECT chunk_id FROM pending_vectors"
        )
        return {row[0] for row in rows}

    def embedded_sample(self, limit: int) -> list[ChunkId]:
        """Give some of the chunks that have a vector, from all over the index: ids are hashes."""
        rows = self._connection.execute(
            "SELECT chunk_id FROM chunks WHERE is_embedded = 1 ORDER BY chunk_id LIMIT ?", (limit,)
        )
        return [row[0] for row in rows]

    def count_pending(self) -> int:
        """Count the vectors that no generation holds yet."""
        return self._count("SELECT count(*) FROM pending_vectors")

    def count_stored(self) -> int:
        """Count the vectors that the generation must hold, those of texts that are gone among them."""
        n_pending = self._count(f"SELECT count(*) FROM {_PENDING}")  # noqa: S608
        return self.n_chunks - self._count_waiting() - n_pending + self._count("SELECT count(*) FROM stale_points")

    @property
    def _answers(self) -> str:
        """The SQL condition over `chunks c` for those whose point in the answering generation is of their text."""
        return _FORMER if self._is_switching else _CURRENT

    @property
    def _is_switching(self) -> bool:
        return self._meta("former_space") is not None


class StalePoints(Reading):
    """The points of one moment whose texts are gone."""

    def all(self) -> list[ChunkId]:
        """List the points that belong to texts that are gone."""
        return self._chunk_ids(f"SELECT chunk_id FROM stale_points {_CUT_OFF}")  # noqa: S608 - made of constants

    def needless(self) -> list[ChunkId]:
        """List the stale points but for those whose vectors are still to be reused: their texts wait for vectors."""
        return self._chunk_ids(f"SELECT chunk_id FROM stale_points WHERE {NEEDLESS} {_CUT_OFF}")  # noqa: S608

    def gone_former(self) -> list[ChunkId]:
        """List the points of a former space whose texts are gone."""
        return self._chunk_ids(f"SELECT chunk_id FROM former_points p WHERE {GONE_FORMER} {_CUT_OFF}")  # noqa: S608

    def count(self) -> int:
        """Count the points of the generation that belong to texts that are gone."""
        return self._count("SELECT count(*) FROM stale_points")

    def count_needless(self) -> int:
        """Count the stale points whose vectors are not to be reused."""
        return self._count(f"SELECT count(*) FROM stale_points WHERE {NEEDLESS}")  # noqa: S608 - made of constants

    def _chunk_ids(self, query: str) -> list[ChunkId]:
        return [row[0] for row in self._connection.execute(query)]


class VectorWrites:
    """Add vectors, publish them, and let chunks wait for them again."""

    def __init__(self, connection: sqlite3.Connection, meta: MetaWrites) -> None:
        self._connection = connection
        self._meta = meta

    def put(self, embedded: Sequence[EmbeddedChunk]) -> None:
        """Make chunks searchable by meaning."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO pending_vectors (chunk_id, text_hash, vector) VALUES (?, ?, ?)",
            [(chunk.chunk_id, chunk.text_hash, chunk.vector) for chunk in embedded],
        )
        self._connection.executemany(
            "UPDATE chunks SET is_embedded = 1 WHERE id = ?", [(chunk.id,) for chunk in embedded]
        )
        self._connection.executemany("DELETE FROM refused_chunks WHERE id = ?", [(chunk.id,) for chunk in embedded])

    def put_refused(self, refused: Iterable[tuple[int, str]]) -> None:
        """Note, by row ids, which chunks the provider refuses, and why; the next run asks again."""
        self._connection.executemany("INSERT OR REPLACE INTO refused_chunks VALUES (?, ?)", refused)

    def forget_tags(self, directory: FilePath) -> None:
        """Let no text be tagged as lying below a directory; those of its points are all to be written again."""
        self._connection.execute("UPDATE files SET tagged_below = NULL WHERE tagged_below = ?", (directory,))

    def publish(self, place: VectorPlace, generation: int) -> None:
        """Name the generation that holds every vector written so far; no other store has all of them any more."""
        self._meta.forget_generations()
        self._meta.name_generation(place, generation)
        # Another text has the place of a text that is gone: the vector that was there is not that of the gone one now.
        self._connection.execute("DELETE FROM stale_points WHERE chunk_id IN (SELECT chunk_id FROM pending_vectors)")
        self._connection.execute("DELETE FROM pending_vectors")
        self._connection.execute(f"DELETE FROM stale_points WHERE {NEEDLESS}")  # noqa: S608 - made of constants

    def publish_former(self, place: VectorPlace, generation: int) -> None:
        """Name the generation of a former space that holds no vector of a text that is gone."""
        self._meta.set(FORMER + GENERATION_KEYS[place], str(generation))
        self._connection.execute(f"DELETE FROM former_points AS p WHERE {GONE_FORMER}")  # noqa: S608 - made of constants

    def forget_all(self) -> None:
        """Let every chunk wait for its vector again, and start over with no generation."""
        self._meta.forget_generations()
        self._connection.execute("DELETE FROM pending_vectors")
        self._connection.execute("DELETE FROM stale_points")
        self._connection.execute("UPDATE chunks SET is_embedded = 0 WHERE is_embedded = 1")

    def forget_published(self) -> None:
        """Let every chunk wait for its vector again whose vector only the generation held."""
        self._meta.forget_generations()
        self._connection.execute("DELETE FROM stale_points")
        self._connection.execute(
            """UPDATE chunks SET is_embedded = 0
               WHERE is_embedded = 1 AND chunk_id NOT IN (SELECT chunk_id FROM pending_vectors)"""
        )

    def forget(self, chunk_ids: Iterable[ChunkId]) -> None:
        """Let chunks wait for their vectors again."""
        self._connection.executemany(
            "UPDATE chunks SET is_embedded = 0 WHERE chunk_id = ?",
            [(lost,) for lost in chunk_ids],
        )

    def add_stale(self, chunk_ids: Iterable[ChunkId]) -> None:
        """Note points that the vector store should not hold."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO stale_points (chunk_id, text_hash) VALUES (?, x'')",
            [(unknown,) for unknown in chunk_ids],
        )


def _tags(path: FilePath, directory: FilePath, tagged_below: FilePath | None) -> tuple[FilePath, tuple[FilePath, ...]]:
    """Name the file and the directories that points are tagged with: where the text was first, if it is shared."""
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
