"""Chunks that wait for a vector: found by their static vectors, and embedded while the question is asked.

The most promising come first. What was made serves every later search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from directory_indexer.docstore.embedding_queue import PendingChunk
from directory_indexer.docstore.store import Snapshot
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.searching.scope import Scope
from directory_indexer.searching.static_candidates import StaticCandidates

with lazily:
    from directory_indexer.searching.inquiry import Meaning


_STATIC: Final = 3
"""Of the passages that answer, 40 candidates by static vectors hold .61 on five sets, 80 hold .69 and 120 hold .72."""

_BEST: Final = 40
"""Of so many candidates none should be without a vector; where so many have one, others are worth no more time."""

_SETTLED: Final = 16
"""Where the first ones all have a vector, much the same was asked before, and this search takes no time for more."""

_WORDS: Final = 0.5
"""What the best match of words counts beside a static similarity, which is 0.35 for the best."""


class OnDemandEmbedding:
    """The candidates of one query that wait for a vector; making some takes the time that is allowed."""

    def __init__(self, snapshot: Snapshot, scope: Scope, meaning: Meaning) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._meaning = meaning
        self._making = meaning.allowance.making

    def cosines(self, found: Mapping[ChunkId, float], limit: int) -> dict[ChunkId, float]:
        """Give the cosines of those of the chunks `found` by words that wait, and of those near by static vectors.

        Of the latter, several times the `limit` are worth a look; who has little time takes the best of both alone.
        """
        by_words = self._snapshot.embedding_queue.waiting(found)
        promising = self._in_order(by_words, found, limit)
        vectors = self._vectors([chunk for chunk in promising if chunk.embedding_text])
        self._making.judged.update(chunk.chunk_id for chunk in promising if chunk.text_hash in vectors)
        self._making.unjudged.update(chunk.chunk_id for chunk in by_words if chunk.text_hash not in vectors)
        return {
            chunk.chunk_id: float(np.frombuffer(vectors[chunk.text_hash], np.float32) @ self._meaning.vector)
            for chunk in promising
            if chunk.text_hash in vectors
        }

    def _in_order(
        self, by_words: Sequence[PendingChunk], found: Mapping[ChunkId, float], limit: int
    ) -> list[PendingChunk]:
        """Put those found by words and those near by static vectors into one order, the most promising first."""
        static = StaticCandidates(self._snapshot, self._scope, self._meaning.text)
        near = self._snapshot.embedding_queue.chunks(static.nearest(_STATIC * limit))
        chunks = list({chunk.chunk_id: chunk for chunk in (*by_words, *near)}.values())
        similarities = static.similarities([chunk.id for chunk in chunks])
        best = max(found.values(), default=0.0) or 1.0
        promise = {
            chunk.chunk_id: similarity + _WORDS * found.get(chunk.chunk_id, 0.0) / best
            for chunk, similarity in zip(chunks, similarities, strict=True)
        }
        return sorted(chunks, key=lambda chunk: promise[chunk.chunk_id], reverse=True)

    def _vectors(self, chunks: Sequence[PendingChunk]) -> dict[ContentHash, bytes]:
        """Give the vectors that were made of these chunks before, and make those that are worth the time."""
        texts = {chunk.text_hash: chunk.embedding_text for chunk in chunks}
        hashes = list(texts)
        kept = self._snapshot.search_vectors.of_texts(
            self._meaning.embedder.space.name, hashes, dimensions=self._meaning.vector.size
        )
        if not kept.keys() >= set(hashes[:_SETTLED]):
            worth_it = hashes if len(kept) < _BEST else hashes[:_BEST]
            wanted = {digest: texts[digest] for digest in worth_it if digest not in kept}
            self._making.make(wanted, self._meaning.embedder, share=self._meaning.allowance.share)
        return kept | self._making.made
