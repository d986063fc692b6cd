"""The tables of the index, the migrations from older versions, and the table of its key-value metadata.

Small columns and texts lie in tables of their own: a scan over chunks then reads a hundred rows a page instead of
three. The full-text table stores no text; what was indexed is computed again from `chunk_texts` when a row is deleted.
"""

from __future__ import annotations

import os
import re
from typing import Final

from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.lazy import lazily
from directory_indexer.ranking.analyzer import FTS_COLUMNS, FTS_TOKENIZE
from directory_indexer.storage.databases import Schema
from directory_indexer.storage.databases.stored_values import parse_integer, parse_mapping, parse_text
from directory_indexer.storage.documents import SnapshotQueries, TableWrites
from directory_indexer.storage.vectors import VectorPlace

with lazily:
    import sqlite3
    import uuid

FTS_TABLE = (
    f"CREATE VIRTUAL TABLE chunks_fts USING fts5({', '.join(FTS_COLUMNS)}, content='', tokenize=\"{FTS_TOKENIZE}\")"
)

_TABLES = f"""
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE directories (
    id           INTEGER PRIMARY KEY,
    path         TEXT NOT NULL UNIQUE,
    added_at     REAL NOT NULL,
    completed_at REAL
);
CREATE TABLE files (
    id           INTEGER PRIMARY KEY,
    directory_id INTEGER NOT NULL REFERENCES directories (id) ON DELETE CASCADE,
    path         TEXT NOT NULL UNIQUE,
    state        TEXT NOT NULL CHECK (state IN ('indexed', 'skipped', 'failed')),
    size         INTEGER NOT NULL,
    mtime_ns     INTEGER NOT NULL,
    checked_ns   INTEGER NOT NULL,
    hash         BLOB,
    recipe       INTEGER NOT NULL,
    kind         TEXT NOT NULL DEFAULT '',
    title        TEXT NOT NULL DEFAULT '',
    page_starts  TEXT NOT NULL DEFAULT '',
    reason       TEXT NOT NULL DEFAULT '',
    detail       TEXT NOT NULL DEFAULT ''
);
CREATE INDEX files_by_directory ON files (directory_id, state);
CREATE TABLE chunks (
    id          INTEGER PRIMARY KEY,
    file_id     INTEGER NOT NULL REFERENCES files (id),
    ordinal     INTEGER NOT NULL,
    chunk_id    BLOB NOT NULL UNIQUE,
    text_hash   BLOB NOT NULL,
    is_embedded INTEGER NOT NULL DEFAULT 0,
    n_tokens    INTEGER NOT NULL,
    start_char  INTEGER NOT NULL,
    end_char    INTEGER NOT NULL,
    start_line  INTEGER NOT NULL,
    end_line    INTEGER NOT NULL,
    page        INTEGER,
    heading     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX chunks_by_file ON chunks (file_id, ordinal);
CREATE INDEX chunks_by_text ON chunks (text_hash);
CREATE INDEX chunks_to_embed ON chunks (id) WHERE is_embedded = 0;
CREATE TABLE chunk_texts (
    id   INTEGER PRIMARY KEY REFERENCES chunks (id),
    text TEXT NOT NULL
);
{FTS_TABLE};
CREATE VIRTUAL TABLE chunks_vocab USING fts5vocab(chunks_fts, row);
CREATE TABLE pending_vectors (
    id        INTEGER PRIMARY KEY,
    chunk_id  BLOB NOT NULL UNIQUE,
    text_hash BLOB NOT NULL,
    vector    BLOB NOT NULL
);
CREATE INDEX pending_vectors_by_text ON pending_vectors (text_hash);
CREATE TABLE stale_points (
    chunk_id  BLOB PRIMARY KEY,
    text_hash BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE runs (
    id           INTEGER PRIMARY KEY,
    pid          INTEGER NOT NULL,
    host         TEXT NOT NULL,
    command      TEXT NOT NULL,
    started_at   REAL NOT NULL,
    heartbeat_at REAL NOT NULL,
    phase        TEXT NOT NULL,
    files_done   INTEGER NOT NULL DEFAULT 0,
    files_total  INTEGER NOT NULL DEFAULT 0,
    bytes_done   INTEGER NOT NULL DEFAULT 0,
    bytes_total  INTEGER NOT NULL DEFAULT 0,
    chunks_done  INTEGER NOT NULL DEFAULT 0,
    chunks_total INTEGER NOT NULL DEFAULT 0,
    n_failed     INTEGER NOT NULL DEFAULT 0,
    outcome      TEXT,
    message      TEXT NOT NULL DEFAULT ''
);
"""

_SPACES = """
CREATE TABLE refused_chunks (
    id     INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    reason TEXT NOT NULL
);
CREATE TABLE former_points (
    chunk_id  BLOB PRIMARY KEY,
    text_hash BLOB NOT NULL
) WITHOUT ROWID;
INSERT INTO meta SELECT 'space', '{"provider": "embedded", "model": "all-MiniLM-L6-v2", "dimensions": 384}'
WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'fingerprint');
"""

_PACKED_TEXTS = """
INSERT INTO meta SELECT 'plain_texts_until', id FROM chunk_texts ORDER BY id DESC LIMIT 1;
"""
"""A user may be waiting for the search that migrates, so index runs pack the texts, a batch at a time."""

PARENT_OF_PATH = f"rtrim(path, replace(path, '{os.sep}', ''))"
"""The parent directory of a path, with its separator: characters other than separators are trimmed from the end."""

_SETTLED = f"""
CREATE INDEX files_by_parent ON files ({PARENT_OF_PATH});
CREATE TABLE settled_directories (
    path         TEXT PRIMARY KEY,
    directory_id INTEGER NOT NULL REFERENCES directories (id) ON DELETE CASCADE,
    digest       BLOB NOT NULL,
    n_files      INTEGER NOT NULL,
    left_out     TEXT NOT NULL
) WITHOUT ROWID;
"""

_STAMPS = """
ALTER TABLE files ADD COLUMN changed_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN is_settled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN n_masked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN broken_hash BLOB;
ALTER TABLE files ADD COLUMN broken_recipe INTEGER;
DELETE FROM settled_directories;
"""
"""Older files are settled once a run has compared their content."""

_VERBS = """
ALTER TABLE runs RENAME COLUMN command TO verb;
ALTER TABLE runs ADD COLUMN directories TEXT NOT NULL DEFAULT '[]';
UPDATE runs SET verb = substr(verb, 1, instr(verb, ' ') - 1) WHERE instr(verb, ' ');
"""
"""Older runs do not record their directories."""

_CELLS = "ALTER TABLE chunks ADD COLUMN cell TEXT NOT NULL DEFAULT '';"

_MEMBERS = """
ALTER TABLE files ADD COLUMN container_id INTEGER;
CREATE INDEX files_in_containers ON files (container_id, directory_id) WHERE container_id IS NOT NULL;
ALTER TABLE files ADD COLUMN dated_at REAL;
ALTER TABLE files ADD COLUMN language TEXT NOT NULL DEFAULT '';
CREATE TABLE metadata (
    file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    folded  TEXT NOT NULL,
    PRIMARY KEY (file_id, name, value)
) WITHOUT ROWID;
CREATE INDEX metadata_by_value ON metadata (name, folded);
CREATE INDEX files_by_language ON files (language);
"""
"""`container_id` is the row of the container on disk of a member at any depth.

It is no foreign key: to find the members of every deleted file, SQLite would read the whole table, since it uses no
partial index. `dated_at` is the date of a document, in seconds since the epoch.
"""

_SCANS = """
CREATE TABLE scans (
    file_id    INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    page       INTEGER NOT NULL,
    key        BLOB NOT NULL,
    engine     TEXT NOT NULL DEFAULT '',
    confidence REAL,
    problem    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (file_id, page)
) WITHOUT ROWID;
CREATE INDEX scans_that_wait ON scans (file_id) WHERE engine = '' AND problem = '';
ALTER TABLE runs ADD COLUMN pages_done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN pages_total INTEGER NOT NULL DEFAULT 0;
"""

_STATIC = """
CREATE TABLE static_model (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    weights BLOB NOT NULL,
    mean    BLOB NOT NULL
);
CREATE TABLE static_vectors (
    id    INTEGER PRIMARY KEY, -- the last row of those in `rows`
    rows  BLOB NOT NULL,
    codes BLOB NOT NULL
);
CREATE TABLE search_vectors (
    space     TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector    BLOB NOT NULL,
    PRIMARY KEY (space, text_hash)
) WITHOUT ROWID;
"""

_PAUSES = """
ALTER TABLE runs ADD COLUMN origin TEXT NOT NULL DEFAULT 'terminal';
ALTER TABLE runs ADD COLUMN options TEXT NOT NULL DEFAULT '{}';
CREATE TABLE paused_runs (
    run_id      INTEGER PRIMARY KEY,
    directories TEXT NOT NULL,
    options     TEXT NOT NULL,
    paused_at   REAL NOT NULL
);
"""
"""Pauses outlive the list of runs, which keeps only the newest ones."""

_LINE_CUTS = """
ALTER TABLE chunks ADD COLUMN line_cut INTEGER NOT NULL DEFAULT 0;
UPDATE chunks SET line_cut = 2 WHERE ordinal > 0 AND start_line <= (
    SELECT end_line FROM chunks AS before WHERE before.file_id = chunks.file_id AND before.ordinal = chunks.ordinal - 1
);
CREATE INDEX chunks_in_words ON chunks (id) WHERE line_cut = 2;
"""
"""For older chunks it is known only whether they share a line; with 2, `grep` always reads them."""

_LESSONS = """
ALTER TABLE static_model ADD COLUMN own_rows BLOB NOT NULL DEFAULT x'';
ALTER TABLE static_model ADD COLUMN n_lessons INTEGER NOT NULL DEFAULT 0;
"""

_SHARED_TEXTS = """
ALTER TABLE files ADD COLUMN holder_id INTEGER CHECK (holder_id <> id);
ALTER TABLE files ADD COLUMN tagged_below TEXT;
CREATE INDEX files_that_share ON files (holder_id) WHERE holder_id IS NOT NULL;
CREATE INDEX files_tagged_elsewhere ON files (tagged_below) WHERE tagged_below IS NOT NULL;
"""
"""`holder_id` is the row of the file that owns the text of this one; a file without one owns its text.

It is no foreign key, for the reason that `container_id` is none. `tagged_below` is the tracked directory by which the
vectors of a text are tagged, if that is not the one of its owner.
"""

_WAITING_BY_FILE = """
DROP INDEX chunks_to_embed;
CREATE INDEX chunks_to_embed ON chunks (file_id) WHERE is_embedded = 0;
"""
"""Among 100,000 waiting chunks, those of a few files are counted in 0.1 ms; by rows of chunks it took 2 ms."""

SCHEMA: Final = Schema(
    "index",
    {
        1: _TABLES,
        2: "ALTER TABLE directories ADD COLUMN mounts TEXT NOT NULL DEFAULT '[]';",
        3: _SPACES,
        4: _PACKED_TEXTS,
        5: _SETTLED,
        6: _STAMPS,
        7: _VERBS,
        8: _CELLS,
        9: _MEMBERS,
        10: _SCANS,
        11: _STATIC,
        12: _PAUSES,
        13: _LINE_CUTS,
        14: _LESSONS,
        15: _SHARED_TEXTS,
        16: _WAITING_BY_FILE,
    },
)


def tables_of(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Return the tables and indexes of a database, each with its columns."""
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
    columns = "SELECT name FROM pragma_table_info(?) ORDER BY cid"
    return {name: tuple(row[0] for row in connection.execute(columns, (name,))) for name in names}


GENERATION_KEYS = {VectorPlace.EMBEDDED: "generation", VectorPlace.SERVER: "generation_on_server"}
"""The key of the generation of each vector store; if both are set, both hold the same vectors."""

_SUFFIX_PATTERN = re.compile(r"(-[0-9a-f]{8})?")

FORMER_PREFIX = "former_"
"""The prefix of the keys of the space that answers until a switch to another one is complete."""


def parse_space(stored: object) -> EmbeddingSpace:
    """Parse a stored embedding space."""
    space = EmbeddingSpace(**parse_mapping(stored))
    texts = (space.provider, space.model, space.document_prefix, space.query_prefix, space.endpoint or "")
    if (
        not all(isinstance(value, str) for value in texts)
        or not 0 <= parse_integer(space.dimensions) <= _MAX_DIMENSIONS
    ):
        raise TypeError(space)
    return space


def parse_suffix(stored: object) -> str:
    """Parse the suffix of the name of a vector set, which becomes part of a path."""
    if not _SUFFIX_PATTERN.fullmatch(parse_text(stored)):
        raise ValueError(stored)
    return parse_text(stored)


_MAX_DIMENSIONS = 65_536


class Meta(SnapshotQueries):
    """The key-value metadata of one snapshot, such as the fingerprint of the index."""

    def get(self, key: str) -> str | None:
        """Return the value of a key; None if it is not stored."""
        return self._meta(key)


class MetaWrites(TableWrites):
    """Writes to the key-value metadata."""

    def index_id(self) -> str:
        """Return the id of this index, which is drawn once."""
        self._execute("INSERT INTO meta VALUES ('index_id', ?) ON CONFLICT (key) DO NOTHING", str(uuid.uuid4()))
        return str(self._execute("SELECT value FROM meta WHERE key = 'index_id'").fetchone()[0])

    def set(self, key: str, value: str) -> None:
        """Store a value."""
        self._execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value
        )

    def delete(self, key: str) -> None:
        """Remove a stored value."""
        self._execute("DELETE FROM meta WHERE key = ?", key)

    def get(self, key: str) -> str | None:
        """Return a value as it is in this transaction."""
        row = self._execute("SELECT value FROM meta WHERE key = ?", key).fetchone()
        return row and str(row[0])

    def rename(self, key: str, to: str) -> None:
        """Rename a stored value."""
        self._execute("UPDATE OR REPLACE meta SET key = ? WHERE key = ?", to, key)

    def store_generation(self, place: VectorPlace, generation: int) -> None:
        """Store a generation that holds the same vectors as the generations stored already."""
        self.set(GENERATION_KEYS[place], str(generation))

    def forget_generation(self, place: VectorPlace) -> None:
        """Remove the generation of a store, which can no longer answer."""
        self.delete(GENERATION_KEYS[place])

    def forget_generations(self) -> None:
        """Remove the generations of all stores."""
        for place in GENERATION_KEYS:
            self.forget_generation(place)
