"""What an index run needs that may not be there, asked before hours of work."""

from __future__ import annotations

from directory_indexer.embedders.loading import Embedders
from directory_indexer.embedders.models import missing
from directory_indexer.indexing.vectorizer import Vectorizer


def check_services(embedders: Embedders, vectorizer: Vectorizer) -> None:
    """Ask what is on the network whether it answers; an embedded model must be installed, and is verified when loaded.

    Raises:
        ProviderError: the provider of embeddings does not answer, or the model is not installed.
        VectorStoreError: the vector store does not.
    """
    if error := missing(embedders.configured):
        raise error
    if embedders.configured.provider != "embedded":
        embedder = embedders.current()
        embedder.check()
        vectorizer.spaces.adopt(embedder.space)
    vectorizer.merger.check()
