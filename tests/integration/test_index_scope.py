"""A run embeds, recognises and counts what lies in the directories that it was asked for, and nothing else."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from fakes import FakeEmbedder, GatedEmbedder, in_a_thread
from indexes import Index
from page_engines import FakeEngine
from scanned_pages import picture

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import Effort, IndexOptions
from directory_indexer.indexing.status import WaitingVectors
from directory_indexer.search.requests import SearchRequest
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope
from directory_indexer.storage.documents.incomplete_files import ScanCounts
from directory_indexer.storage.documents.runs import Origin, Outcome, Phase, RunProgress, RunRequest, Verb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from directory_indexer.storage.documents.runs import PausedRun, RunRecord

N_FILES = 8
WORDS_ALONE = IndexOptions(wait=False, effort=Effort.NONE, most_pages=0)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def index(tmp_path: Path, engine: FakeEngine) -> Iterator[Index]:
    """An index of two directories: `code`, of which nothing is embedded, and `notes`, which is complete."""
    for directory in ("code", "notes"):
        (tmp_path / directory).mkdir()
    index = Index(root=tmp_path / "code", data_dir=tmp_path / "data", pages=engine, max_file_size=10_000_000)
    for number in range(N_FILES):
        index.write(f"{number}.md", f"Ledger {number}.\n")
    index.write_bytes("scan.png", picture("The zeppelin will be late").png())
    (tmp_path / "notes" / "soup.md").write_text("Boil the carrots.\n")
    (tmp_path / "notes" / "letter.png").write_bytes(picture("Ginger on Friday").png())
    index.run(options=WORDS_ALONE)
    index.run(tmp_path / "notes")
    yield index
    index.close()


def notes_of(index: Index) -> Path:
    return index.root.parent / "notes"


def only(*directories: Path) -> IndexScope:
    return IndexScope(tuple(map(file_path, directories)))


def n_waiting(index: Index, scope: IndexScope = WHOLE_INDEX) -> int:
    with index.docstore.snapshot() as snapshot:
        return snapshot.embedding_queue.count(scope)


def pages(index: Index, scope: IndexScope) -> ScanCounts:
    with index.docstore.snapshot() as snapshot:
        return snapshot.scans.counts(scope)


def paused_over(index: Index, *directories: Path) -> int:
    """Record a run over some directories, or the whole index, that was paused when all of its words were there."""
    with index.docstore.transaction() as transaction:
        request = RunRequest(Verb.INDEX, list(map(file_path, directories)))
        run_id = transaction.runs.start(request, pid=1, host="here")
        transaction.pauses.put(run_id)
        transaction.runs.finish(run_id, Outcome.PAUSED, "")
        for directory_id in (1, 2):
            transaction.directories.mark_completed(directory_id)
    return run_id


def paused(index: Index) -> tuple[PausedRun, ...]:
    return index.app.runs.control.paused()


def run_of(index: Index, number: int) -> RunRecord:
    return next(run for run in index.app.status.runs(20) if run.id == number)


def remarks(index: Index, *queries: str, **options: object) -> tuple[str, ...]:
    request = SearchRequest(queries[0], queries=queries[1:], **options)  # type: ignore[arg-type]
    return tuple(note for note in index.searcher.search(request).note_texts if "by meaning" in note)


def test_a_run_over_one_directory_embeds_and_recognises_nothing_of_another(index: Index, engine: FakeEngine) -> None:
    (notes_of(index) / "stew.md").write_text("Stew the leeks.\n")
    report = index.run(notes_of(index))

    assert index.embedder.embedded == ["stew\nStew the leeks.\n"]
    assert engine.read == ["Ginger on Friday"]
    assert (report.n_embedded, report.n_reused, report.n_pending, report.n_pages_waiting) == (1, 0, 0, 0)
    assert n_waiting(index) == n_waiting(index, only(index.root)) == N_FILES
    assert pages(index, only(index.root)) == ScanCounts(1, 0, 0)
    assert pages(index, only(notes_of(index))) == ScanCounts(0, 1, 0)


def test_a_run_without_a_directory_completes_all_of_them(index: Index, engine: FakeEngine) -> None:
    index.indexer.index([], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    assert n_waiting(index) == 0
    assert engine.read == ["Ginger on Friday", "The zeppelin will be late"]


def test_what_is_asked_for_beside_a_paused_run_leaves_it_paused(index: Index) -> None:
    run_id = paused_over(index, index.root)
    (notes_of(index) / "stew.md").write_text("Stew the leeks.\n")

    assert index.run(notes_of(index)).outcome is Outcome.COMPLETED

    assert [run.run_id for run in paused(index)] == [run_id]
    assert n_waiting(index) == N_FILES


def test_a_paused_run_over_the_whole_index_stays_paused_beside_one_over_a_part(index: Index) -> None:
    run_id = paused_over(index)
    index.run(notes_of(index))
    assert [run.run_id for run in paused(index)] == [run_id]
    assert index.app.runs.control.resumed_work().directories == ()
    index.run(index.root, notes_of(index))
    assert not paused(index)


def test_a_paused_run_of_which_nothing_is_left_is_finished(index: Index) -> None:
    index.run(options=IndexOptions(wait=False, effort=Effort.NONE))
    run_id = paused_over(index, index.root)
    list(index.vectorizer.embed_waiting())
    index.run(notes_of(index))
    assert not paused(index)
    assert run_of(index, run_id).message == "nothing is left of it"


@pytest.mark.parametrize("missing", ["words", "pages", "vectors"])
def test_a_paused_run_of_which_something_is_left_stays(index: Index, missing: str) -> None:
    index.run(options=IndexOptions(wait=False, effort=Effort.NONE, most_pages=0 if missing == "pages" else None))
    paused_over(index, index.root)
    if missing == "words":  # it was paused before it had read everything
        with index.docstore.transaction() as transaction:
            request = RunRequest(Verb.INDEX, [file_path(index.root)])
            transaction.pauses.put(transaction.runs.start(request, pid=1, host="here"))
    if missing != "vectors":
        list(index.vectorizer.embed_waiting())
    index.run(notes_of(index))
    assert len(paused(index)) == 1


class EmbedderThatPauses(FakeEmbedder):
    """Pauses the run when it is given the last texts."""

    index: Index | None = None

    def embed_documents(self, texts: Sequence[str]):  # type: ignore[no-untyped-def] # noqa: ANN201
        if self.index is not None:
            self.index.app.runs.control.pause(by=Origin.TERMINAL)
        return super().embed_documents(texts)


def test_a_run_that_is_paused_when_nothing_is_left_has_ended(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    embedder = EmbedderThatPauses()
    index = Index(root=tmp_path / "docs", data_dir=tmp_path / "data", embedder=embedder)
    embedder.index = index
    index.write("soup.md", "Boil the carrots.\n")
    assert index.run().outcome is Outcome.COMPLETED
    assert (run_of(index, 1).outcome, paused(index)) == (Outcome.COMPLETED, ())
    index.close()


def test_an_estimate_counts_the_directory_alone(index: Index) -> None:
    indexer = index.indexer
    index.run(notes_of(index))  # a file that was written just before it was read is looked at again
    assert indexer.estimate_work(indexer.plans([str(notes_of(index))]))[1:5] == (0, (), 0, "")
    of_code, of_all = (indexer.estimate_work(indexer.plans(paths)) for paths in ([str(index.root)], []))
    assert of_code.n_tokens == of_all.n_tokens > N_FILES
    assert of_code.n_pages == of_all.n_pages == 1


def test_the_status_of_a_directory_counts_it_alone(index: Index) -> None:
    report = index.app.status.report(file_path(notes_of(index)))
    assert (report.waiting, report.scans, report.is_whole) == (WaitingVectors(), ScanCounts(0, 1, 0), False)
    whole = index.app.status.report()
    assert (whole.waiting.n_chunks, whole.scans, whole.is_whole) == (N_FILES, ScanCounts(1, 1, 0), True)
    assert index.app.status.report(file_path(index.root)).waiting == whole.waiting


def test_an_answer_says_what_is_not_embedded_where_it_looked(index: Index) -> None:
    in_notes, in_code = ({"scope": (file_path(where),)} for where in (notes_of(index), index.root))

    assert remarks(index, "carrots", **in_notes) == ()
    assert remarks(index, "carrots", "leeks", **in_notes) == ()
    assert remarks(index, "carrots path:notes") == ()
    assert remarks(index, "zeppelin", "leeks path:notes") == (
        "8 of 10 passages are not searchable by meaning yet: they are found by words alone",
    )
    assert remarks(index, "ledger", **in_code) == (
        "8 of 8 passages are not searchable by meaning yet: they are found by words alone",
    )
    assert remarks(index, "ledger path:3.md") == (
        "1 of 1 passage is not searchable by meaning yet: it is found by words alone",
    )
    assert remarks(index, "ledger path:3.md", embedding_seconds=9.0) == ()


def test_nothing_that_a_search_made_is_taken_over_for_another_directory(index: Index) -> None:
    index.searcher.search(SearchRequest("ledger", embedding_seconds=9.0))
    (notes_of(index) / "stew.md").write_text("Stew the leeks.\n")
    index.run(notes_of(index))
    assert n_waiting(index) == N_FILES
    report = index.run()
    assert (report.n_embedded, report.n_reused, n_waiting(index)) == (1, N_FILES, 0), "they were kept meanwhile"


def test_only_what_waits_in_a_directory_is_embedded_where_none_is_looked_at(index: Index) -> None:
    (notes_of(index) / "stew.md").write_text("Stew the leeks.\n")
    index.run(notes_of(index), options=WORDS_ALONE)
    report = index.run(notes_of(index), options=IndexOptions(waiting_only=True, is_exact=True))
    assert (report.n_seen, report.n_embedded, n_waiting(index)) == (0, 1, N_FILES)


def test_a_run_over_what_is_no_longer_tracked_is_none_over_everything(index: Index) -> None:
    index.indexer.forget(str(notes_of(index)))
    report = index.run(notes_of(index), options=IndexOptions(tracked_only=True, is_exact=True))
    assert (report.outcome, report.n_embedded, n_waiting(index)) == (Outcome.COMPLETED, 0, N_FILES)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of two directories of which nothing is embedded: the first pass over the larger one begins anew."""
    place = tmp_path_factory.mktemp("large")
    index = Index(root=place / "few", data_dir=place / "data")
    for directory, n_files in (("few", 260), ("many", 600)):
        (place / directory).mkdir()
        for number in range(n_files):
            (place / directory / f"{number}.md").write_text(f"Ledger {directory} {number}.\n")
        index.run(place / directory, options=WORDS_ALONE)
    yield index
    index.close()


def test_first_vectors_of_another_directory_stay_when_those_of_one_are_made_anew(large: Index) -> None:
    with large.docstore.snapshot() as snapshot:
        assert sorted(snapshot.static_vectors.all().rows) == snapshot.embedding_queue.rows().rows
    assert max(progress.chunks_done for progress in large.progress if progress.phase is Phase.COVERING) == 600


def test_an_answer_counts_what_waits_in_many_files(large: Index) -> None:
    [note] = remarks(large, "ledger", scope=(file_path(large.root.parent / "many"),))
    assert note == "600 of the passages there are not searchable by meaning yet: they are found by words alone"
    [note] = remarks(large, "ledger path:many/1")
    assert note == "111 of 111 passages are not searchable by meaning yet: they are found by words alone"


@pytest.mark.timeout(60)
def test_a_run_that_gave_way_embeds_for_its_guest_and_for_nobody_else(tmp_path: Path) -> None:
    for directory, n_files in (("host", 40), ("guest", N_FILES), ("other", N_FILES)):
        (tmp_path / directory).mkdir()
        for number in range(n_files):
            (tmp_path / directory / f"{number}.md").write_text(f"Ledger {directory} {number}.\n")
    gate = GatedEmbedder()
    index = Index(root=tmp_path / "host", data_dir=tmp_path / "data", embedder=gate)
    index.run(tmp_path / "other", options=WORDS_ALONE)
    first, of_first = in_a_thread(index.run)
    assert gate.has_begun.wait(30)
    is_waiting = threading.Event()

    def guest() -> object:
        other = Index(root=tmp_path / "guest", data_dir=index.data_dir)
        try:
            return other.indexer.index(
                [str(other.root)], options=IndexOptions(), listener=see, stop_reason=lambda: None
            )
        finally:
            other.close()

    def see(progress: RunProgress) -> None:
        if progress.phase is Phase.WAITING:
            is_waiting.set()

    second, of_second = in_a_thread(guest)
    assert is_waiting.wait(30)
    gate.may_go_on.set()
    for thread in (first, second):
        thread.join(30)

    [host_report, guest_report] = [*of_first, *of_second]
    assert (host_report.n_embedded, host_report.n_pending) == (40 + N_FILES, 0)  # type: ignore[attr-defined]
    assert (guest_report.n_embedded, guest_report.n_pending) == (0, N_FILES)  # type: ignore[attr-defined]
    assert n_waiting(index) == n_waiting(index, only(tmp_path / "other")) == N_FILES
    both = (file_path(tmp_path / "host"), file_path(tmp_path / "guest"))
    assert run_of(index, 2).directories == both, "whoever pauses it pauses what it does for its guest, too"
    index.close()


def test_the_advice_on_languages_counts_the_documents_that_are_searched(index: Index) -> None:
    german = "Die Wohnung kann mit einer Frist von drei Monaten gekündigt werden, wie es im Vertrag steht.\n"
    english = "The flat can be given up with three months of notice, as it is written in the contract.\n"
    for number in range(4):
        index.write(f"de/{number}.md", german * 3)
        index.write(f"en/{number}.md", english * 3)
    index.run()
    app = App(load_config(file=None, data_dir=index.data_dir, environ={}))
    assert app.language_advice([file_path(index.root / "en")]) is None
    for scope, n_documents in ([], 8), ([file_path(index.root / "de")], 4):
        advice = app.language_advice(scope)
        assert advice
        assert advice.message.startswith(f"4 of {n_documents} documents are in German")
