"""How a server ends: by a signal, with its parent, at once, and with nothing left behind."""

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
_WATCH_SECONDS = 0.3


async def stop_at_a_signal(stop: Callable[[int], None]) -> None:
    """Call `stop` with the exit code when the process is told to end."""
    if sys.platform == "win32":  # there is no signal to be received: the process just ends
        return
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        async for number in signals:
            stop(128 + number)


async def stop_with_the_parent(parent: int, stop: Callable[[int], None]) -> None:
    """Call `stop` when the parent has gone: a sibling may keep the pipe open that it spoke through."""
    while os.getppid() == parent:  # noqa: ASYNC110 - no event tells that the parent has gone
        await anyio.sleep(_WATCH_SECONDS)
    stop(0)


def end(code: int) -> NoReturn:
    """End at once: a thread that reads standard input, and a search in hand, could not be waited for."""
    spans.close()
    logging.shutdown()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
