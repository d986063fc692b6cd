"""Collections and documents of a test, for real but for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes import FakeEmbedder

from directory_indexer.app import App
from directory_indexer.collections import Collections
from directory_indexer.collections.documents import DocumentOperations
from directory_indexer.collections.ingest import DocumentIngest, IngestRequest, IngestResult
from directory_indexer.collections.search import search_collections
from directory_indexer.config import load_config
from directory_indexer.embedding.loading import Embedders, ServiceAccess
from directory_indexer.search.requests import SearchRequest

if TYPE_CHECKING:
    from pathlib import Path

    from directory_indexer.integrations.converting.fetching import FetchedContent, Validators
    from directory_indexer.search.requests import Hit

SECRET = "ghp_" + "x9Lq2Rk7Tz4Wm8Vb3Nc6Pd1Ys5Hf0Jg2Ka7E"


class Team:
    """One data directory with its collections, and the verbs that tests need."""

    def __init__(self, data_dir: Path, **environ: str) -> None:
        self.data_dir = data_dir
        self.embedder = FakeEmbedder()
        self.web: dict[str, FetchedContent] = {}
        self.asked: list[Validators] = []
        self.app = App(load_config(file=None, data_dir=data_dir, environ=environ))
        self.app.embedders = Embedders(self.embedder.space, ServiceAccess(), build=lambda *_: self.embedder)
        self.collections = Collections(self.app)
        self.verbs = DocumentOperations(self.collections)
        self.ingesting = DocumentIngest(self.collections, fetch=self._fetch)

    def _fetch(self, url: str, known: Validators) -> FetchedContent | None:
        self.asked.append(known)
        found = self.web[url]
        return None if known.etag and known.etag == found.etag else found

    def add(self, text: str, collection: str = "default", **how: object) -> IngestResult:
        return self.ingesting.add_text(text, IngestRequest(collection, **how))  # type: ignore[arg-type]

    def search(self, query: str, *collections: str, **options: object) -> tuple[Hit, ...]:
        request = SearchRequest(query, **options)  # type: ignore[arg-type]
        return search_collections(self.collections, collections, request).hits

    def names(self, query: str, *collections: str, **options: object) -> list[str]:
        return [hit.sent.filename if hit.sent else str(hit.path) for hit in self.search(query, *collections, **options)]

    def close(self) -> None:
        self.collections.close()
        self.app.close()
