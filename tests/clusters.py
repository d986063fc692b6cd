"""Indexes with a cluster index, over Qdrant in the process, and servers that have nothing else."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from indexes import Index
from qdrant_client import QdrantClient

from directory_indexer.cluster_app import ClusterRetriever
from directory_indexer.core.errors import VectorsLostError, VectorStoreError
from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.search.searcher import Searcher
from directory_indexer.storage.cluster import ClusterCopy
from directory_indexer.storage.cluster.catalogue import Catalogue
from directory_indexer.storage.cluster.reader import ClusterReader
from directory_indexer.storage.cluster.synchronisation import ClusterIndex
from directory_indexer.storage.cluster.writer import ClusterLedger, ClusterWriter
from directory_indexer.storage.vectors.connection import CollectionPlan, QdrantAddress, QdrantConnection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from directory_indexer.search.requests import SearchResult

PLAN = CollectionPlan("test")


class KilledError(BaseException):
    """The process is gone."""


class LocalConnection(QdrantConnection):
    """A connection to Qdrant in the process."""

    def __init__(self) -> None:
        super().__init__(QdrantAddress(":memory:"))
        self.local = QdrantClient(":memory:")

    def send_once(self, doing: str, request: Callable[[QdrantClient], Any]) -> Any:
        """Send as to a server: local mode warns of payload indexes, and has other words for what is not there."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().send_once(doing, request)
        except VectorStoreError as error:
            if "not found" in str(error.__cause__):
                raise VectorsLostError(str(error.__cause__)) from error
            raise

    def send_with_retries(self, doing: str, request: Callable[[QdrantClient], Any]) -> Any:
        """Send once: nothing passes by itself in the process."""
        return self.send_once(doing, request)

    def _opened(self) -> QdrantClient:
        return self.local


class FragileConnection(LocalConnection):
    """Ends the process at a request: before it is sent, or after it was done; with `n_left` of None at none."""

    def __init__(self) -> None:
        super().__init__()
        self.n_left: int | None = None
        self.is_done_before = False
        self.n_requests = 0

    def send_with_retries(self, doing: str, request: Callable[[QdrantClient], Any]) -> Any:
        self.n_requests += 1
        if self.n_left is None:
            return super().send_with_retries(doing, request)
        if self.n_left == 0:
            if self.is_done_before:
                super().send_with_retries(doing, request)
            raise KilledError
        self.n_left -= 1
        return super().send_with_retries(doing, request)


class Reader:
    """A server without a database."""

    def __init__(self, connection: LocalConnection, index: Index, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.catalogue = Catalogue(directory / "data.db", ClusterReader(connection, PLAN))
        self.root = index.root
        self.searcher = Searcher(
            docstore=self.catalogue,
            nearest=lambda: index.nearest,
            embedder=index.embedder_of,
            make_retriever=ClusterRetriever,
        )

    def result(self, query: str, **options: object) -> SearchResult:
        return self.searcher.search(SearchRequest(query, **options))  # type: ignore[arg-type]

    def words(self, query: str, **options: object) -> list[str]:
        """Name the files of an answer by words alone."""
        return self.names(query, mode=SearchMode.KEYWORD, **options)

    def names(self, query: str, **options: object) -> list[str]:
        """Name the files of an answer, in their order, each once."""
        hits = self.result(query, **options).hits
        return list(dict.fromkeys(str(hit.path).removeprefix(f"{self.root}/") for hit in hits))


@dataclass
class ClusteredIndex(Index):
    """An index that keeps a cluster index in step."""

    connection: FragileConnection = field(default_factory=FragileConnection)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cluster = ClusterIndex(
            docstore=self.docstore,
            reader=ClusterReader(self.connection, PLAN),
            writer=ClusterWriter(self.connection, PLAN),
            ledger=ClusterLedger(self.data_dir / "cluster.db"),
            vectors=self.nearest.vectors,
            configured=self.embedder.space,
            documents=file_path(str(self.data_dir / "documents")),
        )
        self.vectorizer.cluster = self.cluster

    def reader(self, name: str = "reader") -> Reader:
        return Reader(self.connection, self, self.data_dir / name)

    def run_apart(self) -> None:
        """Bring the index up to date, and leave the cluster index as it is."""
        self.vectorizer.cluster = ClusterCopy()
        self.run()
        self.vectorizer.cluster = self.cluster

    def update_until_killed(self, n_requests: int, *, is_done_before: bool) -> bool:
        """Bring the cluster index up to date in a process that ends at a request; tell whether it came so far."""
        self.connection.n_left, self.connection.is_done_before = n_requests, is_done_before
        try:
            with suppress(KilledError):
                self.cluster.update()
                return False
            return True
        finally:
            self.connection.n_left = None

    def payloads(self) -> str:
        """Give all that is in the cluster as text."""
        client = self.connection.local
        names = [one.name for one in client.get_collections().collections]
        return repr([point.payload for name in names for point in client.scroll(name, limit=100_000)[0]])
