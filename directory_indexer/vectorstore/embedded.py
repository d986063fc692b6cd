"""The vector store in this process: Qdrant's embedded engine, over files that only this user can read.

Every published generation is immutable, for the engine allows no second opener beside a writer, but any number of
openers of what nobody writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from directory_indexer.errors import VectorsLostError
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorPlace, VectorPoint
from directory_indexer.vectorstore.embedded_vectors import EmbeddedVectors
from directory_indexer.vectorstore.engine import (
    CODES,
    EngineShape,
    translated_errors,
    write_draft,
)
from directory_indexer.vectorstore.generations import Generations
from directory_indexer.vectorstore.reader import GenerationReader

with lazily:
    from directory_indexer.findings import Finding, Verdict


_NEVER_WRITTEN = frozenset({CODES, "point_to_values.bin", "values_to_points.bin", "links_compressed.bin"})
"""The large files that the engine opens for reading only, or replaces as a whole."""

_FORMAT = b'"datatype":"turbo8"'
"""Stands in the configuration of a generation whose vectors are codes alone; older ones have others beside them."""


class EmbeddedVectorStore:
    """The vectors of one index in a directory; threads may share it."""

    place = VectorPlace.EMBEDDED

    merge_at = 4096
    """Pending vectors are searched one by one: 4096 cost a cold search about 5 ms, and a merge about a second."""

    keep_pending = 1024
    """So that an edited file costs one small transaction."""

    graph_from_kb = 20_000
    max_segment_kb = 40_000
    """New vectors are compared one by one until there are some 50,000 of them; then they get a graph, in which a search
    looks at hundreds instead. It is built together with that of the last segment until that has some 100,000, which
    takes half a minute of processor time at most, however large the index is: 0.4 ms a vector, where embedding one
    takes 20."""

    def __init__(self, generations: Generations, *, dimensions: int) -> None:
        self._generations = generations
        self._dimensions = dimensions
        self._reader = GenerationReader(generations)

    def prepare(self, generation: int) -> None:
        """Do nothing: the engine is always there."""

    def at(self, generation: int) -> EmbeddedVectors:
        """Give a generation to read."""
        return EmbeddedVectors(self._reader, generation)

    def require_whole(self, generation: int, *, n_vectors: int) -> None:
        """Look, without opening the engine, whether a generation is there and was published with so many vectors.

        Raises:
            VectorsLostError: it is not there, damaged, or stems from another state of the database.
        """
        if generation and (found := self._generations.files(generation).n_vectors()) != n_vectors:
            raise VectorsLostError(f"the vector store holds {found} vectors, and the database names {n_vectors}")

    def require_intact(self, generation: int) -> None:
        """Read a generation, and look whether every byte is as it was published.

        Raises:
            VectorsLostError: it is not there or damaged.
        """
        if generation:
            self._generations.require_intact(generation)

    def merge(self, generation: int, *, deletes: Iterable[ChunkId], upserts: Iterable[VectorPoint]) -> int:
        """Publish a new generation, that of the given one without `deletes` and then with `upserts`; give its number.

        It is durable on return, and garbage until the database names it. Work goes on in batches, but some calls of
        the engine take seconds during which no other thread of this process runs. What this process reads is closed
        meanwhile unless somebody asks: it maps the files with the ids of all vectors, 44 bytes each, and so does what
        is written. What an older version wrote is written anew in the format of this one.

        Raises:
            VectorStoreError: the given generation is damaged, or the new one cannot be written.
        """
        if generation and _FORMAT not in self._generations.files(generation).content("edge_config.json"):
            self._generations.require_space(generation)
            gone = frozenset(deletes)
            kept = (point for point in self.at(generation).points() if point.chunk_id not in gone)
            return self.merge(0, deletes=(), upserts=chain(kept, upserts))
        self.close()
        shape = EngineShape(self._dimensions, self.graph_from_kb, self.max_segment_kb)
        with (
            translated_errors("write vectors"),
            self._generations.draft(generation, linked=_NEVER_WRITTEN) as draft,
        ):
            n_vectors = write_draft(draft, shape, is_new=not generation, deletes=deletes, upserts=upserts)
            return self._generations.publish(draft, n_vectors=n_vectors)

    def discard_others(self, generation: int) -> None:
        """Remove what crashes left behind, and all generations but the given one that nobody reads any more."""
        self._reader.discard_others(generation)

    def health(self) -> Finding:
        """Tell how large the files are."""
        n_bytes = self._generations.size_bytes()
        kept = (
            f"{n_bytes / 1e6:,.1f} MB of vectors" if n_bytes else "no files yet; the database keeps the first vectors"
        )
        return Finding("vector store", Verdict.OK, f"the embedded engine keeps {kept}")

    def clear(self) -> None:
        """Remove every generation that nobody reads."""
        self.close()
        self.discard_others(0)

    def close(self) -> None:
        """Give back files and memory; calling it twice is harmless, and a later call opens the store again.

        It takes some 10 ms of waiting for the disk, and empties the page cache. A process that has nothing else to
        close may end by `os._exit` instead, which loses nothing.
        """
        self._reader.close()
