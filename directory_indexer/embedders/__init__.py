"""What turns text into vectors: the boundary that every provider implements, and the providers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.records import EmbeddingSpace


class Embedder(Protocol):
    """Turn texts into vectors of one space: float32, of Euclidean length 1.

    Raises:
        ProviderError: from any verb, when the provider cannot answer.
    """

    @property
    def space(self) -> EmbeddingSpace:
        """The space that all vectors of this embedder lie in."""

    @property
    def max_tokens(self) -> int:
        """How many tokens of one text the model reads; what is beyond is cut off."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts that are to be found; an array of shape (texts, dimensions), in the order given."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed the text that is looked for; an array of shape (dimensions,)."""

    def close(self) -> None:
        """Give back what the embedder holds; calling it twice is harmless."""
