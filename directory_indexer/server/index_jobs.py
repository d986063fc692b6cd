"""Index jobs of a server: index runs started as child processes, by collection, with their state and next step.

A run in its own process leaves the server free to answer, survives the call that started it, and stops after the
current batch when asked to. Other processes see it like any run, and it is reported like theirs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from directory_indexer.api.runs import FILE_COUNTS, QUEUED, RUNNING, Run, run_of
from directory_indexer.config import CollectionName, config_of_collection
from directory_indexer.config.settings import with_absolute_paths
from directory_indexer.core.errors import ExitCode, LockedError
from directory_indexer.core.isolation import NEUTRAL_DIRECTORY, without_python_settings
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, exact_text, file_path
from directory_indexer.storage.documents.runs import Outcome, Phase, RunRecord, Verb
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.collections import CollectionKey, Collections
    from directory_indexer.config import LoadedConfig


_MAX_CHILDREN = 4
_MAX_RUNS = 50
_CLOCK_TOLERANCE_SECONDS = 60.0
"""Tolerance for a clock that is set back in the meantime."""

_MAX_MESSAGE_CHARS = 800
_MAX_FAILURES = 3
_TRACKED_ONLY_OPTION, _FORCE_OPTION = "--tracked-only", "--force"
_YES_OPTION = "--yes"
_UNLESS_PAUSED_OPTION, _RESUME_OPTION = "--unless-paused", "--resume"


@dataclass(eq=False, slots=True)
class IndexJob:
    """An index run that this server started."""

    directories: tuple[FilePath, ...]
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    errors: IO[bytes]
    is_queued: bool = False
    """Whether another process was writing to the index when it was started."""

    n_waiting: int = 0
    is_reported: bool = False
    """Whether a client has received the outcome; until then a repeated call returns it, and starts no new run."""

    result: Run | None = field(default=None)
    started_at: float = field(default_factory=time.time)
    ended_at: float = 0.0

    @property
    def id(self) -> str:
        """The id of the job, which exists before the run is recorded."""
        return f"index-{self.process.pid}-{int(self.started_at)}"

    def wait(self) -> None:
        """Wait for the process, and record when it ended."""
        self.process.wait()
        self.ended_at = time.time()

    def is_job_of_run(self, run: RunRecord) -> bool:
        """Whether a recorded run is that of this job; process ids alone do not tell, since they are reused."""
        is_here = run.host == file_path(socket.gethostname())
        return is_here and run.pid == self.process.pid and run.started_at >= self.started_at - _CLOCK_TOLERANCE_SECONDS


class IndexJobs:
    """The index runs of one server, and the state of all runs."""

    def __init__(
        self,
        *,
        command: Sequence[str],
        runs: Callable[[int], tuple[RunRecord, ...]],
        running: Callable[[], RunRecord | None],
        is_locked: Callable[[], bool],
    ) -> None:
        self._command = tuple(command)
        self._runs = runs
        self._running = running
        self._is_locked = is_locked
        self._last_failure: tuple[float, Run] | None = None
        """The last run that failed before it was recorded, and when."""

        self._jobs: list[IndexJob] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def start_or_join(self, directories: tuple[FilePath, ...], *, may_add: bool) -> IndexJob | RunRecord:
        """Start a run, or return one in progress that covers it: a job of this server or a run of another process.

        Without `may_add`, directories that are no longer tracked when the run begins are skipped.

        Raises:
            LockedError: too many runs are queued.
        """
        with self._lock:
            own_jobs = [job for job in self._jobs if set(directories) <= set(job.directories) and not job.is_reported]
            if own_jobs:
                return own_jobs[-1]
            other = self._running()
            is_own = other is not None and any(job.is_job_of_run(other) for job in self._jobs)
            if other is not None and not is_own and all(run_covers(other, path) for path in directories):
                return other
            return self._start(directories, () if may_add else (_TRACKED_ONLY_OPTION,))

    def add(self, directory: FilePath) -> IndexJob:
        """Start a run that adds a directory, after the user has confirmed its preview.

        Raises:
            LockedError: too many runs are queued.
        """
        with self._lock:
            return self._start((directory,), (_YES_OPTION,))

    def update(self, roots: tuple[FilePath, ...]) -> IndexJob:
        """Start a run over the roots that are still tracked when it begins, unless a run is paused then.

        Raises:
            LockedError: too many runs are queued.
        """
        with self._lock:
            return self._start(roots, (_TRACKED_ONLY_OPTION, _UNLESS_PAUSED_OPTION))

    def resume(self) -> IndexJob:
        """Start a run that continues all runs that are paused when it begins.

        Raises:
            LockedError: too many runs are queued.
        """
        with self._lock:
            return self._start((), (_RESUME_OPTION,))

    def rebuild(self) -> IndexJob:
        """Start a run that reads all files again.

        Raises:
            LockedError: too many runs are queued.
        """
        with self._lock:
            return self._start((), (_FORCE_OPTION,))

    def run_state_of(self, job: IndexJob | RunRecord) -> Run:
        """Return the state of a run."""
        if isinstance(job, RunRecord):
            current = next((run for run in self._runs(_MAX_RUNS) if run.id == job.id), job)
            is_ended = current.outcome is None and self._running() is None
            return run_state(current, joined=True, was_killed=is_ended)
        if job.result is None:
            is_running = job.process.poll() is None
            result = self._run_of_job(job, is_running=is_running)
            if not is_running:
                self._record_end(job, result)
            return result
        return job.result

    def yields_lock(self, job: IndexJob) -> bool:
        """Whether a new run could begin before this one ends."""
        run = next((record for record in self._runs(_MAX_RUNS) if job.is_job_of_run(record)), None)
        return run is not None and run.progress.phase.yields_lock

    def current(self) -> Run | None:
        """Return the state of the run in progress, or else of the last one."""
        running = self._running()
        if running is not None:
            return run_state(running, joined=False)
        latest = self._runs(1)
        for job in self._jobs_copy():
            self.run_state_of(job)
        if self._last_failure and (not latest or self._last_failure[0] > latest[0].heartbeat_at):
            return self._last_failure[1]
        return run_state(latest[0], joined=False, was_killed=latest[0].outcome is None) if latest else None

    def cancel(self, job: IndexJob) -> None:
        """Ask a run to stop after the current batch; a later call starts a new one."""
        job.is_reported = True
        if job.process.poll() is None:
            job.process.terminate()

    def cancel_all(self, directory: FilePath | None) -> list[IndexJob]:
        """Ask all runs of this server to stop, or those of a directory; return them."""
        jobs = [job for job in self._jobs_copy() if directory is None or directory in job.directories]
        stopped = [job for job in jobs if job.process.poll() is None]
        for job in stopped:
            self.cancel(job)
        return stopped

    def close(self) -> None:
        """Ask the runs to stop after the current batch; they may outlive this process."""
        with self._lock:
            self._is_closed = True
            for job in self._jobs:
                self.cancel(job)

    def _jobs_copy(self) -> list[IndexJob]:
        with self._lock:
            return list(self._jobs)

    def _record_end(self, job: IndexJob, result: Run) -> None:
        job.result = result
        if result.id is None and result.state == Outcome.FAILED:
            self._last_failure = (job.ended_at or time.time(), result)

    def _start(self, directories: tuple[FilePath, ...], options: tuple[str, ...]) -> IndexJob:
        self._jobs = [job for job in self._jobs if not job.is_reported or job.process.poll() is None]
        if self._is_closed or sum(job.process.poll() is None for job in self._jobs) >= _MAX_CHILDREN:
            raise LockedError("too many index runs are waiting on this server", hint="wait until one has ended")
        is_queued = self._is_locked()
        output, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - read after its end
        process = subprocess.Popen(  # noqa: S603 - this program, with paths of tracked or allowed directories
            [*self._command, *options, "--", *map(exact_text, directories)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            cwd=NEUTRAL_DIRECTORY,
            env=without_python_settings(with_absolute_paths(os.environ)) | spans.child_environment(),
        )
        job = IndexJob(directories, process, output, errors, is_queued)
        # The exit status must be collected, or the child would remain a zombie until the next call.
        threading.Thread(target=job.wait, name="reaper", daemon=True).start()
        self._jobs.append(job)
        return job

    def _run_of_job(self, job: IndexJob, *, is_running: bool) -> Run:
        run = next((record for record in self._runs(_MAX_RUNS) if job.is_job_of_run(record)), None)
        if is_running:
            # A run counts as ended only when its process has, since its counts are known only then.
            return run_state(run._replace(outcome=None), joined=False) if run else self._run_before_record(job)
        report = _read_report(job.output)
        message = _error_message(report) or _read_tail(job.errors)
        if run is None or run.outcome is None:
            return _failed_run(job, run, message)
        return run_state(run, joined=False, counts=_file_counts(report), message=message)

    def _run_before_record(self, job: IndexJob) -> Run:
        """Return the state of a run that is not recorded yet: queued behind another writer, or starting."""
        writer = self._running()
        if writer is not None and not job.is_job_of_run(writer):
            where = ", ".join(map(display, writer.directories))
            message = f"run-{writer.id} of process {writer.pid} is writing to the index: {where}"
            return _run_of_process(job, None, QUEUED, message)
        if job.is_queued and self._is_locked():
            return _run_of_process(job, None, QUEUED, "another process is writing to the index")
        return _run_of_process(job, None, RUNNING, "")._replace(phase=Phase.STARTING)


def _failed_run(job: IndexJob, record: RunRecord | None, message: str) -> Run:
    was_stopped = job.process.returncode in {-signal.SIGTERM, ExitCode.LOCKED}
    return _run_of_process(job, record, Outcome.INTERRUPTED if was_stopped else Outcome.FAILED, message)


def _run_of_process(job: IndexJob, record: RunRecord | None, state: str, message: str) -> Run:
    """Return the state of a run from its process, where its record does not tell."""
    return Run(
        id=f"run-{record.id}" if record else None,
        state=state,
        directories=job.directories,
        phase=record.progress.phase if record else Phase.WAITING,
        message=message or None,
        verb=Verb.INDEX,
        pid=job.process.pid,
        host=socket.gethostname(),
        next_step=NEXT_STEPS[state],
    )


def _file_counts(report: Mapping[str, Any]) -> Mapping[str, int] | None:
    counts = {name: n_files for name in FILE_COUNTS if isinstance(n_files := report.get(name), int)}
    return counts if len(counts) == len(FILE_COUNTS) else None


def _read_report(output: IO[bytes]) -> dict[str, Any]:
    output.seek(0)
    with contextlib.suppress(ValueError):
        report = json.loads(output.read() or b"{}")
        if isinstance(report, dict):
            return report
    return {}


def _error_message(report: Mapping[str, Any]) -> str:
    """Return why a run or some of its files failed, from the report of its command."""
    parts = [str(report[name]) for name in ("error", "hint") if report.get(name)]
    failures = report.get("failures") or ()
    parts += [f"{failure['path']}: {failure['message']}" for failure in failures[:_MAX_FAILURES]]
    more = len(failures) - _MAX_FAILURES
    parts += [f"{more} more failures, as `dirindex status` shows"] if more > 0 else []
    return "; ".join(parts)[:_MAX_MESSAGE_CHARS]


def _read_tail(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(size - _MAX_MESSAGE_CHARS, 0))
    return errors.read().decode("utf-8", "replace").strip()


class CollectionJobs:
    """The index runs of all collections; `command` returns the command line that starts one for a configuration."""

    def __init__(self, collections: Collections, *, command: Callable[[LoadedConfig], Sequence[str]]) -> None:
        self._collections = collections
        self._command = command
        self._lock = threading.Lock()
        self._jobs: dict[CollectionKey, IndexJobs] = {}

    def jobs_of(self, name: str) -> IndexJobs:
        """Return the index runs of a collection.

        Raises:
            NotIndexedError: the collection does not exist.
        """
        key = self._collections.key(name)
        with self._lock:
            if key not in self._jobs:
                self._jobs[key] = self._make_index_jobs(key[0])
            return self._jobs[key]

    def close(self) -> None:
        """Ask all runs to stop after the current batch."""
        with self._lock:
            for jobs in self._jobs.values():
                jobs.close()

    def _make_index_jobs(self, name: CollectionName) -> IndexJobs:
        def runs(limit: int) -> tuple[RunRecord, ...]:
            with self._collections.opened(name) as opened:
                return opened.app.status.runs(limit)

        def running() -> RunRecord | None:
            with self._collections.opened(name) as opened:
                return opened.app.status.running()

        def is_locked() -> bool:
            with self._collections.opened(name) as opened:
                return opened.app.status.is_locked()

        command = self._command(config_of_collection(self._collections.app.loaded, name))
        return IndexJobs(command=command, runs=runs, running=running, is_locked=is_locked)


NEXT_STEPS = {
    QUEUED: "It waits for its turn. Call index again with the same path to wait on.",
    RUNNING: "Call index again with the same path to wait on; search already finds what is committed.",
    Outcome.COMPLETED: "Call search.",
    Outcome.INTERRUPTED: "What was indexed stays searchable; call index to go on where it stopped.",
    Outcome.PAUSED: 'What was indexed stays searchable; if it is to go on, call index with action="resume".',
    Outcome.OUT_OF_TIME: "What was indexed stays searchable; call index to go on where it stopped.",
    Outcome.FAILED: "Correct what the message says, then call index again.",
}
ENDED_STATES = frozenset(Outcome)


def run_state(
    record: RunRecord,
    *,
    joined: bool,
    was_killed: bool = False,
    counts: Mapping[str, int] | None = None,
    message: str = "",
) -> Run:
    """Return the state of a run with the next step."""
    run = run_of(record, goes_on=record.outcome is None and not was_killed)
    return run._replace(
        message=run.message or message or None,
        joined=joined or None,
        counts=counts,
        next_step=NEXT_STEPS[run.state],
    )


def percent_done(result: Run) -> float:
    """Estimate the progress of a run: half of it is reading, half embedding."""
    if result.state in ENDED_STATES:
        return 100.0
    read = result.files_done / result.files_total if result.files_total else 0.0
    embedded = result.chunks_done / result.chunks_total if result.chunks_total else 0.0
    return round(min(1 + 48 * read + 50 * embedded, 99.0), 2)


def run_covers(run: RunRecord, directory: FilePath) -> bool:
    """Whether a run includes a directory."""
    return directory in run.directories
