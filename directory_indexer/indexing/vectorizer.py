"""Embedding of chunks: existing vectors are reused, the others computed, and new ones merged.

New vectors are written to SQLite batch by batch, where searches see them at once and a kill cannot lose them; from time
to time they are merged into the vector store, which takes longer to publish but searches faster. The embedder gets as
many batches at a time as make it fastest; each is stored as soon as it is complete.

Services are checked before hours of work.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.core.errors import VectorStoreError
from directory_indexer.core.files import FileFailure, Stage
from directory_indexer.core.fingerprint import EmbeddingUsage
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.embedding import Embedder
from directory_indexer.embedding.loading import Embedders
from directory_indexer.embedding.models import missing_model_error
from directory_indexer.indexing.merging import Merger, SpaceSwitcher
from directory_indexer.indexing.options import Throttle
from directory_indexer.indexing.static_vectors import StaticTraining, StaticVectorizer
from directory_indexer.storage.cluster import ClusterCopy
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope
from directory_indexer.storage.documents.embedding_queue import WaitingChunk
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.storage.documents.vector_sets import VectorSet
from directory_indexer.storage.documents.vectors import EmbeddedChunk
from directory_indexer.storage.vectors import VectorPlace, VectorStore

with lazily:
    from directory_indexer.core.machine import limit_malloc_arenas
    from directory_indexer.indexing.embedding_batches import InFlightBatch, InFlightBatches, Vectors, embedding_order

_NO_THROTTLE = Throttle()


class EmbeddingStep(NamedTuple):
    """The result of a batch: vectors that were computed, vectors that existed, and texts that the provider refuses."""

    n_embedded: int = 0
    n_reused: int = 0
    refused: tuple[FileFailure, ...] = ()

    @property
    def n_chunks(self) -> int:
        """Return the number of chunks completed."""
        return self.n_embedded + self.n_reused + len(self.refused)


class Vectorizer:
    """Keeps the vectors of one index up to date; the caller holds the write lock."""

    def __init__(
        self,
        *,
        docstore: DocStore,
        place: VectorPlace,
        vectorstore: Callable[[VectorSet], VectorStore],
        embedder: Callable[[], Embedder],
        cluster: ClusterCopy | None = None,
    ) -> None:
        self.cluster = cluster or ClusterCopy()
        self.merger = Merger(docstore=docstore, place=place, vectorstore=vectorstore)
        self.spaces = SpaceSwitcher(docstore, self.merger)
        self.static_vectors = StaticVectorizer(
            docstore, StaticTraining(docstore, place=place, vectorstore=vectorstore, embedder=embedder)
        )
        self._docstore = docstore
        self._embedder = embedder
        self.usage = EmbeddingUsage()
        self._searched_paths: set[FilePath] = set()

    def store_search_vectors(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Store the vectors that searches computed of waiting chunks; return their number.

        Raises:
            ProviderError: the embedder cannot be loaded.
        """
        with self._docstore.snapshot() as snapshot:
            if not snapshot.search_vectors.has_any():
                return 0
        space = self._embedder().space
        with self._docstore.snapshot() as snapshot:
            chunks = snapshot.embedding_queue.chunks(snapshot.search_vectors.rows_with_search_vector(space.name, scope))
            hashes = [chunk.text_hash for chunk in chunks]
            computed = snapshot.search_vectors.of_texts(space.name, hashes, dimensions=space.dimensions)
            chunks = [chunk for chunk in chunks if chunk.text_hash in computed]
        if chunks:
            self.spaces.set_or_check_space(space)
        with self._docstore.transaction() as transaction:
            transaction.vectors.put([_embedded_chunk(chunk, computed[chunk.text_hash]) for chunk in chunks])
            transaction.search_vectors.drop_unneeded(space.name)
        self._searched_paths |= {chunk.path for chunk in chunks}
        return len(chunks)

    def embed_waiting(
        self,
        scope: IndexScope = WHOLE_INDEX,
        *,
        must_stop: Callable[[], bool] = lambda: False,
        throttle: Throttle = _NO_THROTTLE,
    ) -> Iterator[EmbeddingStep]:
        """Embed waiting chunks, those likely to be searched for first; yield the result of each batch once stored.

        In a pause of its throttle the steps are empty. When it must stop, it waits for the embedder;
        called again it continues.

        Raises:
            ProviderError: the embedder fails; completed batches are stored.
            VectorStoreError: the vector store fails; batches in progress are stored.
        """
        if not self.n_waiting(scope):
            return
        while throttle.must_pause() and not must_stop():  # before the model takes memory
            throttle.sleep()
            yield EmbeddingStep()
        if must_stop():
            return
        limit_malloc_arenas()
        embedder = self._embedder()
        self.spaces.set_or_check_space(embedder.space)
        used_before = embedder.usage
        try:
            with contextlib.closing(InFlightBatches(embedder)) as in_flight:
                batch_size = throttle.batch_size(embedder.batch_size)
                yield from self._embed_batches(in_flight, self._batches(scope, batch_size), must_stop, throttle)
                in_flight.raise_failure()
        finally:
            used = (now - before for now, before in zip(embedder.usage, used_before, strict=True))
            self.usage = EmbeddingUsage(*used)

    def drop_temporary_vectors(self) -> None:
        """Delete static vectors and those of searches, if there are any."""
        with self._docstore.snapshot() as snapshot:
            if snapshot.static_vectors.model() is None and not snapshot.search_vectors.has_any():
                return
        with self._docstore.transaction() as transaction:
            transaction.static_vectors.clear()
            transaction.search_vectors.clear()

    def n_waiting(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the chunks without a vector."""
        with self._docstore.snapshot() as snapshot:
            return snapshot.embedding_queue.count(scope)

    def _batches(self, scope: IndexScope, size: int) -> list[list[int]]:
        with self._docstore.snapshot() as snapshot:
            queue = snapshot.embedding_queue
            rows = embedding_order(queue.rows(scope), queue.files(scope), self._searched_paths)
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def _embed_batches(
        self, in_flight: InFlightBatches, batches: list[list[int]], must_stop: Callable[[], bool], throttle: Throttle
    ) -> Iterator[EmbeddingStep]:
        batches.reverse()
        while True:
            while batches and in_flight.has_room and not must_stop() and not throttle.must_pause():
                yield self._send_batch(in_flight, batches.pop())
            if not in_flight.is_busy:
                if not batches or in_flight.has_failed or must_stop():
                    return
                throttle.sleep()
                yield EmbeddingStep()
            for batch_in_flight, vectors, reasons in in_flight.completed_batches(must_stop):
                yield self._store_vectors(batch_in_flight, vectors, reasons)
                self._merge_between(in_flight)

    def _merge_between(self, in_flight: InFlightBatches) -> None:
        """Merge when due; if that fails, complete the batches in progress before the run ends."""
        if in_flight.has_failed:
            return
        try:
            self.merger.merge_if_many()
        except VectorStoreError as error:
            in_flight.record_failure(error)

    def _send_batch(self, in_flight: InFlightBatches, rows: Sequence[int]) -> EmbeddingStep:
        """Store existing vectors of the chunks in these rows, and send the rest to the embedder."""
        with self._docstore.snapshot() as snapshot:
            batch = snapshot.embedding_queue.chunks(rows)
            known = self._find_reusable_vectors(snapshot, batch)
        reused = [_embedded_chunk(chunk, known[chunk.text_hash]) for chunk in batch if chunk.text_hash in known]
        if reused:
            with self._docstore.transaction() as transaction:
                transaction.vectors.put(reused)
        in_flight.submit([chunk for chunk in batch if chunk.text_hash not in known])
        return EmbeddingStep(n_reused=len(reused))

    def _find_reusable_vectors(self, snapshot: Snapshot, batch: Sequence[WaitingChunk]) -> dict[ContentHash, bytes]:
        hashes = list({chunk.text_hash for chunk in batch})
        vectors = snapshot.vector_sets.current()
        known = snapshot.embedding_queue.pending_vectors_of_texts(hashes)
        if vectors.space is not None:
            space = vectors.space
            known |= snapshot.search_vectors.of_texts(space.name, hashes, dimensions=space.dimensions)
        twins = snapshot.embedding_queue.chunks_embedded_from([digest for digest in hashes if digest not in known])
        if not twins:
            return known
        store = self.merger.store_of(vectors)
        stored = store.open_generation(snapshot.vector_sets.generation(self.merger.place)).vectors(list(twins.values()))
        return known | {digest: stored[twin].tobytes() for digest, twin in twins.items() if twin in stored}

    def _store_vectors(
        self, batch_in_flight: InFlightBatch, vectors: Vectors, reasons: dict[ContentHash, str]
    ) -> EmbeddingStep:
        rows = {digest: vector.tobytes() for digest, vector in zip(batch_in_flight.texts, vectors, strict=True)}
        embedded = [
            _embedded_chunk(chunk, rows[chunk.text_hash])
            for chunk in batch_in_flight.chunks
            if chunk.text_hash not in reasons
        ]
        refused = [chunk for chunk in batch_in_flight.chunks if chunk.text_hash in reasons]
        with self._docstore.transaction() as transaction:
            transaction.vectors.put(embedded)
            transaction.vectors.put_refused([(chunk.id, reasons[chunk.text_hash]) for chunk in refused])
        n_fresh = len(batch_in_flight.texts) - len(reasons)
        return EmbeddingStep(
            n_embedded=n_fresh,
            n_reused=len(embedded) - n_fresh,
            refused=tuple(
                FileFailure(chunk.path, Stage.EMBED, f"chunk {chunk.ordinal + 1}: {reasons[chunk.text_hash]}")
                for chunk in refused
            ),
        )


def _embedded_chunk(chunk: WaitingChunk, vector: bytes) -> EmbeddedChunk:
    return EmbeddedChunk(chunk.id, chunk.chunk_id, chunk.text_hash, vector)


def check_services(embedders: Embedders, vectorizer: Vectorizer) -> None:
    """Check that network services respond; an embedded model must be installed, and is verified when loaded.

    Raises:
        ProviderError: the embedding provider does not respond, or the model is not installed.
        VectorStoreError: the vector store does not respond.
    """
    if error := missing_model_error(embedders.configured):
        raise error
    if embedders.configured.provider != "embedded":
        embedder = embedders.current()
        embedder.check()
        vectorizer.spaces.set_or_check_space(embedder.space)
    vectorizer.merger.require_writable_store()
