"""Index runs in progress: their rows, heartbeats and outcomes, and requests to stop, pause or resume them.

A pause is stored before the run is notified, so that it persists whatever is killed next. A process that may not send a
signal to a run writes a file beside the database. Each run has a file of its own, named by its id, since several runs
may wait for each other, and a late request must stop no other. The file contains the outcome, which the run reads at
the end of its batch.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from directory_indexer.core.errors import ConflictError, LockedError, NotStoppableError
from directory_indexer.core.kept_files import replace_file
from directory_indexer.core.lock import WriteLock, write_lock
from directory_indexer.core.paths import FilePath, display, file_path
from directory_indexer.core.scratch import remove_abandoned, scratch_beside
from directory_indexer.indexing.options import IndexOptions, merge_stored_options
from directory_indexer.storage.documents import IndexScope
from directory_indexer.storage.documents.runs import (
    Origin,
    Outcome,
    PausedRun,
    Phase,
    RunProgress,
    RunRecord,
    RunRequest,
    Verb,
)
from directory_indexer.storage.documents.store import DocStore
from directory_indexer.telemetry import spans

_HEARTBEAT_SECONDS = 0.5
_STOP_REQUESTED_MESSAGE = "another process asked it to stop"

_MAX_BATCH_SECONDS = 60.0
"""After this time a run that should have given way is taken for one that does not."""

_RETRY_HINT = "run the same command again later, or with --wait; dirindex status shows how far it is"


class StoppedWhileYieldingError(Exception):
    """A run was stopped while another one wrote in its place; it must not write any more."""


class Run:
    """A run in progress: its progress for the user and other processes, and whether it must stop.

    It embeds and recognises only what lies in its `scope`, which grows by those of runs that it yielded to. After each
    batch, `stop_reason` returns the outcome with which its caller wants it to end, or None; another process can request
    one, too. `must_stop` is whether there is one.
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
        self._stop_request_file = _stop_request_file(docstore.path, run_id)
        self._stop_request_file.unlink(missing_ok=True)  # it is of an index that was removed
        self._requested: Outcome | None = None
        self._lock = lock
        self._docstore = docstore
        self._listener = listener
        self._stop_reason = stop_reason
        self._written_at = 0.0
        self.progress = RunProgress(Phase.WALKING)
        self.notice = ""
        self.n_removed = 0
        self._failures: list[str] = []
        self._entered, self._span = Phase.WALKING, spans.start_span(Phase.WALKING)

    @property
    def outcome(self) -> Outcome:
        """Return the outcome of the run if it ended now."""
        requested = self._requested_outcome()
        if requested is not None and not (requested is Outcome.PAUSED and self._has_done_all):
            return requested
        return Outcome.FAILED if self._failures else Outcome.COMPLETED

    @property
    def message(self) -> str:
        """Return the reason of that outcome, or else what its counts do not show."""
        reasons = (_STOP_REQUESTED_MESSAGE,) if self._outcome_in_file() is Outcome.INTERRUPTED else ()
        removed = f"{self.n_removed:,} file{'s' * (self.n_removed > 1)} removed" if self.n_removed else ""
        return "; ".join((*reasons, *self._failures)) or removed

    def counts(self) -> dict[str, int]:
        """Return what was done so far, for the trace."""
        done = self.progress
        return {
            "n_files": done.files_done,
            "n_chunks": done.chunks_done,
            "n_pages": done.pages_done,
            "n_failed": done.n_failed,
        }

    @property
    def must_stop(self) -> bool:
        """Whether the run should end after the current batch."""
        return self._requested_outcome() is not None

    def record_failure(self, message: str) -> None:
        """Record a failure without stopping the run."""
        self._failures.append(message)

    def report(self, progress: RunProgress) -> None:
        """Publish progress; other processes see it at most twice a second, and a new phase at once."""
        is_new = progress.phase is not self.progress.phase
        self._enter_phase(progress.phase)
        self.progress = progress
        self._listener(progress._replace(notice=self.notice))
        now = time.monotonic()
        if is_new or now - self._written_at >= _HEARTBEAT_SECONDS:
            self._written_at = now
            with self._docstore.transaction() as transaction:
                transaction.runs.update(self._run_id, progress._replace(notice=self.notice))

    def take_over_paused(self, directories: Sequence[FilePath]) -> None:
        """End the pauses of these directories, whose work this run does."""
        with self._docstore.transaction() as transaction:
            transaction.pauses.remove_directories(directories, reason=f"run-{self._run_id} goes on with it")

    def end_completed_pauses(self, *, embeds: bool) -> None:
        """End the pauses of runs that have no work left, possibly this one."""
        done = end_completed_pauses(self._docstore, embeds=embeds)
        self._has_done_all = self._run_id in done

    @property
    def blocks_another_run(self) -> bool:
        """Whether another run waits for this one."""
        return self._lock.is_wanted

    @property
    def has_yielded_run(self) -> bool:
        """Whether another run yielded to this one, and continues after it."""
        return self._lock.is_owed

    @property
    def leaves_pages_to_yielded_run(self) -> bool:
        """Whether the run that yielded to this one will recognise all waiting pages, including those of this one."""
        if not self.has_yielded_run:
            return False
        with self._docstore.snapshot() as snapshot:
            latest = snapshot.runs.latest(1)
        hosts = [run for run in latest if run.outcome is None and run.progress.phase is Phase.WAITING]
        return any(merge_stored_options([run.options]).most_pages is None for run in hosts)

    def hand_over_scope(self) -> None:
        """Add the scope of this run to the run that yielded to it, which embeds and recognises for both."""
        with self._docstore.transaction() as transaction:
            transaction.runs.hand_over(self._run_id)

    def yield_lock(self) -> None:
        """Yield the write lock to waiting runs, and continue afterwards.

        Raises:
            StoppedWhileYieldingError: it was stopped meanwhile.
        """
        progress, listener = self.progress, self._listener

        def while_waiting() -> None:
            writer = describe_writer(self._docstore, except_run_id=self._run_id)
            listener(progress._replace(phase=Phase.WAITING, waits_for=writer))
            if self.must_stop:
                raise StoppedWhileYieldingError

        with self._docstore.transaction() as transaction:
            transaction.runs.update(self._run_id, progress._replace(phase=Phase.WAITING))
        self._enter_phase(Phase.WAITING)
        self._lock.give_way(while_waiting)
        with self._docstore.snapshot() as snapshot:
            self.scope = self.scope.plus(snapshot.runs.directories(self._run_id))
        self._written_at = 0.0  # others see at once that it yields again
        self.report(progress)

    def finish(self, outcome: Outcome, message: str) -> None:
        """Store the outcome of the run."""
        self._stop_request_file.unlink(missing_ok=True)
        self._span.end()
        with self._docstore.transaction() as transaction:
            transaction.runs.update(self._run_id, self.progress)
            transaction.runs.finish(self._run_id, outcome, message)

    def _enter_phase(self, phase: Phase) -> None:
        if phase is not self._entered:
            self._span.end()
            self._entered, self._span = phase, spans.start_span(phase)

    def _requested_outcome(self) -> Outcome | None:
        return self._outcome_in_file() or self._stop_reason()

    def _outcome_in_file(self) -> Outcome | None:
        """Return the outcome that another process requested; looking for its file takes a few microseconds."""
        if self._requested is None:
            with contextlib.suppress(OSError, ValueError):  # no request, or one of another version of dirindex
                self._requested = Outcome(self._stop_request_file.read_text(encoding="ascii"))
        return self._requested


class WriteSlot:
    """A time slot in which a run writes, until another run waits for the write lock."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.is_over = False

    def must_stop(self) -> bool:
        """Whether to let others write now, or to stop altogether.

        A run that another one yielded to yields to nobody: it could only continue after the run that yielded to it.
        """
        self.is_over = self.is_over or (self._run.blocks_another_run and not self._run.has_yielded_run)
        return self.is_over or self._run.must_stop


def end_completed_pauses(docstore: DocStore, *, embeds: bool) -> list[int]:
    """End the pauses of runs that have no work left, and return their ids; `embeds` tells whether runs embed."""
    with docstore.snapshot() as snapshot:
        done = snapshot.pauses.completed(embeds=embeds)
    if done:
        with docstore.transaction() as transaction:
            transaction.pauses.delete(done, reason="nothing is left of it")
    return done


@contextlib.contextmanager
def hold_write_lock(
    docstore: DocStore,
    lock_path: Path,
    *,
    listener: Callable[[RunProgress], None] = lambda _: None,
    stop_reason: Callable[[], Outcome | None] = lambda: None,
    wait: bool = True,
) -> Iterator[WriteLock]:
    """Hold the write lock; while another process has it, show the user which one.

    Without `wait` it still waits for a run that yields.

    Raises:
        LockedError: another process holds it, and this one stopped waiting.
    """
    give_up_at = time.monotonic() + _MAX_BATCH_SECONDS

    def while_waiting() -> None:
        listener(RunProgress(Phase.WAITING, waits_for=describe_writer(docstore)))
        if stop_reason() is not None:
            raise LockedError("still waiting when told to stop")
        if not wait and (time.monotonic() > give_up_at or not _running_run_yields_lock(docstore)):
            raise LockedError("another run is writing")

    with contextlib.ExitStack() as stack:
        try:
            waits = wait or _running_run_yields_lock(docstore)
            lock = stack.enter_context(write_lock(lock_path, wait=waits, on_wait=while_waiting))
        except LockedError as error:
            raise LockedError(describe_writer(docstore), hint=_RETRY_HINT) from error
        remove_abandoned(scratch_beside(docstore.path))
        yield lock


def describe_writer(docstore: DocStore, *, except_run_id: int | None = None) -> str:
    """Describe the process that holds the write lock, and its progress, unless its run is the excepted one."""
    with docstore.snapshot() as snapshot:
        latest = snapshot.runs.latest(1)
    runs = [run for run in latest if run.id != except_run_id and run.outcome is None]
    if not runs:
        return "another process is writing to the index"
    run, progress = runs[0], runs[0].progress
    done, total = progress.files_done, progress.files_total
    if progress.phase.is_measured_in_chunks:
        done, total = progress.chunks_done, progress.chunks_total
    percentage = f", {100 * done // total} %" if total else ""
    command = " ".join(["dirindex", run.verb, *map(display, run.directories)])
    return (
        f"process {run.pid} on {run.host} is writing to the index: {command} ({progress.phase.description}{percentage})"
    )


@contextlib.contextmanager
def recorded_run(
    docstore: DocStore,
    request: RunRequest,
    *,
    lock: WriteLock,
    listener: Callable[[RunProgress], None],
    stop_reason: Callable[[], Outcome | None],
) -> Iterator[Run]:
    """Record a run from its start to its end, which may be an exception."""
    with docstore.transaction() as transaction:
        host = file_path(platform.node())
        run_id = transaction.runs.start(request, pid=os.getpid(), host=host, others_yielded=lock.is_owed)
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
            run.finish(outcome, message)
            span.note(outcome=outcome, **run.counts())


class ResumedWork(NamedTuple):
    """The directories and options of a run that resumes all paused ones; no directories mean the whole index."""

    directories: tuple[FilePath, ...]
    options: IndexOptions


class RunControl:
    """Stops, pauses and resumes the runs of one index, in any process.

    `by` is the caller: a client may stop runs started for clients; runs started in a terminal can only be stopped by
    terminals, and by clients with the right `admin`, which count as terminals.

    Raises:
        NotStoppableError: the run was started in a terminal, and the caller is a client.
    """

    def __init__(self, docstore: Callable[[], DocStore], *, unended: Callable[[], Sequence[RunRecord]]) -> None:
        self._docstore = docstore
        self._unended = unended

    def stop(self, run: RunRecord, *, by: Origin) -> None:
        """Request that a run stops at the end of its batch."""
        _require_stoppable(run, by)
        request_stop(self._docstore().path, run.id)

    def pause(self, run: RunRecord | None = None, *, by: Origin) -> tuple[RunRecord, ...]:
        """Pause a run, or all active ones: they stop at the end of their batch, and none starts by itself then.

        Raises:
            ConflictError: no run is active, or it copies vectors, which nothing resumes by itself.
        """
        runs = (run,) if run else tuple(self._unended())
        if not runs:
            raise ConflictError("no index run is in progress", hint="dirindex status shows how the last one ended")
        for pausable in runs:
            _require_pausable(pausable)
            _require_stoppable(pausable, by)
        with self._docstore().transaction() as transaction:
            paused = tuple(pausable for pausable in runs if transaction.pauses.put(pausable.id))
        if not paused:
            raise ConflictError(f"run-{runs[0].id} has ended already", hint="dirindex status shows how")
        for pausable in paused:
            request_stop(self._docstore().path, pausable.id, Outcome.PAUSED)
        return paused

    def paused(self) -> tuple[PausedRun, ...]:
        """Return the paused runs, oldest first."""
        with self._docstore().snapshot() as snapshot:
            return snapshot.pauses.all()

    def resumed_work(self) -> ResumedWork:
        """Return the work of a run that resumes all paused ones.

        Raises:
            ConflictError: nothing is paused.
        """
        paused = self.paused()
        if not paused:
            raise ConflictError("no index run is paused", hint="dirindex index brings all directories up to date")
        return ResumedWork(_directories(paused), merge_stored_options(run.options for run in paused))


def request_stop(database: Path, run_id: int, outcome: Outcome = Outcome.INTERRUPTED) -> None:
    """Request that a run stops with this outcome."""
    replace_file(_stop_request_file(database, run_id), outcome.encode("ascii"))


def _running_run_yields_lock(docstore: DocStore) -> bool:
    """Whether the writing run lets others write, or one that did is about to continue and will do so again."""
    with docstore.snapshot() as snapshot:
        phases = {run.progress.phase for run in snapshot.runs.latest(1) if run.outcome is None}
    return phases == {Phase.WAITING} or any(phase.yields_lock for phase in phases)


def _directories(paused: Sequence[PausedRun]) -> tuple[FilePath, ...]:
    if not all(run.directories for run in paused):
        return ()
    return tuple(dict.fromkeys(directory for run in paused for directory in run.directories))


def _require_pausable(run: RunRecord) -> None:
    if run.verb is not Verb.INDEX:
        raise ConflictError(
            f"run-{run.id} copies the index and cannot be paused",
            hint="stop it where it was started; dirindex migrate continues where it stopped",
        )


def _require_stoppable(run: RunRecord, by: Origin) -> None:
    if run.origin is Origin.TERMINAL and by is Origin.SERVER:
        raise NotStoppableError(
            f"run-{run.id} was started in a terminal, by process {run.pid} on {run.host}",
            hint="only its user can stop it: with ^C there, or with dirindex index --pause in any terminal",
        )


def _stop_request_file(database: Path, run_id: int) -> Path:
    return database.with_name(f"stop-request-{run_id}")
