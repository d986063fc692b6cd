"""Embedding of passages during a search, within its time limit, and the background threads that searches use.

The queries of a search share the vectors, and the time for them.
"""

from __future__ import annotations

import _thread
import contextvars
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final, Generic, NamedTuple, Self, TypeVar

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.ids import ChunkId, ContentHash
from directory_indexer.core.lazy import lazily

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.embedding import Embedder


Result = TypeVar("Result")


class BackgroundTask(Generic[Result]):
    """Runs `work` in its own thread, or at once if no thread can be started.

    It pays if either side spends its time outside of Python. Its telemetry is part of that of the caller.

    As a context manager it waits for the work, so that shared resources are not released before. Importing an executor
    would cost a search 8 ms, and starting a `threading.Thread` waits until it runs: half a millisecond, sometimes ten
    times that.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._result: Result
        self._error: BaseException | None = None
        self._running = _thread.allocate_lock()
        self._running.acquire()
        try:
            _thread.start_new_thread(contextvars.copy_context().run, (self._run,))
        except RuntimeError:  # the system allows no more threads
            self._run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()

    def result(self, *, within: float | None = None) -> Result:
        """Wait for the work to end, and return its result.

        Raises:
            TimeoutError: it has not ended within so many seconds; it continues by itself.
            BaseException: the exception that the work raised.
        """
        self._wait(within)
        if self._error:
            raise self._error
        return self._result

    def _wait(self, within: float | None = None) -> None:
        if not self._running.acquire(timeout=-1 if within is None else max(within, 0.0)):
            raise TimeoutError
        self._running.release()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for the result
            self._error = error
        finally:
            self._running.release()


_FIRST_BATCH_BYTES: Final = 3000
_MAX_BATCH_BYTES: Final = 8000
"""The bytes of text that a model in this process embeds at a time, in about 0.1 seconds of two cores.

Letters that a model hardly knows make about as many tokens as they have bytes, English a fourth of that. Counted in
letters, Korean would take several times as long.
"""


class OnDemandEmbedder:
    """Embeds passages without a vector during a search, within a total time limit.

    `embedded` are the passages that got a vector for this query, `not_embedded` those found by words that did not.
    """

    def __init__(self, seconds: float) -> None:
        self.made: dict[ContentHash, bytes] = {}
        self.space = ""
        self.embedded: set[ChunkId] = set()
        self.not_embedded: set[ChunkId] = set()
        self.seconds_left = seconds

    def embed(self, texts: Mapping[ContentHash, str], embedder: Embedder, *, share: float) -> None:
        """Embed texts for a share of the time: a few to measure the speed, then as many as fit."""
        self.space = embedder.space.name
        remaining = [(digest, text) for digest, text in texts.items() if digest not in self.made]
        reserved = self.seconds_left * (1 - share)
        pace = 0.0
        while remaining and self.seconds_left > reserved:
            n_fitting = _count_texts_in_time(
                [text for _, text in remaining], embedder, pace, self.seconds_left - reserved
            )
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


class TimeShare(NamedTuple):
    """The share of the remaining time that one of several queries may take."""

    embedder: OnDemandEmbedder
    share: float


def _count_texts_in_time(texts: Sequence[str], embedder: Embedder, pace: float, seconds: float) -> int:
    """Return how many texts to embed next, by the seconds that a byte takes; 0 if none fits any more."""
    # A request to a service takes as long for many texts; here, small batches keep to the time limit.
    if embedder.space.endpoint is not None:
        return min(len(texts), embedder.batch_size)
    room = min(_MAX_BATCH_BYTES, seconds / pace) if pace else _FIRST_BATCH_BYTES
    n_fitting = sum(length <= room for length in accumulate(map(_n_bytes, texts)))
    return n_fitting if pace else max(n_fitting, 1)


def _n_bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
