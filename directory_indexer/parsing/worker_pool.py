"""The workers of one job, their tasks and events, and the recovery from the loss of a worker.

The loss of a worker costs only the item in progress, which is known because results are returned one by one. An item
may have several results, of which the last ends it.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple

from directory_indexer.core.errors import UnavailableError
from directory_indexer.core.isolation import NEUTRAL_DIRECTORY, isolated_command
from directory_indexer.core.scratch import ScratchDirectory
from directory_indexer.parsing.tasks import Item, Limits, Result, Task, WorkerFailure
from directory_indexer.parsing.worker import NEXT, PART, READY, read_frame, write_frame

_TASKS_PER_WORKER = 2
_MAX_FAILED_STARTS = 3
_STOP_POLL_SECONDS = 0.5

_MODULES_OF_RECORDS = frozenset(
    f"directory_indexer.{module}"
    for module in (
        "core.files",
        "formats.document",
        "chunking.chunks",
        "parsing.outcomes",
        "parsing.tasks",
        "ocr.engine",
        "integrations.previewing.requests",
        "formats.pdf.raster",
    )
)


_START_SECONDS = 300.0
_END_SECONDS = 10.0
_PASSED_VARIABLES = (
    *("LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "PATH"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH"),
)
"""Environment variables of a worker: encoding, programs and library paths, but no keys of services."""

_TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_SIGNALS_FROM_OUTSIDE = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"})
_CAN_COUNT_PROCESSOR_TIME = hasattr(signal, "setitimer")


class WorkerPool(Generic[Item, Result]):
    """The workers of one job and their tasks; a warm pool keeps idle workers for the next job until it is closed."""

    def __init__(
        self,
        function: Callable[[Item], Result],
        *,
        n_workers: int,
        scratch: Path | None = None,
        is_warm: bool = False,
    ) -> None:
        self._function = pickle.dumps(function)
        self._n_workers = n_workers
        self._scratch = scratch
        self._is_warm = is_warm
        self._workers: list[Worker] = []
        self._events: SimpleQueue[WorkerEvent] = SimpleQueue()
        self._again: deque[Task[Item]] = deque()
        self._n_failed_starts = 0

    def __enter__(self) -> WorkerPool[Item, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def process_ids(self) -> list[int]:
        """The ids of the processes."""
        return [worker.process_id for worker in self._workers]

    def close(self) -> None:
        """End the workers."""
        while self._workers:
            self._workers.pop().end()

    def work(
        self, tasks: Iterator[Task[Item]], must_stop: Callable[[], bool]
    ) -> Iterator[tuple[Item, Result | WorkerFailure]]:
        """Yield results in order of completion, until `must_stop` is true.

        Raises:
            UnavailableError: workers cannot be started, or die before they are ready.
        """
        while not must_stop():
            self._hand_out(tasks)
            if not any(worker.tasks for worker in self._workers):
                return
            with contextlib.suppress(Empty):
                yield from self._results_of_event(self._events.get(timeout=_STOP_POLL_SECONDS))
            for worker in self._workers:
                worker.end_if_late()

    def _hand_out(self, tasks: Iterator[Task[Item]]) -> None:
        """Keep every worker busy with another task queued; end workers that are no longer needed."""
        while self._has_room():
            task = self._again.popleft() if self._again else next(tasks, None)
            if task is None:
                for worker in [idle for idle in self._workers if not idle.tasks and not self._is_warm]:
                    self._remove(worker)
                return
            self._free_worker().enqueue(task)

    def _has_room(self) -> bool:
        return len(self._workers) < self._n_workers or any(
            len(worker.tasks) < _TASKS_PER_WORKER for worker in self._workers
        )

    def _free_worker(self) -> Worker:
        least = min(self._workers, key=lambda worker: len(worker.tasks), default=None)
        if least is None:
            return self._start()
        if not least.tasks or len(self._workers) == self._n_workers:
            return least
        try:
            return self._start()
        except UnavailableError:  # continue with the existing workers
            self._n_workers = len(self._workers)
            return least

    def _start(self) -> Worker:
        try:
            worker = Worker(self._function, self._events, self._scratch)
        except (OSError, RuntimeError) as error:  # no process; no thread
            raise UnavailableError(
                f"no worker process can be started: {error}",
                hint="allow more open files (ulimit -n) or processes, or lower indexing.concurrency",
            ) from error
        self._workers.append(worker)
        return worker

    def _results_of_event(self, event: WorkerEvent) -> Iterator[tuple[Item, Result | WorkerFailure]]:
        worker, content = event
        if worker not in self._workers:
            return
        if content is None:
            self._remove(worker)
            yield from self._failures_of_lost_worker(worker)
            self._again.extend(worker.rest())
        elif content == READY:
            self._n_failed_starts = 0
        elif worker.items:
            is_part = content.startswith(PART)
            yield worker.items[0] if is_part else worker.items.popleft(), unpickle_result(content[1:])
        else:
            worker.finish_task()
            if content != NEXT:
                self._remove(worker)
                self._again.extend(worker.rest())

    def _remove(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.end()

    def _failures_of_lost_worker(self, worker: Worker) -> Iterator[tuple[Item, Result | WorkerFailure]]:
        """Remove the item in progress of a lost worker: it fails, or is retried alone if it may not be the cause."""
        if not worker.was_ready:
            self._n_failed_starts += 1
            if self._n_failed_starts > _MAX_FAILED_STARTS:
                raise UnavailableError(
                    "worker processes do not stay alive", hint="free some memory, or lower `indexing.concurrency`"
                )
        elif worker.items:
            (item, *_), (limits, *_), was_tried = worker.rest()[0]
            worker.items.popleft()
            cause = worker.cause(limits.seconds)
            if cause.is_limit or was_tried:
                yield item, WorkerFailure(cause.message, is_proven=cause.is_proven)
            else:
                self._again.append(Task((item,), (limits,), was_tried=True))


def unpickle_result(content: bytes) -> Any:
    """Unpickle a worker's result; anything but a result is a failure."""
    try:
        return _ResultUnpickler(io.BytesIO(content)).load()
    except Exception as error:  # noqa: BLE001 - arbitrary bytes can raise anything
        return WorkerFailure(f"could not be handed over ({type(error).__name__})")


class FailureCause(NamedTuple):
    """The cause of a worker's end."""

    message: str
    is_proven: bool
    """Whether the item caused it. Waiting may be due to a disk, a network or a suspended machine."""

    is_limit: bool = False


class Worker:
    """A process with its tasks, and the thread that communicates with it, since writing to a hanging process blocks.

    Raises:
        OSError: no process can be started.
        RuntimeError: no thread can be started.
    """

    def __init__(self, function: bytes, events: SimpleQueue[WorkerEvent], scratch: Path | None = None) -> None:
        self.tasks: deque[Task[Any]] = deque()
        self.items: deque[Any] = deque()
        """The rest of the first task."""

        self.was_ready = False
        self._function = function
        self._events = events
        self._inbox: SimpleQueue[tuple[bytes, tuple[Limits, ...]] | None] = SimpleQueue()
        self._deadline = time.monotonic() + _START_SECONDS
        self._missed_deadline = 0.0
        self._has_ended = False
        self._is_unreadable = False
        self._scratch = ScratchDirectory(scratch)
        try:
            self._process = start_process(_environ(str(self._scratch.path)))
        except OSError:
            self._scratch.remove()
            raise
        self._thread = threading.Thread(target=self._talk, name="worker", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._process.kill()
            self._close()
            raise

    def enqueue(self, task: Task[Any]) -> None:
        """Enqueue a task."""
        self.tasks.append(task)
        if len(self.tasks) == 1:
            self.items.extend(task.items)
        self._inbox.put((pickle.dumps([*zip(task.items, task.limits, strict=True)]), task.limits))

    @property
    def process_id(self) -> int:
        """The id of the process."""
        return self._process.pid

    def finish_task(self) -> None:
        """Mark the first task as done."""
        self.tasks.popleft()
        self.items = deque(self.tasks[0].items if self.tasks else ())

    def rest(self) -> list[Task[Any]]:
        """Return the unfinished tasks."""
        n_left = len(self.items)
        first = [Task(task.items[-n_left:], task.limits[-n_left:], task.was_tried) for task in islice(self.tasks, 1)]
        return [*(first if n_left else ()), *islice(self.tasks, 1, None)]

    def end_if_late(self) -> None:
        """Kill the process if it exceeded the time limit of an item."""
        deadline = self._deadline
        if deadline < time.monotonic():
            self._missed_deadline = deadline
            self._process.kill()

    def end(self) -> None:
        """End the process unconditionally, and release its resources."""
        if self._has_ended:  # or is about to; wait for its exit status
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._process.kill()
        self._inbox.put(None)
        self._thread.join()
        self._close()

    def cause(self, seconds: float) -> FailureCause:
        """Return the cause of its end."""
        name = _exit_name(self._process.returncode)
        if name == "SIGPROF":
            return FailureCause(f"took longer than {seconds:g} seconds", is_proven=True, is_limit=True)
        # It may have completed another item just before it was killed.
        if name == "SIGALRM" or self._missed_deadline == self._deadline:
            is_proven = not _CAN_COUNT_PROCESSOR_TIME
            return FailureCause(f"took longer than {seconds:g} seconds", is_proven=is_proven, is_limit=True)
        if self._is_unreadable:
            return FailureCause("had the process that read it send nonsense", is_proven=True)
        return FailureCause(f"ended the process that read it ({name})", is_proven=name not in _SIGNALS_FROM_OUTSIDE)

    def _talk(self) -> None:
        try:
            self._converse()
        except (EOFError, OSError):
            self._has_ended = True
        except (ValueError, MemoryError):
            self._is_unreadable = True
            self._process.kill()
        finally:
            self._events.put(WorkerEvent(self, None))

    def _converse(self) -> None:
        source, target = self._process.stdout, self._process.stdin
        if source is None or target is None:
            raise EOFError
        write_frame(target, self._function)
        first = read_frame(source)
        self._deadline = math.inf
        self.was_ready = True
        self._events.put(WorkerEvent(self, first))
        while (task := self._inbox.get()) is not None:
            content, all_limits = task
            write_frame(target, content)
            for limits in all_limits:
                has_more = True
                while has_more:
                    self._deadline = time.monotonic() + limits.clock_seconds
                    result = read_frame(source)
                    self._events.put(WorkerEvent(self, result))
                    has_more = result.startswith(PART)
            self._deadline = time.monotonic() + _START_SECONDS
            self._events.put(WorkerEvent(self, read_frame(source)))
            self._deadline = math.inf

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent data
                    pipe.close()
        self._process.wait()
        self._scratch.remove()


def start_process(environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker process."""
    return subprocess.Popen(  # noqa: S603 - this program
        isolated_command("directory_indexer.parsing.worker:work", is_bare=True),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=NEUTRAL_DIRECTORY,
        env=environ,
        start_new_session=True,  # Ctrl+C is handled by this process
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _environ(scratch: str) -> dict[str, str]:
    """Return the environment of a worker whose temporary files are in a directory that is removed after it ends."""
    environ = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    # One heap for both threads: each further one takes 64 MB of address space.
    return environ | {"MALLOC_ARENA_MAX": "1", **dict.fromkeys(_TEMPORARY_VARIABLES, scratch)}


def _exit_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


class WorkerEvent(NamedTuple):
    """A message from a worker; None is its end."""

    worker: Worker
    content: bytes | None


class _ResultUnpickler(pickle.Unpickler):
    """Unpickles only records, since the process that sent them has parsed untrusted input."""

    def find_class(self, module: str, name: str) -> object:
        record = super().find_class(module, name) if module in _MODULES_OF_RECORDS else None
        if isinstance(record, type) and record.__module__ in _MODULES_OF_RECORDS:
            return _make_constructor(record)
        raise pickle.UnpicklingError(f"{module}.{name} is no record")


class _SealedRecord(type):
    def __setattr__(cls, name: str, value: object) -> None:
        raise pickle.UnpicklingError(f"{name} of {cls.__name__} cannot be set")


@cache
def _make_constructor(record: type) -> type:
    """Return a class that creates instances of a record: a pickle can set attributes of every class in it."""
    return _SealedRecord(record.__name__, (), {"__slots__": (), "__new__": lambda _, *values: record(*values)})
