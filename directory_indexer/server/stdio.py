"""MCP over standard input and output, and how that ends: at the end of input, by a signal, or with the parent.

Nothing but protocol may reach standard output. While it serves, the SDK keeps it for itself and turns what anybody
else writes there to standard error; `sys.stdout` is turned there as well, because what a library left in its buffer
would be written when the process ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import anyio
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server

_WATCH_SECONDS = 0.3
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_stdio(server: Server[None], *, close: Callable[[], None]) -> NoReturn:
    """Serve until the client goes away; `close` is called at the end, whatever the end is."""
    code = anyio.run(_serve, server)
    _end(close, code)


async def _serve(server: Server[None]) -> int:
    code = 0

    async def stop_at_a_signal() -> None:
        nonlocal code
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for number in signals:
                code = 128 + number
                tasks.cancel_scope.cancel()

    async def stop_with_the_parent() -> None:
        parent = os.getppid()
        while os.getppid() == parent:
            await anyio.sleep(_WATCH_SECONDS)
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            tasks.start_soon(stop_at_a_signal)
            tasks.start_soon(stop_with_the_parent)
        async with stdio_server() as (reader, writer):
            with contextlib.redirect_stdout(sys.stderr):
                await server.run(reader, writer, server.create_initialization_options())
        tasks.cancel_scope.cancel()
    return code


def _end(close: Callable[[], None], code: int) -> NoReturn:
    """End at once: the thread that reads standard input, and a search in hand, could not be waited for."""
    close()
    logging.shutdown()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
