"""Tasks in a background thread."""

from __future__ import annotations

import _thread
import contextvars
from collections.abc import Callable
from typing import Generic, Self, TypeVar

Result = TypeVar("Result")


class BackgroundTask(Generic[Result]):
    """Runs `work` in its own thread, or at once if no thread can be started.

    It pays if either side spends its time outside of Python. Its telemetry is part of that of the caller.

    As a context manager it waits for the work, so that shared resources are not released before. Importing an executor
    would cost a search 8 ms, and starting a `threading.Thread` waits until it runs: half a millisecond, sometimes ten
    times that.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._result: Result
        self._error: BaseException | None = None
        self._running = _thread.allocate_lock()
        self._running.acquire()
        try:
            _thread.start_new_thread(contextvars.copy_context().run, (self._run,))
        except RuntimeError:  # the system allows no more threads
            self._run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()

    def result(self, *, within: float | None = None) -> Result:
        """Wait for the work to end, and return its result.

        Raises:
            TimeoutError: it has not ended within so many seconds; it continues by itself.
            BaseException: the exception that the work raised.
        """
        self._wait(within)
        if self._error:
            raise self._error
        return self._result

    def _wait(self, within: float | None = None) -> None:
        if not self._running.acquire(timeout=-1 if within is None else max(within, 0.0)):
            raise TimeoutError
        self._running.release()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for the result
            self._error = error
        finally:
            self._running.release()
