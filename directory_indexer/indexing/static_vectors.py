"""Static vectors for chunks that wait for a vector, which searches use meanwhile, and their training data.

The training data are texts with vectors of the packaged model, some of them embedded if there are none. That model
costs nothing, and its vectors lie in the space of the static table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from directory_indexer.chunking.chunks import embedding_text
from directory_indexer.core.errors import ProviderError, VectorStoreError
from directory_indexer.core.lazy import lazily
from directory_indexer.embedding import Embedder
from directory_indexer.embedding.model_files import STATIC_TABLE_VERSION
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.storage.documents.vector_sets import VectorSet
from directory_indexer.storage.vectors import VectorPlace, VectorStore

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.embedding.models import PACKAGED_MODEL
    from directory_indexer.embedding.static_table import (
        StaticModel,
        TrainingData,
        parse_static_model,
        train_static_model,
    )
    from directory_indexer.storage.documents.embedding_queue import StoredModel

_N_SAMPLED_TEXTS = 2000
"""The number of chunks that weights are learned from: of 11,000 chunks, 2,000 find as much as all."""

_ROWS_PER_BLOCK = 512
_BLOCKS_PER_COMMIT = 8


class StaticVectorizer:
    """Computes static vectors for the chunks of one index; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, training: StaticTraining) -> None:
        self._docstore = docstore
        self._training = training

    def cover(self, scope: IndexScope = WHOLE_INDEX, *, must_stop: Callable[[], bool] = lambda: False) -> Iterator[int]:
        """Compute missing static vectors of waiting chunks; each step yields the number of chunks.

        With a new model, covered chunks that wait outside the scope are covered again.
        """
        with self._docstore.snapshot() as snapshot:
            stored = snapshot.static_vectors.model()
            covered_rows = snapshot.static_vectors.rows()
            waiting_rows = snapshot.embedding_queue.rows(scope).rows
        n_rest = len(set(waiting_rows).difference(covered_rows))
        # What was learned from a small part of the index is not representative of the whole.
        is_old = stored is None or stored.version != STATIC_TABLE_VERSION or n_rest > len(covered_rows)
        is_reusable = stored is not None and not is_old and not self._training.is_due(stored.n_lessons)
        if is_reusable and not n_rest:
            return  # before numpy and the table are loaded
        waiting, covered = np.array(waiting_rows, np.int64), np.array(covered_rows, np.int64)
        rest = np.setdiff1d(waiting, covered, assume_unique=True)
        model = _load_model(stored) if is_reusable and stored is not None else None
        if model is None:
            model, rest = (
                self._train_and_store_model(waiting, must_stop),
                np.union1d(waiting, self._keep_waiting(covered)),
            )
        step = _ROWS_PER_BLOCK * _BLOCKS_PER_COMMIT
        for start in range(0, rest.size, step):
            if must_stop():
                return
            yield self._store_static_vectors(model, rest[start : start + step].tolist())

    def _keep_waiting(self, rows: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.int64]:
        with self._docstore.snapshot() as snapshot:
            return np.intersect1d(rows, np.array(snapshot.embedding_queue.rows().rows, np.int64))

    def _train_and_store_model(
        self, waiting: np.typing.NDArray[np.int64], must_stop: Callable[[], bool]
    ) -> StaticModel:
        sample = waiting[:: max(1, waiting.size // _N_SAMPLED_TEXTS)][:_N_SAMPLED_TEXTS].tolist()
        data = self._training.training_data(waiting, must_stop)
        model = train_static_model(self._texts(sample), data)
        with self._docstore.transaction() as transaction:
            transaction.static_vectors.begin(
                StoredModel(
                    STATIC_TABLE_VERSION,
                    model.weights.tobytes(),
                    model.means(),
                    bytes(model.own),
                    len(data.texts),
                )
            )
        return model

    def _store_static_vectors(self, model: StaticModel, rows: Sequence[int]) -> int:
        blocks = [rows[start : start + _ROWS_PER_BLOCK] for start in range(0, len(rows), _ROWS_PER_BLOCK)]
        codes = [model.codes(self._texts(block)) for block in blocks]
        with self._docstore.transaction() as transaction:
            for block, of_block in zip(blocks, codes, strict=True):
                transaction.static_vectors.add(block, of_block)
        return len(rows)

    def _texts(self, rows: Sequence[int]) -> list[str]:
        with self._docstore.snapshot() as snapshot:
            texts = snapshot.embedding_queue.texts(rows)
        return [texts[row] for row in rows if row in texts]


def _load_model(stored: StoredModel) -> StaticModel | None:
    with contextlib.suppress(ValueError, TypeError):  # a damaged model is learned again
        return parse_static_model(stored.weights, stored.means, stored.own_rows)
    return None


_MIN_TEXTS = 256
"""The number of texts embedded at first: some seconds, and the vectors are stored."""

_MAX_FRACTION = 8
"""At most one of this many chunks is embedded; more would take longer than they are worth."""

_MAX_TEXTS = 1000
_GROWTH_BEFORE_TRAINING = 4
"""With this many times as many texts, learning again pays off."""

_BATCH_TEXTS = 32


class StaticTraining:
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

    def is_due(self, n_before: int) -> bool:
        """Whether so many more texts are embedded than at the last training that learning again pays off."""
        if n_before >= _MAX_TEXTS:
            return False
        with self._docstore.snapshot() as snapshot:
            n_embedded = snapshot.chunks.count() - snapshot.embedding_queue.count()
        return (
            n_embedded >= _GROWTH_BEFORE_TRAINING * max(n_before, _MIN_TEXTS) and self._packaged_embedder() is not None
        )

    def training_data(self, waiting: NDArray[np.int64], must_stop: Callable[[], bool]) -> TrainingData:
        """Return texts with their vectors: existing ones, or else of a sample of waiting chunks."""
        embedder = self._packaged_embedder()
        if embedder is None:
            return TrainingData([], _matrix_of_vectors([]))
        known = self._stored_data()
        if len(known.texts) >= _MIN_TEXTS:
            return known
        n_wanted = min(_MIN_TEXTS, waiting.size // _MAX_FRACTION)
        rows = waiting[:: max(1, waiting.size // max(n_wanted, 1))][:n_wanted].tolist()
        return self._embed_data(embedder, rows, must_stop)

    def _packaged_embedder(self) -> Embedder | None:
        try:
            embedder = self._embedder()
        except ProviderError:
            return None  # embedding reports its error
        return embedder if embedder.space == PACKAGED_MODEL.space else None

    def _stored_data(self) -> TrainingData:
        """Return a sample of texts that a generation contains or soon will."""
        with self._docstore.snapshot() as snapshot:
            if snapshot.vector_sets.is_switching:
                return TrainingData([], _matrix_of_vectors([]))
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
        return TrainingData(texts, _matrix_of_vectors(vector.tobytes() for vector in vectors.values()))

    def _embed_data(self, embedder: Embedder, rows: Sequence[int], must_stop: Callable[[], bool]) -> TrainingData:
        """Embed waiting chunks, and store their vectors as those of searches."""
        with self._docstore.snapshot() as snapshot:
            chunks = [chunk for chunk in snapshot.embedding_queue.chunks(rows) if chunk.embedding_text]
            hashes = [chunk.text_hash for chunk in chunks]
            vectors = snapshot.search_vectors.of_texts(
                embedder.space.name, hashes, dimensions=PACKAGED_MODEL.dimensions
            )
        texts = {chunk.text_hash: chunk.embedding_text for chunk in chunks}
        missing = [digest for digest in texts if digest not in vectors]
        # A failing model is reported when all chunks are embedded; learning does without.
        with contextlib.suppress(ProviderError):
            for start in range(0, len(missing), _BATCH_TEXTS):
                if must_stop():
                    break
                batch = missing[start : start + _BATCH_TEXTS]
                embedded = embedder.embed_documents([texts[digest] for digest in batch])
                vectors |= {digest: vector.tobytes() for digest, vector in zip(batch, embedded, strict=True)}
        with self._docstore.transaction() as transaction:
            transaction.search_vectors.put(embedder.space.name, vectors)
        return TrainingData([texts[digest] for digest in vectors], _matrix_of_vectors(vectors.values()))


def _matrix_of_vectors(vectors: Iterable[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(vectors), np.float32).reshape(-1, PACKAGED_MODEL.dimensions)
