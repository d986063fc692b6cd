"""Where the vectors of chunks are kept and compared: the boundary that every store implements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.findings import Finding
    from directory_indexer.ids import ChunkId


class VectorPlace(StrEnum):
    """Where the vectors of an index are."""

    EMBEDDED = "embedded"
    SERVER = "server"


class VectorPoint(NamedTuple):
    """One vector with the payload that Qdrant keeps beside it."""

    chunk_id: ChunkId
    file_path: FilePath
    parent_directories: tuple[FilePath, ...]
    vector: bytes
    """The float32 values in native byte order."""


class VectorScope(NamedTuple):
    """Where a hit must lie: in one of the directories, at any depth, or in one of the files; anywhere if none is given.

    A directory counts as a scope if it is a tracked one or lies in one.
    """

    directories: tuple[FilePath, ...] = ()
    files: tuple[FilePath, ...] = ()


class VectorHit(NamedTuple):
    """A chunk that the vector store found, with its cosine similarity."""

    chunk_id: ChunkId
    score: float


class StoredVectors(Protocol):
    """The vectors of one generation, to be read; the empty generation has none.

    Raises:
        VectorStoreError: from any verb, when the store cannot be reached or read.
        GenerationGoneError: from any verb, when the generation has been discarded.
    """

    def search(self, vector: NDArray[np.float32], *, scope: VectorScope, limit: int) -> list[VectorHit]:
        """Find the chunks in the scope that are most similar to a vector, best first."""

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Compare a vector with those of some chunks, as far as they have one."""

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Give the vectors of those chunks that have one, as exactly as the store keeps them."""

    def ids(self) -> Iterator[ChunkId]:
        """Give the ids of all chunks that have a vector."""

    def count(self) -> int:
        """Count the vectors."""


class VectorStore(Protocol):
    """The vectors of one index, a generation at a time; threads may share it.

    A generation is what one merge left. Readers name the one that the database names; 0 is the empty one. Only the
    holder of the write lock may merge and discard.

    Raises:
        VectorStoreError: from any verb, when the store cannot be reached, read or written.
        GenerationGoneError: when a generation that is to be looked at has been discarded.
    """

    @property
    def place(self) -> VectorPlace:
        """Where the vectors are, as the database remembers it."""

    @property
    def merge_at(self) -> int:
        """So many pending vectors are merged while a run goes on."""

    @property
    def keep_pending(self) -> int:
        """At the end of a run fewer pending vectors than these are not worth a merge."""

    def prepare(self, generation: int) -> None:
        """Make sure that vectors can be added to a generation, before work goes into making them."""

    def at(self, generation: int) -> StoredVectors:
        """Give a generation to read."""

    def require_whole(self, generation: int, *, n_vectors: int) -> None:
        """Look, without reading them, whether a generation is there and has so many vectors.

        Raises:
            VectorsLostError: it is not there, damaged, or stems from another state of the database.
        """

    def require_intact(self, generation: int) -> None:
        """Read a generation, and look whether every byte is as it was written.

        Raises:
            VectorsLostError: it is not there or damaged.
        """

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Make a new generation, that of the given one without `deletes` and then with `upserts`; give its number.

        It is durable on return, and counts once the database names it. Doing it again does no harm.
        """

    def discard_others(self, generation: int) -> None:
        """Remove what crashes left behind, and what the given generation does not need."""

    def health(self) -> Finding:
        """Look how the store is."""

    def clear(self) -> None:
        """Remove every vector of this index that nobody reads at the moment."""

    def close(self) -> None:
        """Give back files, connections and memory; a later call opens the store again."""
