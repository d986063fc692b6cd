"""The embedding model that comes with the package: all-MiniLM-L6-v2 in int8 on the processor, without any network.

Texts are run one at a time at their exact length, so a vector never depends on the texts beside it. Several threads
share one session, which scales better than threads inside an operator (2.0 against 1.3 to 1.6 times on two cores).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from directory_indexer.embedders.model_files import DIMENSIONS, MODEL_DIRECTORY, verified_file
from directory_indexer.embedders.space import EmbeddingSpace, EmbeddingUsage
from directory_indexer.embedders.wordpiece import token_ids
from directory_indexer.errors import ProviderError
from directory_indexer.inference import AS_WRITTEN, RUNTIME_ERRORS, VERSION, Session, load_session, session_options
from directory_indexer.lazy import lazily

with lazily:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray


__all__ = ["DIMENSIONS", "MAX_TOKENS", "EmbeddedEmbedder"]

# The model knows 512 positions, of which two go to the marks of start and end. It was trained on texts of up to 256
# tokens, so chunks should be no longer; the rest leaves room for their headings.
MAX_TOKENS = 510


class EmbeddedEmbedder:
    """Embed with the packaged model, on `threads` threads or as many as there are cores.

    Raises:
        ProviderError: when the model is damaged, or the installed ONNX Runtime cannot run it.

    """

    batch_size = 128
    """One to four seconds of embedding on two cores: the most that a kill can cost."""

    concurrency = 1
    """It has threads of its own."""

    def __init__(
        self, *, threads: int | None = None, model_directory: str | os.PathLike[str] = MODEL_DIRECTORY
    ) -> None:
        verified_file("weights.bin", model_directory)
        self._session = _load_session(verified_file("model.onnx", model_directory))
        self._threads = threads or _n_cores()

    @property
    def space(self) -> EmbeddingSpace:
        """The space that all vectors of this embedder lie in."""
        return EmbeddingSpace(provider="embedded", model="all-MiniLM-L6-v2", dimensions=DIMENSIONS)

    @property
    def max_tokens(self) -> int:
        """How many tokens of one text the model reads, as `count_tokens` counts them."""
        return MAX_TOKENS

    @property
    def usage(self) -> EmbeddingUsage:
        """What it was given: nothing of it costs anything."""
        return EmbeddingUsage()

    def check(self) -> None:
        """Find nothing to check: the model was verified when it was loaded."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts that are to be found."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        # The longest first, so that at the end no thread works on a long one alone.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]), reverse=True)
        for index, vector in zip(
            order, self._pool.map(self.embed_query, [texts[index] for index in order]), strict=True
        ):
            vectors[index] = vector
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed the text that is looked for."""
        ids = np.array([token_ids(text, limit=MAX_TOKENS)], np.int64)
        try:
            embedding: NDArray[np.float32] = self._session.run(["embedding"], {"input_ids": ids})[0][0]
        except RUNTIME_ERRORS as error:
            raise ProviderError(f"the embedded model failed: {error}") from error
        return embedding

    def close(self) -> None:
        """End the threads; calling it twice is harmless."""
        if "_pool" in self.__dict__:
            self._pool.shutdown()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        # A query needs no threads, and this takes 8 ms to import.

        return ThreadPoolExecutor(self._threads, thread_name_prefix="embed")


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _load_session(model: str) -> Session:
    options = session_options()
    # The graph is written as it runs best; what an optimiser of a later runtime would make of it is not measured.
    options.graph_optimization_level = AS_WRITTEN
    try:
        return load_session(str(model), options)
    except RUNTIME_ERRORS as error:
        hint = f"this version was tested with onnxruntime 1.20 to 1.31, and {VERSION} is installed"
        raise ProviderError(f"cannot load the embedded model: {error}", hint=hint) from error
