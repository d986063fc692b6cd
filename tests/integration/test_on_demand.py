"""Passages are found by meaning before they have vectors: static ones find candidates, which a search then embeds."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fakes import FakeEmbedder
from indexes import Index

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import ProviderError, UsageError
from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.documents.runs import Outcome, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from directory_indexer.storage.documents.store import Snapshot

GENEROUS = 3600.0

SOUP = "Boil the carrots with ginger.\n"
KEYS = "Rotate the signing keys every ninety days.\n"
N_OTHERS = 300


class SlowEmbedder(FakeEmbedder):
    """Fails to embed documents, as a service that is away does."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ProviderError(f"the service is away, and has not seen {len(texts)} texts")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of 302 files, none of which is embedded; its data are copied for each test that changes no file."""
    return _made(tmp_path_factory.mktemp("made"))


@pytest.fixture
def waiting(made: Index, tmp_path: Path) -> Iterator[Index]:
    shutil.copytree(made.data_dir, tmp_path / "data")
    index = Index(
        root=made.root, data_dir=tmp_path / "data", embedding=EmbeddingMode.ON_DEMAND, progress=[*made.progress]
    )
    yield index
    index.close()


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[Index]:
    """An index of the same whose files may be changed."""
    _made(tmp_path)
    index = Index(root=tmp_path / "docs", data_dir=tmp_path / "data", embedding=EmbeddingMode.ON_DEMAND)
    yield index
    index.close()


def _made(place: Path) -> Index:
    root = place / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=place / "data", embedding=EmbeddingMode.ON_DEMAND)
    index.write("soup.md", SOUP)
    index.write("keys.md", KEYS)
    for number in range(N_OTHERS):
        index.write(f"other/{number}.md", f"Ledger {number}: account {number * 7} was settled in full.\n")
    index.run()
    index.close()
    return index


def names(index: Index, query: str, *, seconds: float = GENEROUS, mode: SearchMode = SearchMode.HYBRID) -> list[str]:
    return index.names(query, mode=mode, embedding_seconds=seconds)


def n_waiting(snapshot: Snapshot) -> int:
    return snapshot.embedding_queue.count()


def test_a_run_that_embeds_nothing_covers_everything(waiting: Index) -> None:
    with waiting.docstore.snapshot() as snapshot:
        rows, codes = snapshot.static_vectors.all()
        assert sorted(rows.tolist()) == snapshot.embedding_queue.rows().rows
        assert codes.shape[0] == N_OTHERS + 2
    assert Phase.COVERING in {one.phase for one in waiting.progress}
    assert waiting.embedder.embedded == []


def test_a_passage_that_has_none_of_the_words_is_a_candidate(waiting: Index) -> None:
    assert names(waiting, "cooked vegetables", mode=SearchMode.SEMANTIC, seconds=0) == []
    names(waiting, "cooked vegetables", mode=SearchMode.SEMANTIC)
    assert waiting.embedder.embedded[0] == f"soup\n{SOUP}"


@pytest.mark.parametrize("has_static_vectors", [True, False])
def test_a_passage_that_was_just_written_is_a_candidate(changing: Index, *, has_static_vectors: bool) -> None:
    changing.write("ferry.md", "The boat leaves the harbour at noon.\n")
    assert changing.indexer  # sets the policies of the test
    assert changing.app.runs.refresher.refresh((), seconds=GENEROUS).notes == ()
    if not has_static_vectors:
        with changing.docstore.transaction() as transaction:
            transaction.static_vectors.clear()
    names(changing, "ships out of port", mode=SearchMode.SEMANTIC)
    assert any("The boat leaves" in text for text in changing.embedder.embedded)


def test_what_is_embedded_for_a_question_is_embedded_once(waiting: Index) -> None:
    first = names(waiting, "cook carrots")
    made = list(waiting.embedder.embedded)
    assert made
    assert len(set(made)) == len(made)
    assert names(waiting, "cook carrots") == first
    assert waiting.embedder.embedded == made


def test_where_enough_was_embedded_before_a_search_takes_no_time_for_more(waiting: Index) -> None:
    names(waiting, "ledger account settled in full")
    n_made = len(waiting.embedder.embedded)
    assert n_made >= 40
    waiting.searcher.search(SearchRequest("ledger account settled", limit=60, embedding_seconds=GENEROUS))
    assert len(waiting.embedder.embedded) == n_made


def test_the_best_candidate_is_embedded_even_where_many_others_of_the_question_were(waiting: Index) -> None:
    others = file_path(waiting.root / "other")
    waiting.searcher.search(
        SearchRequest("ledger account settled in full", scope=(others,), embedding_seconds=GENEROUS)
    )
    n_made = len(waiting.embedder.embedded)
    names(waiting, "ledger account settled in full, carrots boiled with ginger")
    assert f"soup\n{SOUP}" in waiting.embedder.embedded
    assert len(waiting.embedder.embedded) < n_made + 40


def test_with_no_time_nothing_is_embedded_and_words_answer(waiting: Index) -> None:
    answer = waiting.searcher.search(SearchRequest("carrots ginger", embedding_seconds=0))
    assert waiting.embedder.embedded == []
    assert answer.hits[0].path == f"{waiting.root}/soup.md"
    assert answer.note_texts == (
        f"{N_OTHERS + 2} of {N_OTHERS + 2} passages are not searchable by meaning yet: they are found by words alone",
    )


def test_a_search_by_words_embeds_nothing(waiting: Index) -> None:
    assert names(waiting, "carrots", mode=SearchMode.KEYWORD) == ["soup.md"]
    assert waiting.embedder.embedded == []


def test_an_answer_counts_the_passages_embedded_for_its_query(waiting: Index) -> None:
    [said] = waiting.searcher.search(SearchRequest("carrots", embedding_seconds=GENEROUS)).note_texts
    assert said.startswith(
        f"{N_OTHERS + 2} of {N_OTHERS + 2} passages are searchable by meaning only approximately so far: "
    )
    assert said.endswith(" of them were embedded for this query")


def test_nothing_is_missing_once_all_of_the_scope_is_embedded(waiting: Index) -> None:
    scope = (file_path(f"{waiting.root}/soup.md"),)
    answer = waiting.searcher.search(SearchRequest("carrots", scope=scope, embedding_seconds=GENEROUS))
    assert [hit.path for hit in answer.hits] == [f"{waiting.root}/soup.md"]
    assert waiting.embedder.embedded
    assert answer.note_texts == ()


def test_the_next_run_takes_over_what_searches_made(waiting: Index) -> None:
    names(waiting, "carrots")
    made = set(waiting.embedder.embedded)
    report = waiting.run()
    assert (report.n_reused, report.n_embedded) == (len(made), 0)
    with waiting.docstore.snapshot() as snapshot:
        assert n_waiting(snapshot) == N_OTHERS + 2 - len(made)
        assert not snapshot.search_vectors.has_any()
    assert names(waiting, "carrots", seconds=0)[0] == "soup.md"


def test_what_runs_complete_is_as_if_nothing_had_been_asked(waiting: Index, fresh: object) -> None:
    names(waiting, "carrots")
    complete = Index(root=waiting.root, data_dir=waiting.data_dir, embedder=waiting.embedder)
    report = complete.run()
    assert report.n_pending == 0
    with complete.docstore.snapshot() as snapshot:
        assert n_waiting(snapshot) == 0
        assert snapshot.static_vectors.model() is None
        assert not snapshot.static_vectors.all().rows.size
        assert not snapshot.search_vectors.has_any()
    assert complete.contents() == fresh(complete)  # type: ignore[operator]
    complete.close()


def test_only_passages_in_the_scope_are_embedded(waiting: Index) -> None:
    answer = waiting.searcher.search(
        SearchRequest("carrots", scope=(file_path(waiting.root / "other"),), embedding_seconds=GENEROUS)
    )
    assert waiting.embedder.embedded
    assert all("Ledger" in text for text in waiting.embedder.embedded)
    assert all(hit.path.startswith(f"{waiting.root}/other/") for hit in answer.hits)


def test_a_text_that_is_gone_is_not_found_by_its_static_vector(changing: Index) -> None:
    (changing.root / "soup.md").unlink()
    changing.write("bread.md", "Knead the dough and let it rise.\n")
    changing.run()
    assert "soup.md" not in names(changing, "boil vegetables", mode=SearchMode.SEMANTIC)
    assert "bread.md" in names(changing, "knead dough", mode=SearchMode.SEMANTIC)


def test_rows_are_not_used_again_while_there_are_static_vectors(changing: Index) -> None:
    """Else a text would be taken for covered by what was made of another one."""
    with changing.docstore.snapshot() as snapshot:
        last = snapshot.embedding_queue.rows().rows[-1]
        [newest] = [chunk.path for chunk in snapshot.embedding_queue.chunks([last])]
    changing.write(newest.removeprefix(f"{changing.root}/"), "Knead the dough.\n")
    changing.run()
    with changing.docstore.snapshot() as snapshot:
        rows = snapshot.embedding_queue.rows().rows
        assert rows[-1] > last
        assert set(rows) <= set(snapshot.static_vectors.all().rows.tolist())


def test_a_service_that_fails_leaves_the_answer_to_words(waiting: Index) -> None:
    waiting.provider = SlowEmbedder()
    answer = waiting.searcher.search(SearchRequest("carrots", embedding_seconds=GENEROUS))
    assert [hit.path for hit in answer.hits] == [f"{waiting.root}/soup.md"]
    assert "by words alone" in answer.note_texts[0]


def test_a_search_does_not_wait_for_who_writes(waiting: Index) -> None:
    with waiting.docstore.transaction():
        assert names(waiting, "carrots")[0] == "soup.md"
    assert waiting.embedder.embedded
    with waiting.docstore.snapshot() as snapshot:
        assert not snapshot.search_vectors.has_any()


def test_a_run_that_is_stopped_while_it_covers_goes_on_in_the_next_one(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=tmp_path / "data", embedding=EmbeddingMode.ON_DEMAND)
    for number in range(N_OTHERS):
        index.write(f"{number}.md", f"Ledger {number}.\n")

    def stop_when_covering() -> Outcome | None:
        is_covering = any(one.phase is Phase.COVERING for one in index.progress)
        return Outcome.INTERRUPTED if is_covering else None

    assert index.run(stop_reason=stop_when_covering).outcome is Outcome.INTERRUPTED
    with index.docstore.snapshot() as snapshot:
        assert not snapshot.static_vectors.all().rows.size
    index.run()
    with index.docstore.snapshot() as snapshot:
        assert snapshot.static_vectors.all().rows.size == N_OTHERS
    index.close()


def test_without_vectors_words_answer_and_nothing_is_embedded(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    index = Index(root=root, data_dir=tmp_path / "data", embedding=EmbeddingMode.OFF)
    index.write("soup.md", SOUP)
    report = index.run()
    assert (report.n_embedded, index.embedder.embedded) == (0, [])
    answer = index.searcher.search(SearchRequest("carrots", embedding_seconds=GENEROUS))
    assert [hit.path for hit in answer.hits] == [f"{root}/soup.md"]
    assert answer.note_texts == ()
    assert index.embedder.embedded == []
    with pytest.raises(UsageError, match=r"indexing\.embedding is off"):
        index.searcher.search(SearchRequest("carrots", mode=SearchMode.SEMANTIC))
    index.close()


def test_forgetting_leaves_nothing_of_what_stood_in(waiting: Index) -> None:
    names(waiting, "carrots")
    waiting.indexer.forget(str(waiting.root))
    with waiting.docstore.snapshot() as snapshot:
        assert not snapshot.search_vectors.has_any()
        assert snapshot.static_vectors.model() is None
        assert not snapshot.static_vectors.all().rows.size


def test_several_queries_share_the_time_and_what_was_made_in_it(waiting: Index) -> None:
    asked = waiting.request("cook carrots", queries=("boil carrots",), embedding_seconds=GENEROUS)
    found = waiting.searcher.search(asked)
    texts = waiting.embedder.embedded
    assert len(texts) == len(set(texts))
    assert [note for note in found.note_texts if "searchable by meaning only approximately so far" in note] == [
        found.note_texts[0]
    ]
    assert f"{len(texts)} of them were embedded for this query" in found.note_texts[0]
