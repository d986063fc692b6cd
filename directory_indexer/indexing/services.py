"""What an index run needs from the network, asked before hours of work."""

from __future__ import annotations

from directory_indexer.embedders.loading import Embedders
from directory_indexer.indexing.vectorizer import Vectorizer


def check_services(embedders: Embedders, vectorizer: Vectorizer) -> None:
    """Ask what is on the network whether it answers; the embedded model is verified when it is loaded.

    Raises:
        ProviderError: the provider of embeddings does not.
        VectorStoreError: the vector store does not.
    """
    if embedders.configured.provider != "embedded":
        embedder = embedders.current()
        embedder.check()
        vectorizer.spaces.adopt(embedder.space)
    vectorizer.merger.check()
