"""A run that was paused stops, goes on as it was asked for, and never by itself; who may stop which run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fakes import GatedEmbedder, in_a_thread
from indexes import Index

from directory_indexer.core.errors import ConflictError, NotStoppableError
from directory_indexer.core.lock import write_lock
from directory_indexer.core.paths import file_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.indexing.runs import RunControl
from directory_indexer.indexing.status import Status
from directory_indexer.storage.documents.runs import Origin, Outcome, Phase, RunRequest, Verb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from directory_indexer.indexing.report import IndexReport
    from directory_indexer.storage.documents.runs import RunRecord

N_FILES = 40
FORCED = IndexOptions(wait=False, read_everything=True, has_consent=True, most_pages=7)


@pytest.fixture
def gated(tmp_path: Path) -> Index:
    root = tmp_path / "old"
    root.mkdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "soup.md").write_text("Boil the carrots.\n")
    index = Index(root=root, data_dir=tmp_path / "data", embedder=GatedEmbedder())
    for number in range(N_FILES):
        index.write(f"{number}.md", f"Ledger {number}.\n")
    return index


def control(index: Index) -> RunControl:
    return index.app.runs.control


def status(index: Index) -> Status:
    return index.app.status


def run_and(index: Index, work: Callable[[], object], options: IndexOptions = FORCED) -> IndexReport:
    """Start a run, do something in the middle of it, and let it go on."""
    gate = index.embedder
    assert isinstance(gate, GatedEmbedder)
    thread, results = in_a_thread(lambda: index.run(options=options))
    assert gate.has_begun.wait(30)
    work()
    gate.may_go_on.set()
    thread.join(30)
    [report] = results
    if isinstance(report, BaseException):
        raise report
    return report  # type: ignore[return-value]


def run_of(index: Index, number: int) -> RunRecord:
    return next(run for run in status(index).runs(10) if run.id == number)


def pause(index: Index) -> None:
    control(index).pause(by=Origin.TERMINAL)


def resume(index: Index) -> IndexReport:
    directories, options = control(index).resumed_work()
    return index.indexer.index(list(directories), options=options, listener=lambda _: None, stop_reason=lambda: None)


@pytest.mark.timeout(60)
def test_a_paused_run_stops_and_goes_on_as_it_was_asked_for(gated: Index) -> None:
    report = run_and(gated, lambda: pause(gated))

    assert report.outcome is Outcome.PAUSED
    assert 0 < report.n_pending < N_FILES
    assert (run_of(gated, 1).outcome, run_of(gated, 1).message) == (Outcome.PAUSED, "")
    [paused] = status(gated).report().paused
    assert (paused.run_id, paused.directories) == (1, (file_path(gated.root),))
    asked = control(gated).resumed_work().options
    assert (asked.read_everything, asked.has_consent, asked.most_pages, asked.is_exact) == (True, True, 7, True)

    assert resume(gated).n_pending == 0
    assert not control(gated).paused()
    assert run_of(gated, 1).message == "run-2 goes on with it"
    with pytest.raises(ConflictError, match="no index run is paused"):
        control(gated).resumed_work()
    gated.close()


@pytest.mark.timeout(60)
def test_a_run_that_was_stopped_while_it_waited_ends_no_pause(gated: Index) -> None:
    run_and(gated, lambda: pause(gated))
    gated.indexer.index([], options=FORCED, listener=lambda _: None, stop_reason=lambda: Outcome.INTERRUPTED)
    assert [paused.run_id for paused in control(gated).paused()] == [1]
    assert resume(gated).n_pending == 0
    gated.close()


@pytest.mark.timeout(60)
def test_nothing_starts_by_itself_while_a_run_is_paused(gated: Index) -> None:
    run_and(gated, lambda: pause(gated))
    own = IndexOptions(unless_paused=True)

    assert gated.run(gated.root.parent / "new", options=own).outcome is Outcome.PAUSED
    sent = gated.app.runs.sent_files.complete(must_stop_waiting=lambda: False, stop_reason=lambda: None)
    assert (sent.outcome, len(status(gated).runs(10))) == (Outcome.PAUSED, 1)
    assert gated.run(gated.root.parent / "new").outcome is Outcome.COMPLETED, "somebody asked for this one"
    assert [one.run_id for one in control(gated).paused()] == [1]
    resume(gated)
    assert gated.run(options=own).outcome is Outcome.COMPLETED
    gated.close()


@pytest.mark.timeout(60)
def test_a_run_over_the_same_directories_takes_the_place_of_the_paused_one(gated: Index) -> None:
    run_and(gated, lambda: pause(gated))
    assert gated.run().outcome is Outcome.COMPLETED
    assert not control(gated).paused()
    gated.close()


@pytest.mark.timeout(60)
def test_of_a_paused_run_stays_what_no_other_run_is_about(gated: Index) -> None:
    new = gated.root.parent / "new"
    with gated.docstore.transaction() as transaction:
        both = [file_path(gated.root), file_path(new)]
        transaction.pauses.put(transaction.runs.start(RunRequest(Verb.INDEX, both), pid=1, host="here"))
    gated.run(new)
    assert control(gated).resumed_work().directories == (file_path(gated.root),)
    gated.close()


@pytest.mark.timeout(60)
def test_a_run_that_was_killed_before_it_noticed_is_paused(gated: Index) -> None:
    with gated.docstore.transaction() as transaction:
        killed = transaction.runs.start(RunRequest(Verb.INDEX, [file_path(gated.root)]), pid=1, host="here")
    with write_lock(gated.data_dir / "write.lock", wait=False):
        pause(gated)
    assert status(gated).report().last_run == run_of(gated, killed)
    assert (run_of(gated, killed).outcome, run_of(gated, killed).is_paused) == (None, True)
    gated.run(gated.root.parent / "new")
    assert run_of(gated, killed).outcome is Outcome.PAUSED
    assert control(gated).resumed_work().directories == (file_path(gated.root),)
    gated.close()


@pytest.mark.timeout(60)
def test_a_run_that_is_done_before_it_notices_is_not_paused(gated: Index) -> None:
    def record_alone() -> None:
        with gated.docstore.transaction() as transaction:
            assert transaction.pauses.put(1)

    assert run_and(gated, record_alone).outcome is Outcome.COMPLETED
    assert not control(gated).paused()
    with pytest.raises(ConflictError, match="run-1 has ended already"):
        control(gated).pause(run_of(gated, 1), by=Origin.TERMINAL)
    with pytest.raises(ConflictError, match="no index run is in progress"):
        pause(gated)
    gated.close()


@pytest.mark.timeout(60)
def test_what_is_forgotten_is_not_gone_on_with(gated: Index) -> None:
    run_and(gated, lambda: pause(gated))
    gated.indexer.forget(str(gated.root))
    assert not control(gated).paused()
    gated.close()


@pytest.mark.timeout(60)
def test_of_a_run_that_was_stopped_nothing_is_offered_once_its_directory_is_forgotten(gated: Index) -> None:
    gate = gated.embedder
    assert isinstance(gate, GatedEmbedder)
    gate.may_go_on.set()
    other = gated.root.parent / "new"
    gated.indexer.index([str(other)], options=FORCED, listener=lambda _: None, stop_reason=lambda: None)
    begun = Phase.EMBEDDING
    gated.run(
        options=FORCED,
        stop_reason=lambda: Outcome.INTERRUPTED if begun in {one.phase for one in gated.progress} else None,
    )
    last = status(gated).report().last_run
    assert last
    assert last.outcome is Outcome.INTERRUPTED
    gated.indexer.forget(str(gated.root))
    assert status(gated).report().last_run is None
    gated.indexer.forget(str(other))
    assert status(gated).report().last_run is None
    gated.close()


@pytest.mark.parametrize("verb", [RunControl.stop, RunControl.pause])
def test_a_client_cannot_stop_what_was_started_in_a_terminal(gated: Index, verb: Callable[..., object]) -> None:
    def try_as_a_client() -> None:
        with pytest.raises(NotStoppableError, match="run-1 was started in a terminal") as refused:
            verb(control(gated), run_of(gated, 1), by=Origin.SERVER)
        assert "dirindex index --pause" in str(refused.value.hint)

    assert run_and(gated, try_as_a_client).outcome is Outcome.COMPLETED
    gated.close()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("by", Origin)
def test_clients_and_terminals_can_stop_what_a_server_has_started(gated: Index, by: Origin) -> None:
    report = run_and(
        gated,
        lambda: control(gated).stop(run_of(gated, 1), by=by),
        options=FORCED._replace(origin=Origin.SERVER),
    )
    assert report.outcome is Outcome.INTERRUPTED
    assert run_of(gated, 1).message == "another process asked it to stop"
    gated.close()
