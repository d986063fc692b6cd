"""Chunks that wait for a vector: found by their static vectors, and embedded during the search.

The most promising come first. Their vectors serve every later search. The newest chunks have no static vector until a
run makes it; they get one here, or are all candidates in an index without static vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from directory_indexer.core.ids import ChunkId, ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.embedding.model_files import READABLE_STATIC_TABLES
from directory_indexer.embedding.static_table import (
    CODE_BYTES,
    StaticModel,
    nearest_codes,
    parse_static_model,
    static_similarities,
)
from directory_indexer.search.scope import Scope
from directory_indexer.storage.databases.stored_values import DamagedValueError, parse_stored
from directory_indexer.storage.documents.embedding_queue import StaticCodes, WaitingChunk
from directory_indexer.storage.documents.store import Snapshot

with lazily:
    from numpy.typing import NDArray

    from directory_indexer.embedding.models import PACKAGED_MODEL
    from directory_indexer.search.retrieval import QueryEmbedding


_STATIC_OVERSAMPLING: Final = 3
"""Recall among 40 by static vectors is .73 on seven sets, among 120 .84."""

_N_BEST_EMBEDDED: Final = 40
"""None of so many candidates should lack a vector; if so many have one, others are not worth the time."""

_N_NEWEST: Final = 40
"""As many as are embedded in half a second."""

_N_CACHED_IF_REPEATED: Final = 16
"""If the first candidates all have a vector, a similar query was answered before, and no time is spent on more."""

_KEYWORD_WEIGHT: Final = 0.15
"""The weight of the best keyword match relative to a static similarity, which is 0.35 for the best.

With the 15 most promising embedded, the mean nDCG@10 of six sets is .573 with 0.5 and .596 with 0.15; with the 30 most
promising of five, .656 and .659.
"""


class WaitingCandidates:
    """The candidates of one query that wait for a vector; embedding some takes the time that is allowed."""

    def __init__(self, snapshot: Snapshot, scope: Scope, meaning: QueryEmbedding) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._meaning = meaning
        self._embedder = meaning.allowance.embedder

    def cosines(self, keyword_scores: Mapping[ChunkId, float], depth: int) -> dict[ChunkId, float]:
        """Return the cosines of waiting chunks: those found by words, and those near by static vectors.

        The `depth` of the retrieval sizes the pool of the latter, and limits nothing else: of both, the most promising
        are embedded first, as many as there is time for.
        """
        by_words = self._snapshot.embedding_queue.without_vector(keyword_scores)
        promising = self._most_promising_first(by_words, keyword_scores, depth)
        vectors = self._vectors([chunk for chunk in promising if chunk.embedding_text])
        self._embedder.embedded.update(chunk.chunk_id for chunk in promising if chunk.text_hash in vectors)
        self._embedder.not_embedded.update(chunk.chunk_id for chunk in by_words if chunk.text_hash not in vectors)
        return {
            chunk.chunk_id: float(np.frombuffer(vectors[chunk.text_hash], np.float32) @ self._meaning.vector)
            for chunk in promising
            if chunk.text_hash in vectors
        }

    def _most_promising_first(
        self, by_words: Sequence[WaitingChunk], keyword_scores: Mapping[ChunkId, float], depth: int
    ) -> list[WaitingChunk]:
        """Merge the chunks found by words with those near by static vectors, the most promising first."""
        static = StaticCandidates(self._snapshot, self._scope, self._meaning)
        near = self._snapshot.embedding_queue.chunks(static.nearest(_STATIC_OVERSAMPLING * depth))
        chunks = list({chunk.chunk_id: chunk for chunk in (*by_words, *near)}.values())
        similarities = static.similarities([chunk.id for chunk in chunks])
        best = max(keyword_scores.values(), default=0.0) or 1.0
        promise = {
            chunk.chunk_id: similarity + _KEYWORD_WEIGHT * keyword_scores.get(chunk.chunk_id, 0.0) / best
            for chunk, similarity in zip(chunks, similarities, strict=True)
        }
        return sorted(chunks, key=lambda chunk: promise[chunk.chunk_id], reverse=True)

    def _vectors(self, chunks: Sequence[WaitingChunk]) -> dict[ContentHash, bytes]:
        """Return the cached vectors of these chunks, and embed those that are worth the time."""
        texts = {chunk.text_hash: chunk.embedding_text for chunk in chunks}
        hashes = list(texts)
        cached = self._snapshot.search_vectors.of_texts(
            self._meaning.embedder.space.name, hashes, dimensions=self._meaning.vector.size
        )
        if not cached.keys() >= set(hashes[:_N_CACHED_IF_REPEATED]):
            hashes_to_embed = hashes if len(cached) < _N_BEST_EMBEDDED else hashes[:_N_BEST_EMBEDDED]
            missing = {digest: texts[digest] for digest in hashes_to_embed if digest not in cached}
            self._embedder.embed(missing, self._meaning.embedder, share=self._meaning.allowance.share)
        return cached | self._embedder.made


_GROWTH_FACTOR: Final = 4


class StaticCandidates:
    """Chunks near one query by static vectors."""

    def __init__(self, snapshot: Snapshot, scope: Scope, meaning: QueryEmbedding) -> None:
        self._snapshot = snapshot
        self._queue = snapshot.embedding_queue
        self._scope = scope
        self._meaning = meaning

    def nearest(self, limit: int) -> list[int]:
        """Return the rows of the nearest waiting chunks in the scope, nearest first."""
        if self._scope.is_empty:
            return []
        if self._model is None:
            newest = self._queue.newest_waiting_rows(_N_NEWEST)
            return self._queue.keep_waiting_rows(newest, self._scope.holder_ids)[:limit]
        rows, codes = self._blocks
        if self._scope.rows is not None:
            first, last = self._scope.rows
            lies_between = (rows >= first) & (rows <= last)
            rows, codes = rows[lies_between], codes[lies_between]
        depth = limit
        while True:
            nearest = rows[nearest_codes(codes, self._vector, depth)].tolist()
            waiting = self._queue.keep_waiting_rows(nearest, self._scope.holder_ids)
            if len(waiting) >= limit or len(nearest) < depth:
                return waiting[:limit]
            depth *= _GROWTH_FACTOR

    def similarities(self, rows: Sequence[int]) -> list[float]:
        """Return the similarities of these chunks, from -1 to 1; 0 for those without a static vector."""
        known, codes = self._blocks
        if not known.size:
            return [0.0] * len(rows)
        order = np.argsort(known, kind="stable")
        indices = order[np.minimum(np.searchsorted(known, rows, sorter=order), known.size - 1)]
        values = np.where(known[indices] == rows, static_similarities(codes[indices], self._vector), 0.0)
        return [float(value) for value in values]

    @cached_property
    def _blocks(self) -> StaticCodes:
        if self._model is None:
            return StaticCodes(np.empty(0, np.int64), np.empty((0, CODE_BYTES), np.uint8))
        blocks = self._snapshot.static_vectors.all()
        if blocks.rows.size and blocks.codes.shape[1] != CODE_BYTES:
            raise DamagedValueError("static_vectors.codes")
        newest = np.array(self._queue.newest_waiting_rows(_N_NEWEST), np.int64)
        texts = self._queue.texts(newest[~np.isin(newest, blocks.rows)].tolist())
        if not texts:
            return blocks
        codes = [blocks.codes.reshape(-1, CODE_BYTES), self._model.codes([*texts.values()])]
        return StaticCodes(np.concatenate([blocks.rows, [*texts]]), np.concatenate(codes))

    @cached_property
    def _vector(self) -> NDArray[np.float32]:
        """The query's vector by the packaged model if the static vectors were trained on it, or its static vector."""
        assert self._model is not None  # noqa: S101 - only called where there are static vectors
        model_mean = self._model.model_mean
        if model_mean is not None and self._meaning.embedder.space == PACKAGED_MODEL.space:
            return self._meaning.vector - model_mean
        vector: NDArray[np.float32] = self._model.vectors([self._meaning.text])[0]
        return vector

    @cached_property
    def _model(self) -> StaticModel | None:
        stored = self._snapshot.static_vectors.model()
        if stored is None or stored.version not in READABLE_STATIC_TABLES:
            return None
        return parse_stored(
            "static_model", lambda made: parse_static_model(made.weights, made.means, made.own_rows), stored
        )
