"""Vectors that are made while a question is asked: its queries share what was made, and the time for it."""

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
_BYTES_AT_A_TIME: Final = 8000
"""Texts of so many bytes are given to a model in this process at a time: about 0.1 seconds of two cores.

Letters that a model hardly knows give it about as many tokens as they have bytes, and English a fourth of that. Counted
in letters, Korean would take several times as long.
"""


class VectorMaking:
    """Make vectors of passages that wait for one, for so many seconds altogether.

    `judged` are the passages that were given a vector for this question, `unjudged` those found by words that were not.
    """

    def __init__(self, seconds: float) -> None:
        self.made: dict[ContentHash, bytes] = {}
        self.space = ""
        self.judged: set[ChunkId] = set()
        self.unjudged: set[ChunkId] = set()
        self.seconds_left = seconds

    def make(self, texts: Mapping[ContentHash, str], embedder: Embedder, *, share: float) -> None:
        """Embed texts for a share of the time: few to learn how fast it goes, then as many as will be done by then."""
        self.space = embedder.space.name
        wanted = [(digest, text) for digest, text in texts.items() if digest not in self.made]
        spared = self.seconds_left * (1 - share)
        pace = 0.0
        while wanted and self.seconds_left > spared:
            n_fitting = _n_fitting([text for _, text in wanted], embedder, pace, self.seconds_left - spared)
            if not n_fitting:
                return
            began = time.monotonic()
            batch, wanted = wanted[:n_fitting], wanted[n_fitting:]
            vectors = self._embedded([text for _, text in batch], embedder, within=self.seconds_left - spared)
            if vectors is not None:
                self.made |= {digest: row.tobytes() for (digest, _), row in zip(batch, vectors, strict=True)}
            taken = time.monotonic() - began
            pace = max(pace, taken / sum(_n_bytes(text) for _, text in batch))
            self.seconds_left -= taken

    def _embedded(self, texts: Sequence[str], embedder: Embedder, *, within: float) -> NDArray[np.float32] | None:
        """Embed texts; None when a service refuses them, fails or takes too long, or no thread can be had."""
        work = BackgroundTask(lambda: embedder.embed_documents(texts))
        try:
            return work.result(within=None if embedder.space.endpoint is None else within)
        except (ProviderError, TimeoutError, RuntimeError):
            self.seconds_left = 0
            return None


class Allowance(NamedTuple):
    """What one of several queries may take of the time that is left."""

    making: VectorMaking
    share: float


def _n_fitting(texts: Sequence[str], embedder: Embedder, pace: float, seconds: float) -> int:
    """Tell how many texts to embed next, by the seconds that a byte takes; 0 when no more than that fits."""
    # One request to a service takes as long as many texts; here a few at a time keep to the time that is left.
    if embedder.space.endpoint is not None:
        return min(len(texts), embedder.batch_size)
    room = min(_BYTES_AT_A_TIME, seconds / pace) if pace else _FIRST_BYTES
    n_fitting = sum(length <= room for length in accumulate(map(_n_bytes, texts)))
    return n_fitting if pace else max(n_fitting, 1)


def _n_bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
