"""Loads embedders: the one that is configured, and those that made vectors which still answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

from directory_indexer.embedders import Embedder
from directory_indexer.embedders.building import Access, build_embedder
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.errors import ProviderError
from directory_indexer.heaps import loading


class Embedders:
    """The embedders of one index, each loaded once; threads may share them.

    `configured` is the space of what embeds now. Its key belongs to its service alone: an embedder of another endpoint,
    which the index remembers, is reached without one.
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
        """Return the embedder that is configured.

        Raises:
            ProviderError: it cannot be loaded.
        """
        return self.of(self.configured)

    def of(self, space: EmbeddingSpace | None) -> Embedder:
        """Return the embedder that made the vectors of a space; the configured one while there are no vectors.

        Raises:
            ProviderError: it cannot be loaded.
        """
        wanted = self.configured if space is None or space.name == self.configured.name else space
        with self._lock:
            if wanted.name not in self._loaded:
                with loading("the model", ProviderError):
                    self._loaded[wanted.name] = self._build(wanted, self._access_to(wanted))
            return self._loaded[wanted.name]

    def close(self) -> None:
        """Return what the embedders hold."""
        for embedder in self._loaded.values():
            embedder.close()

    def _access_to(self, space: EmbeddingSpace) -> Access:
        is_configured = space.endpoint == self.configured.endpoint
        return self._access if is_configured else self._access._replace(api_key=None)
