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
    from directory_indexer.storage.documents.embedding_queue import StoredStaticModel

_N_SAMPLED_TEXTS = 2000
"""The number of chunks that weights are learned from: of 11,000 chunks, 2,000 find as much as all."""

_ROWS_PER_BLOCK = 512
_BLOCKS_PER_COMMIT = 8


class StaticVectorizer:
    """Computes static vectors for the chunks of one index; the caller holds the write lock."""

    def __init__(self, docstore: DocStore, training: StaticTraining) -> None:
        self._docstore = docstore
        self._training = training

    def add_missing(
        self, scope: IndexScope = WHOLE_INDEX, *, must_stop: Callable[[], bool] = lambda: False
    ) -> Iterator[int]:
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
        if not is_old and not n_rest:
            return  # before numpy and the table are loaded
        waiting, covered = np.array(waiting_rows, np.int64), np.array(covered_rows, np.int64)
        rest = np.setdiff1d(waiting, covered, assume_unique=True)
        model = _load_model(stored) if stored is not None and not is_old else None
        if model is None:
            rest = np.union1d(waiting, self._keep_waiting(covered))
            model, to_store = self._train_model(waiting, _N_FIRST_TEXTS, must_stop)
            with self._docstore.transaction() as transaction:
                transaction.static_vectors.reset(to_store)
        step = _ROWS_PER_BLOCK * _BLOCKS_PER_COMMIT
        for start in range(0, rest.size, step):
            if must_stop():
                return
            yield self._store_static_vectors(model, rest[start : start + step].tolist())

    def n_training_texts(self, scope: IndexScope = WHOLE_INDEX) -> int:
        """Return how many texts of a scope a better model would learn from; 0 if their embedding is not worth it."""
        with self._docstore.snapshot() as snapshot:
            stored = snapshot.static_vectors.model()
            if stored is None or snapshot.embedding_queue.count() > _MAX_REPLACED:
                return 0
            n_texts = min(_N_ALL_TEXTS, snapshot.embedding_queue.count(scope) // _MAX_FRACTION)
        return n_texts if n_texts >= _MIN_GROWTH * stored.n_lessons and self._training.is_possible() else 0

    def retrain(
        self, n_texts: int, scope: IndexScope = WHOLE_INDEX, *, must_stop: Callable[[], bool] = lambda: False
    ) -> Iterator[int]:
        """Train on `n_texts` texts of a scope, embed those without a vector, and replace all static vectors at once.

        Each step yields the number of texts that have a vector now. If it must stop, or the model fails, the static
        vectors stay as they are, and the vectors of texts are kept.
        """
        with self._docstore.snapshot() as snapshot:
            stored = snapshot.static_vectors.model()
            in_scope = np.array(snapshot.embedding_queue.rows(scope).rows, np.int64)
            waiting = list(snapshot.embedding_queue.rows().rows)
        yield from self._training.embed(in_scope, n_texts, must_stop)
        if must_stop():
            return
        model, to_store = self._train_model(in_scope, n_texts, must_stop)
        if stored is not None and to_store.n_lessons <= stored.n_lessons:
            return
        blocks: list[tuple[list[int], NDArray[np.uint8]]] = []
        for start in range(0, len(waiting), _ROWS_PER_BLOCK):
            if must_stop():
                return
            rows = waiting[start : start + _ROWS_PER_BLOCK]
            blocks.append((rows, model.codes(self._texts(rows))))
            yield 0
        with self._docstore.transaction() as transaction:
            transaction.static_vectors.reset(to_store)
            for rows, codes in blocks:
                transaction.static_vectors.add(rows, codes)

    def _keep_waiting(self, rows: np.typing.NDArray[np.int64]) -> np.typing.NDArray[np.int64]:
        with self._docstore.snapshot() as snapshot:
            return np.intersect1d(rows, np.array(snapshot.embedding_queue.rows().rows, np.int64))

    def _train_model(
        self, waiting: NDArray[np.int64], n_texts: int, must_stop: Callable[[], bool]
    ) -> tuple[StaticModel, StoredStaticModel]:
        sample = waiting[:: max(1, waiting.size // _N_SAMPLED_TEXTS)][:_N_SAMPLED_TEXTS].tolist()
        data = self._training.training_data(waiting, n_texts, must_stop)
        model = train_static_model(self._texts(sample), data)
        packed = (model.weights.tobytes(), model.means(), bytes(model.own))
        return model, StoredStaticModel(STATIC_TABLE_VERSION, *packed, n_lessons=len(data.texts))

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


def _load_model(stored: StoredStaticModel) -> StaticModel | None:
    with contextlib.suppress(ValueError, TypeError):  # a damaged model is learned again
        return parse_static_model(stored.weights, stored.means, stored.own_rows)
    return None


_N_FIRST_TEXTS = 256
"""The number of texts embedded at first: some seconds, and the vectors are stored."""

_N_ALL_TEXTS = 1000
"""On 19,405 passages of filings, nDCG@10 of pages is .265 with 256 texts, .323 with 1,000 and .319 with 2,000."""

_MAX_FRACTION = 8
"""At most one of this many chunks is embedded; more would take longer than they are worth."""

_MIN_GROWTH = 2
"""With this many times as many texts, learning again pays off."""

_MAX_REPLACED = 1 << 21
"""Up to so many chunks, 100 MB of codes are held until they replace the stored ones at once."""

_BATCH_TEXTS = 32
_GOLDEN_RATIO = (5**0.5 - 1) / 2


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

    def is_possible(self) -> bool:
        """Whether the packaged model embeds the index."""
        return self._packaged_embedder() is not None

    def embed(self, waiting: NDArray[np.int64], n_texts: int, must_stop: Callable[[], bool]) -> Iterator[int]:
        """Embed the texts of `training_data` that have no vector; yield the number of texts of each step."""
        embedder = self._packaged_embedder()
        if embedder is None:
            return
        n_known = len(self._stored_data().texts)
        yield min(n_known, n_texts)
        rows = _sample(waiting, n_texts - n_known)
        for start in range(0, len(rows), _BATCH_TEXTS):
            if must_stop():
                return
            yield len(self._embed_data(embedder, rows[start : start + _BATCH_TEXTS], must_stop).texts)

    def training_data(self, waiting: NDArray[np.int64], n_texts: int, must_stop: Callable[[], bool]) -> TrainingData:
        """Return texts with their vectors: a sample of those that are embedded, and of waiting chunks.

        Of waiting chunks, as many are embedded as are missing to `n_texts`, and at most an eighth of them.
        """
        embedder = self._packaged_embedder()
        if embedder is None:
            return TrainingData([], _matrix_of_vectors([]))
        known = self._stored_data()
        n_missing = min(n_texts, waiting.size // _MAX_FRACTION) - len(known.texts)
        embedded = self._embed_data(embedder, _sample(waiting, n_missing), must_stop)
        return TrainingData([*known.texts, *embedded.texts], np.concatenate([known.vectors, embedded.vectors]))

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
            chunks = snapshot.chunks.by_id(snapshot.vectors.embedded_sample(_N_ALL_TEXTS))
            pending = snapshot.vectors.pending_of(list(chunks))
            rest = [chunk_id for chunk_id in chunks if chunk_id not in pending]
            vectors = {chunk_id: np.frombuffer(raw, np.float32) for chunk_id, raw in pending.items()}
            generation = snapshot.vector_sets.answering_generation(self._place)
            if rest and generation:
                store = self._store_of(snapshot.vector_sets.answering())
                # If it is unreachable, callers that need it report that.
                with contextlib.suppress(VectorStoreError):
                    vectors |= store.open_generation(generation).vectors(rest)
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


def _sample(rows: NDArray[np.int64], n_rows: int) -> list[int]:
    """Return rows spread evenly over all; a larger sample contains the smaller ones."""
    shares = np.arange(max(n_rows, 0)) * _GOLDEN_RATIO % 1
    sample: list[int] = np.unique(rows[(shares * rows.size).astype(np.int64)]).tolist()
    return sample


def _matrix_of_vectors(vectors: Iterable[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(vectors), np.float32).reshape(-1, PACKAGED_MODEL.dimensions)
