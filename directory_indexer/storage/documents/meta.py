"""Key-value metadata of an index: its vector sets, its fingerprint and its id."""

from __future__ import annotations

import re

from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.lazy import lazily
from directory_indexer.storage.databases.stored_values import parse_integer, parse_mapping, parse_text
from directory_indexer.storage.documents.queries import SnapshotQueries, TableWrites
from directory_indexer.storage.vectors import VectorPlace

with lazily:
    import uuid

GENERATION_KEYS = {VectorPlace.EMBEDDED: "generation", VectorPlace.SERVER: "generation_on_server"}
"""The key of the generation of each vector store; if both are set, both hold the same vectors."""

_SUFFIX_PATTERN = re.compile(r"(-[0-9a-f]{8})?")

FORMER_PREFIX = "former_"
"""The prefix of the keys of the space that answers until a switch to another one is complete."""


def parse_space(stored: object) -> EmbeddingSpace:
    """Parse a stored embedding space."""
    space = EmbeddingSpace(**parse_mapping(stored))
    texts = (space.provider, space.model, space.document_prefix, space.query_prefix, space.endpoint or "")
    if (
        not all(isinstance(value, str) for value in texts)
        or not 0 <= parse_integer(space.dimensions) <= _MAX_DIMENSIONS
    ):
        raise TypeError(space)
    return space


def parse_suffix(stored: object) -> str:
    """Parse the suffix of the name of a vector set, which becomes part of a path."""
    if not _SUFFIX_PATTERN.fullmatch(parse_text(stored)):
        raise ValueError(stored)
    return parse_text(stored)


_MAX_DIMENSIONS = 65_536


class Meta(SnapshotQueries):
    """The stored values of one snapshot."""

    def get(self, key: str) -> str | None:
        """Return a stored value."""
        return self._meta(key)


class MetaWrites(TableWrites):
    """Writes to the stored values."""

    def index_id(self) -> str:
        """Return the id of this index, which is drawn once."""
        self._execute("INSERT INTO meta VALUES ('index_id', ?) ON CONFLICT (key) DO NOTHING", str(uuid.uuid4()))
        return str(self._execute("SELECT value FROM meta WHERE key = 'index_id'").fetchone()[0])

    def set(self, key: str, value: str) -> None:
        """Store a value."""
        self._execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value
        )

    def forget(self, key: str) -> None:
        """Remove a stored value."""
        self._execute("DELETE FROM meta WHERE key = ?", key)

    def get(self, key: str) -> str | None:
        """Return a value as it is in this transaction."""
        row = self._execute("SELECT value FROM meta WHERE key = ?", key).fetchone()
        return row and str(row[0])

    def move(self, key: str, to: str) -> None:
        """Rename a stored value."""
        self._execute("UPDATE OR REPLACE meta SET key = ? WHERE key = ?", to, key)

    def store_generation(self, place: VectorPlace, generation: int) -> None:
        """Store a generation that holds the same vectors as the generations stored already."""
        self.set(GENERATION_KEYS[place], str(generation))

    def forget_generation(self, place: VectorPlace) -> None:
        """Remove the generation of a store, which can no longer answer."""
        self.forget(GENERATION_KEYS[place])

    def forget_generations(self) -> None:
        """Remove the generations of all stores."""
        for place in GENERATION_KEYS:
            self.forget_generation(place)
