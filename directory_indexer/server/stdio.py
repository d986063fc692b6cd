"""MCP over standard input and output.

The first message may have been read and answered already (`greeting`). Nothing but protocol may reach standard output.
While it serves, the SDK keeps it for itself and turns what anybody else writes there to standard error; `sys.stdout`
is turned there as well, because what a library left in its buffer would be written when the process ends.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, Self

import anyio
from mcp.server.stdio import stdio_server

from directory_indexer.server.ending import end, stop_at_a_signal, stop_with_the_parent

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from mcp.server.lowlevel import Server
    from mcp.shared._stream_protocols import WriteStream
    from mcp.shared.message import SessionMessage

    from directory_indexer.server.greeting import Greeter


def run_stdio(server: Server[None], greeter: Greeter, *, parent: int, close: Callable[[], None]) -> NoReturn:
    """Serve until the client or the process `parent` goes away; `close` is called at the end, whatever the end is."""
    anyio.run(_serve, server, greeter, parent, close)
    end(close, 0)


async def _serve(server: Server[None], greeter: Greeter, parent: int, close: Callable[[], None]) -> None:
    def stop(code: int) -> None:
        # To cancel would be to wait: the thread that reads standard input comes back at the next line only.
        end(close, code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_at_a_signal, stop)
        tasks.start_soon(stop_with_the_parent, parent, stop)
        async with stdio_server(stdin=_input_after(greeter.read)) as (reader, writer):
            with contextlib.redirect_stdout(sys.stderr):
                unanswered = _Unanswered(writer, greeter.answered)
                await server.run(reader, unanswered, server.create_initialization_options())
        tasks.cancel_scope.cancel()


class _Unanswered:
    """The stream to the client, without the answer that it has already."""

    def __init__(self, writer: WriteStream[SessionMessage], answered: str | int | None) -> None:
        self._writer = writer
        self._answered = answered

    async def send(self, item: SessionMessage, /) -> None:
        if self._answered is not None and getattr(item.message, "id", None) == self._answered:
            self._answered = None
            return
        await self._writer.send(item)

    async def aclose(self) -> None:
        await self._writer.aclose()

    async def __aenter__(self) -> Self:
        await self._writer.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._writer.__aexit__(kind, error, traceback)


class _Rest(io.RawIOBase):
    """What was read of a descriptor before, and then the rest of it."""

    def __init__(self, read: bytes, descriptor: int) -> None:
        self._read = read
        self._descriptor = descriptor

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._read[: len(buffer)] or os.read(self._descriptor, len(buffer))
        self._read = self._read[len(buffer) :]
        buffer[: len(content)] = content
        return len(content)


def _input_after(read: bytes) -> anyio.AsyncFile[str] | None:
    """Give standard input from its beginning, and leave an empty one to everybody else, as the SDK does by itself."""
    if not read:
        return None
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return anyio.wrap_file(io.TextIOWrapper(io.BufferedReader(_Rest(read, wire)), encoding="utf-8", errors="replace"))
