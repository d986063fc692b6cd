"""Switches of the vectors of an index from one embedding space to another."""

from __future__ import annotations

from directory_indexer.docstore.store import DocStore
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.errors import ProviderError
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.ids import content_hash
from directory_indexer.indexing.merger import Merger
from directory_indexer.indexing.vector_state import VectorState
from directory_indexer.vectorstore import VectorPlace


class Spaces:
    """The current and former embedding space of one index; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, merger: Merger) -> None:
        self._docstore = docstore
        self._merger = merger

    def adopt(self, space: EmbeddingSpace) -> None:
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
        self._merger.restore_lost()
        self._merger.merge_all()
        with self._docstore.snapshot() as snapshot:
            former, current = snapshot.vector_sets.former(), snapshot.vector_sets.current()
        name = fingerprint.embedding
        is_way_back = former is not None and former.space is not None and former.space.name == name
        with self._docstore.transaction() as transaction:
            if is_way_back:
                transaction.vector_sets.switch_back()
            else:
                transaction.vector_sets.begin_switch(
                    f"-{content_hash(name.encode())[:4].hex()}" if current.space else current.suffix
                )
            transaction.meta.set("fingerprint", fingerprint.to_json())
        if former is not None and current.space is not None:
            self._merger.clear(current)

    def complete_switch(self, state: VectorState) -> VectorState:
        """Make the new vectors answer, and drop the former ones, if every chunk has a new one.

        Returns the state of the vectors afterwards.
        """
        if state.former is not None and state.n_waiting == state.n_refused:
            with self._docstore.transaction() as transaction:
                transaction.vector_sets.end_switch()
            self._merger.clear(state.former)
            return self._merger.state()
        if state.left is not None and self._merger.place is VectorPlace.EMBEDDED:
            self._merger.clear(state.left)
        return state
