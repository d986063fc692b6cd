"""The embedded vector store: Qdrant's engine in this process, over files that only this user can read.

Every published generation is immutable: the engine allows no second opener beside a writer, but any number of openers
of a directory that nobody writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from directory_indexer.core.batching import batched
from directory_indexer.core.errors import VectorsLostError
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.storage.vectors import VectorHit, VectorPlace, VectorPoint, VectorScope
from directory_indexer.storage.vectors.engine import (
    CODES_FILE,
    ENGINE_BATCH_POINTS,
    EngineShape,
    GenerationReader,
    chunk_id_in,
    n_points,
    parse_old_point,
    scope_filter,
    translated_errors,
    write_draft,
)
from directory_indexer.storage.vectors.generations import Generations

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.core.notes import Finding, Verdict

_IMMUTABLE_FILES = frozenset({CODES_FILE, "point_to_values.bin", "values_to_points.bin", "links_compressed.bin"})
"""The large files that the engine opens read-only, or replaces as a whole."""

_FORMAT_MARK = b'"datatype":"turbo8"'
"""Occurs in the configuration of a generation whose vectors are codes only; older ones have full vectors, too."""


class EmbeddedVectorStore:
    """The vectors of one index in a directory; threads may share it."""

    place = VectorPlace.EMBEDDED

    merge_at = 4096
    """Pending vectors are compared one by one: 4096 cost a cold search about 5 ms, and a merge about a second."""

    min_pending_to_merge = 1024
    """Keeps the transaction of an edited file small."""

    graph_from_kb = 20_000
    max_segment_kb = 40_000
    """Limits of segments: the size from which a graph is built, and the largest segment.

    New vectors are compared one by one up to some 50,000; then they get a graph, in which a search visits hundreds
    instead. It is built together with that of the last segment until that has some 100,000, which takes half a minute
    of processor time at most, however large the index is: 0.4 ms a vector, where embedding one takes 20.
    """

    def __init__(self, generations: Generations, *, dimensions: int) -> None:
        self._generations = generations
        self._dimensions = dimensions
        self._reader = GenerationReader(generations)

    def prepare(self, generation: int) -> None:
        """Do nothing: the engine is always available."""

    def open_generation(self, generation: int) -> EmbeddedVectors:
        """Return read access to a generation."""
        return EmbeddedVectors(self._reader, generation)

    def require_complete(self, generation: int, *, n_vectors: int) -> None:
        """Check, without opening the engine, that a generation exists and was published with `n_vectors` vectors.

        Raises:
            VectorsLostError: it is missing, damaged, or belongs to another state of the database.
        """
        if generation and (n_found := self._generations.files(generation).n_vectors()) != n_vectors:
            raise VectorsLostError(f"Qdrant holds {n_found:,} passages, and the database names {n_vectors:,}")

    def require_intact(self, generation: int) -> None:
        """Read a generation, and check that every byte is as published.

        Raises:
            VectorsLostError: it is missing or damaged.
        """
        if generation:
            self._generations.require_intact(generation)

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Publish a generation made from another one, without `deletes` and then with `upserts`; return its number.

        It is durable on return, and unused until the database names it. Work is done in batches, but some calls of
        the engine take seconds during which no other thread of this process runs. Open generations are closed
        meanwhile unless a search needs them: they map the files with the ids of all vectors, 44 bytes each, as does the
        draft. A generation of an older version is rewritten in the current format.

        Raises:
            VectorStoreError: the given generation is damaged, or the new one cannot be written.
        """
        if generation and _FORMAT_MARK not in self._generations.files(generation).content("edge_config.json"):
            self._generations.require_space(generation)
            deleted = frozenset(deletes)
            remaining = (point for point in self.open_generation(generation).points() if point.chunk_id not in deleted)
            return self.merge(0, deletes=(), upserts=chain(remaining, upserts))
        self.close()
        shape = EngineShape(self._dimensions, self.graph_from_kb, self.max_segment_kb)
        with translated_errors("write vectors"), self._generations.draft(generation, linked=_IMMUTABLE_FILES) as draft:
            n_vectors = write_draft(draft, shape, is_new=not generation, deletes=deletes, upserts=upserts)
            return self._generations.publish(draft, n_vectors=n_vectors)

    def discard_others(self, generation: int) -> None:
        """Remove leftovers of crashes, and all other generations that are not being read."""
        self._reader.discard_others(generation)

    def health(self) -> Finding:
        """Return the size of the files."""
        n_bytes = self._generations.size_bytes()
        content = f"{n_bytes / 1e6:,.1f} MB" if n_bytes else "no files yet; the database keeps the first passages"
        return Finding("Qdrant", Verdict.OK, f"the embedded engine keeps {content}")

    def clear(self) -> None:
        """Remove every generation that is not being read."""
        self.close()
        self.discard_others(0)

    def close(self) -> None:
        """Close files; calling it twice is harmless, and a later call opens the store again.

        It waits some 10 ms for the disk, and empties the page cache. A process that has nothing else to
        close may end by `os._exit` instead, which loses nothing.
        """
        self._reader.close()


_OVERSAMPLING = 2.0
"""In an older generation this many times more candidates are compared by their full vectors than are requested."""

_SEARCH_EF = 512
"""The size of the candidate list in the graph.

Among 33,000 passages of documentation, code and PDFs, this and the engine's graph find 99.3 % of the ten nearest, and
comparing all codes 99.4 %; with half of each, 97 %, and less than half of them for some queries.
"""


class EmbeddedVectors:
    """The vectors of one generation; threads may share it.

    Raises:
        GenerationGoneError: from every query, when the generation has been discarded.
        VectorStoreError: from every query, when the generation is damaged.
    """

    def __init__(self, reader: GenerationReader, generation: int) -> None:
        self._reader = reader
        self._generation = generation

    def search(self, vector: NDArray[np.float32], *, scope: VectorScope, limit: int) -> list[VectorHit]:
        """Return the chunks in the scope that are most similar to a vector, best first."""
        condition = scope_filter(scope)
        params = edge.SearchParams(
            # A graph knows nothing of scopes; the vectors in one are found by the payload index.
            exact=condition is not None,
            hnsw_ef=max(_SEARCH_EF, limit),
            quantization=edge.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING),
        )
        return self._query(vector, condition, params, limit)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Return the cosine similarities of a vector to those of some chunks, for chunks that have one."""
        condition = edge.Filter(must=[edge.HasIdCondition({UUID(bytes=chunk_id) for chunk_id in ids})])
        exactly = edge.SearchParams(exact=True, quantization=edge.QuantizationSearchParams(ignore=True))
        return dict(self._query(vector, condition, exactly, len(ids)))

    def _query(
        self, vector: NDArray[np.float32], condition: edge.Filter | None, params: edge.SearchParams, limit: int
    ) -> list[VectorHit]:
        request = edge.QueryRequest(
            limit=limit, query=edge.Query.Nearest(vector.tolist()), filter=condition, params=params, with_payload=False
        )
        with self._reader.reading(self._generation) as shard:
            points = shard.query(request) if shard else []
        return [VectorHit(chunk_id_in(point), point.score) for point in points]

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those chunks that have one, with the precision of eight bits a number."""
        vectors: dict[ChunkId, NDArray[np.float32]] = {}
        for batch in batched(ids, ENGINE_BATCH_POINTS):
            point_ids: list[Any] = [UUID(bytes=chunk_id) for chunk_id in batch]
            with self._reader.reading(self._generation) as shard:
                records = shard.retrieve(point_ids, with_payload=False, with_vector=True) if shard else []
            vectors |= {chunk_id_in(record): np.array(record.vector, np.float32) for record in records}
        return vectors

    def ids(self) -> Iterator[ChunkId]:
        """Yield the ids of all chunks that have a vector."""
        return map(chunk_id_in, self._scroll(is_whole=False))

    def count(self) -> int:
        """Count the vectors."""
        with self._reader.reading(self._generation) as shard:
            return n_points(shard) if shard else 0

    def points(self) -> Iterator[VectorPoint]:
        """Yield all points; only for a generation of an older version, whose payloads contain whole paths."""
        return map(parse_old_point, self._scroll(is_whole=True))

    def _scroll(self, *, is_whole: bool) -> Iterator[edge.Record]:
        offset: Any = None
        while True:
            request = edge.ScrollRequest(
                limit=ENGINE_BATCH_POINTS, offset=offset, with_payload=is_whole, with_vector=is_whole
            )
            with self._reader.reading(self._generation) as shard:
                records, offset = shard.scroll(request) if shard else ([], None)
            yield from records
            if offset is None:
                return
