"""What an index remembers by name: which vectors it has, what built it, and who it is."""

from __future__ import annotations

import re
import sqlite3

from directory_indexer.databases.stored_values import integer, mapping_in, text
from directory_indexer.docstore.reading import Reading
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorPlace

with lazily:
    import uuid

GENERATION_KEYS = {VectorPlace.EMBEDDED: "generation", VectorPlace.SERVER: "generation_on_server"}
"""Under which key each vector store's generation is remembered; both hold the same vectors where both are named."""


_SUFFIX = re.compile(r"(-[0-9a-f]{8})?")

FORMER = "former_"
"""Begins the keys of what answers until a switch to another space is complete."""


def space_in(written: object) -> EmbeddingSpace:
    """Parse a remembered space.

    Raises:
        ValueError, TypeError: it is something else.
    """
    space = EmbeddingSpace(**mapping_in(written))
    texts = (space.provider, space.model, space.document_prefix, space.query_prefix, space.endpoint or "")
    if not all(isinstance(value, str) for value in texts) or not 0 <= integer(space.dimensions) <= _MOST_DIMENSIONS:
        raise TypeError(space)
    return space


def suffix_in(written: object) -> str:
    """Parse the suffix of the name of a vector set, which becomes part of a path.

    Raises:
        ValueError, TypeError: it is something else.
    """
    if not _SUFFIX.fullmatch(text(written)):
        raise ValueError(written)
    return text(written)


_MOST_DIMENSIONS = 65_536


class Meta(Reading):
    """The remembered values of one moment."""

    def get(self, key: str) -> str | None:
        """Read a remembered value."""
        return self._meta(key)


class MetaWrites:
    """Remember values."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def index_id(self) -> str:
        """Give the id of this index, which is chosen once."""
        self._connection.execute(
            "INSERT INTO meta VALUES ('index_id', ?) ON CONFLICT (key) DO NOTHING", (str(uuid.uuid4()),)
        )
        return str(self._connection.execute("SELECT value FROM meta WHERE key = 'index_id'").fetchone()[0])

    def set(self, key: str, value: str) -> None:
        """Remember a value."""
        self._connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
        )

    def forget(self, key: str) -> None:
        """Remember a value no more."""
        self._connection.execute("DELETE FROM meta WHERE key = ?", (key,))

    def get(self, key: str) -> str | None:
        """Read a value as it is in this transaction."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row and str(row[0])

    def move(self, key: str, to: str) -> None:
        """Remember a value by another name."""
        self._connection.execute("UPDATE OR REPLACE meta SET key = ? WHERE key = ?", (to, key))

    def name_generation(self, place: VectorPlace, generation: int) -> None:
        """Name a generation that holds the same vectors as those that are named already."""
        self.set(GENERATION_KEYS[place], str(generation))

    def unname_generation(self, place: VectorPlace) -> None:
        """Let a store have no generation that the index could answer from."""
        self.forget(GENERATION_KEYS[place])

    def forget_generations(self) -> None:
        """Let no store have a generation."""
        for place in GENERATION_KEYS:
            self.unname_generation(place)
