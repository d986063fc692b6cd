"""In-memory index of a server without a database, loaded from the cluster index at every start.

It has the tables of an index, in a file that is removed when the server ends, and no texts: passages are read from the
cluster. So files, words and passages are queried as in any other index.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from directory_indexer.docstore.cluster_passages import CatalogueWords, ClusterChunks
from directory_indexer.docstore.failures import translated_errors
from directory_indexer.docstore.metadata import folded
from directory_indexer.docstore.snapshot import Snapshot
from directory_indexer.docstore.store import DocStore
from directory_indexer.errors import GenerationGoneError, NotIndexedError, VectorsLostError, VectorStoreError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore.cluster import ClusterFile, Manifest, WordCount, file_key

with lazily:
    from directory_indexer.databases.connections import Connection
    from directory_indexer.vectorstore.cluster_reader import ClusterMoment, ClusterReader

Answer = TypeVar("Answer")

_ATTEMPTS: Final = 10
_NOTHING_YET: Final = -1


class CatalogueSnapshot(Snapshot):
    """One version of a cluster index."""

    is_here: ClassVar[bool] = False

    def __init__(self, connection: Connection, moment: ClusterMoment) -> None:
        super().__init__(connection.raw, connection.known)
        self.moment = moment
        manifest = moment.manifest
        # There are no rows of chunks to count.
        self._known["n_chunks"] = manifest.n_chunks
        self._known["n_chunks_to_embed"] = manifest.n_waiting

    @cached_property
    def chunks(self) -> ClusterChunks:
        """The passages, read from the cluster."""
        return ClusterChunks(self._connection, self._known, self.moment)

    @cached_property
    def words(self) -> CatalogueWords:
        """The words of the passages, and which of the passages read match."""
        return CatalogueWords(self._connection, self._known, self.chunks)


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
        self._catch_up()
        with self._loaded() as snapshot:
            yield snapshot

    def read(self, query: Callable[[Snapshot], Answer]) -> Answer:
        """Return the result of a query on one version; it is retried if a newer version was published meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                if self._manifest is None:
                    self._catch_up()
                with self._loaded() as snapshot:
                    answer = query(snapshot)
                    if not self._is_outdated(snapshot.moment.manifest):
                        return answer
            except (GenerationGoneError, VectorsLostError):
                if not self._is_outdated(self.manifest):
                    raise
            self._catch_up()
        raise VectorStoreError("the cluster index changes faster than it can be read", hint="ask again in a second")

    def bring_into_memory(self) -> None:
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
    def _loaded(self) -> Iterator[CatalogueSnapshot]:
        with translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_reading()
            stored = connection.raw.execute("SELECT value FROM meta WHERE key = ?", (_MANIFEST,)).fetchone()
            manifest = Manifest.from_json(json.loads(stored[0])) if stored else self.manifest
            yield CatalogueSnapshot(connection, self._reader.at(manifest))

    def _is_outdated(self, manifest: Manifest) -> bool:
        current = self._reader.manifest()
        return current is None or (current.index_id, current.version, current.passages) != (
            manifest.index_id,
            manifest.version,
            manifest.passages,
        )

    def _catch_up(self) -> None:
        with self._lock:
            while (current := self._reader.manifest()) != self._manifest:
                if current is None:
                    self._manifest = None
                    break
                self._load(current)
        self.manifest  # noqa: B018 - raises where there is none

    def _load(self, manifest: Manifest) -> None:
        known = self._manifest
        is_later = (
            known is not None
            and known.index_id == manifest.index_id
            and manifest.kept_from <= known.version <= manifest.version
        )
        after = known.version if known is not None and is_later else _NOTHING_YET
        with self._writing() as connection:
            if not is_later:
                for table in ("metadata", "files", "directories", "chunks_vocab"):
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608 - made of constants
            _put_directories(connection, manifest)
            if after < manifest.version:
                _put_files(connection, self._reader.files(after=after))
                _put_words(connection, self._reader.words(after=after))
            _put_meta(connection, manifest)
        self._manifest = manifest

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self.path), self._connections.lend() as connection:
            connection.begin_writing()
            yield connection.raw
            connection.raw.execute("COMMIT")


def _put_directories(connection: sqlite3.Connection, manifest: Manifest) -> None:
    kept = {directory.path for directory in manifest.directories}
    known = [path for (path,) in connection.execute("SELECT path FROM directories") if path not in kept]
    connection.executemany("DELETE FROM files WHERE directory_id = ?", [(file_key(path),) for path in known])
    connection.executemany("DELETE FROM directories WHERE path = ?", [(path,) for path in known])
    connection.executemany(
        """INSERT INTO directories (id, path, added_at, completed_at) VALUES (?, ?, 0, ?)
           ON CONFLICT (id) DO UPDATE SET completed_at = excluded.completed_at""",
        [(file_key(directory.path), directory.path, directory.completed_at) for directory in manifest.directories],
    )


def _put_files(connection: sqlite3.Connection, files: Iterable[ClusterFile | FilePath]) -> None:
    for file in files:
        path = file.path if isinstance(file, ClusterFile) else file
        connection.execute("DELETE FROM files WHERE id = ?", (file_key(path),))
        if isinstance(file, ClusterFile):
            _put_file(connection, file)


def _put_file(connection: sqlite3.Connection, file: ClusterFile) -> None:
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
        [(file.key, name, value, folded(value)) for name, value in file.metadata],
    )


def _put_words(connection: sqlite3.Connection, words: Iterable[WordCount]) -> None:
    for word in words:
        if word.n_chunks:
            connection.execute("INSERT OR REPLACE INTO chunks_vocab VALUES (?, ?)", word)
        else:
            connection.execute("DELETE FROM chunks_vocab WHERE term = ?", (word.word,))


def _put_meta(connection: sqlite3.Connection, manifest: Manifest) -> None:
    values = {
        _MANIFEST: json.dumps(manifest.to_json()),
        "space": json.dumps(manifest.space._asdict()),
        "generation_on_server": str(manifest.version),
        "index_id": manifest.index_id,
    }
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


_MANIFEST: Final = "cluster_manifest"
