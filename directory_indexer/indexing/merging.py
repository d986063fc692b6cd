"""Merging of pending vectors into the vector store, their state, and switches to another embedding model.

Vectors that the store has lost are recovered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from directory_indexer.core.errors import ProviderError, VectorsLostError, VectorStoreError
from directory_indexer.core.fingerprint import EmbeddingSpace, Fingerprint
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.storage.documents.vector_sets import VectorSet
from directory_indexer.storage.documents.vectors import EmbeddedChunk
from directory_indexer.storage.vectors import VectorPlace, VectorStore

_RETAGGED_PER_TRANSACTION = 1000


class Merger:
    """Merges the vectors of one index; the caller holds the write lock."""

    def __init__(
        self, *, docstore: DocStore, place: VectorPlace, vectorstore: Callable[[VectorSet], VectorStore]
    ) -> None:
        self.place = place
        self.store_of = vectorstore
        self._docstore = docstore

    def state(self) -> VectorState:
        """Return the state of the vectors."""
        with self._docstore.snapshot() as snapshot:
            return vector_state(snapshot, self.place)

    def require_writable_store(self) -> None:
        """Require that the vector store can be written to.

        Raises:
            VectorStoreError: it cannot be reached, or has other vectors.
        """
        state = self.state()
        self.store_of(state.vector_set).prepare(state.generation)

    def requeue_lost_vectors(self) -> None:
        """Make chunks wait again if their vectors are missing from the vector store.

        An unreachable vector store is no evidence of a loss; later calls report it.
        """
        state = self.state()
        if not state.generation:
            return
        try:
            self.store_of(state.vector_set).require_complete(state.generation, n_vectors=state.n_stored)
        except VectorsLostError:
            with self._docstore.transaction() as transaction:
                transaction.vectors.mark_published_waiting()
        except VectorStoreError:
            return

    def merge_if_enough(self, state: VectorState) -> None:
        """Merge pending vectors into the vector store unless there are too few of them."""
        if state.n_pending + state.n_stale:
            self._merge(state, at_least=self.store_of(state.vector_set).min_pending_to_merge)

    def merge_if_many(self) -> None:
        """Merge pending vectors during a run if there are so many that they slow down searches."""
        with self._docstore.snapshot() as snapshot:
            n_pending = snapshot.vectors.count_pending()
            threshold = self.store_of(snapshot.vector_sets.current()).merge_at
        # Reading the state of a large index takes longer than embedding a batch on a fast machine.
        if n_pending >= threshold:
            self._merge(self.state(), at_least=threshold)

    def merge_all(self) -> None:
        """Merge all pending vectors, and delete all stale points."""
        self._merge(self.state(), at_least=1)

    def repair_tags(self) -> None:
        """Rewrite the tags of points that refer to directories no longer tracked.

        While vectors of a former space answer, which nobody writes, the tags of both stay as they are. Every run calls
        this, since it may have been interrupted, or have to wait for the new space.

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
        for start in range(0, len(tagged), _RETAGGED_PER_TRANSACTION):
            batch = tagged[start : start + _RETAGGED_PER_TRANSACTION]
            stored = (
                self.store_of(state.vector_set)
                .open_generation(state.generation)
                .vectors([chunk.chunk_id for chunk in batch])
            )
            known = [
                EmbeddedChunk(*chunk, stored[chunk.chunk_id].tobytes()) for chunk in batch if chunk.chunk_id in stored
            ]
            with self._docstore.transaction() as transaction:
                transaction.vectors.put(known)
                transaction.vectors.mark_waiting(chunk.chunk_id for chunk in batch if chunk.chunk_id not in stored)
        with self._docstore.transaction() as transaction:
            transaction.vectors.remove_tag(directory)

    def delete_removed(self) -> None:
        """Merge all pending vectors, and delete every vector of a removed text from all stores."""
        self.merge_all()
        with self._docstore.snapshot() as snapshot:
            former, gone = snapshot.vector_sets.former(), snapshot.stale_points.former_points_without_text()
            generation = snapshot.vector_sets.answering_generation(self.place)
        if former is not None and gone:
            store = self.store_of(former)
            generation = store.merge(generation, deletes=gone, upserts=())
            with self._docstore.transaction() as transaction:
                transaction.vectors.publish_former(self.place, generation)
            store.discard_others(generation)

    def delete_vector_set(self, vector_set: VectorSet) -> None:
        """Delete a vector set that answers no searches any more, unless its store is unreachable."""
        with contextlib.suppress(VectorStoreError):
            self.store_of(vector_set).clear()

    def _merge(self, state: VectorState, *, at_least: int) -> None:
        """Merge pending vectors; `state` is current, since only the holder of the write lock changes it."""
        if state.n_pending + state.n_unneeded < max(at_least, 1):
            return
        store = self.store_of(state.vector_set)
        with self._docstore.snapshot() as snapshot:
            generation = store.merge(
                state.generation, deletes=snapshot.stale_points.unneeded(), upserts=snapshot.vectors.pending_points()
            )
        with self._docstore.transaction() as transaction:
            transaction.vectors.publish(self.place, generation)
        store.discard_others(generation)


class SpaceSwitcher:
    """The current and former embedding space of one index; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, merger: Merger) -> None:
        self._docstore = docstore
        self._merger = merger

    def set_or_check_space(self, space: EmbeddingSpace) -> None:
        """Store the space of the first vectors, and check that of all later ones.

        Raises:
            ProviderError: the vectors of the index have another length.
        """
        with self._docstore.snapshot() as snapshot:
            known = snapshot.vector_sets.current().space
        if known is None:
            with self._docstore.transaction() as transaction:
                transaction.vector_sets.set_space(space)
        elif known.dimensions != space.dimensions:
            raise ProviderError(
                f"{space.name} makes vectors of {space.dimensions} dimensions, and those of the index have "
                f"{known.dimensions}: it is another model under the same name",
                hint="configure the model that made the index, or index into another place with --data-dir",
            )

    def switch(self, fingerprint: Fingerprint) -> None:
        """Begin to compute all vectors in another space; the old ones answer until that is complete.

        The fingerprint, which is stored in the same transaction, names the space.

        Raises:
            VectorStoreError: the existing vectors cannot be reached.
        """
        self._merger.requeue_lost_vectors()
        self._merger.merge_all()
        with self._docstore.snapshot() as snapshot:
            former, current = snapshot.vector_sets.former(), snapshot.vector_sets.current()
        name = fingerprint.embedding
        is_way_back = former is not None and former.space is not None and former.space.name == name
        with self._docstore.transaction() as transaction:
            if is_way_back:
                transaction.vector_sets.cancel_switch()
            else:
                transaction.vector_sets.begin_switch(
                    f"-{content_hash(name.encode())[:4].hex()}" if current.space else current.suffix
                )
            transaction.meta.set("fingerprint", fingerprint.to_json())
        if former is not None and current.space is not None:
            self._merger.delete_vector_set(current)

    def complete_switch(self, state: VectorState) -> VectorState:
        """Make the new vectors answer, and drop the former ones, if every chunk has a new one.

        Returns the state of the vectors afterwards.
        """
        if state.former is not None and state.n_waiting == state.n_refused:
            with self._docstore.transaction() as transaction:
                transaction.vector_sets.end_switch()
            self._merger.delete_vector_set(state.former)
            return self._merger.state()
        if state.dropped is not None and self._merger.place is VectorPlace.EMBEDDED:
            self._merger.delete_vector_set(state.dropped)
        return state


class VectorState(NamedTuple):
    """The state that a step of a run is based on, read once before the step.

    `n_waiting` chunks have no vector, `n_refused` of them never get one; `n_pending` vectors are in no generation yet.
    `n_stored` are those that the generation must contain; `n_stale` of its points belong to removed texts, and of
    these the vectors of `n_unneeded` cannot be reused.
    """

    vector_set: VectorSet
    former: VectorSet | None
    dropped: VectorSet | None
    generation: int
    n_waiting: int
    n_refused: int
    n_pending: int
    n_stored: int
    n_stale: int
    n_unneeded: int


def vector_state(snapshot: Snapshot, place: VectorPlace) -> VectorState:
    """Return the state of the vectors.

    Raises:
        IndexMismatchError: they are in another store.
    """
    vector_sets, queue, stale = snapshot.vector_sets, snapshot.embedding_queue, snapshot.stale_points
    n_stale = stale.count()
    return VectorState(
        vector_set=vector_sets.current(),
        former=vector_sets.former(),
        dropped=vector_sets.dropped(),
        generation=vector_sets.generation(place),
        n_waiting=queue.count(),
        n_refused=queue.count_refused(),
        n_pending=snapshot.vectors.count_pending(),
        n_stored=snapshot.vectors.count_stored(),
        n_stale=n_stale,
        n_unneeded=stale.count_unneeded() if n_stale else 0,
    )
