"""Vectors that searches computed for waiting chunks, stored until a run takes them over.

A search never waits to write them and never has to: a missing one is computed again. They are keyed by the hash of
their text, so they cannot belong to another one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from directory_indexer.docstore.index_scope import WHOLE_INDEX, IndexScope, ScopedReading
from directory_indexer.docstore.reading import batches, marks
from directory_indexer.docstore.vectors import is_vector
from directory_indexer.ids import ContentHash


class SearchVectors(ScopedReading):
    """The vectors of one snapshot that searches computed, as float32 values by the hashes of their texts."""

    def of_texts(self, space: str, text_hashes: Sequence[ContentHash], *, dimensions: int) -> dict[ContentHash, bytes]:
        """Return the vectors of texts in an embedding space; damaged ones are omitted, and so computed again."""
        vectors: dict[ContentHash, bytes] = {}
        for batch in batches(text_hashes):
            rows = self._connection.execute(
                f"SELECT text_hash, vector FROM search_vectors WHERE space = ? AND text_hash IN ({marks(batch)})",  # noqa: S608
                [space, *batch],
            )
            vectors.update((digest, vector) for digest, vector in rows if is_vector(vector, dimensions))
        return vectors

    def has_any(self) -> bool:
        """Whether there are any vectors, in any space."""
        return bool(self._count("SELECT EXISTS (SELECT 1 FROM search_vectors)"))

    def rows_waiting(self, space: str, scope: IndexScope = WHOLE_INDEX) -> list[int]:
        """Return the rows of the chunks whose vector is only stored here."""
        condition, arguments = self._chunks_in(scope)
        rows = self._connection.execute(
            f"""SELECT c.id FROM search_vectors v CROSS JOIN chunks c ON c.text_hash = v.text_hash
               WHERE v.space = ? AND c.is_embedded = 0 AND {condition} ORDER BY c.id""",  # noqa: S608
            [space, *arguments],
        )
        return [row[0] for row in rows]


class SearchVectorWrites:
    """Writes to the vectors that searches computed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, space: str, vectors: Mapping[ContentHash, bytes]) -> None:
        """Store vectors of texts in an embedding space."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO search_vectors VALUES (?, ?, ?)",
            [(space, digest, vector) for digest, vector in vectors.items()],
        )

    def drop_needless(self, space: str) -> None:
        """Delete vectors of other spaces, and those whose texts have been embedded or removed."""
        self._connection.execute(
            """DELETE FROM search_vectors WHERE space <> ?
               OR text_hash NOT IN (SELECT text_hash FROM chunks WHERE is_embedded = 0)""",
            (space,),
        )

    def clear(self) -> None:
        """Delete all of them."""
        self._connection.execute("DELETE FROM search_vectors")
