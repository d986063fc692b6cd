"""Candidates of one search by the static vectors of waiting chunks, within its scope."""

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
    """Chunks near one query by static vectors; none if there are no static vectors."""

    def __init__(self, snapshot: Snapshot, scope: Scope, text: str) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._text = text

    def nearest(self, limit: int) -> list[int]:
        """Return the rows of the nearest waiting chunks in the scope, nearest first."""
        rows, codes = self._blocks
        if self._scope.is_empty or not rows.size:
            return []
        if self._scope.rows is not None:
            first, last = self._scope.rows
            lies_between = (rows >= first) & (rows <= last)
            rows, codes = rows[lies_between], codes[lies_between]
        depth = limit
        while True:
            nearest = rows[nearest_codes(codes, self._vector, depth)].tolist()
            waiting = self._snapshot.embedding_queue.rows_that_wait(nearest, self._scope.holder_ids)
            if len(waiting) >= limit or len(nearest) < depth:
                return waiting[:limit]
            depth *= _GROWTH

    def similarities(self, rows: Sequence[int]) -> list[float]:
        """Return the similarities of these chunks, from -1 to 1; 0 for those without a static vector."""
        known, codes = self._blocks
        if not known.size:
            return [0.0] * len(rows)
        order = np.argsort(known, kind="stable")
        indices = order[np.minimum(np.searchsorted(known, rows, sorter=order), known.size - 1)]
        values = np.where(known[indices] == rows, similarities(codes[indices], self._vector), 0.0)
        return [float(value) for value in values]

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
        """The static vector of the query."""
        of_index = self._snapshot.static_vectors.model()
        assert of_index is not None  # noqa: S101 - static vectors imply a static model
        model = parse_stored(
            "static_model", lambda made: static_model(made.weights, made.mean, made.own_rows), of_index
        )
        vector: NDArray[np.float32] = model.vectors([self._text])[0]
        return vector
