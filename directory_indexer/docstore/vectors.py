"""What one moment of the index knows of its vectors: where they are, which wait to go there, and which to be made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from directory_indexer.chunker.chunks import embedding_text
from directory_indexer.docstore.reading import (
    CHUNK_COLUMNS,
    CHUNK_TABLES,
    IndexedChunk,
    Reading,
    batches,
    indexed_chunk,
    marks,
)
from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.errors import IndexMismatchError
from directory_indexer.ids import ChunkId, ContentHash, chunk_id_bytes, chunk_id_from_bytes
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore import VectorPlace, VectorPoint

with lazily:
    import numpy as np
    from numpy.typing import NDArray


GENERATION_KEYS = {VectorPlace.EMBEDDED: "generation", VectorPlace.SERVER: "generation_on_server"}
"""Under which key each vector store's generation is remembered; both hold the same vectors where both are named."""

NEEDLESS = "text_hash NOT IN (SELECT text_hash FROM chunks WHERE is_embedded = 0)"
"""The condition over stale points that no text waits for the vector of."""

_PENDING_VECTORS = "pending_vectors"
_MOST_REMEMBERED = 8_000_000
"""So many bytes of vectors stay with each of a few connections."""

_CUT_OFF = """
    UNION SELECT p.chunk_id FROM pending_vectors p LEFT JOIN chunks c ON c.chunk_id = p.chunk_id
    WHERE coalesce(c.is_embedded, 0) = 0
"""
"""Pending vectors whose texts are gone: a merge that was cut off may have brought them to the store."""

FORMER = "former_"
"""Begins the keys of what answers until a switch to another space is complete."""

_PENDING = "pending_vectors p CROSS JOIN chunks c ON c.chunk_id = p.chunk_id AND c.is_embedded = 1"
"""Vectors that no generation holds yet, with their chunks. Left to itself, SQLite goes through all chunks instead of
the few pending vectors: 80 ms of every search at 100 000 chunks."""

_CURRENT = """c.is_embedded = 1
    AND NOT EXISTS (SELECT 1 FROM pending_vectors p WHERE p.chunk_id = c.chunk_id)"""
GONE_FORMER = "NOT EXISTS (SELECT 1 FROM chunks c WHERE c.chunk_id = p.chunk_id AND c.text_hash = p.text_hash)"
_FORMER = "EXISTS (SELECT 1 FROM former_points p WHERE p.chunk_id = c.chunk_id AND p.text_hash = c.text_hash)"

_WHERE = {VectorPlace.EMBEDDED: "in the embedded engine", VectorPlace.SERVER: "on a Qdrant server"}
_MOVE = {
    VectorPlace.EMBEDDED: "dirindex migrate --to-embedded copies them, dirindex index --yes makes them again",
    VectorPlace.SERVER: "dirindex migrate --to-server URL copies them, dirindex index --yes makes them again",
}


class VectorLine(NamedTuple):
    """Vectors of one space in one collection: `space` is None while there are none yet.

    `suffix` is what the name of the collection has behind the configured one; it is empty for the first line.
    """

    space: EmbeddingSpace | None = None
    suffix: str = ""


class PendingChunk(NamedTuple):
    """A chunk that is searchable by words and waits for its vector."""

    id: int
    chunk_id: ChunkId
    path: FilePath
    ordinal: int
    text_hash: ContentHash
    embedding_text: str


class EmbeddedChunk(NamedTuple):
    """A chunk's vector, as float32 values in native byte order."""

    id: int
    chunk_id: ChunkId
    text_hash: ContentHash
    vector: bytes


class PendingVectors(NamedTuple):
    """Vectors that wait to be merged: of each its chunk, the id of its file, and its float32 values, row after row."""

    chunk_ids: tuple[ChunkId, ...]
    file_ids: tuple[int, ...]
    values: bytes


class KnownVectors(Reading):
    """The vectors of one moment: lines, generations, what is pending, stale, and still to embed."""

    def line(self) -> VectorLine:
        """Tell which vectors runs add to."""
        space = self.meta("space")
        return VectorLine(_space_from_json(space) if space else None, self.meta("suffix") or "")

    def former_line(self) -> VectorLine | None:
        """Tell which vectors answer until those of another space are complete; None unless a switch is under way."""
        former = self.meta("former_space")
        return VectorLine(_space_from_json(former), self.meta("former_suffix") or "") if former else None

    def left_line(self) -> VectorLine | None:
        """Tell which vectors answered before the last switch: somebody may have read them when they were dropped."""
        suffix = self.meta("left_suffix")
        return None if suffix is None or suffix == self.line().suffix else VectorLine(suffix=suffix)

    def answering_line(self) -> VectorLine:
        """Tell which vectors answer searches."""
        return self.former_line() or self.line()

    def generation(self, place: VectorPlace) -> int:
        """Name the generation in a vector store that belongs to this moment and takes new vectors; 0 is the empty one.

        Raises:
            IndexMismatchError: the vectors are in another store.
        """
        return _generation(self.generations(), place)

    def answering_generation(self, place: VectorPlace) -> int:
        """Name the generation in a vector store that answers searches; 0 is the empty one.

        Raises:
            IndexMismatchError: the vectors are in another store.
        """
        return _generation(self._generations(FORMER if self.former_line() else ""), place)

    def generations(self) -> dict[VectorPlace, int]:
        """Name the generation in each vector store that holds the vectors of this moment; none for an empty index."""
        return self._generations("")

    def _generations(self, prefix: str) -> dict[VectorPlace, int]:
        named = {place: int(self.meta(prefix + key) or 0) for place, key in GENERATION_KEYS.items()}
        return {place: generation for place, generation in named.items() if generation}

    def pending(self) -> PendingVectors:
        """Give the vectors that answer and that no generation holds yet; they are remembered unless they are large."""
        if known := self._known.get(_PENDING_VECTORS):
            return cast("PendingVectors", known)
        pending = self._read_pending()
        if len(pending.values) <= _MOST_REMEMBERED:
            self._known[_PENDING_VECTORS] = pending
        return pending

    def _read_pending(self) -> PendingVectors:
        if self.is_switching:
            return PendingVectors((), (), b"")
        rows = self._connection.execute(f"SELECT p.chunk_id, c.file_id, p.vector FROM {_PENDING}").fetchall()  # noqa: S608
        return PendingVectors(
            tuple(chunk_id_from_bytes(row[0]) for row in rows),
            tuple(row[1] for row in rows),
            b"".join(row[2] for row in rows),
        )

    def pending_of(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, bytes]:
        """Give those of the chunks' vectors that no generation holds yet."""
        found: dict[ChunkId, bytes] = {}
        for batch in batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"SELECT p.chunk_id, p.vector FROM {_PENDING} WHERE p.chunk_id IN ({marks(batch)})",  # noqa: S608
                batch,
            )
            found.update((chunk_id_from_bytes(chunk_id), vector) for chunk_id, vector in rows)
        return found

    @property
    def is_switching(self) -> bool:
        """Tell whether vectors of a former space answer until those of another are complete."""
        return self.meta("former_space") is not None

    @property
    def _answers(self) -> str:
        """The SQL condition over `chunks c` for those whose point in the answering generation is of their text."""
        return _FORMER if self.is_switching else _CURRENT

    def count_refused(self) -> int:
        """Count the chunks whose texts the provider refuses."""
        return self._count("SELECT count(*) FROM refused_chunks")

    def count_pending(self) -> int:
        """Count the vectors that no generation holds yet."""
        return self._count("SELECT count(*) FROM pending_vectors")

    def count_stored(self) -> int:
        """Count the vectors that the generation must hold, those of texts that are gone among them."""
        n_pending = self._count(f"SELECT count(*) FROM {_PENDING}")  # noqa: S608
        return self.n_chunks - self.count_chunks_to_embed() - n_pending + self.count_stale_points()

    def count_stale_points(self) -> int:
        """Count the points of the generation that belong to texts that are gone."""
        return self._count("SELECT count(*) FROM stale_points")

    def pending_points(self) -> Iterator[VectorPoint]:
        """Give the vectors that no generation holds yet as the vector store wants them."""
        rows = self._connection.execute(
            f"""SELECT p.chunk_id, f.path, d.path, p.vector FROM {_PENDING}
                JOIN files f ON f.id = c.file_id JOIN directories d ON d.id = f.directory_id"""  # noqa: S608
        )
        for chunk_id, path, directory, vector in rows:
            yield VectorPoint(chunk_id_from_bytes(chunk_id), path, _parents(path, directory), vector)

    def points(self, vectors: Mapping[ChunkId, NDArray[np.float32]]) -> list[VectorPoint]:
        """Give vectors with the places of their chunks, as a vector store wants them."""
        points: list[VectorPoint] = []
        for batch in batches([chunk_id_bytes(chunk_id) for chunk_id in vectors]):
            rows = self._connection.execute(
                f"""SELECT c.chunk_id, f.path, d.path FROM chunks c JOIN files f ON f.id = c.file_id
                    JOIN directories d ON d.id = f.directory_id WHERE c.chunk_id IN ({marks(batch)})""",  # noqa: S608
                batch,
            )
            for raw, path, directory in rows:
                chunk_id = chunk_id_from_bytes(raw)
                points.append(VectorPoint(chunk_id, path, _parents(path, directory), vectors[chunk_id].tobytes()))
        return points

    def stale_points(self) -> list[ChunkId]:
        """List the points that belong to texts that are gone."""
        return self._chunk_ids(f"SELECT chunk_id FROM stale_points {_CUT_OFF}")  # noqa: S608 - made of constants

    def needless_points(self) -> list[ChunkId]:
        """List the stale points but for those whose vectors are still to be reused: their texts wait for vectors."""
        return self._chunk_ids(f"SELECT chunk_id FROM stale_points WHERE {NEEDLESS} {_CUT_OFF}")  # noqa: S608

    def count_needless_points(self) -> int:
        """Count the stale points whose vectors are not to be reused."""
        return self._count(f"SELECT count(*) FROM stale_points WHERE {NEEDLESS}")  # noqa: S608 - made of constants

    def gone_former_points(self) -> list[ChunkId]:
        """List the points of a former space whose texts are gone."""
        return self._chunk_ids(f"SELECT chunk_id FROM former_points p WHERE {GONE_FORMER} {_CUT_OFF}")  # noqa: S608

    def chunks_to_embed(self, *, after: int, limit: int) -> list[PendingChunk]:
        """List chunks without a vector in the order of their row ids, from beyond `after`."""
        rows = self._connection.execute(
            f"SELECT {CHUNK_COLUMNS}, c.text_hash FROM {CHUNK_TABLES}"  # noqa: S608
            " WHERE c.is_embedded = 0 AND c.id > ? ORDER BY c.id LIMIT ?",
            (after, limit),
        )
        return [_pending_chunk(indexed_chunk(row), row[-1]) for row in rows]

    def count_tokens(self, *, waiting_only: bool) -> int:
        """Add up the tokens of all chunks, or of those without a vector."""
        condition = "is_embedded = 0" if waiting_only else "1"
        return self._count(f"SELECT coalesce(sum(n_tokens), 0) FROM chunks WHERE {condition}")  # noqa: S608

    def count_chunks_to_embed(self) -> int:
        """Count the chunks without a vector."""
        return self._once("n_chunks_to_embed", lambda: self._count("SELECT count(*) FROM chunks WHERE is_embedded = 0"))

    def embedded_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, ChunkId]:
        """Find, for texts, a chunk in the generation that was embedded from the very same text."""
        twins: dict[ContentHash, ChunkId] = {}
        for batch in batches(text_hashes):
            wanted = marks(batch)
            rows = self._connection.execute(
                f"""SELECT text_hash, chunk_id FROM stale_points WHERE text_hash IN ({wanted})
                    UNION ALL SELECT text_hash, chunk_id FROM chunks
                    WHERE is_embedded = 1 AND text_hash IN ({wanted})""",  # noqa: S608
                [*batch, *batch],
            )
            twins.update((digest, chunk_id_from_bytes(chunk_id)) for digest, chunk_id in rows)
        return twins

    def pending_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, bytes]:
        """Find, for texts, vectors of the very same text that no generation holds yet."""
        twins: dict[ContentHash, bytes] = {}
        for batch in batches(text_hashes):
            rows = self._connection.execute(
                f"SELECT text_hash, vector FROM pending_vectors WHERE text_hash IN ({marks(batch)})",  # noqa: S608
                batch,
            )
            twins.update(rows)
        return twins

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

    def embedded_chunk_ids(self) -> set[ChunkId]:
        """Give every chunk whose vector the current generation must hold."""
        rows = self._connection.execute(
            "SELECT chunk_id FROM chunks WHERE is_embedded = 1 EXCEPT SELECT chunk_id FROM pending_vectors"
        )
        return {chunk_id_from_bytes(row[0]) for row in rows}

    def current_points(self, chunk_ids: Sequence[ChunkId], file_ids: frozenset[int] | None) -> set[ChunkId]:
        """Tell which points of the generation are vectors of texts that are in the index now.

        If files are given, the text must belong to one of them. A chunk with a pending vector does not count: its
        point may stem from another text that had the same place.
        """
        current: set[ChunkId] = set()
        for batch in batches([chunk_id_bytes(chunk_id) for chunk_id in chunk_ids]):
            rows = self._connection.execute(
                f"SELECT chunk_id, file_id FROM chunks c WHERE chunk_id IN ({marks(batch)}) AND {self._answers}",  # noqa: S608
                batch,
            )
            current.update(chunk_id_from_bytes(row[0]) for row in rows if file_ids is None or row[1] in file_ids)
        return current

    def _chunk_ids(self, query: str) -> list[ChunkId]:
        return [chunk_id_from_bytes(row[0]) for row in self._connection.execute(query)]


def _space_from_json(text: str) -> EmbeddingSpace:
    """Read a remembered space."""
    return EmbeddingSpace(**json.loads(text))


def _generation(generations: dict[VectorPlace, int], place: VectorPlace) -> int:
    if generations and place not in generations:
        raise IndexMismatchError(
            f"the vectors of the index are {_WHERE[next(iter(generations))]}, the configuration looks for them "
            f"{_WHERE[place]}",
            hint=_MOVE[place],
        )
    return generations.get(place, 0)


def _pending_chunk(stored: IndexedChunk, text_hash: object) -> PendingChunk:
    return PendingChunk(
        id=stored.id,
        chunk_id=stored.chunk_id,
        path=stored.path,
        ordinal=stored.chunk.ordinal,
        text_hash=ContentHash(text_hash),  # type: ignore[arg-type]
        embedding_text=embedding_text(stored.chunk, stored.path),
    )


def _parents(path: str, directory: str) -> tuple[FilePath, ...]:
    parents = [FilePath(directory)]
    end = path.find(os.sep, len(directory.rstrip(os.sep)) + 1)
    while end != -1:
        parents.append(FilePath(path[:end]))
        end = path.find(os.sep, end + 1)
    return tuple(parents)
