"""Interface of embedders, which every provider implements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from directory_indexer.core.fingerprint import EmbeddingSpace, EmbeddingUsage
from directory_indexer.core.lazy import lazily

with lazily:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors of one space: float32, of Euclidean length 1.

    Raises:
        ProviderError: from any method, when the provider cannot answer.
    """

    @property
    def space(self) -> EmbeddingSpace:
        """The space of all vectors of this embedder."""

    @property
    def max_tokens(self) -> int | None:
        """Maximum tokens of one text that the model reads, if known; the rest is cut off."""

    @property
    def batch_size(self) -> int:
        """Optimal number of texts in one call."""

    @property
    def concurrency(self) -> int:
        """Optimal number of concurrent calls."""

    @property
    def usage(self) -> EmbeddingUsage:
        """Billable usage since its creation."""

    def check(self) -> None:
        """Raise unless it can embed now."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts to be indexed; an array of shape (texts, dimensions), in the given order.

        Raises:
            TextsRefusedError: the provider refuses some of them and embeds the others.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query; an array of shape (dimensions,)."""

    def close(self) -> None:
        """Release resources; calling it twice is harmless."""
