"""Training data of static vectors: texts with vectors of the model, some of them embedded if there are none.

Only the packaged model is used: it costs nothing, and its vectors lie in the space of the static table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence

from directory_indexer.chunker.chunks import embedding_text
from directory_indexer.docstore.store import DocStore
from directory_indexer.docstore.vector_sets import VectorSet
from directory_indexer.embedders import Embedder
from directory_indexer.errors import ProviderError, VectorStoreError
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorPlace, VectorStore

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.embedders.models import PACKAGED_MODEL
    from directory_indexer.embedders.static_lessons import Lessons


_MIN_TEXTS = 256
"""The number of texts embedded at first: some seconds, and the vectors are stored."""

_MAX_FRACTION = 8
"""At most one of this many chunks is embedded; more would take longer than they are worth."""

_MAX_TEXTS = 1000
_GROWTH = 4
"""With this many times as many texts, learning again pays off."""

_BATCH_TEXTS = 32


class Teaching:
    """The texts of one index that the packaged model has embedded; the caller holds the write lock."""

    def __init__(
        self,
        docstore: DocStore,
        *,
        place: VectorPlace,
        vectorstore: Callable[[VectorSet], VectorStore],
        embedder: Callable[[], Embedder],
    ) -> None:
        self._docstore = docstore
        self._place = place
        self._store_of = vectorstore
        self._embedder = embedder

    def pays(self, n_before: int) -> bool:
        """Whether so many more texts are embedded than at the last training that learning again pays off."""
        if n_before >= _MAX_TEXTS:
            return False
        with self._docstore.snapshot() as snapshot:
            n_embedded = snapshot.chunks.count() - snapshot.embedding_queue.count()
        return n_embedded >= _GROWTH * max(n_before, _MIN_TEXTS) and self._teacher() is not None

    def lessons(self, waiting: NDArray[np.int64], must_stop: Callable[[], bool]) -> Lessons:
        """Return texts with their vectors: existing ones, or else of a sample of waiting chunks."""
        teacher = self._teacher()
        if teacher is None:
            return Lessons([], _matrix([]))
        known = self._stored_lessons()
        if len(known.texts) >= _MIN_TEXTS:
            return known
        n_wanted = min(_MIN_TEXTS, waiting.size // _MAX_FRACTION)
        rows = waiting[:: max(1, waiting.size // max(n_wanted, 1))][:n_wanted].tolist()
        return self._embed_lessons(teacher, rows, must_stop)

    def _teacher(self) -> Embedder | None:
        try:
            embedder = self._embedder()
        except ProviderError:
            return None  # embedding reports its error
        return embedder if embedder.space == PACKAGED_MODEL.space else None

    def _stored_lessons(self) -> Lessons:
        """Return a sample of texts that a generation contains or soon will."""
        with self._docstore.snapshot() as snapshot:
            if snapshot.vector_sets.is_switching:
                return Lessons([], _matrix([]))
            chunks = snapshot.chunks.by_id(snapshot.vectors.embedded_sample(_MAX_TEXTS))
            pending = snapshot.vectors.pending_of(list(chunks))
            rest = [chunk_id for chunk_id in chunks if chunk_id not in pending]
            vectors = {chunk_id: np.frombuffer(raw, np.float32) for chunk_id, raw in pending.items()}
            generation = snapshot.vector_sets.answering_generation(self._place)
            if rest and generation:
                store = self._store_of(snapshot.vector_sets.answering())
                # If it is unreachable, callers that need it report that.
                with contextlib.suppress(VectorStoreError):
                    vectors |= store.at(generation).vectors(rest)
        texts = [embedding_text(chunks[chunk_id].chunk, chunks[chunk_id].path) for chunk_id in vectors]
        return Lessons(texts, _matrix(vector.tobytes() for vector in vectors.values()))

    def _embed_lessons(self, teacher: Embedder, rows: Sequence[int], must_stop: Callable[[], bool]) -> Lessons:
        """Embed waiting chunks, and store their vectors as those of searches."""
        with self._docstore.snapshot() as snapshot:
            chunks = [chunk for chunk in snapshot.embedding_queue.chunks(rows) if chunk.embedding_text]
            hashes = [chunk.text_hash for chunk in chunks]
            vectors = snapshot.search_vectors.of_texts(teacher.space.name, hashes, dimensions=PACKAGED_MODEL.dimensions)
        texts = {chunk.text_hash: chunk.embedding_text for chunk in chunks}
        missing = [digest for digest in texts if digest not in vectors]
        # A failing model is reported when all chunks are embedded; learning does without.
        with contextlib.suppress(ProviderError):
            for start in range(0, len(missing), _BATCH_TEXTS):
                if must_stop():
                    break
                batch = missing[start : start + _BATCH_TEXTS]
                made = teacher.embed_documents([texts[digest] for digest in batch])
                vectors |= {digest: vector.tobytes() for digest, vector in zip(batch, made, strict=True)}
        with self._docstore.transaction() as transaction:
            transaction.search_vectors.put(teacher.space.name, vectors)
        return Lessons([texts[digest] for digest in vectors], _matrix(vectors.values()))


def _matrix(vectors: Iterable[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(vectors), np.float32).reshape(-1, PACKAGED_MODEL.dimensions)
