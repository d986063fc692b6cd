"""Another model while the vectors are on a Qdrant server: the same promises as beside the embedded engine."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder
from indexes import Index
from qdrant_client import QdrantClient
from qdrant_servers import Server

from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.vectors.connection import CollectionPlan, QdrantAddress, QdrantConnection
from directory_indexer.storage.vectors.server import ServerVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from directory_indexer.indexing.report import IndexReport
    from directory_indexer.storage.vectors import VectorStore

N_FILES = 12


@dataclass
class OnServer(Index):
    """An index whose vectors are on a server, in collections that no other test knows."""

    url: str = ""
    collection: str = field(default_factory=lambda: uuid.uuid4().hex)

    def _open_store(self, name: str, dimensions: int) -> VectorStore:
        plan = CollectionPlan(f"{self.collection}-{name}")
        connection = QdrantConnection(QdrantAddress(self.url), sleep=lambda _: None)
        return ServerVectorStore(connection, plan, index_id=self.docstore.index_id(), dimensions=dimensions)

    def n_points(self) -> list[int]:
        """Count the points in the collections of the first model and of the present one that are there."""
        client = QdrantClient(url=self.url, check_compatibility=False)
        with self.docstore.snapshot() as snapshot:
            names = dict.fromkeys(
                (f"{self.collection}-test", f"{self.collection}-test{snapshot.vector_sets.current().suffix}")
            )
        return [client.count(name).count for name in names if client.collection_exists(name)]

    def use(self, model: str) -> FakeEmbedder:
        self.former_embedders[self.embedder.space.name] = self.embedder
        self.embedder = FakeEmbedder(1000, model=model, batch_size=4)
        self.fingerprint = self.fingerprint._replace(embedding=self.embedder.space.name)
        return self.embedder

    def switch(self, *, n_texts: int = N_FILES) -> IndexReport:
        """Run with consent, and stop when so many texts were embedded."""
        stop = lambda: Outcome.OUT_OF_TIME if n_texts <= len(self.embedder.embedded) < N_FILES else None  # noqa: E731
        return self.run(options=IndexOptions(has_consent=True, wait=False), stop_reason=stop)

    def nearest_to(self, query: str) -> list[str]:
        return self.names(query, mode=SearchMode.SEMANTIC, limit=1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server("--storage", tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def index(tmp_path: Path, server: Server) -> Iterator[OnServer]:
    root = tmp_path / "docs"
    root.mkdir()
    index = OnServer(root=root, data_dir=tmp_path / "data", embedder=FakeEmbedder(1200), url=server.url)
    for number in range(N_FILES):
        index.write(f"{number:02}.md", f"note {number:02} about the harbour of town{number:02}")
    index.run()
    index.vectorizer.merger.merge_all()
    yield index
    index.close()


@pytest.mark.slow
def test_old_vectors_answer_until_the_new_ones_are_complete(index: OnServer) -> None:
    old = index.embedder
    index.use("newer")
    assert index.switch(n_texts=4).outcome is Outcome.OUT_OF_TIME
    assert index.nearest_to("town01") == ["01.md"]
    assert index.nearest_to("town11") == ["11.md"]
    [notice] = index.searcher.search(index.request("town07")).note_texts
    assert notice.endswith(f"until then {old.space.name} answers")


def test_an_interrupted_switch_goes_on_and_ends_with_the_new_vectors_alone(index: OnServer) -> None:
    new = index.use("newer")
    index.switch(n_texts=4)
    report = index.switch()
    assert (report.outcome, report.n_pending) == (Outcome.COMPLETED, 0)
    assert len(new.embedded) == N_FILES - 4
    index.former_embedders.clear()
    index.vectorizer.merger.merge_all()
    assert index.nearest_to("town07") == ["07.md"]
    assert [count for count in index.n_points() if count] == [N_FILES]


def test_what_is_deleted_while_a_switch_is_under_way_is_found_no_more(index: OnServer) -> None:
    index.use("newer")
    index.switch(n_texts=4)
    (index.root / "11.md").unlink()
    (index.root / "00.md").unlink()
    index.switch(n_texts=4)
    assert index.nearest_to("town11") != ["11.md"]
    index.switch()
    index.vectorizer.merger.merge_all()
    assert index.nearest_to("town00") != ["00.md"]
    assert sum(index.n_points()) == N_FILES - 2
