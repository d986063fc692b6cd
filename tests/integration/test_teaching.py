"""Static vectors learn from what the packaged model has embedded: at first from a few chunks, later from many."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fakes import FakeEmbedder
from indexes import Index

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.errors import ProviderError
from directory_indexer.embedding.models import MULTILINGUAL_MODEL_NAME, PACKAGED_MODEL
from directory_indexer.embedding.static_table import packaged_rows, tokenise_texts
from directory_indexer.indexing.options import Effort, IndexOptions
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.runs import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from directory_indexer.core.fingerprint import EmbeddingSpace
    from directory_indexer.storage.documents.embedding_queue import StoredStaticModel

N_FILES = 512
A_FEW = N_FILES // 8
GENEROUS = 30.0  # seconds for all candidates to be embedded


class Teacher(FakeEmbedder):
    """Stands for a model of this process; by default for that of the package, which the static table stems from."""

    def __init__(self, space: EmbeddingSpace = PACKAGED_MODEL.space) -> None:
        super().__init__(dimensions=space.dimensions)
        self._space = space

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    def embed_query(self, text: str) -> NDArray[np.float32]:
        tokens = np.unique(tokenise_texts([text]).tokens)
        vector = packaged_rows(tokens).mean(axis=0) + 0.1 * super().embed_query(text)
        unit: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


class BrokenTeacher(Teacher):
    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ProviderError(f"the embedded model failed with {len(texts)} texts")


class Translator(Teacher):
    """Knows a word that no text has."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return super().embed_query(text.replace("qilin", "a zebra in the zoo"))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Index]]:
    """Makes indexes of 512 files."""
    made: list[Index] = []

    def index(embedder: FakeEmbedder, embedding: EmbeddingMode = EmbeddingMode.ON_DEMAND) -> Index:
        root = tmp_path / "docs"
        root.mkdir(exist_ok=True)
        one = Index(root=root, data_dir=tmp_path / "data", embedding=embedding, embedder=embedder)
        for number in range(N_FILES):
            one.write(f"{number}.md", f"Ledger {number}: account {number * 7} was settled in full.\n")
        made.append(one)
        return one

    yield index
    for one in made:
        one.close()


def model_of(index: Index) -> StoredStaticModel:
    with index.docstore.snapshot() as snapshot:
        model = snapshot.static_vectors.model()
    assert model is not None
    return model


def n_embedded(index: Index) -> int:
    with index.docstore.snapshot() as snapshot:
        return snapshot.chunks.count() - snapshot.embedding_queue.count()


def test_a_few_chunks_are_embedded_to_learn_from_and_their_vectors_kept(make: Callable[..., Index]) -> None:
    index = make(Teacher())
    index.run()
    assert model_of(index).n_lessons == len(index.embedder.embedded) == n_embedded(index) == A_FEW
    assert model_of(index).own_rows


def test_the_first_candidate_is_near_the_vector_of_the_query_not_its_words(make: Callable[..., Index]) -> None:
    index = make(Translator())
    index.run()
    index.write("zoo.md", "A zebra is fed in the zoo at noon.\n")  # behind the lessons, so that it is none of them
    index.run()
    n_lessons = len(index.embedder.embedded)
    index.search("qilin", mode=SearchMode.SEMANTIC, embedding_seconds=GENEROUS)
    assert "zebra" in index.embedder.embedded[n_lessons]


def test_static_vectors_of_the_version_before_are_searched_and_replaced(make: Callable[..., Index]) -> None:
    index = make(Teacher())
    index.run()
    before = model_of(index)
    with contextlib.closing(sqlite3.connect(index.docstore.path)) as connection, connection:
        connection.execute("UPDATE static_model SET version = 2, mean = substr(mean, 1, 1536)")
    assert index.search("Ledger 7", mode=SearchMode.SEMANTIC, embedding_seconds=GENEROUS)

    index.run()

    assert (model_of(index).version, len(model_of(index).means)) == (before.version, len(before.means))


def test_another_run_embeds_and_learns_nothing_more(make: Callable[..., Index]) -> None:
    index = make(Teacher())
    index.run()
    before = model_of(index)
    index.write("new.md", "Something new.\n")
    index.run()
    assert (model_of(index), n_embedded(index)) == (before, A_FEW)


@pytest.mark.slow
@pytest.mark.parametrize("embedder", [FakeEmbedder(dimensions=384), Teacher(MULTILINGUAL_MODEL_NAME.space)])
def test_vectors_of_another_space_teach_nothing(make: Callable[..., Index], embedder: FakeEmbedder) -> None:
    index = make(embedder)
    index.run()
    assert (model_of(index).n_lessons, model_of(index).own_rows, embedder.embedded) == (0, b"", [])


def test_a_model_that_fails_leaves_the_table_as_it_is(make: Callable[..., Index]) -> None:
    index = make(BrokenTeacher())
    index.run()
    assert model_of(index).n_lessons == 0
    with index.docstore.snapshot() as snapshot:
        assert snapshot.static_vectors.all().rows.size == N_FILES


def test_a_run_that_is_stopped_while_it_learns_keeps_what_it_made(make: Callable[..., Index]) -> None:
    index = make(Teacher())

    def stop_after_a_batch() -> Outcome | None:
        return Outcome.INTERRUPTED if index.embedder.embedded else None

    assert index.run(stop_reason=stop_after_a_batch).outcome is Outcome.INTERRUPTED
    made = set(index.embedder.embedded)
    assert 0 < len(made) < A_FEW
    index.run()
    assert made.isdisjoint(index.embedder.embedded)
    assert len(made) + len(index.embedder.embedded) == A_FEW
    assert model_of(index).n_lessons == A_FEW


@pytest.fixture
def few_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    """At first, 16 texts are enough to learn from, and later 48."""
    monkeypatch.setattr("directory_indexer.indexing.static_vectors._N_FIRST_TEXTS", 16)
    monkeypatch.setattr("directory_indexer.indexing.static_vectors._N_ALL_TEXTS", 48)


def static_rows(index: Index) -> set[int]:
    with index.docstore.snapshot() as snapshot:
        return set(snapshot.static_vectors.all().rows.tolist())


@pytest.mark.usefixtures("few_lessons")
def test_once_all_is_searchable_it_learns_from_more_texts(make: Callable[..., Index]) -> None:
    index = make(Teacher())
    index.run()
    assert model_of(index).n_lessons == n_embedded(index) == len(index.embedder.embedded) == 48
    assert len(static_rows(index)) == N_FILES


@pytest.mark.usefixtures("few_lessons")
def test_a_run_stopped_while_it_learns_more_keeps_what_was_searchable(make: Callable[..., Index]) -> None:
    index = make(Teacher())

    def stop_after_the_first_lessons() -> Outcome | None:
        return Outcome.INTERRUPTED if len(index.embedder.embedded) > 16 else None

    assert index.run(stop_reason=stop_after_the_first_lessons).outcome is Outcome.INTERRUPTED
    assert model_of(index).n_lessons == 16
    assert len(static_rows(index)) == N_FILES
    made = set(index.embedder.embedded)
    index.run()
    assert made.isdisjoint(index.embedder.embedded)
    assert model_of(index).n_lessons == len(made) + len(index.embedder.embedded) == 48


@pytest.mark.slow
@pytest.mark.usefixtures("few_lessons")
@pytest.mark.parametrize("are_merged", [True, False])
def test_it_learns_from_what_is_embedded_already(
    make: Callable[..., Index], monkeypatch: pytest.MonkeyPatch, *, are_merged: bool
) -> None:
    index = make(Teacher(), EmbeddingMode.COMPLETE)

    def stop_when_enough_is_embedded() -> Outcome | None:
        return Outcome.INTERRUPTED if len(index.embedder.embedded) >= 150 else None

    assert index.run(stop_reason=stop_when_enough_is_embedded).outcome is Outcome.INTERRUPTED
    if are_merged:
        index.app.vectors.vectorizer.merger.merge_all()
    n_before = n_embedded(index)
    assert 128 <= n_before < N_FILES
    monkeypatch.setattr("directory_indexer.indexing.static_vectors._N_ALL_TEXTS", 128)
    monkeypatch.setattr("directory_indexer.indexing.static_vectors._MAX_FRACTION", 2)
    later = make(index.embedder)
    later.run()
    assert model_of(later).n_lessons == 128
    assert later.embedder.embedded == []
    with later.docstore.snapshot() as snapshot:
        assert set(snapshot.embedding_queue.rows().rows) <= set(snapshot.static_vectors.all().rows.tolist())


@pytest.mark.usefixtures("few_lessons")
def test_a_run_without_effort_learns_from_no_more_texts(make: Callable[..., Index]) -> None:
    index = make(Teacher())
    index.run(options=IndexOptions(wait=False, effort=Effort.NONE))
    assert model_of(index).n_lessons == len(index.embedder.embedded) == 16


@pytest.mark.usefixtures("few_lessons")
def test_a_run_for_one_directory_learns_from_its_texts_alone(make: Callable[..., Index], tmp_path: Path) -> None:
    index = make(Teacher())
    index.run(options=IndexOptions(wait=False, effort=Effort.NONE))
    other = tmp_path / "other"
    other.mkdir()
    (other / "note.md").write_text("Apart from all others.\n", encoding="utf-8")
    index.run(other)
    assert (model_of(index).n_lessons, index.embedder.embedded) == (16, [])


@pytest.mark.usefixtures("few_lessons")
def test_static_vectors_stay_if_the_model_fails_before_more_is_learned(make: Callable[..., Index]) -> None:
    index = make(Teacher())
    index.run(options=IndexOptions(wait=False, effort=Effort.NONE))
    before = model_of(index)
    later = make(BrokenTeacher())
    later.run()
    assert model_of(later) == before


@pytest.mark.usefixtures("few_lessons")
def test_a_complete_run_learns_again_before_it_embeds_the_rest(make: Callable[..., Index]) -> None:
    index = make(Teacher(), EmbeddingMode.COMPLETE)

    def stop_behind_the_lessons() -> Outcome | None:
        return Outcome.INTERRUPTED if len(index.embedder.embedded) > 48 else None

    index.run(stop_reason=stop_behind_the_lessons)
    assert model_of(index).n_lessons == 48
    assert static_rows(index) >= set(waiting_rows(index))


def waiting_rows(index: Index) -> list[int]:
    with index.docstore.snapshot() as snapshot:
        return list(snapshot.embedding_queue.rows().rows)
