"""In-memory index of a server without a database, loaded from the cluster index at every start.

It has the tables of an index, in a file that is removed when the server ends, and no texts: passages are read from the
cluster, in place of the tables of chunks and of the full-text index. So files, words and passages are queried as in any
other index.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from directory_indexer.core.errors import GenerationGoneError, NotIndexedError, VectorsLostError, VectorStoreError
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.cluster.records import (
    ClusterFile,
    ClusterPassage,
    Manifest,
    TrackedDirectory,
    WordCount,
    file_key,
)
from directory_indexer.storage.documents import translated_errors
from directory_indexer.storage.documents.chunks import Chunks, IndexedChunk
from directory_indexer.storage.documents.metadata import fold_value
from directory_indexer.storage.documents.schema import FTS_TABLE
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.storage.documents.words import FtsSource, Words, WordWrites

with lazily:
    from directory_indexer.storage.cluster.payloads import parse_manifest
    from directory_indexer.storage.cluster.reader import ClusterReader, ClusterSnapshot
    from directory_indexer.storage.databases import PooledConnection

Answer = TypeVar("Answer")

_MAX_READ_ATTEMPTS: Final = 10
_VERSION_BEFORE_FIRST: Final = -1

_MANIFEST_KEY: Final = "cluster_manifest"


class CatalogueSnapshot(Snapshot):
    """One version of a cluster index."""

    is_local: ClassVar[bool] = False
    chunks: ClusterChunks
    words: CatalogueWords

    def __init__(self, connection: PooledConnection, moment: ClusterSnapshot) -> None:
        super().__init__(connection.raw, connection.known)
        self.moment = moment
        manifest = moment.manifest
        # There are no rows of chunks to count.
        self._known["n_chunks"] = manifest.n_chunks
        self._known["n_chunks_to_embed"] = manifest.n_waiting
        self.chunks = ClusterChunks(self._connection, self._known, moment)
        self.words = CatalogueWords(self._connection, self._known, self.chunks)


class Catalogue(DocStore):
    """The contents of a cluster index in a database at `path`, owned by this process; threads may share it."""

    def __init__(self, path: Path, reader: ClusterReader) -> None:
        super().__init__(path)
        self._reader = reader
        self._lock = threading.Lock()
        self._manifest: Manifest | None = None
        with self._writing() as connection:
            connection.execute("DROP TABLE chunks_vocab")
            connection.execute("CREATE TABLE chunks_vocab (term TEXT PRIMARY KEY, doc INTEGER NOT NULL) WITHOUT ROWID")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[CatalogueSnapshot]:
        """Yield the current version.

        Raises:
            NotIndexedError: no cluster index has been written yet.
            VectorStoreError: the cluster cannot be reached.
        """
        self._load_current_version()
        with self._loaded_snapshot() as snapshot:
            yield snapshot

    def read(self, query: Callable[[Snapshot], Answer]) -> Answer:
        """Return the result of a query on one version; it is retried if a newer version was published meanwhile."""
        for _ in range(_MAX_READ_ATTEMPTS):
            try:
                if self._manifest is None:
                    self._load_current_version()
                with self._loaded_snapshot() as snapshot:
                    answer = query(snapshot)
                    if not self._is_outdated(snapshot.moment.manifest):
                        return answer
            except (GenerationGoneError, VectorsLostError):
                if not self._is_outdated(self.manifest):
                    raise
            self._load_current_version()
        raise VectorStoreError("the cluster index changes faster than it can be read", hint="ask again in a second")

    def warm_page_cache(self) -> None:
        """Do nothing: the database has just been written."""

    @property
    def manifest(self) -> Manifest:
        """Return the manifest that was read last.

        Raises:
            NotIndexedError: none has been written yet.
        """
        if self._manifest is None:
            raise NotIndexedError(
                f"there is no cluster index '{self._reader.name}' yet",
                hint="the machine that indexes writes it: dirindex index",
            )
        return self._manifest

    @contextlib.contextmanager
    def _loaded_snapshot(self) -> Iterator[CatalogueSnapshot]:
        with translated_errors(self.path), self._connections.reading() as connection:
            stored = connection.raw.execute("SELECT value FROM meta WHERE key = ?", (_MANIFEST_KEY,)).fetchone()
            manifest = parse_manifest(json.loads(stored[0])) if stored else self.manifest
            yield CatalogueSnapshot(connection, self._reader.snapshot_of(manifest))

    def _is_outdated(self, manifest: Manifest) -> bool:
        current = self._reader.manifest()
        return current is None or (current.index_id, current.version, current.passages) != (
            manifest.index_id,
            manifest.version,
            manifest.passages,
        )

    def _load_current_version(self) -> None:
        with self._lock:
            while (current := self._reader.manifest()) != self._manifest:
                if current is None:
                    self._manifest = None
                    break
                self._load_changes(current)
        self.manifest  # noqa: B018 - raises where there is none

    def _load_changes(self, manifest: Manifest) -> None:
        known = self._manifest
        is_later = (
            known is not None
            and known.index_id == manifest.index_id
            and manifest.kept_from <= known.version <= manifest.version
        )
        after = known.version if known is not None and is_later else _VERSION_BEFORE_FIRST
        with self._writing() as connection:
            if not is_later:
                for table in ("metadata", "files", "directories", "chunks_vocab"):
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608 - made of constants
            _replace_directories(connection, manifest)
            if after < manifest.version:
                _insert_files(connection, self._reader.files(after=after))
                _insert_words(connection, self._reader.words(after=after))
            _store_meta(connection, manifest)
        self._manifest = manifest

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self.path), self._connections.writing() as connection:
            yield connection


class ClusterChunks(Chunks):
    """The passages of one version; passages that were read are cached."""

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object], moment: ClusterSnapshot) -> None:
        super().__init__(connection, known)
        self._moment = moment
        self._read: dict[ChunkId, IndexedChunk] = {}

    def cache(self, passages: Iterable[ClusterPassage]) -> None:
        """Cache passages that a search has read."""
        self._read |= {passage.chunk_id: _indexed_chunk(passage) for passage in passages}

    def by_id(self, chunk_ids: Iterable[ChunkId]) -> dict[ChunkId, IndexedChunk]:
        """Return those of the passages that were read before."""
        return {chunk_id: self._read[chunk_id] for chunk_id in chunk_ids if chunk_id in self._read}

    def other_texts_of_files(self, chunks: Collection[IndexedChunk]) -> dict[ChunkId, tuple[str, ...]]:  # noqa: ARG002 - as its base has it
        """Return nothing: a cluster would send the files of all candidates."""
        return {}

    def of_file(self, path: FilePath) -> list[IndexedChunk]:
        """Return all passages of a file in order."""
        passages = self._moment.of_files([file_key(path)])
        return [_indexed_chunk(passage) for passage in passages if passage.path == path]

    def has_text(self, path: FilePath) -> bool:
        """Whether a file has passages of its own."""
        return bool(self._moment.of_files([file_key(path)], first_only=True))

    def count_chunks_of_holders(self, holder_ids: frozenset[int] | None) -> int | None:
        """Count the passages of the tracked directories in which these files lie, or of all."""
        return sum(directory.n_chunks for directory in self._directories_of(holder_ids))

    def count_waiting(self, holder_ids: frozenset[int] | None) -> int:
        """Count the passages without a vector, by whole directories: the manifest has no finer counts."""
        return sum(directory.n_chunks - directory.n_embedded for directory in self._directories_of(holder_ids))

    def _directories_of(self, file_ids: frozenset[int] | None) -> list[TrackedDirectory]:
        directories = self._moment.manifest.directories
        if file_ids is None:
            return list(directories)
        rows = self._select(
            """SELECT path FROM directories WHERE id IN (
                   SELECT directory_id FROM files WHERE id IN (SELECT value FROM json_each(?)))""",
            json.dumps(list(file_ids)),
        )
        paths = {path for (path,) in rows}
        return [directory for directory in directories if directory.path in paths]

    def first_chunks_of_newest_files(self, file_ids_json: str | None, *, n_files: int) -> list[IndexedChunk]:
        """Return the first passage of each of the newest files of a JSON array, or of all files."""
        chosen = "" if file_ids_json is None else "AND id IN (SELECT value FROM json_each(?))"
        rows = self._connection.execute(
            f"""SELECT id FROM files WHERE hash IS NOT NULL {chosen}
                ORDER BY coalesce(dated_at, mtime_ns / 1e9) DESC, id LIMIT ?""",  # noqa: S608
            [n_files] if file_ids_json is None else [file_ids_json, n_files],
        ).fetchall()
        by_key = {
            file_key(passage.path): passage
            for passage in self._moment.of_files([id_ for (id_,) in rows], first_only=True)
        }
        return [_indexed_chunk(by_key[id_]) for (id_,) in rows if id_ in by_key]

    def texts(self, chunk_ids: Iterable[ChunkId]) -> list[IndexedChunk]:
        """Return passages that were read before, in order."""
        return [self._read[chunk_id] for chunk_id in chunk_ids if chunk_id in self._read]


class CatalogueWords(Words):
    """The words of a cluster index; expressions are matched against passages that were read."""

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object], chunks: ClusterChunks) -> None:
        super().__init__(connection, known)
        self._chunks = chunks

    def known(self, terms: Sequence[str]) -> set[str]:
        """Return which of these words occur."""
        rows = self._select(
            "SELECT term FROM chunks_vocab WHERE term IN (SELECT value FROM json_each(?))", json.dumps(list(terms))
        )
        return {term for (term,) in rows}

    def ranked(
        self,
        expression: str,
        *,
        file_ids_json: str | None,
        rows: tuple[int, int] | None = None,
        limit: int,
        one_in: int = 1,
    ) -> list[tuple[ChunkId, float]]:
        """Return nothing: the cluster ranks by sparse vectors and cannot evaluate expressions."""
        del expression, file_ids_json, rows, limit, one_in
        return []

    def matching(self, expression: str, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        """Return which of these passages match an FTS5 expression, using a full-text table in memory."""
        passages = self._chunks.texts(chunk_ids)
        with contextlib.closing(sqlite3.connect(":memory:")) as memory:
            memory.execute(FTS_TABLE)
            WordWrites(memory).add(
                FtsSource(number, chunk.text, chunk.heading, facts.title, path, self._root_of(holder_id))
                for number, (_, _, holder_id, path, _, facts, chunk) in enumerate(passages)
            )
            matches = memory.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (expression,)).fetchall()
        return {passages[number].chunk_id for (number,) in matches}

    def _root_of(self, file_id: int) -> str:
        row = self._select(
            "SELECT d.path FROM files f JOIN directories d ON d.id = f.directory_id WHERE f.id = ?", file_id
        ).fetchone()
        return str(row[0]) if row else ""


def _replace_directories(connection: sqlite3.Connection, manifest: Manifest) -> None:
    kept = {directory.path for directory in manifest.directories}
    known = [path for (path,) in connection.execute("SELECT path FROM directories") if path not in kept]
    connection.executemany("DELETE FROM files WHERE directory_id = ?", [(file_key(path),) for path in known])
    connection.executemany("DELETE FROM directories WHERE path = ?", [(path,) for path in known])
    connection.executemany(
        """INSERT INTO directories (id, path, added_at, completed_at) VALUES (?, ?, 0, ?)
           ON CONFLICT (id) DO UPDATE SET completed_at = excluded.completed_at""",
        [(file_key(directory.path), directory.path, directory.completed_at) for directory in manifest.directories],
    )


def _insert_files(connection: sqlite3.Connection, files: Iterable[ClusterFile | FilePath]) -> None:
    for file in files:
        path = file.path if isinstance(file, ClusterFile) else file
        connection.execute("DELETE FROM files WHERE id = ?", (file_key(path),))
        if isinstance(file, ClusterFile):
            _insert_file(connection, file)


def _insert_file(connection: sqlite3.Connection, file: ClusterFile) -> None:
    directory_id = file_key(file.directory)
    # The files of a new directory may arrive before the manifest that names it.
    connection.execute(
        "INSERT INTO directories (id, path, added_at) VALUES (?, ?, 0) ON CONFLICT DO NOTHING",
        (directory_id, file.directory),
    )
    connection.execute(
        """INSERT INTO files (id, directory_id, path, state, size, mtime_ns, checked_ns, hash, recipe, kind, title,
               language, page_starts, n_masked, dated_at, container_id)
           VALUES (?, ?, ?, ?, ?, ?, 0, ?, 0, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(file.key, directory_id, file.path, file.state, file.size, file.mtime_ns, bytes.fromhex(file.hash)),
            *(file.facts.kind, file.facts.title, file.facts.language, file.page_starts, file.n_masked, file.dated_at),
            file_key(file.container) if file.container else None,
        ),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO metadata (file_id, name, value, folded) VALUES (?, ?, ?, ?)",
        [(file.key, name, value, fold_value(value)) for name, value in file.metadata],
    )


def _insert_words(connection: sqlite3.Connection, words: Iterable[WordCount]) -> None:
    for word in words:
        if word.n_chunks:
            connection.execute("INSERT OR REPLACE INTO chunks_vocab VALUES (?, ?)", word)
        else:
            connection.execute("DELETE FROM chunks_vocab WHERE term = ?", (word.word,))


def _store_meta(connection: sqlite3.Connection, manifest: Manifest) -> None:
    values = {
        _MANIFEST_KEY: json.dumps(manifest.to_json()),
        "space": json.dumps(manifest.space._asdict()),
        "generation_on_server": str(manifest.version),
        "index_id": manifest.index_id,
    }
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _indexed_chunk(passage: ClusterPassage) -> IndexedChunk:
    return IndexedChunk(0, passage.chunk_id, file_key(passage.path), passage.path, 0, passage.facts, passage.chunk)
