"""Static vectors for chunks that wait for a vector, which searches use meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from directory_indexer.docstore.index_scope import WHOLE_INDEX, IndexScope
from directory_indexer.docstore.store import DocStore
from directory_indexer.embedders.model_files import STATIC_TABLE_VERSION
from directory_indexer.indexing.teaching import Teaching
from directory_indexer.lazy import lazily

with lazily:
    import numpy as np

    from directory_indexer.docstore.static_vectors import StoredModel
    from directory_indexer.embedders.static_lessons import learned
    from directory_indexer.embedders.static_table import StaticModel, static_model


_SAMPLE = 2000
"""The number of chunks that weights are learned from: of 11,000 chunks, 2,000 find as much as all."""

_BLOCK = 512
_BLOCKS_A_COMMIT = 8


class FirstPass:
    """Computes static vectors for the chunks of one index; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, teaching: Teaching) -> None:
        self._docstore = docstore
        self._teaching = teaching

    def cover(self, scope: IndexScope = WHOLE_INDEX, *, must_stop: Callable[[], bool] = lambda: False) -> Iterator[int]:
        """Compute missing static vectors of waiting chunks; each step yields the number of chunks.

        With a new model, covered chunks that wait outside the scope are covered again.
        """
        with self._docstore.snapshot() as snapshot:
            stored = snapshot.static_vectors.model()
            covered_rows = snapshot.static_vectors.rows()
            waiting_rows = snapshot.embedding_queue.rows(scope).rows
        n_rest = len(set(waiting_rows).difference(covered_rows))
        # What was learned from a small part of the index is not representative of the whole.
        is_old = stored is None or stored.version != STATIC_TABLE_VERSION or n_rest > len(covered_rows)
        is_reusable = stored is not None and not is_old and not self._teaching.pays(stored.n_lessons)
        if is_reusable and not n_rest:
            return  # before numpy and the table are loaded
        waiting, covered = np.array(waiting_rows, np.int64), np.array(covered_rows, np.int64)
        rest = np.setdiff1d(waiting, covered, assume_unique=True)
        model = _load_model(stored) if is_reusable and stored is not None else None
        if model is None:
            model, rest = self._begin(waiting, must_stop), np.union1d(waiting, self._waiting_of(covered))
        step = _BLOCK * _BLOCKS_A_COMMIT
        for start in range(0, rest.size, step):
            if must_stop():
                return
            yield self._cover(model, rest[start : start + step].tolist())

    def _waiting_of(self, rows: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.int64]:
        with self._docstore.snapshot() as snapshot:
            return np.intersect1d(rows, np.array(snapshot.embedding_queue.rows().rows, np.int64))

    def _begin(self, waiting: np.typing.NDArray[np.int64], must_stop: Callable[[], bool]) -> StaticModel:
        sample = waiting[:: max(1, waiting.size // _SAMPLE)][:_SAMPLE].tolist()
        lessons = self._teaching.lessons(waiting, must_stop)
        model = learned(self._texts(sample), lessons)
        with self._docstore.transaction() as transaction:
            transaction.static_vectors.begin(
                StoredModel(
                    STATIC_TABLE_VERSION,
                    model.weights.tobytes(),
                    model.mean.tobytes(),
                    bytes(model.own),
                    len(lessons.texts),
                )
            )
        return model

    def _cover(self, model: StaticModel, rows: Sequence[int]) -> int:
        blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
        codes = [model.codes(self._texts(block)) for block in blocks]
        with self._docstore.transaction() as transaction:
            for block, of_block in zip(blocks, codes, strict=True):
                transaction.static_vectors.add(block, of_block)
        return len(rows)

    def _texts(self, rows: Sequence[int]) -> list[str]:
        with self._docstore.snapshot() as snapshot:
            texts = snapshot.embedding_queue.texts(rows)
        return [texts[row] for row in rows if row in texts]


def _load_model(stored: StoredModel) -> StaticModel | None:
    with contextlib.suppress(ValueError, TypeError):  # a damaged model is learned again
        return static_model(stored.weights, stored.mean, stored.own_rows)
    return None
