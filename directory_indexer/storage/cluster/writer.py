"""Writes to a cluster index: its contents, read from one snapshot, and the ledger of what has been published of them.

The caller holds the write lock of its index and is the only writer. The ledger is a database beside the index. It saves
reading the cluster at every run. It is never the truth: if its version differs from that of the manifest, it is
discarded and read again from the cluster.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from qdrant_client import QdrantClient, models

from directory_indexer.core.batching import batched
from directory_indexer.core.ids import content_hash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import FileFacts
from directory_indexer.storage.cluster.payloads import (
    DENSE_VECTOR,
    SPARSE_VECTOR,
    file_point,
    manifest_point,
    passage_id,
    passage_point,
    removed_file_point,
    word_point,
)
from directory_indexer.storage.cluster.records import (
    NO_END_VERSION,
    ClusterFile,
    Manifest,
    NewPassage,
    TrackedDirectory,
    WordCount,
    catalogue_collection_name,
    file_key,
)
from directory_indexer.storage.databases import ConnectionPool
from directory_indexer.storage.databases.stored_values import parse_integer, parse_list, parse_stored, parse_text
from directory_indexer.storage.documents import SnapshotQueries, translated_errors
from directory_indexer.storage.vectors.connection import CollectionPlan, quantization_config

with lazily:
    from directory_indexer.storage.vectors.connection import QdrantConnection

_SELECT_STATE = """
    SELECT (SELECT count(*) FROM chunks), (SELECT max(id) FROM chunks), (SELECT total(id) FROM chunks),
        (SELECT count(*) FROM chunks WHERE is_embedded = 0), count(*), total(id),
        total(mtime_ns / 1000000 % 1000000007), total(holder_id), total(recipe % 1000000007) FROM files
"""
"""Changes whenever a file, a chunk or a vector does: no row of a chunk is reused."""

_CHUNKS_OF = "chunks c WHERE c.file_id = coalesce(f.holder_id, f.id)"
_SELECT_FILES = f"""
    SELECT f.path, d.path, (SELECT path FROM files o WHERE o.id = f.container_id), f.state, f.size, f.mtime_ns,
        lower(hex(f.hash)), f.recipe, f.kind, f.title, f.language, f.page_starts, f.dated_at, f.n_masked,
        (SELECT json_group_array(json_array(name, value)) FROM metadata m WHERE m.file_id = f.id),
        (SELECT group_concat(hex(text_hash), '') FROM (SELECT c.text_hash FROM {_CHUNKS_OF} ORDER BY c.ordinal)),
        (SELECT count(*) FROM {_CHUNKS_OF}), (SELECT total(c.is_embedded) FROM {_CHUNKS_OF})
    FROM files f JOIN directories d ON d.id = f.directory_id
    WHERE f.hash IS NOT NULL AND d.path <> ? ORDER BY f.path
"""  # noqa: S608 - made of constants

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, digest TEXT NOT NULL, revision TEXT NOT NULL, n_vectors INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, n_chunks INTEGER NOT NULL) WITHOUT ROWID;
"""


class ClusterRows(SnapshotQueries):
    """The contents of a cluster index, without sent documents, which lie in a directory of their own."""

    def state(self) -> str:
        """Return a text that differs for different states of the index."""
        generations = [self._meta(key) for key in ("space", "suffix", "former_space", "former_suffix")]
        directories = self._select("SELECT count(*), total(id) FROM directories").fetchone()
        return json.dumps([self._select(_SELECT_STATE).fetchone(), directories, generations])

    def files(self, *, without: FilePath) -> Iterator[tuple[ClusterFile, int]]:
        """Yield every file with text, sorted by path, each with its number of vectors."""
        for row in self._select(_SELECT_FILES, without):
            yield _cluster_file(row), int(row[-1])

    def words(self) -> Iterator[WordCount]:
        """Yield every word in SQLite's order, with the number of chunks that contain it.

        FTS5 has no term for an accent on its own.
        """
        rows = self._select("SELECT term, doc FROM chunks_vocab WHERE term IS NOT NULL AND doc > 0 ORDER BY term")
        return (WordCount(*row) for row in rows)

    def directories(self, *, without: FilePath) -> tuple[TrackedDirectory, ...]:
        """Return the totals of each tracked directory."""
        rows = self._select(
            f"""SELECT d.path, d.completed_at, count(f.id),
                   coalesce(sum(f.size) FILTER (WHERE f.container_id IS NULL), 0),
                   coalesce(sum((SELECT count(*) FROM {_CHUNKS_OF})), 0),
                   coalesce(sum((SELECT total(c.is_embedded) FROM {_CHUNKS_OF})), 0)
               FROM directories d LEFT JOIN files f ON f.directory_id = d.id AND f.state = 'indexed'
               WHERE d.path <> ? GROUP BY d.id ORDER BY d.path""",  # noqa: S608 - made of constants
            without,
        )
        return tuple(TrackedDirectory(FilePath(row[0]), row[1], *map(int, row[2:])) for row in rows)


class PublishedFile(NamedTuple):
    """A file in the cluster index: the digest of its record, the revision of its text, and its number of vectors."""

    path: FilePath
    digest: str
    revision: str
    n_vectors: int


class LedgerState(NamedTuple):
    """The Qdrant collection, version and index state that the ledger describes."""

    passages: str
    version: int
    state: str


class ClusterLedger:
    """The record of what the cluster index contains, a database at `path`; only the lock holder uses it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connections = ConnectionPool(path)
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)

    def state(self) -> LedgerState | None:
        """Return the collection and version described; None for a new ledger."""
        with self._connection() as connection:
            row = connection.execute("SELECT value FROM state WHERE key = 'standing'").fetchone()
        return parse_stored("state.value", _parse_state, row[0]) if row else None

    def set_state(self, state: LedgerState) -> None:
        """Store the collection and version described."""
        with self._writing() as connection:
            _write_state(connection, state)

    def files(self) -> Iterator[PublishedFile]:
        """Yield all files, sorted by path."""
        with self._connection() as connection:
            yield from map(PublishedFile._make, connection.execute("SELECT * FROM files ORDER BY path"))

    def words(self) -> Iterator[WordCount]:
        """Yield all words, sorted."""
        with self._connection() as connection:
            yield from map(WordCount._make, connection.execute("SELECT * FROM words ORDER BY word"))

    def record_files(self, put: Iterable[PublishedFile], gone: Iterable[FilePath], state: LedgerState) -> None:
        """Store changes of the files in the cluster index."""
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", put)
            connection.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone))
            _write_state(connection, state)

    def record_words(self, words: Iterable[WordCount]) -> None:
        """Store the chunk counts of words in the cluster index; 0 removes a word."""
        with self._writing() as connection:
            for word in words:
                if word.n_chunks:
                    connection.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", word)
                else:
                    connection.execute("DELETE FROM words WHERE word = ?", (word.word,))

    def clear(self) -> None:
        """Remove all entries."""
        with self._writing() as connection:
            for table in ("state", "files", "words"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - made of constants

    def close(self) -> None:
        """Close its connections."""
        self._connections.close()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self._path), self._connections.borrow() as connection:
            yield connection.raw

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self._path), self._connections.writing() as connection:
            yield connection


def _cluster_file(row: Sequence[Any]) -> ClusterFile:
    path, directory, container, state, size, mtime_ns, hash_, recipe, *rest = row
    kind, title, language, page_starts, dated_at, n_masked, metadata, text_hashes, n_passages, _ = rest
    facts = FileFacts(kind, title, language)
    record = json.dumps([path, directory, hash_, recipe, *facts, text_hashes])
    return ClusterFile(
        path=FilePath(path),
        directory=FilePath(directory),
        container=FilePath(container) if container else None,
        state=state,
        size=size,
        mtime_ns=mtime_ns,
        hash=hash_,
        facts=facts,
        page_starts=page_starts,
        dated_at=dated_at,
        n_masked=n_masked,
        metadata=tuple((name, value) for name, value in sorted(json.loads(metadata))),
        revision=content_hash(record.encode()).hex(),
        n_passages=n_passages,
    )


def _parse_state(written: object) -> LedgerState:
    passages, version, state = parse_list(written)
    return LedgerState(parse_text(passages), parse_integer(version), parse_text(state))


def _write_state(connection: sqlite3.Connection, state: LedgerState) -> None:
    connection.execute("INSERT OR REPLACE INTO state VALUES ('standing', ?)", (json.dumps(state),))


_CATALOGUE_BATCH: Final = 1000
_PASSAGE_BATCH: Final = 200
"""Some 2 MB: a passage takes 10 KB of JSON with a vector of 384 numbers."""

_FILES_BATCH: Final = 500


class ClusterWriter:
    """Writes to a cluster index; every method waits for the acknowledgement, and can be repeated safely.

    Raises:
        VectorStoreError: from every method, when the server cannot be reached or refuses.
    """

    def __init__(self, connection: QdrantConnection, plan: CollectionPlan) -> None:
        self._insist = connection.send_with_retries
        self._plan = plan
        self._catalogue = catalogue_collection_name(plan.name)

    def prepare(self, passages: str, *, dimensions: int) -> None:
        """Create missing Qdrant collections."""
        self._insist("prepare the cluster index", lambda client: self._prepare(client, passages, dimensions))

    def drop_passages(self, passages: str) -> None:
        """Delete a Qdrant collection of passages."""
        self._insist("delete passages", lambda client: client.delete_collection(passages))

    def roll_back_unpublished(self, passages: str, version: int) -> None:
        """Undo writes after the current version, and delete passages that are no longer valid in it."""
        later = models.FieldCondition(key="since", range=models.Range(gt=version))
        self._delete_where(passages, later)
        self.delete_expired_passages(passages, version)
        ending = models.FieldCondition(key="until", range=models.Range(gt=version, lt=NO_END_VERSION))
        self._set_end_version(passages, NO_END_VERSION, ending)

    def put_passages(self, passages: str, new: Iterable[NewPassage], *, since: int) -> None:
        """Write passages that are valid from a version on."""
        self._upsert(passages, (passage_point(passage, since=since) for passage in new), _PASSAGE_BATCH)

    def add_vectors(self, passages: str, of: Iterable[NewPassage]) -> None:
        """Add vectors to existing passages, which makes them searchable by meaning."""
        vectors = ((passage_id(new), new.vector) for new in of if new.vector is not None)
        points = (models.PointVectors(id=id_, vector={DENSE_VECTOR: list(vector)}) for id_, vector in vectors)
        for batch in batched(points, _PASSAGE_BATCH):
            self._insist(
                "write vectors", partial(QdrantClient.update_vectors, collection_name=passages, points=batch, wait=True)
            )

    def expire_passages(self, passages: str, files: Sequence[FilePath], *, before: int) -> None:
        """End the validity of the current passages of some files before a version."""
        for batch in batched(map(file_key, files), _FILES_BATCH):
            self._set_end_version(
                *(passages, before),
                models.FieldCondition(key="file", match=models.MatchAny(any=batch)),
                models.FieldCondition(key="since", range=models.Range(lt=before)),
                models.FieldCondition(key="until", range=models.Range(gte=NO_END_VERSION)),
            )

    def delete_expired_passages(self, passages: str, version: int) -> None:
        """Delete the passages that are no longer valid in a version."""
        ended = models.FieldCondition(key="until", range=models.Range(lte=version))
        self._delete_where(passages, ended)

    def delete_files(self, passages: str, file_keys: Iterable[int]) -> None:
        """Delete all passages of some files."""
        for batch in batched(file_keys, _FILES_BATCH):
            self._delete_where(passages, models.FieldCondition(key="file", match=models.MatchAny(any=batch)))

    def delete_points(self, collection: str, ids: Iterable[models.ExtendedPointId]) -> None:
        """Delete some points."""
        for batch in batched(ids, _CATALOGUE_BATCH):
            self._delete_points(collection, models.PointIdsList(points=batch))

    def put_files(self, files: Iterable[ClusterFile], gone: Iterable[FilePath], *, version: int) -> None:
        """Write files and removals of files to the catalogue."""
        self._upsert(self._catalogue, (file_point(file, version=version) for file in files))
        self._upsert(self._catalogue, (removed_file_point(path, version=version) for path in gone))

    def put_words(self, words: Iterable[WordCount], *, version: int) -> None:
        """Write the chunk counts of words."""
        self._upsert(self._catalogue, (word_point(word, version=version) for word in words))

    def put_manifest(self, manifest: Manifest) -> None:
        """Publish a version to readers."""
        self._upsert(self._catalogue, [manifest_point(manifest)])

    def delete_removed(self, version: int) -> None:
        """Delete the records of files and words removed up to a version."""
        self._delete_where(
            self._catalogue,
            models.FieldCondition(key="is_gone", match=models.MatchValue(value=True)),
            models.FieldCondition(key="version", range=models.Range(lte=version)),
        )

    def _prepare(self, client: QdrantClient, passages: str, dimensions: int) -> None:
        if not client.collection_exists(self._catalogue):
            self._create_collection(client, self._catalogue, vectors={})
        if not client.collection_exists(passages):
            meaning = models.VectorParams(size=dimensions, distance=models.Distance.COSINE, on_disk=self._plan.on_disk)
            self._create_collection(
                client, passages, vectors={DENSE_VECTOR: meaning} if dimensions else {}, has_words=True
            )
        for name, indexes in ((self._catalogue, _CATALOGUE_INDEXES), (passages, _PASSAGE_INDEXES)):
            known = client.get_collection(name).payload_schema
            for field in (field for field in indexes if field not in known):
                client.create_payload_index(name, field, field_schema=indexes[field], wait=True)

    def _create_collection(
        self, client: QdrantClient, name: str, *, vectors: dict[str, models.VectorParams], has_words: bool = False
    ) -> None:
        client.create_collection(
            name,
            vectors_config=vectors,
            sparse_vectors_config={SPARSE_VECTOR: models.SparseVectorParams(modifier=models.Modifier.IDF)}
            if has_words
            else None,
            shard_number=self._plan.shard_number,
            replication_factor=self._plan.replication_factor,
            write_consistency_factor=self._plan.write_consistency_factor,
            on_disk_payload=True,
            quantization_config=quantization_config(self._plan.quantization) if vectors else None,
        )

    def _upsert(
        self, collection: str, points: Iterable[models.PointStruct], batch_size: int = _CATALOGUE_BATCH
    ) -> None:
        for batch in batched(points, batch_size):
            self._insist(
                "write the cluster index",
                partial(QdrantClient.upsert, collection_name=collection, points=batch, wait=True),
            )

    def _delete_where(self, collection: str, *conditions: models.Condition) -> None:
        self._delete_points(collection, models.FilterSelector(filter=models.Filter(must=list(conditions))))

    def _delete_points(self, collection: str, selector: models.PointsSelector) -> None:
        self._insist("delete from the cluster index", lambda client: client.delete(collection, selector, wait=True))

    def _set_end_version(self, passages: str, version: int, *conditions: models.Condition) -> None:
        chosen = models.Filter(must=list(conditions))
        self._insist(
            "write the cluster index",
            lambda client: client.set_payload(passages, {"until": version}, points=chosen, wait=True),
        )


_INTEGER: Final = models.PayloadSchemaType.INTEGER
_CATALOGUE_INDEXES: Final[Mapping[str, Any]] = {
    "record": models.PayloadSchemaType.KEYWORD,
    "version": _INTEGER,
    "is_gone": models.PayloadSchemaType.BOOL,
}
_PASSAGE_INDEXES: Final[Mapping[str, Any]] = {
    "file": _INTEGER,
    "since": _INTEGER,
    "until": _INTEGER,
    "ordinal": _INTEGER,
    # The words are tokenized already: only white space separates them.
    "words": models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.WHITESPACE, min_token_len=1, lowercase=False
    ),
}
