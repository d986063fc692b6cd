"""The workers of one job, their tasks, and the recovery from the loss of a worker.

The loss of a worker costs only the item in progress, which is known because results are returned one by one. An item
may have several results, of which the last ends it.
"""

from __future__ import annotations

import contextlib
import io
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic

from directory_indexer.errors import UnavailableError
from directory_indexer.parsing.conversation import Event, Worker
from directory_indexer.parsing.tasks import Item, Result, Task, WorkerFailure
from directory_indexer.parsing.worker import NEXT, PART, READY

_TASKS_PER_WORKER = 2
_MAX_FAILED_STARTS = 3
_LOOK_SECONDS = 0.5


class WorkerPool(Generic[Item, Result]):
    """The workers of one job and their tasks."""

    def __init__(self, function: Callable[[Item], Result], *, n_workers: int, scratch: Path | None = None) -> None:
        self._function = pickle.dumps(function)
        self._n_workers = n_workers
        self._scratch = scratch
        self._workers: list[Worker] = []
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._again: deque[Task[Item]] = deque()
        self._n_failed_starts = 0

    def __enter__(self) -> WorkerPool[Item, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()

    def work(
        self, tasks: Iterator[Task[Item]], must_stop: Callable[[], bool]
    ) -> Iterator[tuple[Item, Result | WorkerFailure]]:
        """Yield results in order of completion, until `must_stop` is true.

        Raises:
            UnavailableError: workers cannot be started, or die before they are ready.
        """
        while not must_stop():
            self._hand_out(tasks)
            if not self._workers:
                return
            with contextlib.suppress(Empty):
                yield from self._take(self._events.get(timeout=_LOOK_SECONDS))
            for worker in self._workers:
                worker.end_if_late()

    def _hand_out(self, tasks: Iterator[Task[Item]]) -> None:
        """Keep every worker busy with another task queued; end workers that are no longer needed."""
        while self._has_room():
            task = self._again.popleft() if self._again else next(tasks, None)
            if task is None:
                for worker in [idle for idle in self._workers if not idle.tasks]:
                    self._remove(worker)
                return
            self._free_worker().give(task)

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

    def _take(self, event: Event) -> Iterator[tuple[Item, Result | WorkerFailure]]:
        worker, content = event
        if worker not in self._workers:
            return
        if content is None:
            self._remove(worker)
            yield from self._without_culprit(worker)
            self._again.extend(worker.rest())
        elif content == READY:
            self._n_failed_starts = 0
        elif worker.items:
            is_part = content.startswith(PART)
            yield worker.items[0] if is_part else worker.items.popleft(), loaded(content[1:])
        else:
            worker.open_next_task()
            if content != NEXT:
                self._remove(worker)
                self._again.extend(worker.rest())

    def _remove(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.end()

    def _without_culprit(self, worker: Worker) -> Iterator[tuple[Item, Result | WorkerFailure]]:
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


class _Results(pickle.Unpickler):
    """Unpickles only records, since the process that sent them has parsed untrusted input."""

    def find_class(self, module: str, name: str) -> object:
        record = super().find_class(module, name) if module in _RECORDS else None
        if isinstance(record, type) and record.__module__ in _RECORDS:
            return _maker_of(record)
        raise pickle.UnpicklingError(f"{module}.{name} is no record")


class _Sealed(type):
    def __setattr__(cls, name: str, value: object) -> None:
        raise pickle.UnpicklingError(f"{name} of {cls.__name__} cannot be set")


@cache
def _maker_of(record: type) -> type:
    """Return a class that creates instances of a record: a pickle can set attributes of every class in it."""
    return _Sealed(record.__name__, (), {"__slots__": (), "__new__": lambda _, *values: record(*values)})


def loaded(content: bytes) -> Any:
    """Unpickle a worker's result; anything but a result is a failure."""
    try:
        return _Results(io.BytesIO(content)).load()
    except Exception as error:  # noqa: BLE001 - arbitrary bytes can raise anything
        return WorkerFailure(f"could not be handed over ({type(error).__name__})")


_RECORDS = frozenset(
    f"directory_indexer.{module}"
    for module in (
        "files",
        "scans",
        "extractors.document",
        "chunker.chunks",
        "parsing.outcomes",
        "parsing.tasks",
        "ocr.requests",
        "previewing.requests",
        "extractors.pdf.raster",
    )
)
