"""How the vectors of an index stand at one moment: where they are, and what waits, is stale or refused."""

from __future__ import annotations

from typing import NamedTuple

from directory_indexer.docstore.store import Snapshot
from directory_indexer.docstore.vectors import VectorLine
from directory_indexer.vectorstore import VectorPlace


class VectorState(NamedTuple):
    """What a step of a run goes by: read once, before the step.

    `n_waiting` chunks have no vector, `n_refused` of them never get one; `n_pending` vectors are in no generation yet.
    `n_stored` are those that the generation must hold; `n_stale` of its points belong to texts that are gone, and of
    these the vectors of `n_needless` are not to be reused.
    """

    line: VectorLine
    former: VectorLine | None
    left: VectorLine | None
    generation: int
    n_waiting: int
    n_refused: int
    n_pending: int
    n_stored: int
    n_stale: int
    n_needless: int


def vector_state(snapshot: Snapshot, place: VectorPlace) -> VectorState:
    """Read how the vectors stand.

    Raises:
        IndexMismatchError: they are in another place.
    """
    vectors = snapshot.vectors
    n_stale = vectors.count_stale_points()
    return VectorState(
        line=vectors.line(),
        former=vectors.former_line(),
        left=vectors.left_line(),
        generation=vectors.generation(place),
        n_waiting=vectors.count_chunks_to_embed(),
        n_refused=vectors.count_refused(),
        n_pending=vectors.count_pending(),
        n_stored=vectors.count_stored(),
        n_stale=n_stale,
        n_needless=vectors.count_needless_points() if n_stale else 0,
    )
