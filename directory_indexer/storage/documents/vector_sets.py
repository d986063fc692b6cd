"""The vector sets: which one answers, which one takes new vectors, and what is published of each."""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from directory_indexer.core.errors import IndexMismatchError
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.lazy import lazily
from directory_indexer.storage.databases.stored_values import parse_stored
from directory_indexer.storage.documents import SnapshotQueries, TableWrites
from directory_indexer.storage.documents.schema import (
    FORMER_PREFIX,
    GENERATION_KEYS,
    MetaWrites,
    parse_space,
    parse_suffix,
)
from directory_indexer.storage.vectors import VectorPlace

with lazily:
    from directory_indexer.storage.documents import vectors as vector_tables
    from directory_indexer.storage.documents.vectors import VectorWrites

_PLACE_NAMES = {VectorPlace.EMBEDDED: "in the embedded engine", VectorPlace.SERVER: "on a Qdrant server"}

_HINTS_BY_PLACE = {
    VectorPlace.EMBEDDED: "dirindex migrate --to-embedded copies it, dirindex index --yes makes it again",
    VectorPlace.SERVER: "dirindex migrate --to-server URL copies it, dirindex index --yes makes it again",
}

_SET_KEYS = ("space", "suffix", *GENERATION_KEYS.values())


class VectorSet(NamedTuple):
    """The vectors of one embedding space; `space` is None before the first vector.

    `suffix` follows the configured name in the name of the set; it is empty for the first set.
    """

    space: EmbeddingSpace | None = None
    suffix: str = ""


class VectorSets(SnapshotQueries):
    """The vector sets of one snapshot."""

    def current(self) -> VectorSet:
        """Return the vector set that runs add to."""
        space = self._meta("space")
        return VectorSet(parse_stored("meta.space", parse_space, space) if space else None, self._suffix(""))

    def former(self) -> VectorSet | None:
        """Return the vector set that answers until that of another space is complete; None without a switch."""
        former = self._meta("former_space")
        return (
            VectorSet(parse_stored("meta.space", parse_space, former), self._suffix(FORMER_PREFIX)) if former else None
        )

    def dropped(self) -> VectorSet | None:
        """Return the vector set that answered before the last switch: readers may have used it when it was dropped."""
        suffix = None if self._meta("left_suffix") is None else self._suffix("left_")
        return None if suffix is None or suffix == self.current().suffix else VectorSet(suffix=suffix)

    def answering(self) -> VectorSet:
        """Return the vector set that answers searches."""
        return self.former() or self.current()

    def generation(self, place: VectorPlace) -> int:
        """Return the generation in a vector store that this snapshot adds to; 0 is the empty one.

        Raises:
            IndexMismatchError: the vectors are in another store.
        """
        return _generation(self.generations(), place)

    def answering_generation(self, place: VectorPlace) -> int:
        """Return the generation in a vector store that answers searches; 0 is the empty one.

        Raises:
            IndexMismatchError: the vectors are in another store.
        """
        return _generation(self._generations(FORMER_PREFIX if self.former() else ""), place)

    def generations(self) -> dict[VectorPlace, int]:
        """Return the generation of each vector store that has the vectors of this snapshot; none for an empty index."""
        return self._generations("")

    def _generations(self, prefix: str) -> dict[VectorPlace, int]:
        named = {
            place: parse_stored("meta.generation", int, self._meta(prefix + key) or 0)
            for place, key in GENERATION_KEYS.items()
        }
        return {place: generation for place, generation in named.items() if generation}

    def _suffix(self, prefix: str) -> str:
        return parse_stored("meta.suffix", parse_suffix, self._meta(f"{prefix}suffix") or "")

    @property
    def is_switching(self) -> bool:
        """Whether vectors of a former space answer until those of another one are complete."""
        return self._meta("former_space") is not None


class VectorSetWrites(TableWrites):
    """Writes that switch from one vector set to another."""

    def __init__(self, connection: sqlite3.Connection, meta: MetaWrites, vectors: VectorWrites) -> None:
        super().__init__(connection)
        self._meta = meta
        self._vectors = vectors

    def set_space(self, space: EmbeddingSpace) -> None:
        """Store the space of the first vectors."""
        self._meta.set("space", json.dumps(space._asdict()))

    def begin_switch(self, suffix: str) -> None:
        """Start a new vector set; the current one answers until the new one is complete.

        Every vector must be in a generation. This cancels any switch in progress.
        """
        if not self._meta.get("former_space") and self._meta.get("space"):
            for key in _SET_KEYS:
                self._meta.rename(key, FORMER_PREFIX + key)
            self._execute("INSERT INTO former_points SELECT chunk_id, text_hash FROM chunks WHERE is_embedded = 1")
            self._execute("INSERT OR IGNORE INTO former_points SELECT chunk_id, text_hash FROM stale_points")
        self._delete_vectors_and_space()
        self._meta.set("suffix", suffix)

    def cancel_switch(self) -> None:
        """Cancel a switch: the answering set takes new vectors again."""
        self._delete_vectors_and_space()
        for key in _SET_KEYS:
            self._meta.rename(FORMER_PREFIX + key, key)
        self._execute("""UPDATE chunks AS c SET is_embedded = 1 WHERE EXISTS (
                   SELECT 1 FROM former_points p WHERE p.chunk_id = c.chunk_id AND p.text_hash = c.text_hash)""")
        self._connection.execute(
            "INSERT INTO stale_points SELECT p.chunk_id, p.text_hash "  # noqa: S608 - constants
            f"FROM former_points p WHERE {vector_tables.FORMER_WITHOUT_TEXT}"
        )
        self._execute("DELETE FROM former_points")

    def end_switch(self) -> None:
        """Make the new vector set answer."""
        self._meta.set("left_suffix", self._meta.get(FORMER_PREFIX + "suffix") or "")
        self._delete_former_set()

    def start_over(self) -> None:
        """Delete every vector and its space."""
        self._delete_former_set()
        self._delete_vectors_and_space()

    def _delete_former_set(self) -> None:
        for key in _SET_KEYS:
            self._meta.delete(FORMER_PREFIX + key)
        self._execute("DELETE FROM former_points")

    def _delete_vectors_and_space(self) -> None:
        self._vectors.delete_all()
        self._execute("DELETE FROM refused_chunks")
        for key in _SET_KEYS:
            self._meta.delete(key)


def _generation(generations: dict[VectorPlace, int], place: VectorPlace) -> int:
    if generations and place not in generations:
        raise IndexMismatchError(
            f"this index is searched by meaning {_PLACE_NAMES[next(iter(generations))]}, and the configuration "
            f"looks for it {_PLACE_NAMES[place]}",
            hint=_HINTS_BY_PLACE[place],
        )
    return generations.get(place, 0)
