"""Words of something new never wait until all that is old is embedded: an embedding run lets others write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder
from indexes import Index

from directory_indexer.docstore.runs import Outcome, Phase, RunProgress
from directory_indexer.errors import LockedError
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.lock import write_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

N_OLD = 40


class GatedEmbedder(FakeEmbedder):
    """Stands still in its second batch until it is let go on."""

    def __init__(self) -> None:
        super().__init__(batch_size=4)
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self.embedded) >= 4:
            self.has_begun.set()
            assert self.may_go_on.wait(30)
        return super().embed_documents(texts)


@pytest.fixture
def embedding(tmp_path: Path) -> Index:
    root = tmp_path / "old"
    root.mkdir()
    (tmp_path / "new").mkdir()
    index = Index(root=root, data_dir=tmp_path / "data", embedder=GatedEmbedder())
    for number in range(N_OLD):
        index.write(f"{number}.md", f"Ledger {number}.\n")
    (tmp_path / "new" / "soup.md").write_text("Boil the carrots.\n")
    return index


def in_a_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    results: list[object] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


def second_run(index: Index, listener: Callable[[RunProgress], None], *, wait: bool) -> object:
    """Index the new directory as another process would: with stores of its own, and a model that is quick."""
    other = Index(root=index.root.parent / "new", data_dir=index.data_dir)
    other.progress = []
    try:
        return other.indexer.index(
            [str(other.root)], options=IndexOptions(wait=wait), listener=listener, stop_reason=lambda: None
        )
    finally:
        other.close()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("wait", [True, False])
def test_a_run_writes_between_two_batches_of_another(embedding: Index, *, wait: bool) -> None:
    gate = embedding.embedder
    assert isinstance(gate, GatedEmbedder)
    first, of_first = in_a_thread(embedding.run)
    assert gate.has_begun.wait(30)
    is_waiting = threading.Event()

    def listener(progress: RunProgress) -> None:
        if progress.phase is Phase.WAITING:
            is_waiting.set()

    def second_and_look() -> object:
        report = second_run(embedding, listener, wait=wait)
        with embedding.docstore.snapshot() as snapshot:
            newer, older = snapshot.runs.latest(2)
        during.append((newer.outcome, None if older.outcome in {None, Outcome.COMPLETED} else older.outcome))
        return report

    during: list[tuple[Outcome | None, Outcome | None]] = []
    second, of_second = in_a_thread(second_and_look)
    assert is_waiting.wait(30)
    gate.may_go_on.set()
    for thread in (second, first):
        thread.join(30)

    [report, other] = [*of_first, *of_second]
    assert (report.outcome, other.outcome) == (Outcome.COMPLETED, Outcome.COMPLETED)  # type: ignore[attr-defined]
    assert report.n_pending == 0  # type: ignore[attr-defined]
    assert 1 <= other.n_pending <= N_OLD + 1  # type: ignore[attr-defined]
    assert (report.n_embedded, other.n_embedded) == (N_OLD + 1, 0)  # type: ignore[attr-defined]
    assert gate.embedded.index("soup\nBoil the carrots.\n") < 12, "what is new does not wait for what is old"
    assert during == [(Outcome.COMPLETED, None)]
    with embedding.docstore.snapshot() as snapshot:
        assert [run.outcome for run in snapshot.runs.latest(2)] == [Outcome.COMPLETED] * 2
    assert embedding.names("carrots")[0].endswith("soup.md")
    embedding.close()


@pytest.mark.timeout(60)
def test_a_run_that_is_stopped_after_it_gave_way_writes_nothing_more(embedding: Index) -> None:
    gate = embedding.embedder
    assert isinstance(gate, GatedEmbedder)
    must_stop = threading.Event()
    lock_path = embedding.data_dir / "write.lock"
    first, of_first = in_a_thread(
        lambda: embedding.run(stop_reason=lambda: Outcome.INTERRUPTED if must_stop.is_set() else None)
    )
    assert gate.has_begun.wait(30)

    def go_on() -> None:
        gate.may_go_on.set()

    with write_lock(lock_path, wait=True, on_wait=go_on):
        must_stop.set()
        first.join(30)
        assert not first.is_alive()
        with pytest.raises(LockedError), write_lock(lock_path, wait=False):
            pass
    [report] = of_first
    assert report.outcome is Outcome.INTERRUPTED  # type: ignore[attr-defined]
    assert embedding.run().n_pending == 0
    embedding.close()


def test_who_does_not_wait_does_not_wait_for_a_run_that_reads(index: Index) -> None:
    index.write("keys.md", "Rotate the keys.\n")
    (index.root.parent / "new").mkdir()
    refused: list[LockedError] = []

    def stop_reason() -> Outcome | None:
        if index.progress and index.progress[-1].phase is Phase.READING:
            with pytest.raises(LockedError) as raised:
                second_run(index, lambda _: None, wait=False)
            refused.append(raised.value)
        return None

    index.run(stop_reason=stop_reason)
    assert refused


@pytest.mark.timeout(60)
def test_a_directory_is_indexed_when_its_words_are_complete(embedding: Index) -> None:
    gate = embedding.embedder
    assert isinstance(gate, GatedEmbedder)
    first, _ = in_a_thread(embedding.run)
    assert gate.has_begun.wait(30)
    with embedding.docstore.snapshot() as snapshot:
        [directory] = snapshot.directories.statuses()
    gate.may_go_on.set()
    first.join(30)
    assert directory.n_embedded < directory.n_chunks
    assert directory.completed_at is not None
    embedding.close()
