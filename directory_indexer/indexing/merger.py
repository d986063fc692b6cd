"""Moves vectors from SQLite, where they are kept first, into the vector store, and brings lost ones back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from directory_indexer.docstore.store import DocStore
from directory_indexer.docstore.vector_sets import VectorSet
from directory_indexer.docstore.vectors import EmbeddedChunk
from directory_indexer.errors import VectorsLostError, VectorStoreError
from directory_indexer.indexing.vector_state import VectorState, vector_state
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore import VectorPlace, VectorStore

_RETAGGED = 1000


class Merger:
    """Merges the vectors of one index; the caller holds the write lock."""

    def __init__(
        self, *, docstore: DocStore, place: VectorPlace, vectorstore: Callable[[VectorSet], VectorStore]
    ) -> None:
        self.place = place
        self.store_of = vectorstore
        self._docstore = docstore

    def state(self) -> VectorState:
        """Read how the vectors stand."""
        with self._docstore.snapshot() as snapshot:
            return vector_state(snapshot, self.place)

    def check(self) -> None:
        """Make sure that the vector store can take vectors.

        Raises:
            VectorStoreError: it cannot be reached, or holds other vectors.
        """
        state = self.state()
        self.store_of(state.vector_set).prepare(state.generation)

    def restore_lost(self) -> None:
        """Let chunks wait for their vectors again if those are not where the database has them.

        While the vector store is away nothing is known to be lost; what needs it later says so.
        """
        state = self.state()
        if not state.generation:
            return
        try:
            self.store_of(state.vector_set).require_whole(state.generation, n_vectors=state.n_stored)
        except VectorsLostError:
            with self._docstore.transaction() as transaction:
                transaction.vectors.forget_published()
        except VectorStoreError:
            return

    def merge_if_worth_it(self, state: VectorState) -> None:
        """Move pending vectors into the vector store unless they are so few that they may stay."""
        if state.n_pending + state.n_stale:
            self._merge(state, at_least=self.store_of(state.vector_set).keep_pending)

    def merge_if_many(self) -> None:
        """Move pending vectors, while a run goes on, if they are so many that they slow searches down."""
        with self._docstore.snapshot() as snapshot:
            n_pending = snapshot.vectors.count_pending()
            many = self.store_of(snapshot.vector_sets.current()).merge_at
        # The state of a large index takes longer to read than a batch takes to embed on a fast machine.
        if n_pending >= many:
            self._merge(self.state(), at_least=many)

    def merge_all(self) -> None:
        """Move every pending vector into the vector store, and let it drop every stale point."""
        self._merge(self.state(), at_least=1)

    def mend_tags(self) -> None:
        """Have points that tell of a directory which is tracked no more tell of where their texts are now.

        While vectors of a former space answer, which nobody writes, the tags of both stay as they are. Every run calls
        this, for what is cut off before its end, or must wait for the new space.

        Raises:
            VectorStoreError: the vector store cannot be read or written.
        """
        with self._docstore.snapshot() as snapshot:
            untracked = snapshot.vectors.untracked_tags()
        if not untracked or self.state().former is not None:
            return
        for directory in untracked:
            self._forget_tags(directory)
        self.merge_all()

    def _forget_tags(self, directory: FilePath) -> None:
        with self._docstore.snapshot() as snapshot:
            tagged = snapshot.vectors.tagged_below(directory)
        state = self.state()
        for start in range(0, len(tagged), _RETAGGED):
            batch = tagged[start : start + _RETAGGED]
            stored = self.store_of(state.vector_set).at(state.generation).vectors([one.chunk_id for one in batch])
            known = [EmbeddedChunk(*one, stored[one.chunk_id].tobytes()) for one in batch if one.chunk_id in stored]
            with self._docstore.transaction() as transaction:
                transaction.vectors.put(known)
                transaction.vectors.forget(one.chunk_id for one in batch if one.chunk_id not in stored)
        with self._docstore.transaction() as transaction:
            transaction.vectors.forget_tags(directory)

    def forget_gone(self) -> None:
        """Move every pending vector into the vector store, and let no vector of a text that is gone stay anywhere."""
        self.merge_all()
        with self._docstore.snapshot() as snapshot:
            former, gone = snapshot.vector_sets.former(), snapshot.stale_points.gone_former()
            generation = snapshot.vector_sets.answering_generation(self.place)
        if former is not None and gone:
            store = self.store_of(former)
            generation = store.merge(generation, deletes=gone, upserts=())
            with self._docstore.transaction() as transaction:
                transaction.vectors.publish_former(self.place, generation)
            store.discard_others(generation)

    def clear(self, vector_set: VectorSet) -> None:
        """Drop vectors that answer nothing any more; what cannot be reached stays where it is."""
        with contextlib.suppress(VectorStoreError):
            self.store_of(vector_set).clear()

    def _merge(self, state: VectorState, *, at_least: int) -> None:
        """Move pending vectors; `state` is of now, for only the holder of the write lock changes any of it."""
        if state.n_pending + state.n_needless < max(at_least, 1):
            return
        store = self.store_of(state.vector_set)
        with self._docstore.snapshot() as snapshot:
            generation = store.merge(
                state.generation,
                deletes=snapshot.stale_points.needless(),
                upserts=snapshot.vectors.pending_points(),
            )
        with self._docstore.transaction() as transaction:
            transaction.vectors.publish(self.place, generation)
        store.discard_others(generation)
