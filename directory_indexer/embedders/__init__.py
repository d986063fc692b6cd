"""What turns text into vectors: the boundary that every provider implements, and the providers by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from directory_indexer.embedding_space import EmbeddingSpace, EmbeddingUsage
from directory_indexer.lazy import lazily

with lazily:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turn texts into vectors of one space: float32, of Euclidean length 1.

    Raises:
        ProviderError: from any verb, when the provider cannot answer.
    """

    @property
    def space(self) -> EmbeddingSpace:
        """The space that all vectors of this embedder lie in."""

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of one text the model reads, where that is known; what is beyond is cut off."""

    @property
    def batch_size(self) -> int:
        """How many texts are best given at a time."""

    @property
    def concurrency(self) -> int:
        """How many calls at a time make it fastest."""

    @property
    def usage(self) -> EmbeddingUsage:
        """What it was given since it was made, as far as it costs anything."""

    def check(self) -> None:
        """Make sure that it can embed now."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts that are to be found; an array of shape (texts, dimensions), in the order given.

        Raises:
            TextsRefusedError: the provider refuses some of them and embeds the others.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed the text that is looked for; an array of shape (dimensions,)."""

    def close(self) -> None:
        """Return what the embedder holds; calling it twice is harmless."""
