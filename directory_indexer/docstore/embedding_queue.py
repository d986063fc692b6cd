"""The chunks that wait for a vector, and vectors of the same texts that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from directory_indexer.chunker.chunks import embedding_text
from directory_indexer.docstore.chunks import CHUNK_COLUMNS, CHUNK_TABLES, IndexedChunk, indexed_chunk
from directory_indexer.docstore.reading import Reading, batches, marks
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.paths import FilePath


class PendingChunk(NamedTuple):
    """A chunk that is searchable by words and waits for its vector."""

    id: int
    chunk_id: ChunkId
    path: FilePath
    ordinal: int
    text_hash: ContentHash
    embedding_text: str


class EmbeddingQueue(Reading):
    """The chunks of one moment that have no vector."""

    def next(self, *, after: int, limit: int) -> list[PendingChunk]:
        """List chunks without a vector in the order of their row ids, from beyond `after`."""
        rows = self._connection.execute(
            f"SELECT {CHUNK_COLUMNS}, c.text_hash FROM {CHUNK_TABLES}"  # noqa: S608
            " WHERE c.is_embedded = 0 AND c.id > ? ORDER BY c.id LIMIT ?",
            (after, limit),
        )
        return [_pending_chunk(indexed_chunk(row), row[-1]) for row in rows]

    def count(self) -> int:
        """Count the chunks without a vector."""
        return self._count_waiting()

    def count_refused(self) -> int:
        """Count the chunks whose texts the provider refuses."""
        return self._count("SELECT count(*) FROM refused_chunks")

    def count_tokens(self, *, waiting_only: bool) -> int:
        """Add up the tokens of all chunks, or of those without a vector."""
        condition = "is_embedded = 0" if waiting_only else "1"
        return self._count(f"SELECT coalesce(sum(n_tokens), 0) FROM chunks WHERE {condition}")  # noqa: S608

    def embedded_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, ChunkId]:
        """Find, for texts, a chunk in the generation that was embedded from the very same text."""
        twins: dict[ContentHash, ChunkId] = {}
        for batch in batches(text_hashes):
            wanted = marks(batch)
            rows = self._connection.execute(
                f"""SELECT text_hash, chunk_id FROM stale_points WHERE text_hash IN ({wanted})
                    UNION ALL SELECT text_hash, chunk_id FROM chunks
                    WHERE is_embedded = 1 AND text_hash IN ({wanted})""",  # noqa: S608
                [*batch, *batch],
            )
            twins.update(rows)
        return twins

    def pending_twins(self, text_hashes: Sequence[ContentHash]) -> dict[ContentHash, bytes]:
        """Find, for texts, vectors of the very same text that no generation holds yet."""
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
