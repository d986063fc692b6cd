"""The state of the vectors of an index: their generation, and how many wait, are pending, stale or refused."""

from __future__ import annotations

from typing import NamedTuple

from directory_indexer.docstore.store import Snapshot
from directory_indexer.docstore.vector_sets import VectorSet
from directory_indexer.vectorstore import VectorPlace


class VectorState(NamedTuple):
    """The state that a step of a run is based on, read once before the step.

    `n_waiting` chunks have no vector, `n_refused` of them never get one; `n_pending` vectors are in no generation yet.
    `n_stored` are those that the generation must contain; `n_stale` of its points belong to removed texts, and of
    these the vectors of `n_needless` cannot be reused.
    """

    vector_set: VectorSet
    former: VectorSet | None
    left: VectorSet | None
    generation: int
    n_waiting: int
    n_refused: int
    n_pending: int
    n_stored: int
    n_stale: int
    n_needless: int


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
        left=vector_sets.left(),
        generation=vector_sets.generation(place),
        n_waiting=queue.count(),
        n_refused=queue.count_refused(),
        n_pending=snapshot.vectors.count_pending(),
        n_stored=snapshot.vectors.count_stored(),
        n_stale=n_stale,
        n_needless=stale.count_needless() if n_stale else 0,
    )
