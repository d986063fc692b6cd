"""Gives chunks their vectors: finds those that were embedded before, embeds the rest, and merges what is new.

New vectors go to SQLite batch by batch, where searches see them at once and a kill cannot take them; now and then
they move to the vector store, which takes longer to publish but searches faster. As many batches are in the hands of
the embedder at a time as make it fastest; each is kept as soon as it is back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from directory_indexer.docstore.embedding_queue import PendingChunk
from directory_indexer.docstore.index_scope import WHOLE_INDEX, IndexScope
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.docstore.vector_sets import VectorSet
from directory_indexer.docstore.vectors import EmbeddedChunk
from directory_indexer.embedders import Embedder
from directory_indexer.embedding_space import EmbeddingUsage
from directory_indexer.errors import VectorStoreError
from directory_indexer.files import FileFailure, Stage
from directory_indexer.ids import ContentHash
from directory_indexer.indexing.cluster_copy import ClusterCopy, NoClusterCopy
from directory_indexer.indexing.first_pass import FirstPass
from directory_indexer.indexing.merger import Merger
from directory_indexer.indexing.pace import FullPace, Pace
from directory_indexer.indexing.switching import Spaces
from directory_indexer.indexing.teaching import Teaching
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore import VectorPlace, VectorStore

with lazily:
    from directory_indexer.heaps import share_heaps
    from directory_indexer.indexing.in_flight import InFlightBatch, InFlightBatches, Vectors
    from directory_indexer.indexing.urgency import in_order


_FULL_PACE = FullPace()


class Step(NamedTuple):
    """What became of a batch: vectors that were made, ones that were there, and texts that the provider refuses."""

    n_embedded: int = 0
    n_reused: int = 0
    refused: tuple[FileFailure, ...] = ()

    @property
    def n_chunks(self) -> int:
        """Count the chunks that are done with."""
        return self.n_embedded + self.n_reused + len(self.refused)


class Vectorizer:
    """Bring the vectors of one index up to date; the caller holds the write lock."""

    def __init__(
        self,
        *,
        docstore: DocStore,
        place: VectorPlace,
        vectorstore: Callable[[VectorSet], VectorStore],
        embedder: Callable[[], Embedder],
        cluster: ClusterCopy | None = None,
    ) -> None:
        self.cluster: ClusterCopy = cluster or NoClusterCopy()
        self.merger = Merger(docstore=docstore, place=place, vectorstore=vectorstore)
        self.spaces = Spaces(docstore, self.merger)
        self.first_pass = FirstPass(
            docstore, Teaching(docstore, place=place, vectorstore=vectorstore, embedder=embedder)
        )
        self._docstore = docstore
        self._embedder = embedder
        self.usage = EmbeddingUsage()
        self._asked: set[FilePath] = set()

    def take_over(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Give chunks the vectors that searches made of them while they waited; tell how many that were.

        Raises:
            ProviderError: the embedder cannot be loaded.
        """
        with self._docstore.snapshot() as snapshot:
            if not snapshot.search_vectors.has_any():
                return 0
        space = self._embedder().space
        with self._docstore.snapshot() as snapshot:
            chunks = snapshot.embedding_queue.chunks(snapshot.search_vectors.rows_waiting(space.name, scope))
            hashes = [chunk.text_hash for chunk in chunks]
            made = snapshot.search_vectors.of_texts(space.name, hashes, dimensions=space.dimensions)
            chunks = [chunk for chunk in chunks if chunk.text_hash in made]
        if chunks:
            self.spaces.adopt(space)
        with self._docstore.transaction() as transaction:
            transaction.vectors.put([_embedded(chunk, made[chunk.text_hash]) for chunk in chunks])
            transaction.search_vectors.drop_needless(space.name)
        self._asked |= {chunk.path for chunk in chunks}
        return len(chunks)

    def embed_pending(
        self,
        scope: IndexScope = WHOLE_INDEX,
        *,
        must_stop: Callable[[], bool] = lambda: False,
        pace: Pace = _FULL_PACE,
    ) -> Iterator[Step]:
        """Embed what waits, first what is likely to be asked for; each step tells what became of a batch, now kept.

        In a pause of its pace the steps are empty. When it must stop, nothing is left in the hands of the embedder;
        called again it goes on.

        Raises:
            ProviderError: the embedder cannot answer; the batches that it has answered are kept.
            VectorStoreError: the vector store cannot take vectors; the batches that are under way are kept.
        """
        if not self.n_waiting(scope):
            return
        while pace.pauses() and not must_stop():  # before the model takes memory
            pace.rest()
            yield Step()
        if must_stop():
            return
        share_heaps()
        embedder = self._embedder()
        self.spaces.adopt(embedder.space)
        used_before = embedder.usage
        try:
            with contextlib.closing(InFlightBatches(embedder)) as in_flight:
                batch_size = pace.batch_size(embedder.batch_size)
                yield from self._embed_batches(in_flight, self._batches(scope, batch_size), must_stop, pace)
                in_flight.raise_failure()
        finally:
            self.usage = _difference(embedder.usage, used_before)

    def drop_makeshifts(self) -> None:
        """Drop what stood in for vectors while chunks waited, unless there is nothing."""
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
            rows = in_order(queue.rows(scope), queue.files(scope), self._asked)
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def _embed_batches(
        self, in_flight: InFlightBatches, batches: list[list[int]], must_stop: Callable[[], bool], pace: Pace
    ) -> Iterator[Step]:
        batches.reverse()
        while True:
            while batches and in_flight.has_room and not must_stop() and not pace.pauses():
                yield self._send(in_flight, batches.pop())
            if not in_flight.is_busy:
                if not batches or in_flight.has_failed or must_stop():
                    return
                pace.rest()
                yield Step()
            for batch_in_flight, vectors, reasons in in_flight.landed(must_stop):
                yield self._keep(batch_in_flight, vectors, reasons)
                self._merge_between(in_flight)

    def _merge_between(self, in_flight: InFlightBatches) -> None:
        """Merge when it is time to; if that fails, let what is under way land before the run ends."""
        if in_flight.has_failed:
            return
        try:
            self.merger.merge_if_many()
        except VectorStoreError as error:
            in_flight.fail(error)

    def _send(self, in_flight: InFlightBatches, rows: Sequence[int]) -> Step:
        """Take the chunks in these rows: keep what is known of them, send off the rest."""
        with self._docstore.snapshot() as snapshot:
            batch = snapshot.embedding_queue.chunks(rows)
            known = self._known_vectors(snapshot, batch)
        reused = [_embedded(chunk, known[chunk.text_hash]) for chunk in batch if chunk.text_hash in known]
        if reused:
            with self._docstore.transaction() as transaction:
                transaction.vectors.put(reused)
        in_flight.send([chunk for chunk in batch if chunk.text_hash not in known])
        return Step(n_reused=len(reused))

    def _known_vectors(self, snapshot: Snapshot, batch: Sequence[PendingChunk]) -> dict[ContentHash, bytes]:
        hashes = list({chunk.text_hash for chunk in batch})
        vectors = snapshot.vector_sets.current()
        known = snapshot.embedding_queue.pending_twins(hashes)
        if vectors.space is not None:
            space = vectors.space
            known |= snapshot.search_vectors.of_texts(space.name, hashes, dimensions=space.dimensions)
        twins = snapshot.embedding_queue.embedded_twins([digest for digest in hashes if digest not in known])
        if not twins:
            return known
        store = self.merger.store_of(vectors)
        stored = store.at(snapshot.vector_sets.generation(self.merger.place)).vectors(list(twins.values()))
        return known | {digest: stored[twin].tobytes() for digest, twin in twins.items() if twin in stored}

    def _keep(self, batch_in_flight: InFlightBatch, vectors: Vectors, reasons: dict[ContentHash, str]) -> Step:
        rows = {digest: vector.tobytes() for digest, vector in zip(batch_in_flight.texts, vectors, strict=True)}
        embedded = [
            _embedded(chunk, rows[chunk.text_hash])
            for chunk in batch_in_flight.chunks
            if chunk.text_hash not in reasons
        ]
        refused = [chunk for chunk in batch_in_flight.chunks if chunk.text_hash in reasons]
        with self._docstore.transaction() as transaction:
            transaction.vectors.put(embedded)
            transaction.vectors.put_refused([(chunk.id, reasons[chunk.text_hash]) for chunk in refused])
        n_fresh = len(batch_in_flight.texts) - len(reasons)
        return Step(
            n_embedded=n_fresh,
            n_reused=len(embedded) - n_fresh,
            refused=tuple(_failure(chunk, reasons[chunk.text_hash]) for chunk in refused),
        )


def _embedded(chunk: PendingChunk, vector: bytes) -> EmbeddedChunk:
    return EmbeddedChunk(chunk.id, chunk.chunk_id, chunk.text_hash, vector)


def _failure(chunk: PendingChunk, reason: str) -> FileFailure:
    return FileFailure(chunk.path, Stage.EMBED, f"chunk {chunk.ordinal + 1}: {reason}")


def _difference(now: EmbeddingUsage, before: EmbeddingUsage) -> EmbeddingUsage:
    return EmbeddingUsage(now.n_tokens - before.n_tokens, now.n_truncated - before.n_truncated)
