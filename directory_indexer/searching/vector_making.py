"""Vectors that are made during a search: its queries share the vectors, and the time for them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from directory_indexer.errors import ProviderError
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.searching.background import BackgroundTask

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.embedders import Embedder

_FIRST_BYTES: Final = 3000
_MAX_BATCH_BYTES: Final = 8000
"""The bytes of text that a model in this process embeds at a time, in about 0.1 seconds of two cores.

Letters that a model hardly knows make about as many tokens as they have bytes, English a fourth of that. Counted in
letters, Korean would take several times as long.
"""


class VectorMaking:
    """Embeds passages that wait for a vector, for so many seconds in all.

    `embedded` are the passages that got a vector for this query, `not_embedded` those found by words that did not.
    """

    def __init__(self, seconds: float) -> None:
        self.made: dict[ContentHash, bytes] = {}
        self.space = ""
        self.embedded: set[ChunkId] = set()
        self.not_embedded: set[ChunkId] = set()
        self.seconds_left = seconds

    def make(self, texts: Mapping[ContentHash, str], embedder: Embedder, *, share: float) -> None:
        """Embed texts for a share of the time: a few to measure the speed, then as many as fit."""
        self.space = embedder.space.name
        remaining = [(digest, text) for digest, text in texts.items() if digest not in self.made]
        reserved = self.seconds_left * (1 - share)
        pace = 0.0
        while remaining and self.seconds_left > reserved:
            n_fitting = _n_fitting([text for _, text in remaining], embedder, pace, self.seconds_left - reserved)
            if not n_fitting:
                return
            start = time.monotonic()
            batch, remaining = remaining[:n_fitting], remaining[n_fitting:]
            vectors = self._embed([text for _, text in batch], embedder, within=self.seconds_left - reserved)
            if vectors is not None:
                self.made |= {digest: row.tobytes() for (digest, _), row in zip(batch, vectors, strict=True)}
            elapsed = time.monotonic() - start
            pace = max(pace, elapsed / sum(_n_bytes(text) for _, text in batch))
            self.seconds_left -= elapsed

    def _embed(self, texts: Sequence[str], embedder: Embedder, *, within: float) -> NDArray[np.float32] | None:
        """Embed texts; None if a service refuses them, fails or takes too long, or no thread can be started."""
        work = BackgroundTask(lambda: embedder.embed_documents(texts))
        try:
            return work.result(within=None if embedder.space.endpoint is None else within)
        except (ProviderError, TimeoutError, RuntimeError):
            self.seconds_left = 0
            return None


class Allowance(NamedTuple):
    """The share of the remaining time that one of several queries may take."""

    making: VectorMaking
    share: float


def _n_fitting(texts: Sequence[str], embedder: Embedder, pace: float, seconds: float) -> int:
    """Return how many texts to embed next, by the seconds that a byte takes; 0 if none fits any more."""
    # A request to a service takes as long for many texts; here, small batches keep to the time limit.
    if embedder.space.endpoint is not None:
        return min(len(texts), embedder.batch_size)
    room = min(_MAX_BATCH_BYTES, seconds / pace) if pace else _FIRST_BYTES
    n_fitting = sum(length <= room for length in accumulate(map(_n_bytes, texts)))
    return n_fitting if pace else max(n_fitting, 1)


def _n_bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
