"""Vectors that searches made of chunks that wait, kept until a run takes them over.

A search never waits to write them and never has to: what could not be kept is made again. They are found by the hash of
their text, so they cannot be those of another one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from directory_indexer.docstore.index_scope import WHOLE_INDEX, IndexScope, ScopedReading
from directory_indexer.docstore.reading import batches, marks
from directory_indexer.docstore.vectors import is_vector
from directory_indexer.ids import ContentHash


class SearchVectors(ScopedReading):
    """The vectors of one moment that searches made, as float32 values by the hashes of their texts."""

    def of_texts(self, space: str, text_hashes: Sequence[ContentHash], *, dimensions: int) -> dict[ContentHash, bytes]:
        """Return those of texts in an embedding space, by its name; one that is damaged is made again."""
        found: dict[ContentHash, bytes] = {}
        for batch in batches(text_hashes):
            rows = self._connection.execute(
                f"SELECT text_hash, vector FROM search_vectors WHERE space = ? AND text_hash IN ({marks(batch)})",  # noqa: S608
                [space, *batch],
            )
            found.update((digest, vector) for digest, vector in rows if is_vector(vector, dimensions))
        return found

    def has_any(self) -> bool:
        """Tell whether there are any, in whatever space."""
        return bool(self._count("SELECT EXISTS (SELECT 1 FROM search_vectors)"))

    def rows_waiting(self, space: str, scope: IndexScope = WHOLE_INDEX) -> list[int]:
        """List the rows of chunks that wait for a vector that is here."""
        condition, arguments = self._chunks_in(scope)
        rows = self._connection.execute(
            f"""SELECT c.id FROM search_vectors v CROSS JOIN chunks c ON c.text_hash = v.text_hash
               WHERE v.space = ? AND c.is_embedded = 0 AND {condition} ORDER BY c.id""",  # noqa: S608
            [space, *arguments],
        )
        return [row[0] for row in rows]


class SearchVectorWrites:
    """Keep vectors that searches made, and drop them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, space: str, vectors: Mapping[ContentHash, bytes]) -> None:
        """Keep vectors of texts in an embedding space."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO search_vectors VALUES (?, ?, ?)",
            [(space, digest, vector) for digest, vector in vectors.items()],
        )

    def drop_needless(self, space: str) -> None:
        """Drop those of other spaces, and those that were taken over or whose texts are gone."""
        self._connection.execute(
            """DELETE FROM search_vectors WHERE space <> ?
               OR text_hash NOT IN (SELECT text_hash FROM chunks WHERE is_embedded = 0)""",
            (space,),
        )

    def clear(self) -> None:
        """Drop all of them."""
        self._connection.execute("DELETE FROM search_vectors")
