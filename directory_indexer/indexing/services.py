"""Checks of the services of an index run, before hours of work."""

from __future__ import annotations

from directory_indexer.embedders.loading import Embedders
from directory_indexer.embedders.models import missing
from directory_indexer.indexing.vectorizer import Vectorizer


def check_services(embedders: Embedders, vectorizer: Vectorizer) -> None:
    """Check that network services respond; an embedded model must be installed, and is verified when loaded.

    Raises:
        ProviderError: the embedding provider does not respond, or the model is not installed.
        VectorStoreError: the vector store does not respond.
    """
    if error := missing(embedders.configured):
        raise error
    if embedders.configured.provider != "embedded":
        embedder = embedders.current()
        embedder.check()
        vectorizer.spaces.adopt(embedder.space)
    vectorizer.merger.check()
