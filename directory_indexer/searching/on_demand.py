"""Chunks that wait for a vector: found by their static vectors, and embedded while the question is asked.

The most promising come first, and none is begun when the time for it is over. What was made serves every later search.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final

import numpy as np

from directory_indexer.docstore.embedding_queue import PendingChunk
from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import ProviderError
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.searching.background import BackgroundTask
from directory_indexer.searching.scope import Scope
from directory_indexer.searching.static_candidates import StaticCandidates

with lazily:
    from numpy.typing import NDArray

    from directory_indexer.embedders import Embedder


_STATIC: Final = 3
"""Of the passages that answer, 40 candidates by static vectors hold .61 on five sets, 80 hold .69 and 120 hold .72."""

_BEST: Final = 40
"""Of so many candidates none should be without a vector; where so many have one, others are worth no more time."""

_SETTLED: Final = 16
"""Where the first ones all have a vector, much the same was asked before, and this search takes no time for more."""

_WORDS: Final = 0.5
"""What the best match of words counts beside a static similarity, which is 0.35 for the best."""

_FIRST_CHARACTERS: Final = 3000
_CHARACTERS_AT_A_TIME: Final = 8000
"""Texts of so many characters are given to a model in this process at a time: about 0.1 seconds of two cores."""


class OnDemandEmbedding:
    """The candidates of one search that wait for a vector, and those that it made; `seconds` bound the making."""

    def __init__(
        self,
        snapshot: Snapshot,
        scope: Scope,
        embedder: Embedder,
        *,
        text: str,
        vector: NDArray[np.float32],
        seconds: float,
    ) -> None:
        self.made: dict[ContentHash, bytes] = {}
        self.n_judged = self.n_unjudged = 0
        self._snapshot = snapshot
        self._scope = scope
        self._embedder = embedder
        self._text = text
        self._vector = vector
        self._seconds_left = seconds

    def cosines(self, found: Mapping[ChunkId, float], limit: int) -> dict[ChunkId, float]:
        """Give the cosines of those of the chunks `found` by words that wait, and of those near by static vectors.

        Of the latter, several times the `limit` are worth a look; who has little time takes the best of both alone.
        """
        by_words = self._snapshot.embedding_queue.waiting(found)
        promising = self._in_order(by_words, found, limit)
        vectors = self._vectors([chunk for chunk in promising if chunk.embedding_text])
        self.n_judged = sum(chunk.text_hash in vectors for chunk in promising)
        self.n_unjudged = sum(chunk.text_hash not in vectors for chunk in by_words)
        return {
            chunk.chunk_id: float(np.frombuffer(vectors[chunk.text_hash], np.float32) @ self._vector)
            for chunk in promising
            if chunk.text_hash in vectors
        }

    def _in_order(
        self, by_words: Sequence[PendingChunk], found: Mapping[ChunkId, float], limit: int
    ) -> list[PendingChunk]:
        """Put those found by words and those near by static vectors into one order, the most promising first."""
        static = StaticCandidates(self._snapshot, self._scope, self._text)
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
        kept = self._snapshot.search_vectors.of_texts(self._embedder.space.name, hashes)
        if not kept.keys() >= set(hashes[:_SETTLED]):
            worth_it = hashes if len(kept) < _BEST else hashes[:_BEST]
            known = kept | self.made
            self._make([(digest, texts[digest]) for digest in worth_it if digest not in known])
        return kept | self.made

    def _make(self, texts: Sequence[tuple[ContentHash, str]]) -> None:
        """Embed texts while there is time: few to learn how fast that goes, then as many as will be done by then."""
        pace = 0.0
        while texts and self._seconds_left > 0:
            n_fitting = self._n_fitting([text for _, text in texts], pace)
            if not n_fitting:
                return
            began = time.monotonic()
            batch, texts = texts[:n_fitting], texts[n_fitting:]
            vectors = self._embedded([text for _, text in batch])
            if vectors is not None:
                self.made |= {digest: row.tobytes() for (digest, _), row in zip(batch, vectors, strict=True)}
            taken = time.monotonic() - began
            pace = max(pace, taken / sum(len(text) for _, text in batch))
            self._seconds_left -= taken

    def _n_fitting(self, texts: Sequence[str], pace: float) -> int:
        """Tell how many texts to embed next, by the seconds that a character takes; 0 when no more than that fits."""
        # One request to a service takes as long as many texts; here a few at a time keep to the time that is left.
        if self._embedder.space.endpoint is not None:
            return min(len(texts), self._embedder.batch_size)
        room = min(_CHARACTERS_AT_A_TIME, self._seconds_left / pace) if pace else _FIRST_CHARACTERS
        n_fitting = sum(length <= room for length in accumulate(map(len, texts)))
        return n_fitting if pace else max(n_fitting, 1)

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Embed texts; None when a service refuses them, fails or takes too long, or no thread can be had."""
        work = BackgroundTask(lambda: self._embedder.embed_documents(texts))
        try:
            return work.result(within=None if self._embedder.space.endpoint is None else self._seconds_left)
        except (ProviderError, TimeoutError, RuntimeError):
            self._seconds_left = 0
            return None
