"""Finds texts with the model's vectors for static ones to learn from, and has a few embedded where there are none.

Only the packaged model teaches: it costs nothing, and its vectors lie in the space of the static table.
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


_FIRST = 256
"""So many texts are embedded to begin with: some seconds, and the vectors are kept."""

_SHARE = 8
"""No more than one of so many chunks is, which would take longer than all of them are worth."""

_MOST = 1000
_GROWTH = 4
"""With so many times as many texts, learning again pays."""

_AT_A_TIME = 32


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
        """Tell whether so many more texts are embedded than was learned from before that it is time to learn again."""
        if n_before >= _MOST:
            return False
        with self._docstore.snapshot() as snapshot:
            n_embedded = snapshot.chunks.count() - snapshot.embedding_queue.count()
        return n_embedded >= _GROWTH * max(n_before, _FIRST) and self._teacher() is not None

    def lessons(self, waiting: NDArray[np.int64], must_stop: Callable[[], bool]) -> Lessons:
        """Give texts with their vectors: those that are there, or else of some chunks that wait, from all over them."""
        teacher = self._teacher()
        if teacher is None:
            return Lessons([], _matrix([]))
        known = self._known()
        if len(known.texts) >= _FIRST:
            return known
        n_wanted = min(_FIRST, waiting.size // _SHARE)
        rows = waiting[:: max(1, waiting.size // max(n_wanted, 1))][:n_wanted].tolist()
        return self._made(teacher, rows, must_stop)

    def _teacher(self) -> Embedder | None:
        try:
            embedder = self._embedder()
        except ProviderError:
            return None  # embedding says what is wrong with it
        return embedder if embedder.space == PACKAGED_MODEL.space else None

    def _known(self) -> Lessons:
        """Give texts that a generation holds or soon will, from all over the index."""
        with self._docstore.snapshot() as snapshot:
            if snapshot.vector_sets.is_switching:
                return Lessons([], _matrix([]))
            chunks = snapshot.chunks.by_id(snapshot.vectors.embedded_sample(_MOST))
            pending = snapshot.vectors.pending_of(list(chunks))
            rest = [one for one in chunks if one not in pending]
            vectors = {one: np.frombuffer(raw, np.float32) for one, raw in pending.items()}
            generation = snapshot.vector_sets.answering_generation(self._place)
            if rest and generation:
                store = self._store_of(snapshot.vector_sets.answering())
                # Where it is away, those who cannot do without it say so.
                with contextlib.suppress(VectorStoreError):
                    vectors |= store.at(generation).vectors(rest)
        texts = [embedding_text(chunks[one].chunk, chunks[one].path) for one in vectors]
        return Lessons(texts, _matrix(vector.tobytes() for vector in vectors.values()))

    def _made(self, teacher: Embedder, rows: Sequence[int], must_stop: Callable[[], bool]) -> Lessons:
        """Embed chunks that wait, and keep their vectors as searches keep what they made."""
        with self._docstore.snapshot() as snapshot:
            chunks = [one for one in snapshot.embedding_queue.chunks(rows) if one.embedding_text]
            hashes = [one.text_hash for one in chunks]
            vectors = snapshot.search_vectors.of_texts(teacher.space.name, hashes, dimensions=PACKAGED_MODEL.dimensions)
        texts = {one.text_hash: one.embedding_text for one in chunks}
        missing = [one for one in texts if one not in vectors]
        # A model that fails says so when all is embedded; learning does without.
        with contextlib.suppress(ProviderError):
            for start in range(0, len(missing), _AT_A_TIME):
                if must_stop():
                    break
                batch = missing[start : start + _AT_A_TIME]
                made = teacher.embed_documents([texts[one] for one in batch])
                vectors |= {one: vector.tobytes() for one, vector in zip(batch, made, strict=True)}
        with self._docstore.transaction() as transaction:
            transaction.search_vectors.put(teacher.space.name, vectors)
        return Lessons([texts[one] for one in vectors], _matrix(vectors.values()))


def _matrix(vectors: Iterable[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(vectors), np.float32).reshape(-1, PACKAGED_MODEL.dimensions)
