"""Passages of a cluster index, in place of the tables of chunks and of the full-text index."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Sequence

from directory_indexer.docstore.chunks import Chunks, IndexedChunk
from directory_indexer.docstore.schema import FTS_TABLE
from directory_indexer.docstore.words import FtsSource, Words, WordWrites
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore.cluster import ClusterPassage, TrackedDirectory, file_key

with lazily:
    from directory_indexer.vectorstore.cluster_reader import ClusterMoment


class ClusterChunks(Chunks):
    """The passages of one version; passages that were read are cached."""

    def __init__(self, connection: sqlite3.Connection, known: dict[str, object], moment: ClusterMoment) -> None:
        super().__init__(connection, known)
        self._moment = moment
        self._read: dict[ChunkId, IndexedChunk] = {}

    def keep(self, passages: Iterable[ClusterPassage]) -> None:
        """Cache passages that a search has read."""
        self._read |= {passage.chunk_id: _indexed_chunk(passage) for passage in passages}

    def by_id(self, chunk_ids: Iterable[ChunkId]) -> dict[ChunkId, IndexedChunk]:
        """Return those of the passages that were read before."""
        return {chunk_id: self._read[chunk_id] for chunk_id in chunk_ids if chunk_id in self._read}

    def of_file(self, path: FilePath) -> list[IndexedChunk]:
        """Return all passages of a file in order."""
        passages = self._moment.of_files([file_key(path)])
        return [_indexed_chunk(passage) for passage in passages if passage.path == path]

    def has_text(self, path: FilePath) -> bool:
        """Whether a file has passages of its own."""
        return bool(self._moment.of_files([file_key(path)], first_only=True))

    def count_held(self, holder_ids: frozenset[int] | None) -> int | None:
        """Count the passages of the tracked directories in which these files lie, or of all."""
        return sum(directory.n_chunks for directory in self._directories_of(holder_ids))

    def count_waiting(self, holder_ids: frozenset[int] | None) -> int:
        """Count the passages without a vector, by whole directories: the manifest has no finer counts."""
        return sum(directory.n_chunks - directory.n_embedded for directory in self._directories_of(holder_ids))

    def _directories_of(self, file_ids: frozenset[int] | None) -> list[TrackedDirectory]:
        directories = self._moment.manifest.directories
        if file_ids is None:
            return list(directories)
        rows = self._connection.execute(
            """SELECT path FROM directories WHERE id IN (
                   SELECT directory_id FROM files WHERE id IN (SELECT value FROM json_each(?)))""",
            [json.dumps(list(file_ids))],
        )
        paths = {path for (path,) in rows}
        return [directory for directory in directories if directory.path in paths]

    def of_newest_files(self, file_ids_json: str | None, *, limit: int) -> list[IndexedChunk]:
        """Return the first passage of each of the newest files of a JSON array, or of all files."""
        chosen = "" if file_ids_json is None else "AND id IN (SELECT value FROM json_each(?))"
        rows = self._connection.execute(
            f"""SELECT id FROM files WHERE hash IS NOT NULL {chosen}
                ORDER BY coalesce(dated_at, mtime_ns / 1e9) DESC, id LIMIT ?""",  # noqa: S608
            [limit] if file_ids_json is None else [file_ids_json, limit],
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
        rows = self._connection.execute(
            "SELECT term FROM chunks_vocab WHERE term IN (SELECT value FROM json_each(?))", (json.dumps(list(terms)),)
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
                _fts_source(number, passage, self._root_of(passage)) for number, passage in enumerate(passages)
            )
            matches = memory.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (expression,)).fetchall()
        return {passages[number].chunk_id for (number,) in matches}

    def _root_of(self, chunk: IndexedChunk) -> str:
        row = self._connection.execute(
            "SELECT d.path FROM files f JOIN directories d ON d.id = f.directory_id WHERE f.id = ?", (chunk.holder_id,)
        ).fetchone()
        return str(row[0]) if row else ""


def _indexed_chunk(passage: ClusterPassage) -> IndexedChunk:
    return IndexedChunk(0, passage.chunk_id, file_key(passage.path), passage.path, 0, passage.facts, passage.chunk)


def _fts_source(number: int, chunk: IndexedChunk, directory: str) -> FtsSource:
    return FtsSource(number, chunk.chunk.text, chunk.chunk.heading, chunk.facts.title, chunk.path, directory)
