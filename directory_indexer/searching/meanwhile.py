"""Work that another thread does while this one goes on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


class Meanwhile(Generic[Answer]):
    """Does `work` during a block, which ends when the work has ended; importing an executor costs a search 8 ms.

    It pays where both sides spend their time outside of Python.
    """

    def __init__(self, work: Callable[[], Answer]) -> None:
        self._work = work
        self._thread = threading.Thread(target=self._run)
        self._answer: Answer
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

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
