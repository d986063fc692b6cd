"""Another provider or model: the old vectors answer until the new ones are complete, and the two never meet."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder
from indexes import Index

from directory_indexer.core.errors import ConsentNeededError, ProviderError
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.vectors.embedded import EmbeddedVectorStore
from directory_indexer.storage.vectors.generations import Generations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from directory_indexer.core.paths import FilePath
    from directory_indexer.indexing.report import IndexReport

N_FILES = 24
CONSENT = IndexOptions(has_consent=True, wait=False)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Make an index whose embedder has so many dimensions that no two words of these tests share one."""
    root = tmp_path / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=tmp_path / "data", embedder=FakeEmbedder(4096))
    yield index
    index.close()


@pytest.fixture
def old(index: Index) -> FakeEmbedder:
    """Fill an index with vectors of a first model."""
    for number in range(N_FILES):
        index.write(f"{number:02}.md", f"note {number:02} about the harbour of town{number:02}")
    index.run()
    return index.embedder


def use(index: Index, model: str, *, dimensions: int = 4000) -> FakeEmbedder:
    """Configure another model; those that were configured before can still be had."""
    index.former_embedders[index.embedder.space.name] = index.embedder
    index.embedder = FakeEmbedder(dimensions, model=model, batch_size=4)
    index.fingerprint = index.fingerprint._replace(embedding=index.embedder.space.name)
    return index.embedder


def run_for(index: Index, n_batches: int) -> IndexReport:
    """Run, and stop when so many batches were embedded."""
    options = CONSENT

    def stop_reason() -> Outcome | None:
        return Outcome.OUT_OF_TIME if len(index.embedder.embedded) >= 4 * n_batches else None

    return index.run(options=options, stop_reason=stop_reason)


def by_meaning(index: Index, query: str) -> list[str]:
    return index.names(query, mode=SearchMode.SEMANTIC, limit=1)


def _path(index: Index, number: int) -> FilePath:
    return file_path(index.root / f"{number:02}.md")


def collections(index: Index) -> list[str]:
    return sorted(path.parent.name for path in (index.data_dir / "qdrant").glob("*/generation-*") if path.is_dir())


def test_nothing_is_embedded_anew_without_consent_and_the_old_model_answers_meanwhile(
    index: Index, old: FakeEmbedder
) -> None:
    new = use(index, "newer")
    with pytest.raises(ConsentNeededError, match="make every text searchable by meaning again"):
        index.run()
    assert new.embedded == []
    assert by_meaning(index, "town07") == ["07.md"]
    del old


def test_a_switch_ends_with_the_new_model_alone(index: Index, old: FakeEmbedder) -> None:
    new = use(index, "newer")
    report = index.run(options=CONSENT)
    assert (report.n_embedded, report.n_reused, report.n_pending) == (N_FILES, 0, 0)
    index.former_embedders.clear()
    assert by_meaning(index, "town07") == ["07.md"]
    index.vectorizer.merger.merge_all()
    assert by_meaning(index, "town07") == ["07.md"]
    assert len(collections(index)) == 1
    assert len(new.embedded) == N_FILES
    assert index.searcher.search(index.request("town07")).note_texts == ()
    del old


def test_while_a_switch_is_under_way_the_old_vectors_answer_with_the_old_model(index: Index, old: FakeEmbedder) -> None:
    use(index, "newer")
    report = run_for(index, 3)
    assert (report.outcome, report.n_embedded) == (Outcome.OUT_OF_TIME, 12)
    for number in (0, 11, 12, N_FILES - 1):
        assert by_meaning(index, f"town{number:02}") == [f"{number:02}.md"]
    [notice] = index.searcher.search(index.request("town07")).note_texts
    assert notice == f"12 of all 24 passages wait for the new model; until then {old.space.name} answers"


def test_what_is_forgotten_in_the_middle_of_a_switch_leaves_no_vector_of_either_model(
    index: Index, old: FakeEmbedder, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "secret.md").write_text("plans of the lighthouse", encoding="utf-8")
    index.run(other)
    index.vectorizer.merger.merge_all()
    use(index, "newer")
    run_for(index, 3)
    index.indexer.forget(str(other))
    with index.docstore.snapshot() as snapshot:
        former = set(
            index.vectorstore.open_generation(snapshot.vector_sets.answering_generation(index.vectorstore.place)).ids()
        )
        chunks = {
            chunk.chunk_id for number in range(N_FILES) for chunk in snapshot.chunks.of_file(_path(index, number))
        }
    assert former == chunks
    assert by_meaning(index, "town23") == ["23.md"]
    index.run(options=CONSENT)
    assert by_meaning(index, "town23") == ["23.md"]
    del old


def test_words_answer_while_a_switch_is_under_way_and_the_old_model_is_gone(index: Index, old: FakeEmbedder) -> None:
    use(index, "newer")
    run_for(index, 3)
    index.former_embedders.clear()
    result = index.searcher.search(index.request("town07"))
    assert result.hits[0].path.endswith("07.md")
    assert "answered by keywords alone" in result.note_texts[0]
    with pytest.raises(ProviderError, match=old.space.name):
        by_meaning(index, "town07")


def test_a_switch_that_was_interrupted_goes_on_where_it_ended(index: Index, old: FakeEmbedder) -> None:
    new = use(index, "newer")
    run_for(index, 2)
    run_for(index, 2)
    done = 16
    report = index.run()
    assert report.n_embedded == len(new.embedded) == N_FILES - done
    index.former_embedders.clear()
    assert by_meaning(index, "town01") == ["01.md"]
    del old


def test_going_back_in_the_middle_embeds_nothing(index: Index, old: FakeEmbedder) -> None:
    use(index, "newer")
    run_for(index, 2)
    index.embedder = old
    index.fingerprint = index.fingerprint._replace(embedding=old.space.name)
    report = index.run(options=CONSENT)
    assert (report.n_embedded, report.n_pending, old.embedded) == (0, 0, [])
    assert by_meaning(index, "town07") == ["07.md"]
    assert index.searcher.search(index.request("town07")).note_texts == ()


def test_another_switch_in_the_middle_keeps_what_answers(index: Index, old: FakeEmbedder) -> None:
    use(index, "newer")
    run_for(index, 2)
    use(index, "newest", dimensions=5000)
    run_for(index, 3)
    assert by_meaning(index, "town07") == ["07.md"]
    assert index.run().n_embedded == N_FILES - 12
    index.former_embedders.clear()
    assert by_meaning(index, "town07") == ["07.md"]
    index.vectorizer.merger.merge_all()
    assert len(collections(index)) == 1
    del old


def test_there_and_back_again_leaves_one_collection(index: Index, old: FakeEmbedder) -> None:
    use(index, "newer")
    index.run(options=CONSENT)
    use(index, old.model, dimensions=old.dimensions)
    index.run(options=CONSENT)
    index.former_embedders.clear()
    index.vectorizer.merger.merge_all()
    assert by_meaning(index, "town07") == ["07.md"]
    assert len(collections(index)) == 1


def test_vectors_that_somebody_reads_when_a_switch_ends_are_dropped_by_a_later_run(
    index: Index, old: FakeEmbedder
) -> None:
    index.vectorizer.merger.merge_all()
    reader = EmbeddedVectorStore(Generations(index.data_dir / "qdrant" / "test"), dimensions=old.dimensions)
    assert reader.open_generation(1).count() == N_FILES
    use(index, "newer")
    index.run(options=CONSENT)
    index.vectorizer.merger.merge_all()
    assert len(collections(index)) == 2
    reader.close()
    index.run()
    assert len(collections(index)) == 1


def test_a_text_that_changes_during_a_switch_is_never_found_by_its_old_meaning(index: Index, old: FakeEmbedder) -> None:
    use(index, "newer")
    run_for(index, 2)
    index.write("07.md", "a recipe for onion soup")
    (index.root / "08.md").unlink()
    run_for(index, 1)
    assert "07.md" not in index.names("town07", mode=SearchMode.SEMANTIC, limit=N_FILES)
    assert "08.md" not in index.names("town08", mode=SearchMode.SEMANTIC, limit=N_FILES)
    assert index.names("onion soup", mode=SearchMode.KEYWORD) == ["07.md"]
    index.run()
    index.former_embedders.clear()
    assert by_meaning(index, "onion soup") == ["07.md"]
    del old


def test_a_switch_is_complete_when_nothing_is_left_to_embed(index: Index, old: FakeEmbedder) -> None:
    use(index, "newer")
    run_for(index, 5)
    for number in range(N_FILES):
        path = index.root / f"{number:02}.md"
        if number >= 16:
            path.unlink()
    report = index.run()
    assert report.n_pending == 0
    with index.docstore.snapshot() as snapshot:
        assert not snapshot.vector_sets.is_switching
    del old


def test_other_chunks_keep_the_old_vectors_out_of_reach(index: Index, old: FakeEmbedder) -> None:
    """A place that holds another text now has the same id; its old vector must not answer for it."""
    index.write("long.md", "\n\n".join(f"# Part {n}\n\nabout the lighthouse number {n}" for n in range(40)))
    index.run()
    use(index, "newer")
    index.fingerprint = index.fingerprint._replace(chunking="32/4")
    run_for(index, 1)
    hits = index.search("lighthouse number 7", mode=SearchMode.SEMANTIC, limit=50)
    assert hits
    assert not [hit for hit in hits if hit.path.endswith("long.md") and "lighthouse" not in hit.text]
    index.run()
    assert index.names("lighthouse number 7", limit=1) == ["long.md"]
    del old


def test_a_model_that_changes_its_dimensions_under_its_name_is_refused(index: Index, old: FakeEmbedder) -> None:
    index.embedder = FakeEmbedder(old.dimensions + 1, model=old.model)
    index.write("new.md", "something new")
    report = index.run()
    assert "it is another model under the same name" in report.unavailable
    assert index.names("something new", mode=SearchMode.KEYWORD) == ["new.md"]
    assert "4097" in index.searcher.search(index.request("town07")).note_texts[0]


def test_a_switch_needs_no_vectors_that_are_lost(index: Index, old: FakeEmbedder) -> None:
    index.vectorizer.merger.merge_all()
    index.write("99.md", "note 99 about the harbour of town99")
    index.run()
    index.vectorstore.close()
    shutil.rmtree(index.data_dir / "qdrant")
    use(index, "newer")
    assert index.run(options=CONSENT).n_embedded == N_FILES + 1
    assert by_meaning(index, "town07") == ["07.md"]
    del old
