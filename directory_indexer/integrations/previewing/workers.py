"""The two preview workers: one renders pages, the other parses texts.

A process is kept for the next request: starting one and importing its libraries takes a second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from directory_indexer.core.errors import BusyError
from directory_indexer.integrations.previewing.work import answer
from directory_indexer.parsing.tasks import Limits, Task
from directory_indexer.parsing.worker_pool import WorkerPool


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


class WarmWorker:
    """One process for one request at a time; it ends after some time without requests, and with this process."""

    def __init__(self, function: Callable[[Any], object], scratch: Path | None = None) -> None:
        self._pool = WorkerPool(function, n_workers=1, scratch=scratch, is_warm=True)
        self._turn = threading.Lock()
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
            self._end_after_idle_time()
            # A crash is not tried again: somebody waits for the answer.
            task = Task((request,), (_LIMITS,), was_tried=True)
            return [result for _, result in self._pool.work(iter([task]), lambda: False)][-1]
        finally:
            self._turn.release()

    @property
    def process_id(self) -> int | None:
        """The id of the process, if it is running."""
        return next(iter(self._pool.process_ids), None)

    def close(self) -> None:
        """End the process."""
        with self._turn:
            if self._end is not None:
                self._end.cancel()
            self._pool.close()

    def _end_after_idle_time(self) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = threading.Timer(_IDLE_SECONDS, self.close)
        self._end.daemon = True
        self._end.start()
