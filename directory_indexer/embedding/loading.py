"""Construction and loading of embedders: the configured one, and those of vectors that are still searched.

The space of an embedder's vectors is known before it is loaded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.lazy import lazily
from directory_indexer.core.machine import translate_import_errors
from directory_indexer.embedding import Embedder
from directory_indexer.embedding.models import embedded_model, known_prefixes

with lazily:
    from directory_indexer.embedding.embedded import EmbeddedEmbedder
    from directory_indexer.embedding.ollama import OllamaService
    from directory_indexer.embedding.openai import OpenAIService
    from directory_indexer.embedding.remote import EmbeddingService, RemoteEmbedder


class ServiceAccess(NamedTuple):
    """Key and limits for a provider; nothing here affects a vector."""

    api_key: str | None = None
    batch_size: int = 32
    concurrency: int = 4
    keep_alive: str | None = None

    def __repr__(self) -> str:
        return f"Access({self.batch_size=}, {self.concurrency=}, {self.keep_alive=})"  # without the key


def space_of_settings(
    provider: str,
    model: str,
    *,
    endpoint: str | None,
    dimensions: int | None,
    document_prefix: str | None,
    query_prefix: str | None,
) -> EmbeddingSpace:
    """Return the space that settings define; 0 dimensions if only the provider knows them."""
    if provider == "embedded":
        return embedded_model(model).space
    known = known_prefixes(model)
    return EmbeddingSpace(
        provider=provider,
        model=model,
        dimensions=dimensions or 0,
        document_prefix=known.document if document_prefix is None else document_prefix,
        query_prefix=known.query if query_prefix is None else query_prefix,
        is_shortened=dimensions is not None,
        endpoint=endpoint,
    )


def build_embedder(
    space: EmbeddingSpace, access: ServiceAccess, *, sleep: Callable[[float], None] = time.sleep
) -> Embedder:
    """Build the embedder of a space, without a request to a provider on the network.

    Raises:
        ProviderError: it cannot be loaded, or its configuration is incomplete.
    """
    if space.provider == "embedded":
        return EmbeddedEmbedder(embedded_model(space.model))

    return RemoteEmbedder(
        _SERVICE_MAKERS[space.provider](space, access),
        space,
        batch_size=access.batch_size,
        concurrency=access.concurrency,
        sleep=sleep,
    )


def _make_ollama_service(space: EmbeddingSpace, access: ServiceAccess) -> EmbeddingService:
    return OllamaService(
        endpoint=space.endpoint or "",
        model=space.model,
        api_key=access.api_key,
        dimensions=space.dimensions if space.is_shortened else None,
        keep_alive=access.keep_alive,
    )


def _make_openai_service(space: EmbeddingSpace, access: ServiceAccess) -> EmbeddingService:
    return OpenAIService(
        endpoint=space.endpoint or "",
        model=space.model,
        api_key=access.api_key,
        dimensions=space.dimensions if space.is_shortened else None,
    )


_SERVICE_MAKERS: dict[str, Callable[[EmbeddingSpace, ServiceAccess], EmbeddingService]] = {
    "ollama": _make_ollama_service,
    "openai": _make_openai_service,
}


class Embedders:
    """The embedders of one index, each loaded once; thread-safe.

    `configured` is the space of the current embedder. Its key belongs to its service alone: an embedder of another
    endpoint, which the index remembers, is used without one.
    """

    def __init__(
        self,
        configured: EmbeddingSpace,
        access: ServiceAccess,
        *,
        build: Callable[[EmbeddingSpace, ServiceAccess], Embedder] = build_embedder,
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
                with translate_import_errors("the model", ProviderError):
                    self._loaded[resolved.name] = self._build(resolved, self._access_to(resolved))
            return self._loaded[resolved.name]

    def close(self) -> None:
        """Release the resources of all embedders."""
        for embedder in self._loaded.values():
            embedder.close()

    def _access_to(self, space: EmbeddingSpace) -> ServiceAccess:
        is_configured = space.endpoint == self.configured.endpoint
        return self._access if is_configured else self._access._replace(api_key=None)
