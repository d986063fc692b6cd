"""Candidates of one search by the static vectors of chunks that wait, within its scope."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from directory_indexer.databases.stored_values import DamagedValueError, parse_stored
from directory_indexer.docstore.static_vectors import StaticBlocks
from directory_indexer.docstore.store import Snapshot
from directory_indexer.embedders.model_files import STATIC_TABLE_VERSION
from directory_indexer.embedders.static_table import CODE_BYTES, nearest_codes, similarities, static_model
from directory_indexer.lazy import lazily
from directory_indexer.searching.scope import Scope

with lazily:
    from numpy.typing import NDArray

_GROWTH: Final = 4


class StaticCandidates:
    """What is near to one question by static vectors; nothing, where there are none."""

    def __init__(self, snapshot: Snapshot, scope: Scope, text: str) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._text = text

    def nearest(self, limit: int) -> list[int]:
        """Give the rows of the chunks in the scope that wait and are nearest, nearest first."""
        rows, codes = self._blocks
        if self._scope.is_empty or not rows.size:
            return []
        if self._scope.rows is not None:
            first, last = self._scope.rows
            lies_between = (rows >= first) & (rows <= last)
            rows, codes = rows[lies_between], codes[lies_between]
        n_looked_at = limit
        while True:
            nearest = rows[nearest_codes(codes, self._vector, n_looked_at)].tolist()
            waiting = self._snapshot.embedding_queue.rows_that_wait(nearest, self._scope.holder_ids)
            if len(waiting) >= limit or len(nearest) < n_looked_at:
                return waiting[:limit]
            n_looked_at *= _GROWTH

    def similarities(self, rows: Sequence[int]) -> list[float]:
        """Tell how near these chunks are, from -1 to 1; 0 for those without a static vector."""
        known, codes = self._blocks
        if not known.size:
            return [0.0] * len(rows)
        order = np.argsort(known, kind="stable")
        places = order[np.minimum(np.searchsorted(known, rows, sorter=order), known.size - 1)]
        found = np.where(known[places] == rows, similarities(codes[places], self._vector), 0.0)
        return [float(one) for one in found]

    @cached_property
    def _blocks(self) -> StaticBlocks:
        stored = self._snapshot.static_vectors.model()
        if stored is None or stored.version != STATIC_TABLE_VERSION:
            return StaticBlocks(np.empty(0, np.int64), np.empty((0, 0), np.uint8))
        blocks = self._snapshot.static_vectors.all()
        if blocks.rows.size and blocks.codes.shape[1] != CODE_BYTES:
            raise DamagedValueError("static_vectors.codes")
        return blocks

    @cached_property
    def _vector(self) -> NDArray[np.float32]:
        """That of the question."""
        of_index = self._snapshot.static_vectors.model()
        assert of_index is not None  # noqa: S101 - where there are static vectors, there is what made them
        model = parse_stored(
            "static_model", lambda made: static_model(made.weights, made.mean, made.own_rows), of_index
        )
        vector: NDArray[np.float32] = model.vectors([self._text])[0]
        return vector
