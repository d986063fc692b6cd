"""Queue of the chunks that wait for a vector, and their vectors: existing ones, those of searches, and static ones.

A search stores the vectors that it computes for waiting chunks until a run takes them over. It never waits to write
them and never has to: a missing one is computed again. They are keyed by the hash of their text, so they cannot belong
to another one.

Static vectors are stored in blocks, with the model that made them. They only generate candidates, so a few that are
missing or of a removed text do no harm: each chunk is looked up. They are dropped when no chunk waits any more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from directory_indexer.chunking.chunks import embedding_text, text_to_embed
from directory_indexer.core.ids import ChunkId, ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.databases.stored_values import parse_stored
from directory_indexer.storage.documents import (
    WHOLE_INDEX,
    IndexScope,
    ScopedQueries,
    SnapshotQueries,
    TableWrites,
)
from directory_indexer.storage.documents.chunks import CHUNK_COLUMNS, CHUNK_TABLES, IndexedChunk, indexed_chunk
from directory_indexer.storage.documents.vectors import is_vector
from directory_indexer.storage.documents.words import decompress_text

with lazily:
    import numpy as np
    from numpy.typing import NDArray

_IS_WAITING = "c.is_embedded = 0 AND c.id NOT IN (SELECT id FROM refused_chunks)"
"""The condition on `chunks c` for those that a search may embed."""

_SELECT_PENDING_CHUNKS = f"SELECT {CHUNK_COLUMNS}, c.text_hash FROM {CHUNK_TABLES}"  # noqa: S608 - made of constants


class WaitingChunk(NamedTuple):
    """A chunk that is searchable by keyword and has no vector yet."""

    id: int
    chunk_id: ChunkId
    path: FilePath
    ordinal: int
    text_hash: ContentHash
    embedding_text: str


class FileWithWaitingChunks(NamedTuple):
    """A file with chunks that wait for a vector, and the facts that decide its priority."""

    id: int
    path: FilePath
    kind: str
    mtime_ns: int


class WaitingChunkRows(NamedTuple):
    """The rows of all waiting chunks in ascending order, each with the id of its file."""

    rows: list[int]
    file_ids: list[int]


class EmbeddingQueue(ScopedQueries):
    """The chunks of one snapshot that have no vector."""

    def rows(self, scope: IndexScope = WHOLE_INDEX) -> WaitingChunkRows:
        """Return the rows of all chunks without a vector."""
        condition, arguments = self._chunks_in(scope)
        query = f"SELECT c.id, c.file_id FROM chunks c WHERE c.is_embedded = 0 AND {condition} ORDER BY c.id"  # noqa: S608
        rows = self._select(query, *arguments).fetchall()
        return WaitingChunkRows([row[0] for row in rows], [row[1] for row in rows])

    def files(self, scope: IndexScope = WHOLE_INDEX) -> list[FileWithWaitingChunks]:
        """Return the files that own chunks without a vector; a shared text's owner may lie outside the scope."""
        condition, arguments = self._chunks_in(scope)
        query = f"""SELECT id, path, kind, mtime_ns FROM files
            WHERE id IN (SELECT c.file_id FROM chunks c WHERE c.is_embedded = 0 AND {condition})"""  # noqa: S608
        return list(map(FileWithWaitingChunks._make, self._select(query, *arguments)))

    def chunks(self, rows: Sequence[int]) -> list[WaitingChunk]:
        """Return the chunks of these rows that have no vector, in the given order."""
        selected = self._rows_for(f"{_SELECT_PENDING_CHUNKS} WHERE c.id IN ({{}}) AND c.is_embedded = 0", rows)
        chunks = {row[0]: _pending_chunk(indexed_chunk(row), row[-1]) for row in selected}
        return [chunks[row] for row in rows if row in chunks]

    def texts(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the texts to embed for those chunks of these rows that have no vector."""
        query = f"SELECT c.id, t.text, c.heading, f.path FROM {CHUNK_TABLES} WHERE c.id IN ({{}}) AND c.is_embedded = 0"  # noqa: S608
        return {
            row: text_to_embed(decompress_text(stored), heading=heading, path=path)
            for row, stored, heading, path in self._rows_for(query, rows)
        }

    def without_vector(self, chunk_ids: Iterable[ChunkId]) -> list[WaitingChunk]:
        """Return those of the chunks that have no vector, in the given order."""
        ids = list(chunk_ids)
        selected = self._rows_for(f"{_SELECT_PENDING_CHUNKS} WHERE c.chunk_id IN ({{}}) AND {_IS_WAITING}", ids)
        chunks = {row[1]: _pending_chunk(indexed_chunk(row), row[-1]) for row in selected}
        return [chunks[chunk_id] for chunk_id in ids if chunk_id in chunks]

    def keep_waiting_rows(self, rows: Sequence[int], file_ids: frozenset[int] | None) -> list[int]:
        """Return the rows of chunks without a vector, in the given order, optionally only those of some files."""
        query = f"SELECT c.id, c.file_id FROM chunks c WHERE c.id IN ({{}}) AND {_IS_WAITING}"  # noqa: S608
        file_of_row = dict(self._rows_for(query, rows))
        return [row for row in rows if row in file_of_row and (file_ids is None or file_of_row[row] in file_ids)]

    def newest_waiting_rows(self, limit: int) -> list[int]:
        """Return the rows of the chunks without a vector that were written last, newest first."""
        return self._values(f"SELECT c.id FROM chunks c WHERE {_IS_WAITING} ORDER BY c.id DESC LIMIT ?", limit)  # noqa: S608

    def count(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the chunks without a vector."""
        if self._covers_all_roots(scope):
            return self._count_waiting()
        condition, arguments = self._chunks_in(scope)
        return self._count(f"SELECT count(*) FROM chunks c WHERE c.is_embedded = 0 AND {condition}", arguments)  # noqa: S608

    def count_refused(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the chunks whose texts the provider refuses."""
        condition, arguments = self._chunks_in(scope)
        query = f"SELECT count(*) FROM refused_chunks r CROSS JOIN chunks c ON c.id = r.id WHERE {condition}"  # noqa: S608
        return self._count(query, arguments)

    def count_embeddable(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the chunks that can still be embedded: without a vector, and not refused by the provider."""
        return self.count(scope) - self.count_refused(scope)

    def count_tokens(self, scope: IndexScope = WHOLE_INDEX, *, waiting_only: bool) -> int:
        """Return the number of tokens of all chunks, or of those without a vector."""
        condition, arguments = self._chunks_in(scope)
        waits = "c.is_embedded = 0" if waiting_only else "1"
        query = f"SELECT coalesce(sum(c.n_tokens), 0) FROM chunks c WHERE {waits} AND {condition}"  # noqa: S608
        return self._count(query, arguments)

    def chunks_embedded_from(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, ChunkId]:
        """Return, for each text, a chunk in the generation that was embedded from the same text."""
        stale = self._rows_for("SELECT text_hash, chunk_id FROM stale_points WHERE text_hash IN ({})", text_hashes)
        query = "SELECT text_hash, chunk_id FROM chunks WHERE text_hash IN ({}) AND is_embedded = 1"
        return dict(stale) | dict(self._rows_for(query, text_hashes))

    def pending_vectors_of_texts(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, bytes]:
        """Return, for each text, a vector of the same text that no generation contains yet."""
        return dict(
            self._rows_for("SELECT text_hash, vector FROM pending_vectors WHERE text_hash IN ({})", text_hashes)
        )


def _pending_chunk(stored: IndexedChunk, text_hash: object) -> WaitingChunk:
    return WaitingChunk(
        id=stored.id,
        chunk_id=stored.chunk_id,
        path=stored.path,
        ordinal=stored.chunk.ordinal,
        text_hash=ContentHash(text_hash),  # type: ignore[arg-type]
        embedding_text=embedding_text(stored.chunk, stored.path),
    )


class SearchVectors(ScopedQueries):
    """The vectors of one snapshot that searches computed, as float32 values by the hashes of their texts."""

    def of_texts(self, space: str, text_hashes: Sequence[ContentHash], *, dimensions: int) -> dict[ContentHash, bytes]:
        """Return the vectors of texts in an embedding space; damaged ones are omitted, and so computed again."""
        query = "SELECT text_hash, vector FROM search_vectors WHERE text_hash IN ({}) AND space = ?"
        rows = self._rows_for(query, text_hashes, space)
        return {digest: vector for digest, vector in rows if is_vector(vector, dimensions)}

    def has_any(self) -> bool:
        """Whether there are any vectors, in any space."""
        return bool(self._count("SELECT EXISTS (SELECT 1 FROM search_vectors)"))

    def rows_with_search_vector(self, space: str, scope: IndexScope = WHOLE_INDEX) -> list[int]:
        """Return the rows of the chunks whose vector is only stored here."""
        condition, arguments = self._chunks_in(scope)
        query = f"""SELECT c.id FROM search_vectors v CROSS JOIN chunks c ON c.text_hash = v.text_hash
            WHERE v.space = ? AND c.is_embedded = 0 AND {condition} ORDER BY c.id"""  # noqa: S608
        return self._values(query, space, *arguments)


class SearchVectorWrites(TableWrites):
    """Writes to the vectors that searches computed."""

    def put(self, space: str, vectors: Mapping[ContentHash, bytes]) -> None:
        """Store vectors of texts in an embedding space."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO search_vectors VALUES (?, ?, ?)",
            [(space, digest, vector) for digest, vector in vectors.items()],
        )

    def drop_unneeded(self, space: str) -> None:
        """Delete vectors of other spaces, and those whose texts have been embedded or removed."""
        self._execute(
            """DELETE FROM search_vectors WHERE space <> ?
               OR text_hash NOT IN (SELECT text_hash FROM chunks WHERE is_embedded = 0)""",
            space,
        )

    def clear(self) -> None:
        """Delete all of them."""
        self._execute("DELETE FROM search_vectors")


_BLOCKS_CACHE_KEY = "static_blocks"

_MAX_CACHED_BYTES = 8_000_000
"""At most this many bytes are cached for each of a few connections."""


class StaticCodes(NamedTuple):
    """Rows of chunks, and the codes of their static vectors, of shape (chunks, bytes of a code)."""

    rows: NDArray[np.int64]
    codes: NDArray[np.uint8]


class StoredStaticModel(NamedTuple):
    """The stored model of the static vectors: weights and means as float32 values, and the version of its token table.

    `own_rows` are rows that were learned from `n_lessons` texts.
    """

    version: int
    weights: bytes
    means: bytes
    own_rows: bytes = b""
    n_lessons: int = 0


class StaticVectors(SnapshotQueries):
    """The static vectors of one snapshot."""

    def model(self) -> StoredStaticModel | None:
        """Return the model that made the static vectors; None if there are none."""
        row = self._select("SELECT version, weights, mean, own_rows, n_lessons FROM static_model").fetchone()
        return StoredStaticModel(*row) if row else None

    def has_any(self) -> bool:
        """Whether any are stored."""
        return self._select("SELECT 1 FROM static_model").fetchone() is not None

    def rows(self) -> array[int]:
        """Return the rows of the chunks that have one, without numpy and without reading the vectors."""
        blocks = self._select("SELECT rows FROM static_vectors").fetchall()
        return parse_stored("static_vectors", _parse_rows, blocks)

    def all(self) -> StaticCodes:
        """Return all static vectors; they are cached unless they are large."""
        known = self._known.get(_BLOCKS_CACHE_KEY)
        if isinstance(known, StaticCodes):
            return known
        stored_blocks = self._select("SELECT rows, codes FROM static_vectors").fetchall()
        blocks = parse_stored("static_vectors", _parse_blocks, stored_blocks)
        if blocks.codes.nbytes <= _MAX_CACHED_BYTES:
            self._known[_BLOCKS_CACHE_KEY] = blocks
        return blocks


def _parse_rows(stored_blocks: Sequence[tuple[bytes]]) -> array[int]:
    rows = array("q")
    for (block,) in stored_blocks:
        rows.frombytes(block)
    return rows


def _parse_blocks(stored_blocks: Sequence[tuple[bytes, bytes]]) -> StaticCodes:
    rows = np.frombuffer(b"".join(row[0] for row in stored_blocks), np.int64)
    codes = np.frombuffer(b"".join(row[1] for row in stored_blocks), np.uint8)
    return StaticCodes(rows, codes.reshape(rows.size, codes.size // max(rows.size, 1)))


class StaticVectorWrites(TableWrites):
    """Writes to the static vectors."""

    def reset(self, model: StoredStaticModel) -> None:
        """Delete all static vectors, and store the model that computes the new ones."""
        self.clear()
        self._connection.execute("INSERT INTO static_model VALUES (1, ?, ?, ?, ?, ?)", model)

    def add(self, rows: Sequence[int], codes: NDArray[np.uint8]) -> None:
        """Insert a block: rows of chunks that have none yet, and their codes, of shape (rows, bytes of a code)."""
        self._execute(
            "INSERT OR REPLACE INTO static_vectors VALUES (?, ?, ?)",
            max(rows),
            np.array(rows, np.int64).tobytes(),
            codes.tobytes(),
        )

    def clear(self) -> None:
        """Delete all static vectors and their model."""
        self._execute("DELETE FROM static_vectors")
        self._execute("DELETE FROM static_model")
