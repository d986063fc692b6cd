"""Nearest-neighbour search in the vectors of a snapshot: those of the published generation, and pending ones."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np

from directory_indexer.core.errors import GenerationGoneError
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.storage.vectors import VectorHit, VectorPlace, VectorStore

with lazily:
    from numpy.typing import NDArray

    from directory_indexer.search.scope import Scope
    from directory_indexer.storage.documents.store import Snapshot
    from directory_indexer.storage.documents.vector_sets import VectorSet


_GROWTH_FACTOR = 4


class VectorSearch:
    """Nearest-neighbour search: chunks deleted since the last merge are left out, pending ones are included."""

    def __init__(self, *, place: VectorPlace, vectorstore: Callable[[VectorSet], VectorStore]) -> None:
        self._place = place
        self._store_of = vectorstore

    def search_store(
        self, snapshot: Snapshot, vector: NDArray[np.float32], *, scope: Scope, limit: int
    ) -> list[VectorHit]:
        """Return the hits of the vector store alone; another thread may query the database meanwhile.

        While SQLite runs one query, the whole interpreter waits for the next one of the same snapshot.

        Raises:
            GenerationGoneError: the vectors of this snapshot were replaced meanwhile, or are lost.
            IndexMismatchError: the vectors are in another store.
        """
        generation = snapshot.vector_sets.answering_generation(self._place)
        if scope.is_empty or not generation:
            return []
        store = self._store_of(snapshot.vector_sets.answering())
        return store.open_generation(generation).search(vector, scope=scope.vectors, limit=limit)

    def nearest_chunks(
        self,
        snapshot: Snapshot,
        vector: NDArray[np.float32],
        *,
        scope: Scope,
        limit: int,
        hits: list[VectorHit] | None = None,
    ) -> list[VectorHit]:
        """Return the `limit` nearest chunks in the scope, or all there are, nearest first.

        `hits` is the result of `search_store` for the same arguments, if it was called before.

        Raises:
            GenerationGoneError: the vectors of this snapshot were replaced meanwhile, or are lost.
            IndexMismatchError: the vectors are in another store.
        """
        if scope.is_empty:
            return []
        if hits is None:
            hits = self.search_store(snapshot, vector, scope=scope, limit=limit)
        nearest = self._nearest_published(snapshot, vector, hits, scope=scope, limit=limit)
        nearest += self._nearest_pending(snapshot, vector, scope=scope, limit=limit)
        return heapq.nlargest(limit, nearest, key=lambda hit: (hit.score, hit.chunk_id))

    def vectors(self, snapshot: Snapshot, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those chunks that have one."""
        pending, current = self._split_pending_and_published(snapshot, chunk_ids)
        store = self._store_of(snapshot.vector_sets.answering())
        generation = snapshot.vector_sets.answering_generation(self._place)
        stored = store.open_generation(generation).vectors(current) if current else {}
        return stored | {chunk_id: np.frombuffer(raw, np.float32) for chunk_id, raw in pending.items()}

    def cosines(
        self, snapshot: Snapshot, vector: NDArray[np.float32], chunk_ids: Sequence[ChunkId]
    ) -> dict[ChunkId, float]:
        """Return the cosine similarities of those chunks that have a vector."""
        pending, current = self._split_pending_and_published(snapshot, chunk_ids)
        store = self._store_of(snapshot.vector_sets.answering())
        generation = snapshot.vector_sets.answering_generation(self._place)
        stored = store.open_generation(generation).cosines(vector, current) if current else {}
        return stored | {chunk_id: float(np.frombuffer(raw, np.float32) @ vector) for chunk_id, raw in pending.items()}

    def _split_pending_and_published(
        self, snapshot: Snapshot, chunk_ids: Sequence[ChunkId]
    ) -> tuple[dict[ChunkId, bytes], list[ChunkId]]:
        """Split chunks into those whose vectors are pending, with the vectors, and those in the generation."""
        pending = {} if snapshot.vector_sets.is_switching else snapshot.vectors.pending_of(chunk_ids)
        rest = [chunk_id for chunk_id in chunk_ids if chunk_id not in pending]
        return pending, sorted(snapshot.vectors.current_points(rest, None))

    def _nearest_published(
        self, snapshot: Snapshot, vector: NDArray[np.float32], hits: list[VectorHit], *, scope: Scope, limit: int
    ) -> list[VectorHit]:
        """Search deeper until enough of the hits are chunks that are in the index."""
        depth = limit
        while snapshot.vector_sets.answering_generation(self._place):
            current = snapshot.vectors.current_points([hit.chunk_id for hit in hits], scope.holder_ids)
            valid = [hit for hit in hits if hit.chunk_id in current]
            if not hits and snapshot.vectors.has_current_points(scope.holder_ids_json):
                raise GenerationGoneError("Qdrant returned nothing although it should hold passages")
            if len(valid) >= limit or len(hits) < depth:
                return valid
            depth *= _GROWTH_FACTOR
            hits = self.search_store(snapshot, vector, scope=scope, limit=depth)
        return []

    def _nearest_pending(
        self, snapshot: Snapshot, vector: NDArray[np.float32], *, scope: Scope, limit: int
    ) -> list[VectorHit]:
        pending = snapshot.vectors.pending()
        if not pending.chunk_ids:
            return []
        scores = np.frombuffer(pending.values, np.float32).reshape(len(pending.chunk_ids), -1) @ vector
        if scope.holder_ids is not None:
            scores[[file_id not in scope.holder_ids for file_id in pending.file_ids]] = -np.inf
        lowest = np.partition(scores, -limit)[-limit] if limit < scores.size else -np.inf
        indices = np.flatnonzero((scores >= lowest) & (scores > -np.inf))
        return [VectorHit(pending.chunk_ids[at], float(scores[at])) for at in indices]
