"""Read access to one generation of the embedded engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorHit, VectorPoint, VectorScope
from directory_indexer.vectorstore.engine import ENGINE_BATCH, batches, n_points
from directory_indexer.vectorstore.engine_points import chunk_id_in, filter_of, old_point
from directory_indexer.vectorstore.reader import GenerationReader

with lazily:
    import numpy as np
    from numpy.typing import NDArray


_OVERSAMPLING = 2.0
"""In an older generation this many times more candidates are compared by their full vectors than are requested."""

_EF = 512
"""The size of the candidate list in the graph.

Among 33,000 passages of documentation, code and PDFs, this and the engine's graph find 99.3 % of the ten nearest, and
comparing all codes 99.4 %; with half of each, 97 %, and less than half of them for some queries.
"""


class EmbeddedVectors:
    """The vectors of one generation; threads may share it."""

    def __init__(self, reader: GenerationReader, generation: int) -> None:
        self._reader = reader
        self._generation = generation

    def search(self, vector: NDArray[np.float32], *, scope: VectorScope, limit: int) -> list[VectorHit]:
        """Return the chunks in the scope that are most similar to a vector, best first.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        condition = filter_of(scope)
        params = edge.SearchParams(
            # A graph knows nothing of scopes; the vectors in one are found by the payload index.
            exact=condition is not None,
            hnsw_ef=max(_EF, limit),
            quantization=edge.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING),
        )
        return self._query(vector, condition, params, limit)

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Return the cosine similarities of a vector to those of some chunks, for chunks that have one.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        condition = edge.Filter(must=[edge.HasIdCondition({UUID(bytes=chunk_id) for chunk_id in ids})])
        exactly = edge.SearchParams(exact=True, quantization=edge.QuantizationSearchParams(ignore=True))
        return dict(self._query(vector, condition, exactly, len(ids)))

    def _query(
        self,
        vector: NDArray[np.float32],
        condition: edge.Filter | None,
        params: edge.SearchParams,
        limit: int,
    ) -> list[VectorHit]:
        request = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(vector.tolist()),
            filter=condition,
            params=params,
            with_payload=False,
        )
        with self._reader.reading(self._generation) as shard:
            points = shard.query(request) if shard else []
        return [VectorHit(chunk_id_in(point), point.score) for point in points]

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those chunks that have one, with the precision of eight bits a number.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        vectors: dict[ChunkId, NDArray[np.float32]] = {}
        for batch in batches(ids):
            point_ids: list[Any] = [UUID(bytes=chunk_id) for chunk_id in batch]
            with self._reader.reading(self._generation) as shard:
                records = shard.retrieve(point_ids, with_payload=False, with_vector=True) if shard else []
            vectors |= {chunk_id_in(record): np.array(record.vector, np.float32) for record in records}
        return vectors

    def ids(self) -> Iterator[ChunkId]:
        """Yield the ids of all chunks that have a vector.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        offset: Any = None
        while True:
            request = edge.ScrollRequest(limit=ENGINE_BATCH, offset=offset, with_payload=False, with_vector=False)
            with self._reader.reading(self._generation) as shard:
                records, offset = shard.scroll(request) if shard else ([], None)
            yield from (chunk_id_in(record) for record in records)
            if offset is None:
                return

    def count(self) -> int:
        """Count the vectors.

        Raises:
            GenerationGoneError: the generation has been discarded.
            VectorStoreError: the generation is damaged.
        """
        with self._reader.reading(self._generation) as shard:
            return n_points(shard) if shard else 0

    def points(self) -> Iterator[VectorPoint]:
        """Yield all points; only for a generation of an older version, whose payloads contain whole paths."""
        offset: Any = None
        while True:
            request = edge.ScrollRequest(limit=ENGINE_BATCH, offset=offset, with_payload=True, with_vector=True)
            with self._reader.reading(self._generation) as shard:
                records, offset = shard.scroll(request) if shard else ([], None)
            yield from map(old_point, records)
            if offset is None:
                return
