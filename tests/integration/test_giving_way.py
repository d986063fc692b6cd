"""Words of something new never wait until all that is old is embedded: an embedding run lets others write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder, GatedEmbedder, in_a_thread
from indexes import Index
from page_engines import FakeEngine, FakeReading
from scanned_pages import scan

from directory_indexer.core.errors import LockedError
from directory_indexer.core.lock import try_lock, write_lock
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress, RunRequest, Verb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.ocr.engine import PageRequest

N_OLD = 40


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


def second_run(
    index: Index, listener: Callable[[RunProgress], None], *, wait: bool, pages: FakeEngine | None = None
) -> object:
    """Index the new directory as another process would: with stores of its own, and a model that is quick."""
    other = Index(root=index.root.parent / "new", data_dir=index.data_dir, pages=pages, max_file_size=10_000_000)
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


class EmbedderThatIsAwaited(FakeEmbedder):
    """Ends no batch but the first until somebody waits for the lock, or until it is let go."""

    def __init__(self, lock_path: Path) -> None:
        super().__init__(batch_size=4)
        self.has_begun, self.may_end = threading.Event(), threading.Event()
        self._wanted = lock_path.with_name(f"{lock_path.name}-wanted")

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.embedded:
            self.has_begun.set()
            while not self.may_end.wait(0.005) and not self._is_wanted():
                pass
        return super().embed_documents(texts)

    def _is_wanted(self) -> bool:
        lock = try_lock(self._wanted, exclusive=True)
        if lock is not None:
            lock.release()
        return lock is None


@pytest.mark.timeout(60)
def test_a_question_brings_in_what_changed_between_two_batches_of_a_run(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    embedder = EmbedderThatIsAwaited(tmp_path / "data" / "write.lock")
    embedding = Index(root=root, data_dir=tmp_path / "data", embedder=embedder)
    for number in range(N_OLD):
        embedding.write(f"{number}.md", f"Ledger {number}.\n")
    first, _ = in_a_thread(embedding.run)
    assert embedder.has_begun.wait(30)
    other = Index(root=root, data_dir=embedding.data_dir)
    assert other.indexer  # sets the policies of the test
    # In the second round, the run that embeds is older than the one that brought in the first change.
    for word in ("carrots", "leeks"):
        embedding.write("soup.md", f"Boil the {word}.\n")
        assert other.app.runs.refresher.refresh((), seconds=50).notes == ()
        assert other.names(word, mode=SearchMode.KEYWORD)[0].endswith("soup.md")
    assert first.is_alive()
    embedder.may_end.set()
    first.join(30)
    other.close()
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


def test_forgetting_waits_for_a_run_until_it_is_told_to_stop(index: Index) -> None:
    index.write("keys.md", "# Keys\n\nThey are rotated each year.\n")
    index.run()
    with write_lock(index.data_dir / "write.lock", wait=False) as lock:
        with pytest.raises(LockedError):
            index.indexer.forget(str(index.root), stop_reason=lambda: Outcome.OUT_OF_TIME)
        assert index.indexer.forget(str(index.root), stop_reason=lock.release) == 1


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


def reading_index(place: Path, engine: FakeEngine) -> Index:
    (place / "old").mkdir()
    (place / "new").mkdir()
    index = Index(root=place / "old", data_dir=place / "data", pages=engine, max_file_size=10_000_000)
    for number in range(6):
        index.write_bytes(f"{number}.pdf", scan(f"Ledger {number}"))
    (place / "new" / "soup.md").write_text("Boil the carrots.\n")
    (place / "new" / "menu.pdf").write_bytes(scan("Ginger on Friday"))
    return index


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_run_writes_between_two_pages_that_another_reads(tmp_path: Path) -> None:
    engine = FakeEngine()
    index = reading_index(tmp_path, engine)
    is_waiting, others = threading.Event(), list[tuple[threading.Thread, list[object]]]()
    found: list[list[str]] = []

    def listener(progress: RunProgress) -> None:
        if progress.phase is Phase.WAITING:
            is_waiting.set()

    def before(_: PageRequest) -> None:
        if len(engine.read) == 1 and not others:
            others.append(in_a_thread(lambda: second_run(index, listener, wait=True, pages=FakeEngine())))
            assert is_waiting.wait(30)
        if len(engine.read) == 3:
            found.append(index.names("carrots", mode=SearchMode.KEYWORD))

    reading = index.app.runs.page_reading
    assert isinstance(reading, FakeReading)
    reading.before = before
    report = index.run()
    [(thread, results)] = others
    thread.join(30)
    [other] = results

    assert found == [[str(tmp_path / "new" / "soup.md")]], (
        "words of something new do not wait for pages of something old"
    )
    assert (other.outcome, other.n_pages, other.n_pages_waiting) == (Outcome.COMPLETED, 0, 1)  # type: ignore[attr-defined]
    assert (report.outcome, report.n_pages, report.n_pages_waiting) == (Outcome.COMPLETED, 7, 0)
    assert sorted(engine.read) == ["Ginger on Friday", *(f"Ledger {number}" for number in range(6))], "each page once"
    assert index.progress[-1].pages_done == index.progress[-1].pages_total == 7
    index.close()


@pytest.mark.timeout(60)
def test_pages_that_came_while_a_run_embedded_are_read_by_it(embedding: Index) -> None:
    gate = embedding.embedder
    assert isinstance(gate, GatedEmbedder)
    (embedding.root.parent / "new" / "menu.pdf").write_bytes(scan("Ginger on Friday"))
    engine = FakeEngine()
    embedding.app.runs.page_reading = FakeReading(engine, lambda: embedding.parse_policy)
    embedding.pages = engine
    is_waiting = threading.Event()

    def listener(progress: RunProgress) -> None:
        if progress.phase is Phase.WAITING:
            is_waiting.set()

    first, of_first = in_a_thread(embedding.run)
    assert gate.has_begun.wait(30)
    second, of_second = in_a_thread(lambda: second_run(embedding, listener, wait=True, pages=FakeEngine()))
    assert is_waiting.wait(30)
    gate.may_go_on.set()
    for thread in (second, first):
        thread.join(30)

    [report, other] = [*of_first, *of_second]
    assert (other.n_pages, report.n_pages, report.n_pending) == (0, 1, 0)  # type: ignore[attr-defined]
    assert engine.read == ["Ginger on Friday"]
    embedding.close()


def test_a_run_that_goes_on_is_known_however_many_have_come_since(embedding: Index) -> None:
    store = embedding.docstore
    with store.transaction() as transaction:
        long = transaction.runs.start(RunRequest(Verb.INDEX), pid=1, host="here")
        transaction.runs.update(long, RunProgress(Phase.WAITING))
    for _ in range(200):
        with store.transaction() as transaction:
            short = transaction.runs.start(RunRequest(Verb.INDEX), pid=2, host="here", others_yielded=True)
            transaction.runs.finish(short, Outcome.COMPLETED, "")
    with store.snapshot() as snapshot:
        assert [run.id for run in snapshot.runs.latest(1)] == [short, long]
    embedding.close()
