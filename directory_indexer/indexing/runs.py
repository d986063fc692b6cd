"""One index run as others see it: its row in the index, kept alive while it works, and how it ended."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from directory_indexer.docstore.index_scope import IndexScope
from directory_indexer.docstore.runs import Outcome, Phase, RunProgress, RunRequest
from directory_indexer.docstore.store import DocStore
from directory_indexer.errors import LockedError
from directory_indexer.indexing.options import options_of
from directory_indexer.indexing.stop_requests import StopRequests
from directory_indexer.lock import WriteLock, write_lock
from directory_indexer.paths import FilePath, display, file_path
from directory_indexer.scratch import remove_abandoned, scratch_beside
from directory_indexer.telemetry import spans

_HEARTBEAT_SECONDS = 0.5
_ASKED = "another process asked it to stop"

_LONGEST_BATCH_SECONDS = 60.0
"""After so long a run that should have given way is taken for one that does not."""

_LATER = "run the same command again later, or with --wait; dirindex status shows how far it is"


class GaveWayError(Exception):
    """A run was told to stop while another one wrote in its place; it may write nothing more."""


class Run:
    """A run as it goes on: its progress for the user and other processes, and whether it is to stop.

    It embeds and recognises what lies in its `scope` alone, which grows by those of runs that it gave way to.
    """

    def __init__(
        self,
        scope: IndexScope,
        *,
        run_id: int,
        docstore: DocStore,
        lock: WriteLock,
        listener: Callable[[RunProgress], None],
        stop_reason: Callable[[], Outcome | None],
    ) -> None:
        self.scope = scope
        self._run_id = run_id
        self._has_done_all = False
        self._stop_requests = StopRequests(docstore.path, run_id)
        self._lock = lock
        self._docstore = docstore
        self._listener = listener
        self._stop_reason = stop_reason
        self._written_at = 0.0
        self.progress = RunProgress(Phase.WALKING)
        self.notice = ""
        self._troubles: list[str] = []
        self._entered, self._span = Phase.WALKING, spans.begun(Phase.WALKING)

    @property
    def outcome(self) -> Outcome:
        """Tell how the run would end if it ended now."""
        reason = self._reason()
        if reason is not None and not (reason is Outcome.PAUSED and self._has_done_all):
            return reason
        return Outcome.FAILED if self._troubles else Outcome.COMPLETED

    @property
    def message(self) -> str:
        """Say why it would end so."""
        asked = (_ASKED,) if self._stop_requests.asked() is Outcome.INTERRUPTED else ()
        return "; ".join((*asked, *self._troubles))

    def counts(self) -> dict[str, int]:
        """Count what was done, as far as it was told of."""
        done = self.progress
        return {
            "n_files": done.files_done,
            "n_chunks": done.chunks_done,
            "n_pages": done.pages_done,
            "n_failed": done.n_failed,
        }

    @property
    def must_stop(self) -> bool:
        """Tell whether the run should end after the batch in hand."""
        return self._reason() is not None

    def fail(self, trouble: str) -> None:
        """Go on, but as a run that fails, and say why."""
        self._troubles.append(trouble)

    def report(self, progress: RunProgress) -> None:
        """Show progress; other processes see it at most twice a second, and at once whether it gives way."""
        is_new = progress.phase.gives_way != self.progress.phase.gives_way
        self._enter(progress.phase)
        self.progress = progress
        self._listener(progress._replace(notice=self.notice))
        now = time.monotonic()
        if is_new or now - self._written_at >= _HEARTBEAT_SECONDS:
            self._written_at = now
            with self._docstore.transaction() as transaction:
                transaction.runs.update(self._run_id, progress._replace(notice=self.notice))

    def take_over_paused(self, directories: Sequence[FilePath]) -> None:
        """Do what was paused over these directories, so that they are paused no more."""
        with self._docstore.transaction() as transaction:
            transaction.pauses.end(directories, by=f"run-{self._run_id} goes on with it")

    def end_done_pauses(self, *, embeds: bool) -> None:
        """End the pauses of runs of which nothing is left, this one among them."""
        done = end_done_pauses(self._docstore, embeds=embeds)
        self._has_done_all = self._run_id in done

    @property
    def is_in_the_way(self) -> bool:
        """Whether another run waits for this one."""
        return self._lock.is_wanted

    @property
    def is_guest(self) -> bool:
        """Whether another run gave way to this one, and goes on when this one is done."""
        return self._lock.is_owed

    @property
    def leaves_pages_to_host(self) -> bool:
        """Whether the run that gave way has all pages read that wait, those of this one, too, when it goes on."""
        if not self.is_guest:
            return False
        with self._docstore.snapshot() as snapshot:
            latest = snapshot.runs.latest(1)
        hosts = [run for run in latest if run.outcome is None and run.progress.phase is Phase.WAITING]
        return any(options_of([run.options]).most_pages is None for run in hosts)

    def hand_over(self) -> None:
        """Add the scope of this run to that of the run that gave way to it, which embeds and recognises for both."""
        with self._docstore.transaction() as transaction:
            transaction.runs.hand_over(self._run_id)

    def give_way(self) -> None:
        """Let other runs write that wait, and go on when they are done.

        Raises:
            GaveWayError: it was told to stop meanwhile.
        """
        progress, listener = self.progress, self._listener

        def while_waiting() -> None:
            listener(progress._replace(phase=Phase.WAITING, waits_for=who_writes(self._docstore, but=self._run_id)))
            if self.must_stop:
                raise GaveWayError

        with self._docstore.transaction() as transaction:
            transaction.runs.update(self._run_id, progress._replace(phase=Phase.WAITING))
        self._enter(Phase.WAITING)
        self._lock.give_way(while_waiting)
        with self._docstore.snapshot() as snapshot:
            self.scope = self.scope.plus(snapshot.runs.directories(self._run_id))
        self._written_at = 0.0  # others see at once that it gives way again
        self.report(progress)

    def end(self, outcome: Outcome, message: str) -> None:
        """Record how it ended."""
        self._stop_requests.end()
        self._span.end()
        with self._docstore.transaction() as transaction:
            transaction.runs.update(self._run_id, self.progress)
            transaction.runs.finish(self._run_id, outcome, message)

    def _enter(self, phase: Phase) -> None:
        if phase is not self._entered:
            self._span.end()
            self._entered, self._span = phase, spans.begun(phase)

    def _reason(self) -> Outcome | None:
        return self._stop_requests.asked() or self._stop_reason()


class Turn:
    """The time until another run wants to write in the place of this one."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.is_over = False

    def must_stop(self) -> bool:
        """Tell whether to let others write now, or to stop altogether.

        A guest gives way to nobody: it would have its turn again when the run that gave way to it is done.
        """
        self.is_over = self.is_over or (self._run.is_in_the_way and not self._run.is_guest)
        return self.is_over or self._run.must_stop


def end_done_pauses(docstore: DocStore, *, embeds: bool) -> list[int]:
    """End the pauses of runs of which nothing is left, and name these runs; `embeds` tells whether runs embed."""
    with docstore.snapshot() as snapshot:
        done = snapshot.pauses.done(embeds=embeds)
    if done:
        with docstore.transaction() as transaction:
            transaction.pauses.drop(done, by="nothing is left of it")
    return done


@contextlib.contextmanager
def writing(
    docstore: DocStore,
    lock_path: Path,
    *,
    listener: Callable[[RunProgress], None] = lambda _: None,
    stop_reason: Callable[[], Outcome | None] = lambda: None,
    wait: bool = True,
) -> Iterator[WriteLock]:
    """Hold the write lock; while another process has it, tell the user which one.

    Without `wait` it waits all the same for a run that gives way.

    Raises:
        LockedError: another process holds it, and nobody waits for it any more.
    """
    give_up_at = time.monotonic() + _LONGEST_BATCH_SECONDS

    def while_waiting() -> None:
        listener(RunProgress(Phase.WAITING, waits_for=who_writes(docstore)))
        if stop_reason() is not None:
            raise LockedError("still waiting when told to stop")
        if not wait and (time.monotonic() > give_up_at or not _gives_way(docstore)):
            raise LockedError("another run is writing")

    with contextlib.ExitStack() as stack:
        try:
            waits = wait or _gives_way(docstore)
            lock = stack.enter_context(write_lock(lock_path, wait=waits, on_wait=while_waiting))
        except LockedError as error:
            raise LockedError(who_writes(docstore), hint=_LATER) from error
        remove_abandoned(scratch_beside(docstore.path))
        yield lock


def _gives_way(docstore: DocStore) -> bool:
    """Tell whether the run that writes lets others write, or one that did is about to go on, and will again."""
    with docstore.snapshot() as snapshot:
        phases = {run.progress.phase for run in snapshot.runs.latest(1) if run.outcome is None}
    return phases == {Phase.WAITING} or any(phase.gives_way for phase in phases)


def who_writes(docstore: DocStore, *, but: int | None = None) -> str:
    """Say which process holds the write lock, as far as the index knows, and how far it is; it is not the run `but`."""
    with docstore.snapshot() as snapshot:
        latest = snapshot.runs.latest(1)
    runs = [run for run in latest if run.id != but and run.outcome is None]
    if not runs:
        return "another process is writing to the index"
    run, progress = runs[0], runs[0].progress
    done, total = progress.files_done, progress.files_total
    if progress.phase.counts_chunks:
        done, total = progress.chunks_done, progress.chunks_total
    how_far = f", {100 * done // total} %" if total else ""
    command = " ".join(["dirindex", run.verb, *map(display, run.directories)])
    return f"process {run.pid} on {run.host} is writing to the index: {command} ({progress.phase}{how_far})"


@contextlib.contextmanager
def recorded_run(
    docstore: DocStore,
    request: RunRequest,
    *,
    lock: WriteLock,
    listener: Callable[[RunProgress], None],
    stop_reason: Callable[[], Outcome | None],
) -> Iterator[Run]:
    """Record a run from its start to its end; an exception is its end too."""
    with docstore.transaction() as transaction:
        host = file_path(platform.node())
        run_id = transaction.runs.start(request, pid=os.getpid(), host=host, others_gave_way=lock.is_owed)
    outcome, message = Outcome.FAILED, ""
    with spans.span(f"run {request.verb}", origin=request.origin) as span:
        scope = IndexScope(tuple(request.directories))
        run = Run(scope, run_id=run_id, docstore=docstore, lock=lock, listener=listener, stop_reason=stop_reason)
        try:
            run.report(run.progress)
            yield run
            outcome, message = run.outcome, run.message
        except KeyboardInterrupt:
            outcome = Outcome.INTERRUPTED
            raise
        except Exception as error:
            message = str(error)
            raise
        finally:
            run.end(outcome, message)
            span.note(outcome=outcome, **run.counts())
