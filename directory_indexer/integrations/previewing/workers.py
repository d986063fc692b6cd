"""The two preview workers: one renders pages, the other parses texts.

A process is kept for the next request: starting one and importing its libraries takes a second.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from directory_indexer.core.errors import BusyError, UnavailableError
from directory_indexer.integrations.previewing.work import answer
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure
from directory_indexer.parsing.worker import BYE, NEXT, READY
from directory_indexer.parsing.worker_pool import Worker, WorkerEvent, loaded


class PreviewWorkers:
    """Two processes, started on first use."""

    def __init__(self, scratch: Path) -> None:
        self.drawing = WarmWorker(answer, scratch)
        self.taking_apart = WarmWorker(answer, scratch)

    def close(self) -> None:
        """End both."""
        self.drawing.close()
        self.taking_apart.close()


_LIMITS: Final = Limits(seconds=15, memory_bytes=1 << 30, clock_seconds=30)
_IDLE_SECONDS: Final = 300.0
_TURN_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.5


class WarmWorker:
    """One process for one request at a time; it ends after some time without requests, and with this process."""

    def __init__(self, function: Callable[[Any], object], scratch: Path | None = None) -> None:
        self._function = pickle.dumps(function)
        self._scratch = scratch
        self._events: SimpleQueue[WorkerEvent] = SimpleQueue()
        self._turn = threading.Lock()
        self._worker: Worker | None = None
        self._end: threading.Timer | None = None

    def ask(self, request: object) -> object:
        """Return the answer to a request; a crash of the process is returned as a failure.

        Raises:
            BusyError: other requests take too long.
            UnavailableError: no process can be started.
        """
        if not self._turn.acquire(timeout=_TURN_SECONDS):
            raise BusyError("the preview workers are busy", hint="try again in a moment")
        try:
            return self._answer(self._running(), request)
        finally:
            self._turn.release()

    @property
    def process_id(self) -> int | None:
        """The id of the process, if it is running."""
        return self._worker.process_id if self._worker else None

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._stop_worker()

    def _running(self) -> Worker:
        if self._end is not None:
            self._end.cancel()
        if self._worker is None:
            try:
                self._worker = Worker(self._function, self._events, self._scratch)
            except (OSError, RuntimeError) as error:
                raise UnavailableError(f"no worker process can be started: {error}") from error
        self._end = threading.Timer(_IDLE_SECONDS, self.close)
        self._end.daemon = True
        self._end.start()
        return self._worker

    def _answer(self, worker: Worker, request: object) -> object:
        worker.give(Task((request,), (_LIMITS,)))
        answer: object = None
        while True:
            try:
                of_worker, content = self._events.get(timeout=_LOOK_SECONDS)
            except Empty:
                worker.end_if_late()
                continue
            if of_worker is not worker or content == READY:
                continue
            if content is None:
                self._stop_worker()
                return WorkerFailure(worker.cause(_LIMITS.seconds).message)
            if content in {NEXT, BYE}:
                worker.open_next_task()
                if content == BYE:
                    self._stop_worker()
                return answer
            worker.items.popleft()
            answer = loaded(content[1:])

    def _stop_worker(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None
        if self._end is not None:
            self._end.cancel()
