"""Vectors move between the embedded engine and a server without being embedded again, through every interruption."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from indexes import Index
from qdrant_client import QdrantClient, models
from qdrant_servers import Server
from qdrant_standin import Fault

from directory_indexer.core.errors import ConsentNeededError, IndexMismatchError, VectorStoreError
from directory_indexer.indexing import migration
from directory_indexer.indexing.migration import Migration
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.vectors.connection import CollectionPlan, QdrantAddress, QdrantConnection
from directory_indexer.storage.vectors.server import ServerVectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from directory_indexer.indexing.report import MigrationReport
    from directory_indexer.storage.documents.store import DocStore
    from directory_indexer.storage.vectors import VectorStore

N_FILES = 30
QUERY = "note about subject7"


@dataclass
class Setting:
    """An index that was built on this machine, the same index as another configuration opens it, and a server."""

    here: Index
    there: Index
    server: Server
    collection: str

    def migrate(
        self, *, back: bool = False, stop_reason: Callable[[], Outcome | None] = lambda: None
    ) -> MigrationReport:
        source, target = (self.there, self.here) if back else (self.here, self.there)
        return Migration(
            docstore=self.here.docstore,
            source=source.vectorstore,
            target=target.vectorstore,
            where="here" if back else self.server.url,
            lock_path=self.here.data_dir / "write.lock",
        ).run(listener=self.here.progress.append, stop_reason=stop_reason)

    def merge(self) -> None:
        self.here.run()
        self.here.vectorizer.merger.merge_all()

    @property
    def n_on_server(self) -> int:
        return self.admin().count(self.collection).count

    def admin(self) -> QdrantClient:
        return QdrantClient(url=self.server.url, check_compatibility=False)

    def break_off(self, *, after_batches: int = 1, back: bool = False) -> MigrationReport:
        calls = iter(range(100))
        reason = lambda: Outcome.INTERRUPTED if next(calls) >= after_batches else None  # noqa: E731
        return self.migrate(back=back, stop_reason=reason)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server("--storage", tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Iterator[Setting]:
    monkeypatch.setattr(migration, "_BATCH_CHUNKS", 8)
    root = tmp_path / "docs"
    root.mkdir()
    collection = uuid.uuid4().hex

    def open_server(docstore: DocStore) -> VectorStore:
        connection = QdrantConnection(QdrantAddress(server.url), sleep=lambda _: None)
        return ServerVectorStore(connection, CollectionPlan(collection), index_id=docstore.index_id(), dimensions=64)

    here = Index(root=root, data_dir=tmp_path / "data")
    for number in range(N_FILES):
        here.write(f"note{number}.md", f"note number {number} about subject{number}\n")
    there = Index(root=root, data_dir=tmp_path / "data", open_vectorstore=open_server)
    setting = Setting(here, there, server, collection)
    setting.merge()
    yield setting
    server.fail()
    here.close()
    there.close()


def _semantic(index: Index) -> list[str]:
    return index.names(QUERY, mode=SearchMode.SEMANTIC, limit=100)


def test_both_places_answer_until_one_of_them_is_written_to(setting: Setting) -> None:
    report = setting.migrate()
    assert (report.outcome, report.n_vectors, report.n_copied) == (Outcome.COMPLETED, N_FILES, N_FILES)
    assert report.n_same_hits == report.n_compared_hits == 200
    with setting.here.docstore.snapshot() as snapshot:
        progress = snapshot.runs.latest(1)[0].progress
    assert progress.chunks_done == progress.chunks_total == N_FILES
    assert _semantic(setting.here)[0] == _semantic(setting.there)[0] == "note7.md"
    setting.there.write("new.md", "a new note about subject7\n")
    assert setting.there.run().n_embedded == 1
    assert "new.md" in _semantic(setting.there)
    with pytest.raises(IndexMismatchError, match="on a Qdrant server") as caught:
        _semantic(setting.here)
    assert "dirindex migrate --to-embedded" in str(caught.value.hint)
    [degraded] = setting.here.searcher.search(SearchRequest(QUERY)).note_texts
    assert degraded.startswith("answered by keywords alone: this index is searched by meaning on a Qdrant server")


def test_there_and_back_again(setting: Setting, fresh: Callable[[Index], dict[str, object]]) -> None:
    setting.migrate()
    (setting.there.root / "note3.md").unlink()
    setting.there.write("new.md", "a new note about subject7\n")
    setting.there.run()
    report = setting.migrate(back=True)
    assert (report.n_vectors, report.n_copied) == (N_FILES, N_FILES)
    assert setting.here.run().n_embedded == 0
    assert setting.here.contents() == fresh(setting.here)


def test_vectors_that_are_still_pending_need_no_copy(setting: Setting) -> None:
    setting.here.write("new.md", "a new note about subject7\n")
    setting.here.run()
    assert setting.migrate().n_vectors == N_FILES
    assert "new.md" in _semantic(setting.there)


def test_an_interrupted_copy_goes_on_where_it_ended(setting: Setting) -> None:
    first = setting.break_off()
    assert first.outcome is Outcome.INTERRUPTED
    assert 0 < first.n_copied < N_FILES
    with pytest.raises(IndexMismatchError):
        _semantic(setting.there)
    second = setting.migrate()
    assert first.n_copied + second.n_copied == N_FILES
    assert _semantic(setting.there)[0] == "note7.md"


@pytest.mark.slow
def test_a_place_that_is_copied_to_anew_answers_when_it_is_whole(setting: Setting) -> None:
    setting.migrate()
    setting.break_off()
    with pytest.raises(IndexMismatchError):
        _semantic(setting.there)
    assert _semantic(setting.here)[0] == "note7.md"
    setting.migrate()
    assert _semantic(setting.there)[0] == "note7.md"


@pytest.mark.slow
def test_an_interrupted_copy_back_goes_on_where_it_ended(setting: Setting) -> None:
    setting.migrate()
    setting.there.write("new.md", "a new note about subject7\n")
    setting.there.run()
    first = setting.break_off(back=True)
    second = setting.migrate(back=True)
    assert first.n_copied > 0
    assert first.n_copied + second.n_copied == N_FILES + 1
    assert "new.md" in _semantic(setting.here)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["garbage", "exit"])
def test_a_server_that_fails_in_the_middle_costs_nothing(setting: Setting, kind: str) -> None:
    setting.server.fail(Fault(r"PUT /collections/[^/]+/points", kind, times=1, skip=2))
    with pytest.raises(VectorStoreError):
        setting.migrate()
    assert _semantic(setting.here)[0] == "note7.md"
    if kind == "exit":
        setting.server.start()
    report = setting.migrate()
    assert report.n_same_hits == 200
    assert _semantic(setting.there)[0] == "note7.md"


def test_a_copy_that_the_server_has_lost_is_begun_anew(setting: Setting) -> None:
    setting.break_off()
    setting.admin().delete_collection(setting.collection)
    assert setting.migrate().n_copied == N_FILES
    assert _semantic(setting.there)[0] == "note7.md"


def test_what_changed_meanwhile_is_left_out_of_the_rest(setting: Setting) -> None:
    setting.break_off()
    for number in range(25):
        (setting.here.root / f"note{number}.md").unlink()
    setting.here.run()
    assert setting.migrate().n_vectors == N_FILES - 25
    assert setting.n_on_server == N_FILES - 25


def test_vectors_of_another_generation_are_copied_anew(setting: Setting) -> None:
    setting.break_off()
    setting.here.write("new.md", "a new note about subject7\n")
    setting.merge()
    assert setting.migrate().n_copied == N_FILES + 1


def test_a_copy_that_lost_vectors_does_not_count(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    merge = ServerVectorStore.merge

    def lossy(self: ServerVectorStore, generation: int, **changes: list[object]) -> int:
        changes["upserts"] = changes["upserts"][1:]
        return merge(self, generation, **changes)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(ServerVectorStore, "merge", lossy)
        with pytest.raises(VectorStoreError, match=f"has {N_FILES - 4} vectors in place of {N_FILES}"):
            setting.migrate()
    with pytest.raises(IndexMismatchError):
        _semantic(setting.there)
    assert setting.migrate().n_copied == 4


def test_a_copy_that_answers_otherwise_does_not_count(setting: Setting) -> None:
    setting.break_off()
    points = setting.admin().scroll(setting.collection, limit=100)[0]
    wrong = [1.0] + [0.0] * 63
    setting.admin().upsert(
        setting.collection, [models.PointStruct(id=point.id, vector=wrong, payload=point.payload) for point in points]
    )
    with pytest.raises(VectorStoreError, match="answers otherwise"):
        setting.migrate()
    assert _semantic(setting.here)[0] == "note7.md"


def test_without_migrating_another_store_is_filled_only_with_consent(setting: Setting) -> None:
    with pytest.raises(ConsentNeededError, match="dirindex migrate"):
        setting.there.run()
    assert setting.there.run(options=IndexOptions(has_consent=True)).n_embedded == N_FILES
    assert _semantic(setting.there)[0] == "note7.md"


def test_vectors_that_are_not_there_cannot_be_moved(setting: Setting) -> None:
    with pytest.raises(IndexMismatchError, match="in the embedded engine"):
        setting.migrate(back=True)
