"""The application with random vectors instead of the model, for trees too large to embed.

`cheap.py COMMAND...` runs `dirindex COMMAND...` that way.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Sequence
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.fingerprint import EmbeddingSpace, EmbeddingUsage
from directory_indexer.embedding.loading import Embedders, ServiceAccess
from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from directory_indexer.indexing.report import IndexReport

CHEAP_COMMAND: Final = (sys.executable, str(Path(__file__).resolve()))
N_CENTRES: Final = 200

# With the model a merge comes minutes after the last one, and without it seconds. Fewer of them hold no less in memory.
EmbeddedVectorStore.merge_at = 20_000


class CheapEmbedder:
    """Random vectors clustered around a few centres; equal texts have equal vectors."""

    space = EmbeddingSpace(provider="embedded", model="all-MiniLM-L6-v2", dimensions=DIMENSIONS)
    max_tokens = None
    concurrency = 1
    usage = EmbeddingUsage()

    def __init__(self, *, batch_size: int = 2000) -> None:
        self.batch_size = batch_size
        self._centres = np.random.default_rng(7).standard_normal((N_CENTRES, DIMENSIONS), np.float32)

    def check(self) -> None:
        """Do nothing: there is no model to check."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self.embed_query(text) for text in texts], np.float32).reshape(-1, DIMENSIONS)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        seed = zlib.crc32(text.encode("utf-8", "replace"))
        noise = np.random.default_rng(seed).standard_normal(DIMENSIONS, np.float32)
        vector: NDArray[np.float32] = self._centres[seed % N_CENTRES] + noise
        unit: NDArray[np.float32] = vector / np.linalg.norm(vector)
        return unit

    def close(self) -> None:
        """Do nothing."""


def make_cheap(app: App, *, batch_size: int = 2000) -> App:
    """Replace the embedder of an application by random vectors."""
    app.embedders = Embedders(
        CheapEmbedder.space, ServiceAccess(), build=lambda *_: CheapEmbedder(batch_size=batch_size)
    )
    return app


def cheap_app(data_dir: Path, *, batch_size: int = 2000, environ: dict[str, str] | None = None) -> App:
    """Open an index, configured only by `environ`."""
    return make_cheap(App(load_config(file=None, data_dir=data_dir, environ=environ or {})), batch_size=batch_size)


def index_tree(app: App, root: Path) -> IndexReport:
    """Update an index with a tree, in this process."""
    options = IndexOptions(has_consent=True)
    return app.runs.indexer.index([os.fspath(root)], options=options, listener=lambda _: None, stop_reason=lambda: None)


if __name__ == "__main__":
    from directory_indexer.cli import main as command

    Embedders.__init__ = partialmethod(Embedders.__init__, build=lambda *_: CheapEmbedder())  # type: ignore[assignment,method-assign]
    command()
