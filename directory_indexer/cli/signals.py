"""Signals during a run: requests to stop it, and a terminal that is restored before this process ends or stops."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from directory_indexer.core.lazy import lazily
from directory_indexer.storage.documents.runs import Outcome

with lazily:
    import termios

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ENDING_OR_STOPPING = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP")
_LOCAL_FLAGS = 3


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

    def must_stop(self) -> bool:
        """Whether the run should stop now."""
        return self.reason() is not None

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._was_interrupted:
            raise KeyboardInterrupt
        self._was_interrupted = True


@contextlib.contextmanager
def without_echo(terminal: int, *, show: Callable[[], None], hide: Callable[[], None]) -> Iterator[None]:
    """Show a display on a terminal that does not echo typed keys meanwhile, which would break the display.

    Typed keys wait for the next program. However this process ends or is stopped, the display is hidden and
    the terminal restored before; only SIGKILL leaves that to the shell.
    """
    display = _TerminalGuard(terminal, show, hide)
    try:
        display.enter()
        yield
    finally:
        display.leave()


class _TerminalGuard:
    def __init__(self, terminal: int, show: Callable[[], None], hide: Callable[[], None]) -> None:
        self._terminal = terminal
        self._show, self._hide = show, hide
        self._modes: list[Any] | None = None
        self._signals: list[signal.Signals] = []

    def enter(self) -> None:
        if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
            with contextlib.suppress(OSError, termios.error):  # the terminal has gone
                self._stop_echo()
            numbers = [signal.Signals[name] for name in _ENDING_OR_STOPPING]
            self._signals = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
            for number in self._signals:
                signal.signal(number, self._pass_on)
        self._show()

    def leave(self) -> None:
        self._hide()
        for number in self._signals:
            signal.signal(number, signal.SIG_DFL)
        if self._modes is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._modes)
            self._modes = None

    def _stop_echo(self) -> None:
        if os.tcgetpgrp(self._terminal) != os.getpgrp():
            return  # the system stops a background process that changes a terminal
        modes = termios.tcgetattr(self._terminal)
        quiet_modes = [*modes]
        quiet_modes[_LOCAL_FLAGS] &= ~termios.ECHO
        termios.tcsetattr(self._terminal, termios.TCSANOW, quiet_modes)
        self._modes = modes

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """End or stop this process as the signal does by default; go on once it is continued."""
        del frame
        self.leave()
        os.kill(os.getpid(), number)
        self.enter()
