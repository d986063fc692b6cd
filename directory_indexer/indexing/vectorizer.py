"""Gives chunks their vectors: finds those that were embedded before, embeds the rest, and merges what is new.

New vectors go to SQLite batch by batch, where searches see them at once and a kill cannot take them; now and then
they move to the vector store, which takes longer to publish but searches faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from directory_indexer.errors import VectorsLostError
from directory_indexer.records import EmbeddedChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from directory_indexer.docstore import DocStore
    from directory_indexer.embedders import Embedder
    from directory_indexer.records import ContentHash, PendingChunk
    from directory_indexer.vectorstore import VectorStore

BATCH_CHUNKS = 128
"""One to four seconds of embedding on two cores: the most that a kill can cost."""


class Vectorizer:
    """Bring the vectors of one index up to date; the caller holds the write lock."""

    def __init__(self, *, docstore: DocStore, vectorstore: VectorStore, embedder: Callable[[], Embedder]) -> None:
        self._docstore = docstore
        self._vectorstore = vectorstore
        self._embedder = embedder

    def embed_pending(self) -> Iterator[tuple[int, int]]:
        """Embed what waits, a batch at a step; each step yields how many vectors were made and how many reused.

        Raises:
            ProviderError: the embedder cannot answer; the batches before are kept.
        """
        after = 0
        while batch := self._next_batch(after):
            after = batch[-1].id
            reused = self._known_vectors(batch)
            fresh = self._embed([chunk for chunk in batch if chunk.text_hash not in reused])
            vectors = reused | fresh
            with self._docstore.transaction() as transaction:
                transaction.put_vectors([_embedded(chunk, vectors[chunk.text_hash]) for chunk in batch])
            yield len(fresh), len(batch) - len(fresh)
            self._merge(at_least=self._vectorstore.merge_at)

    def restore_lost(self) -> None:
        """Let chunks wait for their vectors again if those are not where the database has them."""
        with self._docstore.snapshot() as snapshot:
            generation, n_vectors = snapshot.generation(), snapshot.count_stored_vectors()
        try:
            self._vectorstore.require_whole(generation, n_vectors=n_vectors)
        except VectorsLostError:
            with self._docstore.transaction() as transaction:
                transaction.forget_generation()

    def merge_what_is_worth_it(self) -> None:
        """Move pending vectors into the vector store unless they are so few that they may stay."""
        self._merge(at_least=self._vectorstore.keep_pending)

    def merge_all(self) -> None:
        """Move every pending vector into the vector store, and let it drop every stale point."""
        self._merge(at_least=1)

    def _merge(self, *, at_least: int) -> None:
        with self._docstore.snapshot() as snapshot:
            if snapshot.count_pending_vectors() + snapshot.count_stale_points() < max(at_least, 1):
                return
            generation = self._vectorstore.merge(
                snapshot.generation(), deletes=snapshot.stale_points(), upserts=snapshot.pending_points()
            )
        with self._docstore.transaction() as transaction:
            transaction.publish_generation(generation)
        self._vectorstore.discard_others(generation)

    def _next_batch(self, after: int) -> list[PendingChunk]:
        with self._docstore.snapshot() as snapshot:
            return snapshot.chunks_to_embed(after=after, limit=BATCH_CHUNKS)

    def _known_vectors(self, batch: Sequence[PendingChunk]) -> dict[ContentHash, bytes]:
        hashes = list({chunk.text_hash for chunk in batch})
        with self._docstore.snapshot() as snapshot:
            known = snapshot.pending_twins(hashes)
            twins = snapshot.embedded_twins([digest for digest in hashes if digest not in known])
            generation = snapshot.generation()
        stored = self._vectorstore.vectors(generation, list(twins.values())) if twins else {}
        return known | {digest: stored[twin].tobytes() for digest, twin in twins.items() if twin in stored}

    def _embed(self, chunks: Sequence[PendingChunk]) -> dict[ContentHash, bytes]:
        if not chunks:
            return {}
        texts = {chunk.text_hash: chunk.embedding_text for chunk in chunks}
        vectors = self._embedder().embed_documents(list(texts.values()))
        return {digest: vector.tobytes() for digest, vector in zip(texts, vectors, strict=True)}


def _embedded(chunk: PendingChunk, vector: bytes) -> EmbeddedChunk:
    return EmbeddedChunk(chunk.id, chunk.chunk_id, chunk.text_hash, vector)
