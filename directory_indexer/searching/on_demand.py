"""Chunks that wait for a vector: found by their static vectors, and embedded while the question is asked.

The most promising come first, and none is begun when the time for it is over. What was made serves every later search.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import Final

import numpy as np

from directory_indexer.docstore.embedding_queue import PendingChunk
from directory_indexer.docstore.store import Snapshot
from directory_indexer.embedders.model_files import STATIC_TABLE_VERSION
from directory_indexer.embedders.static_table import StaticModel, nearest_codes
from directory_indexer.errors import ProviderError
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.searching.background import BackgroundTask
from directory_indexer.searching.scope import Scope

with lazily:
    from numpy.typing import NDArray

    from directory_indexer.embedders import Embedder


_STATIC: Final = 3
"""Of the passages that answer, 40 candidates by static vectors hold .61 on five sets, 80 hold .69 and 120 hold .72."""

_ENOUGH: Final = 40
"""Where so many candidates were embedded for earlier searches, this one need not take time for more."""

_GROWTH: Final = 4
_AT_A_TIME: Final = 8
"""So many texts are given to a model in this process at a time: about 0.1 seconds of two cores."""


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

    def cosines(self, found: Iterable[ChunkId], limit: int) -> dict[ChunkId, float]:
        """Give the cosines of those of the chunks `found` that wait, and of those nearest by their static vectors.

        Of the latter, several times the `limit` are worth a look; who has little time takes the best of both alone.
        """
        by_words = self._snapshot.embedding_queue.waiting(found)
        promising = _alternating(by_words, self._nearest(_STATIC * limit))
        vectors = self._vectors([chunk for chunk in promising if chunk.embedding_text])
        self.n_judged = sum(chunk.text_hash in vectors for chunk in promising)
        self.n_unjudged = sum(chunk.text_hash not in vectors for chunk in by_words)
        return {
            chunk.chunk_id: float(np.frombuffer(vectors[chunk.text_hash], np.float32) @ self._vector)
            for chunk in promising
            if chunk.text_hash in vectors
        }

    def _nearest(self, limit: int) -> list[PendingChunk]:
        """Find the chunks in the scope that wait and whose static vectors are nearest to that of the question."""
        stored = self._snapshot.static_vectors.model()
        if stored is None or stored.version != STATIC_TABLE_VERSION or self._scope.is_empty:
            return []
        model = StaticModel(np.frombuffer(stored.weights, np.float32), np.frombuffer(stored.mean, np.float32))
        rows, codes = self._snapshot.static_vectors.all()
        if self._scope.rows is not None:
            first, last = self._scope.rows
            lies_between = (rows >= first) & (rows <= last)
            rows, codes = rows[lies_between], codes[lies_between]
        vector = model.vectors([self._text])[0]
        n_looked_at = limit
        while True:
            nearest = rows[nearest_codes(codes, vector, n_looked_at)].tolist()
            waiting = self._snapshot.embedding_queue.rows_that_wait(nearest, self._scope.file_ids)
            if len(waiting) >= limit or len(nearest) < n_looked_at:
                return self._snapshot.embedding_queue.chunks(waiting[:limit])
            n_looked_at *= _GROWTH

    def _vectors(self, chunks: Sequence[PendingChunk]) -> dict[ContentHash, bytes]:
        """Give the vectors that were made of these chunks before; unless they are enough, make others in the time."""
        hashes = list(dict.fromkeys(chunk.text_hash for chunk in chunks))
        kept = self._snapshot.search_vectors.of_texts(self._embedder.space.name, hashes)
        known = kept | self.made
        if len(kept) >= _ENOUGH:
            return known
        texts = {chunk.text_hash: chunk.embedding_text for chunk in chunks if chunk.text_hash not in known}
        self._make(list(texts.items()))
        return known | self.made

    def _make(self, texts: Sequence[tuple[ContentHash, str]]) -> None:
        # One request to a service takes as long as many texts; here a few at a time keep to the time that is left.
        at_a_time = _AT_A_TIME if self._embedder.space.endpoint is None else self._embedder.batch_size
        longest = 0.0
        for start in range(0, len(texts), at_a_time):
            if self._seconds_left <= longest:
                return
            began = time.monotonic()
            batch = texts[start : start + at_a_time]
            vectors = self._embedded([text for _, text in batch])
            if vectors is not None:
                self.made |= {digest: row.tobytes() for (digest, _), row in zip(batch, vectors, strict=True)}
            longest = max(longest, time.monotonic() - began)
            self._seconds_left -= time.monotonic() - began

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """Embed texts; None when a service refuses them, fails or takes too long, or no thread can be had."""
        work = BackgroundTask(lambda: self._embedder.embed_documents(texts))
        try:
            return work.result(within=None if self._embedder.space.endpoint is None else self._seconds_left)
        except (ProviderError, TimeoutError, RuntimeError):
            self._seconds_left = 0
            return None


def _alternating(one: Sequence[PendingChunk], other: Sequence[PendingChunk]) -> list[PendingChunk]:
    """Take from two lists by turns, each chunk once: the best of both come first."""
    by_turns = chain.from_iterable(zip_longest(one, other))
    return list({chunk.chunk_id: chunk for chunk in by_turns if chunk is not None}.values())
