"""Chunks of files and their texts."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, count
from types import NoneType
from typing import Any, NamedTuple

from directory_indexer.chunking.chunks import Chunk, embedding_text
from directory_indexer.core.ids import ChunkId, content_hash, new_chunk_ids
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.document import FileFacts
from directory_indexer.storage.databases.stored_values import DamagedValueError, parse_stored
from directory_indexer.storage.documents import SnapshotQueries, TableWrites, rows_for
from directory_indexer.storage.documents.files import FileFilter, file_condition
from directory_indexer.storage.documents.schema import MetaWrites
from directory_indexer.storage.documents.shared_texts import CHUNKS_OF_FILES, HAS_TEXT, SharedTextWrites
from directory_indexer.storage.documents.words import FtsSource, WordWrites, compress_text, decompress_text

with lazily:
    from directory_indexer.parsing.outcomes import ParsedFile

_CHUNK_FIELDS = Chunk._fields[2:]
"""The fields of `Chunk` after its ordinal and its text; each is a column of that name."""

CHUNK_COLUMNS = ", ".join(
    ["c.id", "c.chunk_id", "c.file_id", "f.path", "f.mtime_ns", "c.ordinal", "t.text"]
    + [f"c.{column}" for column in _CHUNK_FIELDS]
    + [f"f.{fact}" for fact in FileFacts._fields]
)
"""The columns of an `IndexedChunk`."""

CHUNK_TABLES = "chunks c JOIN chunk_texts t ON t.id = c.id JOIN files f ON f.id = c.file_id"
"""Each chunk once, with the file that owns it."""

_TEXTS_OF_FILES = f"{CHUNKS_OF_FILES} JOIN chunk_texts t ON t.id = c.id"

_INSERT_CHUNK = f"""INSERT INTO chunks (id, file_id, chunk_id, text_hash, ordinal, {", ".join(_CHUNK_FIELDS)})
    VALUES (?, ?, ?, ?, ?{", ?" * len(_CHUNK_FIELDS)})"""  # noqa: S608 - made of constants
_INSERT_TEXT = "INSERT INTO chunk_texts (id, text) VALUES (?, ?)"
_SELECT_CHUNKS_OF_SHORT_FILES = """SELECT c.file_id, c.id FROM chunks c
    WHERE c.file_id IN ({}) AND c.ordinal < 4
    AND EXISTS (SELECT 1 FROM chunks o WHERE o.file_id = c.file_id AND o.ordinal = 1)
    AND NOT EXISTS (SELECT 1 FROM chunks o WHERE o.file_id = c.file_id AND o.ordinal >= 4)"""
"""The chunks of files of two to four: more passages say little about each other."""
_MAX_COUNTED_FILES = 500
"""For more files it is quicker to count all waiting chunks; these counts are cached."""
_PLAIN_TEXTS_KEY = "plain_texts_until"

_INDEX_ID_KEY = "index_id"
_LAST_ROW_KEY = "rows_given"
_SELECT_NEXT_ROW = f"""SELECT 1 + coalesce(max(last), 0) FROM (
    SELECT max(id) AS last FROM chunks UNION ALL SELECT max(id) FROM static_vectors
    UNION ALL SELECT CAST(value AS INTEGER) FROM meta WHERE key = '{_LAST_ROW_KEY}')"""  # noqa: S608 - made of constants
"""No row id is reused: static vectors and the cached vocabulary refer to rows and may outlive their chunks."""


class IndexedChunk(NamedTuple):
    """A chunk in the index with the facts of a file that has it; `holder_id` is the file that owns it."""

    id: int
    chunk_id: ChunkId
    holder_id: int
    path: FilePath
    mtime_ns: int
    facts: FileFacts
    chunk: Chunk


class LocatedText(NamedTuple):
    """The parsed text of a file, with its row and its tracked directory."""

    file_id: int
    directory: FilePath
    parsed: ParsedFile


class Coverage(NamedTuple):
    """The number of chunks, and how many of them wait for a vector."""

    n_chunks: int
    n_waiting: int


class Chunks(SnapshotQueries):
    """The chunks of one snapshot."""

    def count(self) -> int:
        """Count the chunks."""
        return self.n_chunks

    def count_chunks_of_holders(self, holder_ids: frozenset[int] | None) -> int | None:
        """Count the chunks of these files, or of all; None for many files, as counting takes a tenth of a search."""
        if holder_ids is None:
            return self.n_chunks
        return self._count_held("1", holder_ids) if len(holder_ids) <= _MAX_COUNTED_FILES else None

    def count_waiting(self, holder_ids: frozenset[int] | None) -> int:
        """Count the chunks of these files, or of all, that have no vector."""
        if holder_ids is None or not self._count_waiting():
            return self._count_waiting()
        if len(holder_ids) <= _MAX_COUNTED_FILES:
            return self._count_held("is_embedded = 0", holder_ids)
        query = "SELECT file_id, count(*) FROM chunks WHERE is_embedded = 0 GROUP BY 1"
        waiting = self._compute_once("chunks_to_embed_by_file", lambda: dict(self._select(query).fetchall()))
        return sum(n_chunks for file_id, n_chunks in waiting.items() if file_id in holder_ids)

    def _count_held(self, condition: str, holder_ids: frozenset[int]) -> int:
        query = f"SELECT count(*) FROM chunks WHERE {condition} AND file_id IN (SELECT value FROM json_each(?))"  # noqa: S608
        return self._count(query, [json.dumps(list(holder_ids))])

    def count_of(self, file_filter: FileFilter) -> int:
        """Count the chunks of the files that match a filter; a shared chunk counts once for each file."""
        condition, arguments = file_condition(file_filter)
        return self._count(f"SELECT count(*) FROM {CHUNKS_OF_FILES} WHERE {condition}", arguments)  # noqa: S608

    def of_file(self, path: FilePath) -> list[IndexedChunk]:
        """Return all chunks of a file in order; empty if the index has no text of the file."""
        query = f"SELECT {CHUNK_COLUMNS} FROM {_TEXTS_OF_FILES} WHERE f.path = ? ORDER BY c.ordinal"  # noqa: S608
        return list(map(indexed_chunk, self._select(query, path)))

    def has_text(self, path: FilePath) -> bool:
        """Whether a file has chunks, its own or shared ones."""
        return bool(self._count(f"SELECT EXISTS (SELECT 1 FROM {CHUNKS_OF_FILES} WHERE f.path = ?)", [path]))  # noqa: S608

    def coverage(self, path: FilePath) -> Coverage:
        """Return how many chunks a file and its members have, and how many of them wait for a vector."""
        query = f"""SELECT count(*), coalesce(sum(c.is_embedded = 0 AND r.id IS NULL), 0)
            FROM {CHUNKS_OF_FILES} LEFT JOIN refused_chunks r ON r.id = c.id
            WHERE f.path = ?1 OR f.container_id = (SELECT id FROM files WHERE path = ?1)"""  # noqa: S608
        return Coverage(*self._select(query, path).fetchone())

    def by_id(self, chunk_ids: Iterable[ChunkId]) -> dict[ChunkId, IndexedChunk]:
        """Return the chunks that exist now; those of removed texts are omitted."""
        rows = self._rows_for(f"SELECT {CHUNK_COLUMNS} FROM {CHUNK_TABLES} WHERE c.chunk_id IN ({{}})", chunk_ids)  # noqa: S608
        return {chunk.chunk_id: chunk for chunk in map(indexed_chunk, rows)}

    def other_texts_of_files(self, chunks: Collection[IndexedChunk]) -> dict[ChunkId, tuple[str, ...]]:
        """Return the other texts of the files of some chunks, for those in files of few chunks."""
        rows_of: defaultdict[int, list[int]] = defaultdict(list)
        for file_id, row in self._rows_for(_SELECT_CHUNKS_OF_SHORT_FILES, {chunk.holder_id for chunk in chunks}):
            rows_of[file_id].append(row)
        texts = {chunk.id: chunk.chunk.text for chunk in chunks}
        unread = [row for rows in rows_of.values() for row in rows if row not in texts]
        stored = self._rows_for("SELECT id, text FROM chunk_texts WHERE id IN ({})", unread)
        texts.update((row, decompress_text(text)) for row, text in stored)
        return {
            chunk.chunk_id: tuple(texts[row] for row in rows_of[chunk.holder_id] if row != chunk.id)
            for chunk in chunks
            if chunk.holder_id in rows_of
        }

    def under_heading(self, chunk_ids: Iterable[ChunkId], name: str) -> list[ChunkId]:
        """Return the chunks whose headings contain a name exactly, in their order."""
        candidates = list(chunk_ids)
        query = "SELECT chunk_id FROM chunks WHERE chunk_id IN ({}) AND instr(heading, ?)"
        headed = {row[0] for row in self._rows_for(query, candidates, name)}
        return [chunk_id for chunk_id in candidates if chunk_id in headed]

    def with_shared_text(self, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        """Return those of some chunks whose text several files share, under the same heading and file name."""
        query = """SELECT o.chunk_id FROM chunks o WHERE o.chunk_id IN ({}) AND (
            EXISTS (SELECT 1 FROM chunks c WHERE c.text_hash = o.text_hash AND c.id <> o.id)
            OR EXISTS (SELECT 1 FROM files f WHERE f.holder_id = o.file_id))"""
        return {chunk_id for (chunk_id,) in self._rows_for(query, chunk_ids)}

    def copies(self, chunk_id: ChunkId, *, limit: int) -> list[tuple[int, FilePath]]:
        """Return the files, with their ids, that have the text of a chunk under the same heading and file name."""
        query = f"""SELECT DISTINCT f.id, f.path FROM chunks o JOIN chunks c ON c.text_hash = o.text_hash
            JOIN files f ON {HAS_TEXT} WHERE o.chunk_id = ? LIMIT ?"""  # noqa: S608 - made of constants
        return self._select(query, chunk_id, limit).fetchall()

    def first_chunks_of_newest_files(self, file_ids_json: str | None, *, n_files: int) -> list[IndexedChunk]:
        """Return the first chunk of each of the newest files of a JSON array, or of all files.

        A document's own date counts before the time stamp of its file.
        """
        chosen = "f.hash IS NOT NULL" if file_ids_json is None else "f.id IN (SELECT value FROM json_each(?))"
        order = "ORDER BY coalesce(f.dated_at, f.mtime_ns / 1e9) DESC, f.id"
        query = f"""SELECT {CHUNK_COLUMNS} FROM {_TEXTS_OF_FILES} WHERE c.ordinal = 0 AND f.id IN (
            SELECT f.id FROM files f WHERE {chosen} {order} LIMIT ?) {order}"""  # noqa: S608
        rows = self._select(query, *([] if file_ids_json is None else [file_ids_json]), n_files)
        return list(map(indexed_chunk, rows))

    def row_range_of_files(self, file_ids_json: str) -> tuple[int, int]:
        """Return the first and the last row of the chunks of the files in a JSON array; 0 and 0 if there are none."""
        query = "SELECT min(id), max(id) FROM chunks WHERE file_id IN (SELECT value FROM json_each(?))"
        first, last = self._select(query, file_ids_json).fetchone()
        return first or 0, last or 0


class ChunkWrites(TableWrites):
    """Insertion and removal of the chunks of files, with their texts and full-text rows."""

    def __init__(
        self, connection: sqlite3.Connection, words: WordWrites, meta: MetaWrites, shared: SharedTextWrites
    ) -> None:
        super().__init__(connection)
        self._words = words
        self._meta = meta
        self._shared = shared
        self._free_row: int | None = None
        """The next free row, once it is known; only this transaction assigns rows."""

    def add(self, texts: Sequence[LocatedText]) -> None:
        """Insert the chunks of files that have none."""
        chunks = [(text, chunk) for text in texts for chunk in text.parsed.chunks]
        first = self._reserve_rows(len(chunks))
        ids = chain.from_iterable(self._chunk_ids_of_texts(texts))
        self._connection.executemany(
            _INSERT_CHUNK,
            (
                (row, text.file_id, chunk_id, *_chunk_values(text.parsed, chunk))
                for row, (chunk_id, (text, chunk)) in enumerate(zip(ids, chunks, strict=True), first)
            ),
        )
        self._connection.executemany(
            _INSERT_TEXT, ((row, compress_text(chunk.text)) for row, (_, chunk) in enumerate(chunks, first))
        )
        self._words.add(
            FtsSource(row, chunk.text, chunk.heading, parsed.facts.title, parsed.source.path, directory)
            for row, ((_, directory, parsed), chunk) in enumerate(chunks, first)
        )

    def owns_exactly(self, holder_id: int, parsed: ParsedFile) -> bool:
        """Whether a file owns exactly the chunks of a parsed file."""
        columns = ("text_hash", "ordinal", *_CHUNK_FIELDS)
        query = f"SELECT {', '.join(columns)} FROM chunks WHERE file_id = ? ORDER BY ordinal"  # noqa: S608
        rows = self._execute(query, holder_id).fetchall()
        return rows == [_chunk_values(parsed, chunk) for chunk in parsed.chunks]

    def remove_chunks_of(self, path: FilePath) -> None:
        """Remove the chunks of a file unless other files share them; their vectors become stale."""
        if not self._shared.detach(path):
            return
        sources = self._words.sources_of(path)
        if not sources:
            return
        self._store_last_row()
        ids = [source.id for source in sources]
        self._execute_each(
            """INSERT OR IGNORE INTO stale_points (chunk_id, text_hash)
               SELECT chunk_id, text_hash FROM chunks c WHERE id = ? AND is_embedded = 1
               AND NOT EXISTS (SELECT 1 FROM pending_vectors p WHERE p.chunk_id = c.chunk_id)""",
            ids,
        )
        self._execute_each("DELETE FROM chunk_texts WHERE id = ?", ids)
        self._execute_each("DELETE FROM chunks WHERE id = ?", ids)
        self._words.remove(sources)

    def _store_last_row(self) -> None:
        last = int(self._execute(_SELECT_NEXT_ROW).fetchone()[0]) - 1
        known = self._meta.get(_LAST_ROW_KEY)
        if known is None:
            self._execute("INSERT INTO meta VALUES (?, ?)", _LAST_ROW_KEY, str(last))
        elif parse_stored("meta.rows_given", int, known) < last:
            self._execute("UPDATE meta SET value = ? WHERE key = ?", str(last), _LAST_ROW_KEY)

    def compress_old_texts(self, limit: int) -> bool:
        """Compress up to `limit` texts that an older version wrote; return whether there may be more."""
        until = self._meta.get(_PLAIN_TEXTS_KEY)
        if until is None:
            return False
        rows = self._execute(
            "SELECT id, text FROM chunk_texts WHERE id <= ? ORDER BY id DESC LIMIT ?",
            parse_stored("meta.plain_texts_until", int, until),
            limit,
        ).fetchall()
        # Rows that shrink in place would leave their pages half empty.
        self._execute_each("DELETE FROM chunk_texts WHERE id = ?", (id_ for id_, _ in rows))
        self._connection.executemany(
            _INSERT_TEXT, [(id_, compress_text(decompress_text(text))) for id_, text in reversed(rows)]
        )
        if rows:
            self._meta.set(_PLAIN_TEXTS_KEY, str(rows[-1][0] - 1))
        else:
            self._meta.delete(_PLAIN_TEXTS_KEY)
        return bool(rows)

    def _reserve_rows(self, n_chunks: int) -> int:
        """Return the first of `n_chunks` rows that were never used."""
        if self._free_row is None:
            if self._meta.get(_INDEX_ID_KEY) is None:
                self._meta.index_id()  # the id distinguishes the cached words of this index from those of another
            self._free_row = int(self._execute(_SELECT_NEXT_ROW).fetchone()[0])
        first, self._free_row = self._free_row, self._free_row + n_chunks
        return first

    def _chunk_ids_of_texts(self, texts: Sequence[LocatedText]) -> list[list[ChunkId]]:
        """Derive the ids of the chunks of files.

        Another file may have the ids of this path and content, if it took over the text.
        """
        ids = [_chunk_ids(text.parsed) for text in texts]
        used = self._existing_ids(chunk_ids[0] for chunk_ids in ids if chunk_ids)
        return [
            self._unused_chunk_ids(text.parsed) if chunk_ids and chunk_ids[0] in used else chunk_ids
            for text, chunk_ids in zip(texts, ids, strict=True)
        ]

    def _unused_chunk_ids(self, parsed: ParsedFile) -> list[ChunkId]:
        attempts = (_chunk_ids(parsed, nth) for nth in count(1))
        return next(ids for ids in attempts if not self._existing_ids(ids[:1]))

    def _existing_ids(self, chunk_ids: Iterable[ChunkId]) -> set[ChunkId]:
        rows = rows_for(self._connection, "SELECT chunk_id FROM chunks WHERE chunk_id IN ({})", chunk_ids)
        return {chunk_id for (chunk_id,) in rows}


def indexed_chunk(row: Sequence[Any]) -> IndexedChunk:
    """Build a record from a row that begins with `CHUNK_COLUMNS`."""
    types = tuple(map(type, row))
    if types not in _checked_column_types:
        if not all(map(isinstance, row, _COLUMN_TYPES)):
            raise DamagedValueError("chunks")
        _checked_column_types.add(types)
    id_, chunk_id, holder_id, path, mtime_ns, ordinal, text, *rest = row
    chunk = Chunk(ordinal, decompress_text(text), *rest[: len(_CHUNK_FIELDS)])
    facts = FileFacts(*rest[len(_CHUNK_FIELDS) : len(_CHUNK_FIELDS) + len(FileFacts._fields)])
    return IndexedChunk(id_, chunk_id, holder_id, path, mtime_ns, facts, chunk)


_COLUMN_TYPES: tuple[Any, ...] = (
    *(int, bytes, int, str, int, int, (bytes, str)),
    *({"heading": str, "cell": str, "page": (int, NoneType)}.get(column, int) for column in _CHUNK_FIELDS),
    *(str for _ in FileFacts._fields),
)
"""The types of `CHUNK_COLUMNS`."""

_checked_column_types: set[tuple[type, ...]] = set()
"""Types of rows that were valid: a handful, since texts are compressed or not, and pages numbers or none."""


def _chunk_ids(parsed: ParsedFile, nth: int = 0) -> list[ChunkId]:
    ordinals = [chunk.ordinal for chunk in parsed.chunks]
    return list(new_chunk_ids(parsed.source.path, parsed.hash, ordinals, nth))


def _chunk_values(parsed: ParsedFile, chunk: Chunk) -> tuple[object, ...]:
    return (content_hash(embedding_text(chunk, parsed.source.path).encode()), chunk.ordinal, *chunk[2:])
