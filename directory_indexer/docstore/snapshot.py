"""A consistent snapshot of the index, by table."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from directory_indexer.docstore.reading import Reading
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.docstore.chunks import Chunks
    from directory_indexer.docstore.cluster_rows import ClusterRows
    from directory_indexer.docstore.directories import Directories
    from directory_indexer.docstore.directory_counts import DirectoryCounts
    from directory_indexer.docstore.embedding_queue import EmbeddingQueue
    from directory_indexer.docstore.facets import FacetCounts
    from directory_indexer.docstore.files import Files
    from directory_indexer.docstore.left_out import LeftOut
    from directory_indexer.docstore.meta import Meta
    from directory_indexer.docstore.metadata import DocumentMetadata
    from directory_indexer.docstore.overview import Overview
    from directory_indexer.docstore.pauses import Pauses
    from directory_indexer.docstore.runs import Runs
    from directory_indexer.docstore.scans import Scans
    from directory_indexer.docstore.search_vectors import SearchVectors
    from directory_indexer.docstore.shared_texts import SharedTexts
    from directory_indexer.docstore.static_vectors import StaticVectors
    from directory_indexer.docstore.stretches import Stretches
    from directory_indexer.docstore.typed_paths import TypedPaths
    from directory_indexer.docstore.vector_sets import VectorSets
    from directory_indexer.docstore.vectors import StalePoints, Vectors
    from directory_indexer.docstore.words import Words

_READ_BY_SEARCHES = (
    "chunks INDEXED BY sqlite_autoindex_chunks_1",
    "chunks NOT INDEXED WHERE heading IS NOT NULL",
    "chunk_texts WHERE text IS NOT NULL",
    "chunks_fts_data WHERE block IS NOT NULL",
    "chunks_fts_docsize WHERE sz IS NOT NULL",
    "files NOT INDEXED WHERE title IS NOT NULL",
)


class Snapshot(Reading):
    """A snapshot of the index; every table is read in the same state."""

    is_here: ClassVar[bool] = True
    """Whether the files are on this machine, so that changes can be found on disk."""

    @cached_property
    def overview(self) -> Overview:
        """Totals of the whole index."""
        return Overview(self._connection, self._known)

    @cached_property
    def cluster_rows(self) -> ClusterRows:
        """The contents of a cluster index."""
        return ClusterRows(self._connection, self._known)

    @cached_property
    def directories(self) -> Directories:
        """The tracked directories."""
        return Directories(self._connection, self._known)

    @cached_property
    def directory_counts(self) -> DirectoryCounts:
        """Counts of files by directory."""
        return DirectoryCounts(self._connection, self._known)

    @cached_property
    def files(self) -> Files:
        """The files."""
        return Files(self._connection, self._known)

    @cached_property
    def typed_paths(self) -> TypedPaths:
        """Files by a part of their paths."""
        return TypedPaths(self._connection, self._known)

    @cached_property
    def left_out(self) -> LeftOut:
        """Files that failed, and files that were skipped."""
        return LeftOut(self._connection, self._known)

    @cached_property
    def metadata(self) -> DocumentMetadata:
        """Metadata of documents."""
        return DocumentMetadata(self._connection, self._known)

    @cached_property
    def facets(self) -> FacetCounts:
        """Counts of files by type, directory and year."""
        return FacetCounts(self._connection, self._known)

    @cached_property
    def chunks(self) -> Chunks:
        """The chunks and their texts."""
        return Chunks(self._connection, self._known)

    @cached_property
    def shared_texts(self) -> SharedTexts:
        """The files that share a text."""
        return SharedTexts(self._connection, self._known)

    @cached_property
    def stretches(self) -> Stretches:
        """The texts in whole lines."""
        return Stretches(self._connection, self._known)

    @cached_property
    def words(self) -> Words:
        """The full-text index."""
        return Words(self._connection, self._known)

    @cached_property
    def vectors(self) -> Vectors:
        """The vectors."""
        return Vectors(self._connection, self._known)

    @cached_property
    def stale_points(self) -> StalePoints:
        """The points of removed texts."""
        return StalePoints(self._connection, self._known)

    @cached_property
    def static_vectors(self) -> StaticVectors:
        """The static vectors of waiting chunks."""
        return StaticVectors(self._connection, self._known)

    @cached_property
    def search_vectors(self) -> SearchVectors:
        """The vectors that searches computed for waiting chunks."""
        return SearchVectors(self._connection, self._known)

    @cached_property
    def vector_sets(self) -> VectorSets:
        """The vector sets, and which of them answers."""
        return VectorSets(self._connection, self._known)

    @cached_property
    def embedding_queue(self) -> EmbeddingQueue:
        """The chunks that wait for a vector."""
        return EmbeddingQueue(self._connection, self._known)

    @cached_property
    def scans(self) -> Scans:
        """The scanned pages."""
        return Scans(self._connection, self._known)

    @cached_property
    def runs(self) -> Runs:
        """The index runs."""
        return Runs(self._connection, self._known)

    @cached_property
    def pauses(self) -> Pauses:
        """The paused runs."""
        return Pauses(self._connection, self._known)

    @cached_property
    def meta(self) -> Meta:
        """The stored values."""
        return Meta(self._connection, self._known)

    def read_through(self) -> None:
        """Read what searches use, so that the operating system caches it."""
        for table in _READ_BY_SEARCHES:
            self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - made of constants
