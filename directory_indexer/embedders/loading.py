"""Loading of embedders: the configured one, and those of vectors that are still searched."""

from __future__ import annotations

import threading
from collections.abc import Callable

from directory_indexer.embedders import Embedder
from directory_indexer.embedders.building import Access, build_embedder
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.errors import ProviderError
from directory_indexer.heaps import loading


class Embedders:
    """The embedders of one index, each loaded once; thread-safe.

    `configured` is the space of the current embedder. Its key belongs to its service alone: an embedder of another
    endpoint, which the index remembers, is used without one.
    """

    def __init__(
        self,
        configured: EmbeddingSpace,
        access: Access,
        *,
        build: Callable[[EmbeddingSpace, Access], Embedder] = build_embedder,
    ) -> None:
        self.configured = configured
        self._access = access
        self._build = build
        self._lock = threading.Lock()
        self._loaded: dict[str, Embedder] = {}

    def current(self) -> Embedder:
        """Return the configured embedder.

        Raises:
            ProviderError: it cannot be loaded.
        """
        return self.of(self.configured)

    def of(self, space: EmbeddingSpace | None) -> Embedder:
        """Return the embedder of a space's vectors; the configured one while there are no vectors.

        Raises:
            ProviderError: it cannot be loaded.
        """
        resolved = self.configured if space is None or space.name == self.configured.name else space
        with self._lock:
            if resolved.name not in self._loaded:
                with loading("the model", ProviderError):
                    self._loaded[resolved.name] = self._build(resolved, self._access_to(resolved))
            return self._loaded[resolved.name]

    def close(self) -> None:
        """Release the resources of all embedders."""
        for embedder in self._loaded.values():
            embedder.close()

    def _access_to(self, space: EmbeddingSpace) -> Access:
        is_configured = space.endpoint == self.configured.endpoint
        return self._access if is_configured else self._access._replace(api_key=None)
