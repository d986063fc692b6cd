"""Ledger of what this machine has published to its cluster index, in a database beside the index.

It saves reading the cluster at every run. It is never the truth: if its version differs from that of the manifest, it
is discarded and read again from the cluster.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer.databases.connections import Connections
from directory_indexer.databases.stored_values import integer, list_in, parse_stored, text
from directory_indexer.docstore.failures import translated_errors
from directory_indexer.paths import FilePath
from directory_indexer.vectorstore.cluster import WordCount

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, digest TEXT NOT NULL, revision TEXT NOT NULL, n_vectors INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, n_chunks INTEGER NOT NULL) WITHOUT ROWID;
"""


class Published(NamedTuple):
    """A file in the cluster index: the digest of its record, the revision of its text, and its number of vectors."""

    path: FilePath
    digest: str
    revision: str
    n_vectors: int


class Standing(NamedTuple):
    """The Qdrant collection, version and index state that the ledger describes."""

    passages: str
    version: int
    state: str


class ClusterLedger:
    """The ledger at `path`; only the holder of the write lock uses it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connections = Connections(path)
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)

    def standing(self) -> Standing | None:
        """Return the collection and version described; None for a new ledger."""
        with self._connection() as connection:
            row = connection.execute("SELECT value FROM state WHERE key = 'standing'").fetchone()
        return parse_stored("state.value", _parse_standing, row[0]) if row else None

    def stand(self, standing: Standing) -> None:
        """Store the collection and version described."""
        with self._writing() as connection:
            _write_standing(connection, standing)

    def files(self) -> Iterator[Published]:
        """Yield all files, sorted by path."""
        with self._connection() as connection:
            yield from map(Published._make, connection.execute("SELECT * FROM files ORDER BY path"))

    def words(self) -> Iterator[WordCount]:
        """Yield all words, sorted."""
        with self._connection() as connection:
            yield from map(WordCount._make, connection.execute("SELECT * FROM words ORDER BY word"))

    def note_files(self, put: Iterable[Published], gone: Iterable[FilePath], standing: Standing) -> None:
        """Store changes of the files in the cluster index."""
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", put)
            connection.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone))
            _write_standing(connection, standing)

    def note_words(self, words: Iterable[WordCount]) -> None:
        """Store the chunk counts of words in the cluster index; 0 removes a word."""
        with self._writing() as connection:
            for word in words:
                if word.n_chunks:
                    connection.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", word)
                else:
                    connection.execute("DELETE FROM words WHERE word = ?", (word.word,))

    def forget(self) -> None:
        """Remove all entries."""
        with self._writing() as connection:
            for table in ("state", "files", "words"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - made of constants

    def close(self) -> None:
        """Close its connections."""
        self._connections.close()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self._path), self._connections.lend() as connection:
            yield connection.raw

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with translated_errors(self._path), self._connections.lend() as connection:
            connection.begin_writing()
            yield connection.raw
            connection.raw.execute("COMMIT")


def _parse_standing(written: object) -> Standing:
    passages, version, state = list_in(written)
    return Standing(text(passages), integer(version), text(state))


def _write_standing(connection: sqlite3.Connection, standing: Standing) -> None:
    connection.execute("INSERT OR REPLACE INTO state VALUES ('standing', ?)", (json.dumps(standing),))
