"""Construction of the configured embedder, and the space of its vectors, which is known before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from directory_indexer.embedders import Embedder
from directory_indexer.embedders.models import embedded_model
from directory_indexer.embedders.prefixes import known_prefixes
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.embedders.embedded import EmbeddedEmbedder
    from directory_indexer.embedders.ollama import OllamaService
    from directory_indexer.embedders.openai import OpenAIService
    from directory_indexer.embedders.remote import RemoteEmbedder
    from directory_indexer.embedders.service import EmbeddingService


class Access(NamedTuple):
    """Key and limits for a provider; nothing here affects a vector."""

    api_key: str | None = None
    batch_size: int = 32
    concurrency: int = 4
    keep_alive: str | None = None

    def __repr__(self) -> str:
        return f"Access({self.batch_size=}, {self.concurrency=}, {self.keep_alive=})"  # without the key


def planned_space(
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


def build_embedder(space: EmbeddingSpace, access: Access, *, sleep: Callable[[float], None] = time.sleep) -> Embedder:
    """Build the embedder of a space, without a request to a provider on the network.

    Raises:
        ProviderError: it cannot be loaded, or its configuration is incomplete.
    """
    if space.provider == "embedded":
        return EmbeddedEmbedder(embedded_model(space.model))

    return RemoteEmbedder(
        _SERVICES[space.provider](space, access),
        space,
        batch_size=access.batch_size,
        concurrency=access.concurrency,
        sleep=sleep,
    )


def _ollama(space: EmbeddingSpace, access: Access) -> EmbeddingService:
    return OllamaService(
        endpoint=space.endpoint or "",
        model=space.model,
        api_key=access.api_key,
        dimensions=space.dimensions if space.is_shortened else None,
        keep_alive=access.keep_alive,
    )


def _openai(space: EmbeddingSpace, access: Access) -> EmbeddingService:
    return OpenAIService(
        endpoint=space.endpoint or "",
        model=space.model,
        api_key=access.api_key,
        dimensions=space.dimensions if space.is_shortened else None,
    )


_SERVICES: dict[str, Callable[[EmbeddingSpace, Access], EmbeddingService]] = {
    "ollama": _ollama,
    "openai": _openai,
}
