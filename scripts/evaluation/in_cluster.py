"""Searches of a server without a database, beside those of the index, over Qdrant in the process.

The cluster index is written and read as a run and a server do it. Only the connection is another one: the client's
local mode stands for the server, and compares exactly.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from qdrant_client import QdrantClient

from directory_indexer.cluster_app import ClusterRetriever
from directory_indexer.config.collections import documents_of
from directory_indexer.core.errors import VectorsLostError, VectorStoreError
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.search.searcher import Searcher
from directory_indexer.storage.cluster.catalogue import Catalogue
from directory_indexer.storage.cluster.export import ClusterLedger
from directory_indexer.storage.cluster.reader import ClusterReader
from directory_indexer.storage.cluster.update import ClusterIndex
from directory_indexer.storage.cluster.writer import ClusterWriter
from directory_indexer.storage.vectors.collection import CollectionPlan
from directory_indexer.storage.vectors.connection import Address, QdrantConnection
from evaluation.asking import IndexedCorpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from directory_indexer.app import App
    from evaluation.sets import RetrievalSet

_PLAN = CollectionPlan("evaluation")


class LocalConnection(QdrantConnection):
    """A connection to Qdrant in the process."""

    def __init__(self) -> None:
        super().__init__(Address(":memory:"))
        self.local = QdrantClient(":memory:")

    def ask(self, doing: str, question: Callable[[QdrantClient], Any]) -> Any:
        """Ask as a server is asked: local mode warns of payload indexes, and has other words for what is not there."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().ask(doing, question)
        except VectorStoreError as error:
            if "not found" in str(error.__cause__):
                raise VectorsLostError(str(error.__cause__)) from error
            raise

    def insist(self, doing: str, request: Callable[[QdrantClient], Any]) -> Any:
        """Ask once: nothing passes by itself in the process."""
        return self.ask(doing, request)

    def _opened(self) -> QdrantClient:
        return self.local


def measured_in_cluster(retrieval_set: RetrievalSet, data_dir: Path) -> Iterator[str]:
    """Yield a line for each corpus: nDCG@10 by both of the index, and of a server that asks Qdrant alone."""
    for root, questions in retrieval_set.repositories():
        corpus = IndexedCorpus(
            retrieval_set.corpus,
            root,
            data_dir / (f"{retrieval_set.name}/{root.name}" if questions[0].repository else retrieval_set.name),
        )
        with tempfile.TemporaryDirectory() as directory:
            searcher = _in_cluster(corpus.app, Path(directory))
            ours = [corpus.measure_first_hits(question, SearchMode.HYBRID)["nDCG@10"] for question in questions]
            theirs = [
                corpus.measure_paths(question, _paths(searcher, question.text))["nDCG@10"] for question in questions
            ]
        corpus.close()
        figures = f"today {fmean(ours):.3f}   in the cluster alone {fmean(theirs):.3f}"
        yield f"{root.name:24} {len(questions):5} questions   {figures}"


def _in_cluster(app: App, directory: Path) -> Searcher:
    connection = LocalConnection()
    reader = ClusterReader(connection, _PLAN)
    index = ClusterIndex(
        docstore=app.docstore,
        reader=reader,
        writer=ClusterWriter(connection, _PLAN),
        ledger=ClusterLedger(directory / "cluster.db"),
        vectors=app.nearest.vectors,
        configured=app.embedders.configured,
        documents=documents_of(app.loaded),
    )
    index.update()
    index.close()
    catalogue = Catalogue(directory / "data.db", reader)
    return Searcher(
        docstore=catalogue, nearest=lambda: app.nearest, embedder=app.embedders.of, inquiry=ClusterRetriever
    )


def _paths(searcher: Searcher, text: str) -> list[str]:
    return [hit.path for hit in searcher.search(SearchRequest(text, limit=10)).hits]
