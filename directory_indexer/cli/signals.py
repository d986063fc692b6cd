"""Stop requests of a run: by a signal, or when its time is up."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from types import FrameType

from directory_indexer.storage.documents.runs import Outcome

_STDERR = 2
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSwitch:
    """Turns the first SIGINT or SIGTERM into a request to stop after the current batch; a second one interrupts."""

    def __init__(self, *, max_seconds: float | None) -> None:
        self._deadline = None if max_seconds is None else time.monotonic() + max_seconds
        self._was_interrupted = False
        for number in _SIGNALS:
            signal.signal(number, self._interrupt)

    def reason(self) -> Outcome | None:
        """Return why the run should stop now, if it should."""
        if self._was_interrupted:
            return Outcome.INTERRUPTED
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return Outcome.OUT_OF_TIME
        return None

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._was_interrupted:
            raise KeyboardInterrupt
        self._was_interrupted = True
        with contextlib.suppress(OSError, ValueError):
            if os.isatty(_STDERR):
                os.write(_STDERR, b"\rstopping after the current batch; nothing that was read is lost\n")
