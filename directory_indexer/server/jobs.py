"""Index runs that a server starts: child processes of the same program, which other processes see like any run.

A run in a process of its own leaves the server free to answer, survives the call that started it, and stops at a
batch when it is told to.
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

from directory_indexer.config.sources import with_absolute_paths
from directory_indexer.docstore.runs import Outcome, Phase, RunRecord, Verb
from directory_indexer.errors import ExitCode, LockedError
from directory_indexer.isolation import NEUTRAL_DIRECTORY, without_python_settings
from directory_indexer.paths import FilePath, display, exact_text, file_path
from directory_indexer.server.run_results import NEXT_STEPS, covers, result_of
from directory_indexer.telemetry import spans
from directory_indexer.wire.runs import FILE_COUNTS, QUEUED, RUNNING, Run

_MOST_CHILDREN = 4
_MOST_RUNS = 50
_CLOCK_SECONDS = 60.0
"""A clock that is set back meanwhile must not hide a run."""

_LONGEST_MESSAGE = 800
_MOST_FAILURES = 3
_TRACKED_ONLY, _FORCE = "--tracked-only", "--force"
_AGREED = "--yes"
_UNLESS_PAUSED, _RESUME = "--unless-paused", "--resume"


@dataclass(eq=False, slots=True)
class Job:
    """A run that was started here."""

    directories: tuple[FilePath, ...]
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    errors: IO[bytes]
    has_to_wait: bool = False
    """Whether somebody wrote to the index when it was started."""

    n_waiting: int = 0
    is_told: bool = False
    """Whether a client has heard how it ended: until then, asking again means asking for that."""

    result: Run | None = field(default=None)
    started_at: float = field(default_factory=time.time)
    ended_at: float = 0.0

    @property
    def id(self) -> str:
        """Its name, which it has before the run has begun that it is."""
        return f"index-{self.process.pid}-{int(self.started_at)}"

    def wait(self) -> None:
        """Wait for its process, and note when it ended."""
        self.process.wait()
        self.ended_at = time.time()

    def is_of(self, run: RunRecord) -> bool:
        """Tell whether a run is that of this job, for the system gives the number of a process again."""
        is_here = run.host == file_path(socket.gethostname())
        return is_here and run.pid == self.process.pid and run.started_at >= self.started_at - _CLOCK_SECONDS


class IndexJobs:
    """The runs of one server, and how they and those of others stand."""

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
        """Of runs that failed before they were recorded, the last one, and when that was."""

        self._jobs: list[Job] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def start_or_join(self, directories: tuple[FilePath, ...], *, may_add: bool) -> Job | RunRecord:
        """Start a run, or give the one that does the same already: a job of ours, or the run of another process.

        Without `may_add`, what is no longer tracked when the run has its turn is left out.

        Raises:
            LockedError: too many runs wait already.
        """
        with self._lock:
            mine = [job for job in self._jobs if set(directories) <= set(job.directories) and not job.is_told]
            if mine:
                return mine[-1]
            other = self._running()
            is_mine = other is not None and any(job.is_of(other) for job in self._jobs)
            if other is not None and not is_mine and all(covers(other, path) for path in directories):
                return other
            return self._start(directories, () if may_add else (_TRACKED_ONLY,))

    def add(self, directory: FilePath) -> Job:
        """Start a run that adds a directory, to which somebody has agreed who was shown what that means.

        Raises:
            LockedError: too many runs wait already.
        """
        with self._lock:
            return self._start((directory,), (_AGREED,))

    def update(self, roots: tuple[FilePath, ...]) -> Job:
        """Start a run over those of the roots that are still tracked when it has its turn, unless one is paused then.

        Raises:
            LockedError: too many runs wait already.
        """
        with self._lock:
            return self._start(roots, (_TRACKED_ONLY, _UNLESS_PAUSED))

    def resume(self) -> Job:
        """Start a run that goes on with all that is paused when it has its turn.

        Raises:
            LockedError: too many runs wait already.
        """
        with self._lock:
            return self._start((), (_RESUME,))

    def rebuild(self) -> Job:
        """Start a run that reads everything again.

        Raises:
            LockedError: too many runs wait already.
        """
        with self._lock:
            return self._start((), (_FORCE,))

    def state_of(self, job: Job | RunRecord) -> Run:
        """Tell how far a run is."""
        if isinstance(job, RunRecord):
            current = next((run for run in self._runs(_MOST_RUNS) if run.id == job.id), job)
            is_ended = current.outcome is None and self._running() is None
            return result_of(current, joined=True, was_killed=is_ended)
        if job.result is None:
            is_running = job.process.poll() is None
            result = self._result(job, is_running=is_running)
            if not is_running:
                self._note_end(job, result)
            return result
        return job.result

    def gives_way(self, job: Job) -> bool:
        """Tell whether a run that is started now need not wait until this one has ended."""
        run = next((one for one in self._runs(_MOST_RUNS) if job.is_of(one)), None)
        return run is not None and run.progress.phase.gives_way

    def current(self) -> Run | None:
        """Tell how the run that goes on, or else the last one, stands."""
        running = self._running()
        if running is not None:
            return result_of(running, joined=False)
        latest = self._runs(1)
        for job in self._jobs_now():
            self.state_of(job)
        if self._last_failure and (not latest or self._last_failure[0] > latest[0].heartbeat_at):
            return self._last_failure[1]
        return result_of(latest[0], joined=False, was_killed=latest[0].outcome is None) if latest else None

    def cancel(self, job: Job) -> None:
        """Ask a run to stop at the end of its batch; whoever wants it afterwards gets another one."""
        job.is_told = True
        if job.process.poll() is None:
            job.process.terminate()

    def cancel_all(self, directory: FilePath | None) -> list[Job]:
        """Ask all runs of this server to stop, or those that work on a directory; tell which."""
        jobs = [job for job in self._jobs_now() if directory is None or directory in job.directories]
        stopped = [job for job in jobs if job.process.poll() is None]
        for job in stopped:
            self.cancel(job)
        return stopped

    def close(self) -> None:
        """Let the runs stop at their batch; they end by themselves, also after this process."""
        with self._lock:
            self._is_closed = True
            for job in self._jobs:
                self.cancel(job)

    def _jobs_now(self) -> list[Job]:
        with self._lock:
            return list(self._jobs)

    def _note_end(self, job: Job, result: Run) -> None:
        job.result = result
        if result.id is None and result.state == Outcome.FAILED:
            self._last_failure = (job.ended_at or time.time(), result)

    def _start(self, directories: tuple[FilePath, ...], options: tuple[str, ...]) -> Job:
        self._jobs = [job for job in self._jobs if not job.is_told or job.process.poll() is None]
        if self._is_closed or sum(job.process.poll() is None for job in self._jobs) >= _MOST_CHILDREN:
            raise LockedError("several index runs of this server wait already", hint="wait until one has ended")
        has_to_wait = self._is_locked()
        output, errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - read when it has ended
        process = subprocess.Popen(  # noqa: S603 - this program, with paths of tracked or allowed directories
            [*self._command, *options, "--", *map(exact_text, directories)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            cwd=NEUTRAL_DIRECTORY,
            env=without_python_settings(with_absolute_paths(os.environ)) | spans.for_child(),
        )
        job = Job(directories, process, output, errors, has_to_wait)
        # Somebody must fetch the exit status, or the child would stay as a zombie until the next question.
        threading.Thread(target=job.wait, name="reaper", daemon=True).start()
        self._jobs.append(job)
        return job

    def _result(self, job: Job, *, is_running: bool) -> Run:
        run = next((one for one in self._runs(_MOST_RUNS) if job.is_of(one)), None)
        if is_running:
            # A run that has ended is told as ended when its process has, for only then its counts are known.
            return result_of(run._replace(outcome=None), joined=False) if run else self._unbegun(job)
        report = _report(job.output)
        message = _message(report) or _tail(job.errors)
        if run is None or run.outcome is None:
            return _failed(job, run, message)
        return result_of(run, joined=False, counts=_counts(report), message=message)

    def _unbegun(self, job: Job) -> Run:
        """Tell whether a run that is not recorded yet waits for another one, or is only starting."""
        writer = self._running()
        if writer is not None and not job.is_of(writer):
            where = ", ".join(map(display, writer.directories))
            message = f"run-{writer.id} of process {writer.pid} is writing to the index: {where}"
            return _unrecorded(job, None, QUEUED, message)
        if job.has_to_wait and self._is_locked():
            return _unrecorded(job, None, QUEUED, "another process is writing to the index")
        return _unrecorded(job, None, RUNNING, "")._replace(phase=Phase.STARTING)


def _failed(job: Job, record: RunRecord | None, message: str) -> Run:
    was_told_to = job.process.returncode in {-signal.SIGTERM, ExitCode.LOCKED}
    return _unrecorded(job, record, Outcome.INTERRUPTED if was_told_to else Outcome.FAILED, message)


def _unrecorded(job: Job, record: RunRecord | None, state: str, message: str) -> Run:
    """Describe a run by its process, where its record does not tell how it stands."""
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


def _counts(report: Mapping[str, Any]) -> Mapping[str, int] | None:
    counts = {name: n_files for name in FILE_COUNTS if isinstance(n_files := report.get(name), int)}
    return counts if len(counts) == len(FILE_COUNTS) else None


def _report(output: IO[bytes]) -> dict[str, Any]:
    output.seek(0)
    with contextlib.suppress(ValueError):
        report = json.loads(output.read() or b"{}")
        if isinstance(report, dict):
            return report
    return {}


def _message(report: Mapping[str, Any]) -> str:
    """Say why a run failed, or which files did, from what its command wrote."""
    said = [str(report[name]) for name in ("error", "hint") if report.get(name)]
    failures = report.get("failures") or ()
    said += [f"{one['path']}: {one['message']}" for one in failures[:_MOST_FAILURES]]
    more = len(failures) - _MOST_FAILURES
    said += [f"{more} more failures, as `dirindex status` shows"] if more > 0 else []
    return "; ".join(said)[:_LONGEST_MESSAGE]


def _tail(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(size - _LONGEST_MESSAGE, 0))
    return errors.read().decode("utf-8", "replace").strip()
