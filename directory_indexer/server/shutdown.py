"""Shutdown of a server: on a signal or when the parent process exits."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

import anyio

from directory_indexer.telemetry import spans

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PARENT_POLL_SECONDS = 0.3


async def stop_on_signal(stop: Callable[[int], None]) -> None:
    """Call `stop` with the exit code when a termination signal arrives."""
    if sys.platform == "win32":  # no signal can be received there: the process just ends
        return
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        async for number in signals:
            stop(128 + number)


async def stop_when_parent_exits(parent: int, stop: Callable[[int], None]) -> None:
    """Call `stop` when the parent has exited: a sibling may keep the pipe open, so end of file never comes."""
    while os.getppid() == parent:  # noqa: ASYNC110 - there is no event for the end of the parent
        await anyio.sleep(_PARENT_POLL_SECONDS)
    stop(0)


def exit_at_once(code: int) -> NoReturn:
    """Exit at once: a thread that reads standard input, and a search in progress, cannot be interrupted."""
    spans.close()
    logging.shutdown()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
