"""Access to the SQLite database of an index: its creation, migrations, snapshots and transactions.

Readers get a `Snapshot`: everything read through it is consistent. Writers get a `Transaction`, which is atomic. Only a
holder of the write lock opens transactions, except those that store results of a search and the one that pauses a run;
readers never wait for them (WAL).

The invariant that a transaction guards: a chunk, its text and its full-text row are inserted and deleted together, and
a vector whose chunk is deleted is recorded as stale, with the hash of its text, until the vector store has dropped it.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, TypeVar

from directory_indexer.core.errors import (
    REBUILD_HINT,
    CorruptIndexError,
    GenerationGoneError,
    StoreError,
    VectorsLostError,
)
from directory_indexer.core.lazy import lazily
from directory_indexer.storage.databases.stored_values import DamagedValueError
from directory_indexer.storage.documents import SnapshotQueries, translated_errors
from directory_indexer.storage.documents.schema import SCHEMA, tables_of

with lazily:
    from directory_indexer.core.paths import FilePath
    from directory_indexer.storage.documents.chunks import Chunks, ChunkWrites
    from directory_indexer.storage.documents.embedding_queue import (
        EmbeddingQueue,
        SearchVectors,
        SearchVectorWrites,
        StaticVectors,
        StaticVectorWrites,
    )
    from directory_indexer.storage.documents.file_writes import FileRows, FileWrites
    from directory_indexer.storage.documents.files import Files, PathLookup, hide_files
    from directory_indexer.storage.documents.incomplete_files import IncompleteFiles, Scans, ScanWrites
    from directory_indexer.storage.documents.line_ranges import LineRanges
    from directory_indexer.storage.documents.maintenance import (
        DatabaseMaintenance,
        damaged_column,
        rename_damaged_database,
    )
    from directory_indexer.storage.documents.metadata import DocumentMetadata, MetadataWrites
    from directory_indexer.storage.documents.runs import Pauses, PauseWrites, Runs, RunWrites
    from directory_indexer.storage.documents.schema import Meta, MetaWrites
    from directory_indexer.storage.documents.shared_texts import SharedTexts, SharedTextWrites
    from directory_indexer.storage.documents.statistics import (
        Directories,
        DirectoryCounts,
        DirectoryWrites,
        FacetCounts,
        IndexTotals,
    )
    from directory_indexer.storage.documents.vector_sets import VectorSets, VectorSetWrites
    from directory_indexer.storage.documents.vectors import StalePoints, Vectors, VectorWrites
    from directory_indexer.storage.documents.words import Words, WordWrites

__all__ = ["THREADS_MAY_SHARE_A_SNAPSHOT", "DocStore", "Snapshot", "Transaction", "rename_damaged_database"]

_MEMORY_FRACTION = 8
_MAX_READ_ATTEMPTS = 10

THREADS_MAY_SHARE_A_SNAPSHOT = sqlite3.threadsafety == 3  # noqa: PLR2004 - "serialized", as PEP 249 numbers it
"""Whether SQLite was built so that two threads may query one connection at the same time."""

Answer = TypeVar("Answer")
Queries = TypeVar("Queries")

_TABLES_READ_BY_SEARCHES = (
    "chunks INDEXED BY sqlite_autoindex_chunks_1",
    "chunks NOT INDEXED WHERE heading IS NOT NULL",
    "chunk_texts WHERE text IS NOT NULL",
    "chunks_fts_data WHERE block IS NOT NULL",
    "chunks_fts_docsize WHERE sz IS NOT NULL",
    "files NOT INDEXED WHERE title IS NOT NULL",
)


class DocStore:
    """The SQLite database at `path`; created, private to the user, when it is first opened.

    Raises:
        StoreError: from the constructor and every method, when the database cannot be opened, read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hidden: Callable[[], Sequence[FilePath]] = tuple
        with translated_errors(path):
            self._connections = SCHEMA.open(path, prepare=partial(_prepare, path))

    def hiding(self, directories: Callable[[], Sequence[FilePath]]) -> DocStore:
        """Return the same database for readers, without the files in some directories, asked for at each snapshot."""
        visible = DocStore.__new__(DocStore)
        vars(visible).update(vars(self), _hidden=directories)
        return visible

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield a state of the index that no writer can change meanwhile."""
        hidden = self._hidden()
        with translated_errors(self.path), self._connections.reading() as connection:
            known = connection.known
            if hidden:
                hide_files(connection.raw, hidden)
                known = {}  # what is kept between snapshots knows the hidden files
            try:
                yield Snapshot(connection.raw, known)
            except (TypeError, AttributeError, ValueError, OverflowError) as error:
                if column := damaged_column(connection.raw):  # otherwise it is a bug, and is raised as one
                    raise DamagedValueError(column) from error
                raise

    def read(self, query: Callable[[Snapshot], Answer]) -> Answer:
        """Return the result of a query on one snapshot, retried on a newer one if its vectors were replaced meanwhile.

        Raises:
            VectorsLostError: the vectors that the index names are missing after several attempts.
        """
        for _ in range(_MAX_READ_ATTEMPTS):
            try:
                with self.snapshot() as snapshot:
                    return query(snapshot)
            except GenerationGoneError as error:
                gone = error
        raise VectorsLostError(
            f"the index is not searchable by meaning: {gone.message}",
            hint="dirindex index restores search by meaning from the stored texts",
        ) from gone

    @contextlib.contextmanager
    def transaction(self, *, waits: bool = True) -> Iterator[Transaction]:
        """Yield a transaction, committed when the block ends and rolled back when it raises.

        Raises:
            StoreError: it does not wait, and another process writes.
        """
        with translated_errors(self.path), self._connections.writing(waits=waits) as connection:
            yield Transaction(connection)

    def warm_page_cache(self) -> None:
        """Read the database from the disk into the system's cache, unless it is large for the memory of this machine.

        The file is not opened directly: closing it would release the locks that this process has on it.
        """
        with contextlib.suppress(StoreError), self.snapshot() as snapshot:
            if self.path.stat().st_size * _MEMORY_FRACTION <= _physical_memory_bytes():
                snapshot.warm_page_cache()

    def index_id(self) -> str:
        """Return the id of this index, which distinguishes its vectors from those of other indexes on a server."""
        with self.snapshot() as snapshot:
            known = snapshot.meta.get("index_id")
        if known:
            return known
        with self.transaction() as transaction:
            return transaction.meta.index_id()

    @cached_property
    def maintenance(self) -> DatabaseMaintenance:
        """Maintenance and integrity checks of the database file."""
        return DatabaseMaintenance(self.path, self._connections)

    def is_fulltext_intact(self) -> bool:
        """Whether FTS5 finds its index intact, which is more than readable; blocks other writers meanwhile."""
        try:
            with self.transaction() as transaction:
                transaction.words.check()
        except CorruptIndexError:
            return False
        return True

    def size_bytes(self) -> int:
        """Return the size of the database and its write-ahead log on disk."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close the connections; a later call opens the database again."""
        self._connections.close()


def _queries_of_snapshot(
    queries: Callable[[sqlite3.Connection, dict[str, object]], Queries],
) -> cached_property[Queries]:
    return cached_property(lambda snapshot: queries(snapshot._connection, snapshot._known))  # noqa: SLF001 - a part of it


class Snapshot(SnapshotQueries):
    """A snapshot of the index; every table is read in the same state."""

    is_local: ClassVar[bool] = True
    """Whether the files are on this machine, so that changes can be found on disk."""

    overview = _queries_of_snapshot(IndexTotals)
    directories = _queries_of_snapshot(Directories)
    directory_counts = _queries_of_snapshot(DirectoryCounts)
    files = _queries_of_snapshot(Files)
    path_lookup = _queries_of_snapshot(PathLookup)
    left_out = _queries_of_snapshot(IncompleteFiles)
    metadata = _queries_of_snapshot(DocumentMetadata)
    facets = _queries_of_snapshot(FacetCounts)
    chunks = _queries_of_snapshot(Chunks)
    shared_texts = _queries_of_snapshot(SharedTexts)
    line_ranges = _queries_of_snapshot(LineRanges)
    words = _queries_of_snapshot(Words)
    vectors = _queries_of_snapshot(Vectors)
    stale_points = _queries_of_snapshot(StalePoints)
    static_vectors = _queries_of_snapshot(StaticVectors)
    search_vectors = _queries_of_snapshot(SearchVectors)
    vector_sets = _queries_of_snapshot(VectorSets)
    embedding_queue = _queries_of_snapshot(EmbeddingQueue)
    scans = _queries_of_snapshot(Scans)
    runs = _queries_of_snapshot(Runs)
    pauses = _queries_of_snapshot(Pauses)
    meta = _queries_of_snapshot(Meta)

    def queries(self, queries: Callable[[sqlite3.Connection, dict[str, object]], Queries]) -> Queries:
        """Return queries of other modules on this snapshot."""
        return queries(self._connection, self._known)

    def warm_page_cache(self) -> None:
        """Read what searches use, so that the operating system caches it."""
        for table in _TABLES_READ_BY_SEARCHES:
            self._select(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - made of constants


class Transaction:
    """A batch of writes, by table; see the invariant of the module."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.meta = MetaWrites(connection)
        self.directories = DirectoryWrites(connection)
        self.words = WordWrites(connection)
        self.shared_texts = SharedTextWrites(connection)
        self.chunks = ChunkWrites(connection, self.words, self.meta, self.shared_texts)
        self.scans = ScanWrites(connection)
        self.file_rows = FileRows(connection)
        self.files = FileWrites(
            *(self.file_rows, self.directories, self.chunks, self.shared_texts),
            metadata=MetadataWrites(connection),
            scans=self.scans,
        )
        self.vectors = VectorWrites(connection, self.meta)
        self.static_vectors = StaticVectorWrites(connection)
        self.search_vectors = SearchVectorWrites(connection)
        self.vector_sets = VectorSetWrites(connection, self.meta, self.vectors)
        self.runs = RunWrites(connection)
        self.pauses = PauseWrites(connection)


def _physical_memory_bytes() -> int:
    """Return the size of the memory; 0 if the system does not report it this way, as on Windows."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    try:
        SCHEMA.migrate(connection)
    except sqlite3.OperationalError as error:
        _repair_version(connection, path, error)


def _repair_version(connection: sqlite3.Connection, path: Path, error: sqlite3.OperationalError) -> None:
    """Set the version that the tables match: another tool may have set an earlier one.

    Raises:
        CorruptIndexError: its tables match no version.
        StoreError: it belongs to another program.
    """
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    if not re.search("already exists|duplicate column|no such column", str(error)):
        raise error
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        SCHEMA.migrate(fresh)
        expected, tables = tables_of(fresh), tables_of(connection)
    if tables == expected:
        connection.execute(f"PRAGMA user_version = {SCHEMA.version}")
    elif "chunks_fts" in tables:
        raise CorruptIndexError(f"{path}: its tables are not those of its version", hint=REBUILD_HINT) from error
    else:
        raise StoreError(f"{path} belongs to another program", hint="choose another place with --data-dir") from error
