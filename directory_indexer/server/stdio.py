"""MCP over standard input and output.

Nothing but protocol may reach standard output. While it serves, the SDK keeps it for itself and turns what anybody
else writes there to standard error; `sys.stdout` is turned there as well, because what a library left in its buffer
would be written when the process ends.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, NoReturn

import anyio
from mcp.server.stdio import stdio_server

from directory_indexer.server.ending import end, stop_at_a_signal, stop_with_the_parent

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server


def run_stdio(server: Server[None], *, close: Callable[[], None]) -> NoReturn:
    """Serve until the client goes away; `close` is called at the end, whatever the end is."""
    anyio.run(_serve, server, close)
    end(close, 0)


async def _serve(server: Server[None], close: Callable[[], None]) -> None:
    def stop(code: int) -> None:
        # To cancel would be to wait: the thread that reads standard input comes back at the next line only.
        end(close, code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_at_a_signal, stop)
        tasks.start_soon(stop_with_the_parent, stop)
        async with stdio_server() as (reader, writer):
            with contextlib.redirect_stdout(sys.stderr):
                await server.run(reader, writer, server.create_initialization_options())
        tasks.cancel_scope.cancel()
