"""Batches of texts being embedded, and the order of embedding: likely search results first.

As many batches at a time are embedded as make the embedder fastest. A module of its own, so that a run with nothing to
embed does not load threads.
"""

from __future__ import annotations

import contextvars
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from directory_indexer.core.errors import ProviderError, TextsRefusedError, VectorStoreError
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.embedding import Embedder
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.storage.documents.embedding_queue import FileWithWaitingChunks, WaitingChunkRows

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.storage.documents.embedding_queue import WaitingChunk

_STOP_GRACE_SECONDS = 5.0
"""The time for which a stopping run waits for batches that a provider still has."""

_STOP_POLL_SECONDS = 0.2

Vectors: TypeAlias = "NDArray[np.float32]"


@dataclass(frozen=True, slots=True)
class InFlightBatch:
    """A batch being embedded: its texts by their hashes, and every chunk that has one of them."""

    texts: dict[ContentHash, str]
    chunks: list[WaitingChunk]


class InFlightBatches:
    """The batches being embedded."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._pool = ThreadPoolExecutor(embedder.concurrency, thread_name_prefix="embed")
        self._flying: dict[Future[Vectors], InFlightBatch] = {}
        self._failure: ProviderError | VectorStoreError | None = None
        self._stopped_at: float | None = None

    @property
    def is_busy(self) -> bool:
        """Whether any batch is being embedded."""
        return bool(self._flying)

    @property
    def has_room(self) -> bool:
        """Whether another batch may be sent."""
        return len(self._flying) < self._embedder.concurrency and not self.has_failed

    def submit(self, chunks: Sequence[WaitingChunk]) -> None:
        """Send the texts of chunks; a chunk whose text was sent already joins its batch."""
        under_way = {
            digest: batch_in_flight for batch_in_flight in self._flying.values() for digest in batch_in_flight.texts
        }
        fresh = [chunk for chunk in chunks if chunk.text_hash not in under_way]
        for chunk in chunks:
            if chunk.text_hash in under_way:
                under_way[chunk.text_hash].chunks.append(chunk)
        if fresh:
            batch_in_flight = InFlightBatch({chunk.text_hash: chunk.embedding_text for chunk in fresh}, fresh)
            texts = list(batch_in_flight.texts.values())
            # Trace spans of a request belong to the run, whichever thread sends it.
            future = self._pool.submit(contextvars.copy_context().run, self._embedder.embed_documents, texts)
            self._flying[future] = batch_in_flight

    def completed_batches(
        self, must_stop: Callable[[], bool]
    ) -> Iterator[tuple[InFlightBatch, Vectors, dict[ContentHash, str]]]:
        """Yield completed batches with their vectors and refused texts; when stopping, abandon slow ones."""
        done, _ = wait(self._flying, timeout=_STOP_POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in done:
            batch_in_flight = self._flying.pop(future)
            try:
                yield batch_in_flight, future.result(), {}
            except TextsRefusedError as error:
                digests = list(batch_in_flight.texts)
                yield (
                    batch_in_flight,
                    error.vectors,
                    {digests[index]: reason for index, reason in error.reasons.items()},
                )
            except ProviderError as error:
                self.record_failure(error)
        if not done and must_stop():
            self._stopped_at = self._stopped_at or time.monotonic()
            if time.monotonic() - self._stopped_at > _STOP_GRACE_SECONDS:
                self._flying.clear()

    @property
    def has_failed(self) -> bool:
        """Whether sending has stopped."""
        return self._failure is not None

    def record_failure(self, error: ProviderError | VectorStoreError) -> None:
        """Stop sending; the first failure counts."""
        self._failure = self._failure or error

    def raise_failure(self) -> None:
        """Raise the first failure, if any."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Release the threads; those that still wait for a provider end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Priority(IntEnum):
    SEARCHED = 0
    WRITTEN = 1
    DATA = 2
    VENDORED = 3
    GENERATED = 4


def embedding_order(
    waiting: WaitingChunkRows, files: Sequence[FileWithWaitingChunks], searched: Collection[FilePath] = ()
) -> list[int]:
    """Return rows of chunks ordered by their files: `searched`; written by people; data; vendored; generated.

    Among files of one priority, those changed last come first.
    """
    ordered = sorted(files, key=lambda file: (_priority_of_file(file, searched), -file.mtime_ns, file.path))
    places = {file.id: place for place, file in enumerate(ordered)}
    by_file = np.fromiter((places[file_id] for file_id in waiting.file_ids), np.int64, len(waiting.file_ids))
    rows: list[int] = np.array(waiting.rows, np.int64)[np.argsort(by_file, kind="stable")].tolist()
    return rows


def _priority_of_file(file: FileWithWaitingChunks, searched: Collection[FilePath]) -> _Priority:
    if file.path in searched:
        return _Priority.SEARCHED
    path = file.path.replace("\\", "/")
    if _GENERATED_PATH.search(path):
        return _Priority.GENERATED
    if _VENDORED_PATH.search(path):
        return _Priority.VENDORED
    return _Priority.DATA if file.kind in GROUPS["data"] else _Priority.WRITTEN


_VENDORED_PATH: Final = re.compile(
    r"/(?:vendor|vendored|third_party|thirdparty|3rdparty|external|externals|deps|bower_components|site-packages)/"
)
_GENERATED_PATH: Final = re.compile(
    r"""
    /(?:generated|__generated__|autogen|dist|build|out|snapshots?|__snapshots__)/
    | [./_-](?:min|bundle|generated|gen|pb|pb2|pb2_grpc|g)\.[A-Za-z0-9]+$
    | /(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|Pipfile\.lock
        |Cargo\.lock|composer\.lock|Gemfile\.lock|go\.sum|flake\.lock|[^/]*\.(?:lock|map|snap))$
    """,
    re.VERBOSE,
)
