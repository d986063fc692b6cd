"""Models that embed in this process, in int8 on the processor, without a network.

Texts are run one at a time at their exact length, so a vector never depends on the texts beside it. Several threads
share one session, which scales better than threads inside an operator (2.0 against 1.3 to 1.6 times on two cores).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from directory_indexer.embedders.model_files import verified_file
from directory_indexer.embedders.models import PACKAGED_MODEL, EmbeddedModel, directory_of
from directory_indexer.embedding_space import EmbeddingSpace, EmbeddingUsage
from directory_indexer.errors import ProviderError
from directory_indexer.inference import AS_WRITTEN, RUNTIME_ERRORS, VERSION, Session, load_session, session_options
from directory_indexer.lazy import lazily

with lazily:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from directory_indexer.embedders.unigram import read_vocabulary, windows
    from directory_indexer.embedders.wordpiece import token_ids


Windows: TypeAlias = Callable[[str, str], list[list[int]]]
"""Returns the token ids of a text after a prefix, in parts that fit into the model's window."""


class EmbeddedEmbedder:
    """Embeds with a model, on `threads` threads or as many as there are cores.

    Raises:
        ProviderError: the model is not installed or damaged, or the installed ONNX Runtime cannot run it.
    """

    batch_size = 128
    """One to four seconds of embedding on two cores: the most that an interruption can cost."""

    concurrency = 1
    """It has threads of its own."""

    def __init__(
        self,
        model: EmbeddedModel = PACKAGED_MODEL,
        *,
        threads: int | None = None,
        model_directory: str | os.PathLike[str] | None = None,
    ) -> None:
        self._model = model
        directory = os.fspath(model_directory or directory_of(model))
        verified_file("weights.bin", directory, hint=model.repair)
        self._session = _load_session(verified_file("model.onnx", directory, hint=model.repair))
        self._windows = _TOKENIZERS[model.tokenizer](model, directory)
        self._threads = threads or _n_cores()

    @property
    def space(self) -> EmbeddingSpace:
        """The space of all vectors of this embedder."""
        return self._model.space

    @property
    def max_tokens(self) -> int:
        """Maximum tokens of one text that the model reads, as its tokenizer counts them."""
        return self._model.max_tokens

    @property
    def usage(self) -> EmbeddingUsage:
        """Empty: it costs nothing."""
        return EmbeddingUsage()

    def check(self) -> None:
        """Do nothing: the model was verified when it was loaded."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts to be indexed."""
        vectors = np.empty((len(texts), self._model.dimensions), np.float32)
        # The longest first, so that no thread is left alone with a long one.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]), reverse=True)
        embedded = self._pool.map(self._embed_document, [texts[index] for index in order])
        for index, vector in zip(order, embedded, strict=True):
            vectors[index] = vector
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query."""
        return self._embed(text, self._model.prefixes.query)

    def close(self) -> None:
        """End the threads; calling it twice is harmless."""
        if "_pool" in self.__dict__:
            self._pool.shutdown()

    def _embed_document(self, text: str) -> NDArray[np.float32]:
        return self._embed(text, self._model.prefixes.document)

    def _embed(self, text: str, prefix: str) -> NDArray[np.float32]:
        first, *others = self._windows(text, prefix)
        vector = self._vector(first)
        if others:
            vector = sum(map(self._vector, others), start=vector)
            vector /= np.linalg.norm(vector)
        return vector

    def _vector(self, ids: list[int]) -> NDArray[np.float32]:
        try:
            vector: NDArray[np.float32] = self._session.run(["embedding"], {"input_ids": np.array([ids], np.int64)})[0][
                0
            ]
        except RUNTIME_ERRORS as error:
            raise ProviderError(f"the embedded model failed: {error}") from error
        return vector

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        # A query needs no threads, and this takes 8 ms to import.

        return ThreadPoolExecutor(self._threads, thread_name_prefix="embed")


def _wordpiece(model: EmbeddedModel, _: str) -> Windows:
    return lambda text, prefix: [token_ids(prefix + text, limit=model.window)]


def _unigram(model: EmbeddedModel, directory: str) -> Windows:
    files = (verified_file(name, directory, hint=model.repair) for name in ("vocabulary.txt", "scores.bin"))
    vocabulary = read_vocabulary(*files)

    def cut(text: str, prefix: str) -> list[list[int]]:
        before = vocabulary.token_ids(prefix, limit=model.window)
        n_read = model.n_windows * (model.window - len(before))
        return windows(vocabulary.token_ids(text, limit=n_read), prefix=before, size=model.window)

    return cut


_TOKENIZERS: dict[str, Callable[[EmbeddedModel, str], Windows]] = {"wordpiece": _wordpiece, "unigram": _unigram}


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load_session(model: str) -> Session:
    options = session_options()
    # The graph is already optimised; the effect of a later runtime's optimiser is not measured.
    options.graph_optimization_level = AS_WRITTEN
    try:
        return load_session(str(model), options)
    except RUNTIME_ERRORS as error:
        hint = f"this version was tested with onnxruntime 1.20 to 1.31, and {VERSION} is installed"
        raise ProviderError(f"cannot load the embedded model: {error}", hint=hint) from error
