"""Static vectors of the chunks that wait for a vector of the model, a block per row, and the model that made them.

They only generate candidates, so a few that are missing or of a removed text do no harm: each chunk is looked up. They
are dropped when no chunk waits any more.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.databases.stored_values import parse_stored
from directory_indexer.docstore.reading import Reading
from directory_indexer.lazy import lazily

with lazily:
    import numpy as np
    from numpy.typing import NDArray

_BLOCKS = "static_blocks"

_MAX_CACHED_BYTES = 8_000_000
"""At most this many bytes are cached for each of a few connections."""


class StaticBlocks(NamedTuple):
    """Rows of chunks, and the codes of their static vectors, of shape (chunks, bytes of a code)."""

    rows: NDArray[np.int64]
    codes: NDArray[np.uint8]


class StoredModel(NamedTuple):
    """The static model: weights and means as float32 values, and the version of the table.

    `own_rows` are rows that were learned from `n_lessons` texts.
    """

    version: int
    weights: bytes
    mean: bytes
    own_rows: bytes = b""
    n_lessons: int = 0


class StaticVectors(Reading):
    """The static vectors of one snapshot."""

    def model(self) -> StoredModel | None:
        """Return the model that made the static vectors; None if there are none."""
        row = self._connection.execute(
            "SELECT version, weights, mean, own_rows, n_lessons FROM static_model"
        ).fetchone()
        return StoredModel(*row) if row else None

    def rows(self) -> array[int]:
        """Return the rows of the chunks that have one, without numpy and without reading the vectors."""
        blocks = self._connection.execute("SELECT rows FROM static_vectors").fetchall()
        return parse_stored("static_vectors", _parse_rows, blocks)

    def all(self) -> StaticBlocks:
        """Return all static vectors; they are cached unless they are large."""
        known = self._known.get(_BLOCKS)
        if isinstance(known, StaticBlocks):
            return known
        stored_blocks = self._connection.execute("SELECT rows, codes FROM static_vectors").fetchall()
        blocks = parse_stored("static_vectors", _parse_blocks, stored_blocks)
        if blocks.codes.nbytes <= _MAX_CACHED_BYTES:
            self._known[_BLOCKS] = blocks
        return blocks


def _parse_rows(stored_blocks: Sequence[tuple[bytes]]) -> array[int]:
    rows = array("q")
    for (block,) in stored_blocks:
        rows.frombytes(block)
    return rows


def _parse_blocks(stored_blocks: Sequence[tuple[bytes, bytes]]) -> StaticBlocks:
    rows = np.frombuffer(b"".join(row[0] for row in stored_blocks), np.int64)
    codes = np.frombuffer(b"".join(row[1] for row in stored_blocks), np.uint8)
    return StaticBlocks(rows, codes.reshape(rows.size, codes.size // max(rows.size, 1)))


class StaticVectorWrites:
    """Writes to the static vectors."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def begin(self, model: StoredModel) -> None:
        """Delete all static vectors, and store the model of the new ones."""
        self.clear()
        self._connection.execute("INSERT INTO static_model VALUES (1, ?, ?, ?, ?, ?)", model)

    def add(self, rows: Sequence[int], codes: NDArray[np.uint8]) -> None:
        """Insert a block: rows of chunks that have none yet, and their codes, of shape (rows, bytes of a code)."""
        self._connection.execute(
            "INSERT OR REPLACE INTO static_vectors VALUES (?, ?, ?)",
            (max(rows), np.array(rows, np.int64).tobytes(), codes.tobytes()),
        )

    def clear(self) -> None:
        """Delete all static vectors and their model."""
        self._connection.execute("DELETE FROM static_vectors")
        self._connection.execute("DELETE FROM static_model")
