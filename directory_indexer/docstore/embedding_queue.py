"""Queue of the chunks that wait for a vector, and existing vectors of the same texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from directory_indexer.chunker.chunks import embedded_as, embedding_text
from directory_indexer.docstore.chunks import CHUNK_COLUMNS, CHUNK_TABLES, IndexedChunk, indexed_chunk
from directory_indexer.docstore.index_scope import WHOLE_INDEX, IndexScope, ScopedReading
from directory_indexer.docstore.reading import batches, marks
from directory_indexer.docstore.texts import unpacked
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.paths import FilePath

_WAITS = "c.is_embedded = 0 AND c.id NOT IN (SELECT id FROM refused_chunks)"
"""The condition on `chunks c` for those that a search may embed."""


class PendingChunk(NamedTuple):
    """A chunk that is searchable by keyword and waits for its vector."""

    id: int
    chunk_id: ChunkId
    path: FilePath
    ordinal: int
    text_hash: ContentHash
    embedding_text: str


class WaitingFile(NamedTuple):
    """A file with waiting chunks, and the facts that decide its priority."""

    id: int
    path: FilePath
    kind: str
    mtime_ns: int


class WaitingRows(NamedTuple):
    """The rows of all waiting chunks in ascending order, each with the id of its file."""

    rows: list[int]
    file_ids: list[int]


class EmbeddingQueue(ScopedReading):
    """The chunks of one snapshot that have no vector."""

    def rows(self, scope: IndexScope = WHOLE_INDEX) -> WaitingRows:
        """Return the rows of all chunks without a vector."""
        condition, arguments = self._chunks_in(scope)
        rows = self._connection.execute(
            f"SELECT c.id, c.file_id FROM chunks c WHERE c.is_embedded = 0 AND {condition} ORDER BY c.id",  # noqa: S608
            arguments,
        ).fetchall()
        return WaitingRows([row[0] for row in rows], [row[1] for row in rows])

    def files(self, scope: IndexScope = WHOLE_INDEX) -> list[WaitingFile]:
        """Return the files that own chunks without a vector; a shared text's owner may lie outside the scope."""
        condition, arguments = self._chunks_in(scope)
        rows = self._connection.execute(
            f"""SELECT id, path, kind, mtime_ns FROM files
               WHERE id IN (SELECT c.file_id FROM chunks c WHERE c.is_embedded = 0 AND {condition})""",  # noqa: S608
            arguments,
        )
        return [WaitingFile(*row) for row in rows]

    def chunks(self, rows: Sequence[int]) -> list[PendingChunk]:
        """Return the chunks of these rows that have no vector, in the given order."""
        chunks: dict[int, PendingChunk] = {}
        for batch in batches(rows):
            selected = self._connection.execute(
                f"SELECT {CHUNK_COLUMNS}, c.text_hash FROM {CHUNK_TABLES}"  # noqa: S608
                f" WHERE c.id IN ({marks(batch)}) AND c.is_embedded = 0",
                batch,
            )
            chunks.update((row[0], _pending_chunk(indexed_chunk(row), row[-1])) for row in selected)
        return [chunks[row] for row in rows if row in chunks]

    def texts(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the texts to embed for those chunks of these rows that have no vector."""
        texts: dict[int, str] = {}
        for batch in batches(rows):
            selected = self._connection.execute(
                f"SELECT c.id, t.text, c.heading, f.path FROM {CHUNK_TABLES}"  # noqa: S608
                f" WHERE c.id IN ({marks(batch)}) AND c.is_embedded = 0",
                batch,
            )
            texts.update(
                (row, embedded_as(unpacked(stored), heading=heading, path=path))
                for row, stored, heading, path in selected
            )
        return texts

    def waiting(self, chunk_ids: Iterable[ChunkId]) -> list[PendingChunk]:
        """Return those of the chunks that have no vector, in the given order."""
        chunks: dict[ChunkId, PendingChunk] = {}
        ids = list(chunk_ids)
        for batch in batches(ids):
            selected = self._connection.execute(
                f"SELECT {CHUNK_COLUMNS}, c.text_hash FROM {CHUNK_TABLES}"  # noqa: S608
                f" WHERE c.chunk_id IN ({marks(batch)}) AND {_WAITS}",
                batch,
            )
            chunks.update((row[1], _pending_chunk(indexed_chunk(row), row[-1])) for row in selected)
        return [chunks[chunk_id] for chunk_id in ids if chunk_id in chunks]

    def rows_that_wait(self, rows: Sequence[int], file_ids: frozenset[int] | None) -> list[int]:
        """Return the rows of chunks without a vector, in the given order, optionally only those of some files."""
        file_of_row: dict[int, int] = {}
        for batch in batches(rows):
            file_of_row.update(
                self._connection.execute(
                    f"SELECT c.id, c.file_id FROM chunks c WHERE c.id IN ({marks(batch)}) AND {_WAITS}",  # noqa: S608
                    batch,
                )
            )
        return [row for row in rows if row in file_of_row and (file_ids is None or file_of_row[row] in file_ids)]

    def count(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the chunks without a vector."""
        if self._is_everything(scope):
            return self._count_waiting()
        condition, arguments = self._chunks_in(scope)
        return self._count(f"SELECT count(*) FROM chunks c WHERE c.is_embedded = 0 AND {condition}", arguments)  # noqa: S608

    def count_refused(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the chunks whose texts the provider refuses."""
        condition, arguments = self._chunks_in(scope)
        return self._count(
            f"SELECT count(*) FROM refused_chunks r CROSS JOIN chunks c ON c.id = r.id WHERE {condition}",  # noqa: S608
            arguments,
        )

    def count_open(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Count the chunks that can still be embedded: without a vector, and not refused by the provider."""
        return self.count(scope) - self.count_refused(scope)

    def count_tokens(self, scope: IndexScope = WHOLE_INDEX, *, waiting_only: bool) -> int:
        """Return the number of tokens of all chunks, or of those without a vector."""
        condition, arguments = self._chunks_in(scope)
        waits = "c.is_embedded = 0" if waiting_only else "1"
        return self._count(
            f"SELECT coalesce(sum(c.n_tokens), 0) FROM chunks c WHERE {waits} AND {condition}",  # noqa: S608
            arguments,
        )

    def embedded_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, ChunkId]:
        """Return, for each text, a chunk in the generation that was embedded from the same text."""
        twins: dict[ContentHash, ChunkId] = {}
        for batch in batches(text_hashes):
            parameters = marks(batch)
            rows = self._connection.execute(
                f"""SELECT text_hash, chunk_id FROM stale_points WHERE text_hash IN ({parameters})
                    UNION ALL SELECT text_hash, chunk_id FROM chunks
                    WHERE is_embedded = 1 AND text_hash IN ({parameters})""",  # noqa: S608
                [*batch, *batch],
            )
            twins.update(rows)
        return twins

    def pending_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, bytes]:
        """Return, for each text, a vector of the same text that no generation contains yet."""
        twins: dict[ContentHash, bytes] = {}
        for batch in batches(text_hashes):
            rows = self._connection.execute(
                f"SELECT text_hash, vector FROM pending_vectors WHERE text_hash IN ({marks(batch)})",  # noqa: S608
                batch,
            )
            twins.update(rows)
        return twins


def _pending_chunk(stored: IndexedChunk, text_hash: object) -> PendingChunk:
    return PendingChunk(
        id=stored.id,
        chunk_id=stored.chunk_id,
        path=stored.path,
        ordinal=stored.chunk.ordinal,
        text_hash=ContentHash(text_hash),  # type: ignore[arg-type]
        embedding_text=embedding_text(stored.chunk, stored.path),
    )
