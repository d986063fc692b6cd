"""Work that another thread does while this one goes on."""

from __future__ import annotations

import _thread
import contextvars
from collections.abc import Callable
from typing import Generic, Self, TypeVar

Result = TypeVar("Result")


class BackgroundTask(Generic[Result]):
    """Do `work` in a thread of its own, or at once where no thread can be had.

    It pays where either side spends its time outside of Python. What is noted of it is a part of what goes on here.

    As a block it ends no earlier than the work, so that what both share is not taken away from it. To import an
    executor would cost a search 8 ms, and a `threading.Thread` is waited for until it runs: half a millisecond, and
    sometimes ten times that.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._result: Result
        self._error: BaseException | None = None
        self._going_on = _thread.allocate_lock()
        self._going_on.acquire()
        try:
            _thread.start_new_thread(contextvars.copy_context().run, (self._run,))
        except RuntimeError:  # there are as many as the system allows
            self._run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()

    def result(self, *, within: float | None = None) -> Result:
        """Wait for the work to end, and give what it returned.

        Raises:
            TimeoutError: it has not ended within so many seconds; it goes on by itself.
            BaseException: what the work raised.
        """
        self._wait(within)
        if self._error:
            raise self._error
        return self._result

    def _wait(self, within: float | None = None) -> None:
        if not self._going_on.acquire(timeout=-1 if within is None else max(within, 0.0)):
            raise TimeoutError
        self._going_on.release()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that wants the result
            self._error = error
        finally:
            self._going_on.release()
