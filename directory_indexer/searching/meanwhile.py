"""Work that another thread does while this one goes on."""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


class Meanwhile(Generic[Answer]):
    """Does `work` during a block, which ends when the work has ended.

    It pays where both sides spend their time outside of Python. To import an executor would cost a search 8 ms, and
    a `threading.Thread` makes who starts it wait until it runs, which is half a millisecond and sometimes ten times that.
    """

    def __init__(self, work: Callable[[], Answer]) -> None:
        self._work = work
        self._is_going_on = _thread.allocate_lock()
        self._answer: Answer
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        self._is_going_on.acquire()
        _thread.start_new_thread(self._run, ())
        return self

    def __exit__(self, *_: object) -> None:
        self._is_going_on.acquire()

    def answer(self) -> Answer:
        """Give what the work has given, after the block.

        Raises:
            Exception: what the work has raised.
        """
        if self._error:
            raise self._error
        return self._answer

    def _run(self) -> None:
        try:
            self._answer = self._work()
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that wants the answer
            self._error = error
        finally:
            self._is_going_on.release()
