"""Vector stores: the protocol that every store implements, and its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.core.ids import ChunkId
    from directory_indexer.core.notes import Finding


class VectorPlace(StrEnum):
    """The place of the vectors of an index."""

    EMBEDDED = "embedded"
    SERVER = "server"


class VectorPoint(NamedTuple):
    """A vector with the payload that Qdrant stores beside it."""

    chunk_id: ChunkId
    file_path: FilePath
    parent_directories: tuple[FilePath, ...]
    vector: bytes
    """The float32 values in native byte order."""


class VectorScope(NamedTuple):
    """A filter on hits: in one of the directories, at any depth, or in one of the files; without any, all match.

    A directory must be a tracked one or lie in one.
    """

    directories: tuple[FilePath, ...] = ()
    files: tuple[FilePath, ...] = ()


class VectorHit(NamedTuple):
    """A chunk that the vector store found, with its cosine similarity."""

    chunk_id: ChunkId
    score: float


class GenerationVectors(Protocol):
    """Read access to the vectors of one generation; the empty generation has none.

    Raises:
        VectorStoreError: from any method, when the store cannot be reached or read.
        GenerationGoneError: from any method, when the generation has been discarded.
    """

    def search(self, vector: NDArray[np.float32], *, scope: VectorScope, limit: int) -> list[VectorHit]:
        """Return the chunks in the scope that are most similar to a vector, best first."""

    def cosines(self, vector: NDArray[np.float32], ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        """Return the cosine similarities of a vector to those of some chunks, for chunks that have one."""

    def vectors(self, ids: Sequence[ChunkId]) -> dict[ChunkId, NDArray[np.float32]]:
        """Return the vectors of those chunks that have one, as exactly as the store keeps them."""

    def ids(self) -> Iterator[ChunkId]:
        """Yield the ids of all chunks that have a vector."""

    def count(self) -> int:
        """Count the vectors."""


class VectorStore(Protocol):
    """The vectors of one index, a generation at a time; threads may share it.

    A generation is the result of one merge. Readers use the one that the database names; 0 is the empty one. Only the
    holder of the write lock may merge and discard.

    Raises:
        VectorStoreError: from any method, when the store cannot be reached, read or written.
        GenerationGoneError: when a generation to read has been discarded.
    """

    @property
    def place(self) -> VectorPlace:
        """The place of the vectors, as the database stores it."""

    @property
    def merge_at(self) -> int:
        """The number of pending vectors that are merged while a run continues."""

    @property
    def min_pending_to_merge(self) -> int:
        """The number of pending vectors below which the end of a run merges none."""

    def prepare(self, generation: int) -> None:
        """Ensure that vectors can be added to a generation, before work goes into computing them."""

    def open_generation(self, generation: int) -> GenerationVectors:
        """Return read access to the vectors of a generation."""

    def require_complete(self, generation: int, *, n_vectors: int) -> None:
        """Check, without reading vectors, that a generation exists and has `n_vectors` vectors.

        Raises:
            VectorsLostError: it is missing, damaged, or belongs to another state of the database.
        """

    def require_intact(self, generation: int) -> None:
        """Read a generation, and check every byte.

        Raises:
            VectorsLostError: it is missing or damaged.
        """

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Create a generation from another one, without `deletes` and then with `upserts`; return its number.

        It is durable on return, and used once the database names it. Repeating it does no harm.
        """

    def discard_others(self, generation: int) -> None:
        """Remove leftovers of crashes, and what this generation does not need."""

    def health(self) -> Finding:
        """Return the health of the store."""

    def clear(self) -> None:
        """Remove every vector of this index that is not being read."""

    def close(self) -> None:
        """Close files and connections; a later call opens the store again."""
