"""MCP over standard input and output.

The first message may already have been read and answered (`process`). Only protocol messages may reach standard output:
the descriptor is moved away, and whatever else is written there goes to standard error. `sys.stdout` is redirected as
well, because what a library left in its buffer would be written at exit.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import stat
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, Self

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError

from directory_indexer.core.lazy import lazily
from directory_indexer.server.lifecycle import (
    DuplicateResponseFilter,
    EarlyHandshake,
    exit_immediately,
    stop_on_signal,
    stop_when_parent_exits,
)

with lazily:
    from mcp.server.lowlevel import Server
    from mcp.shared._stream_protocols import ReadStream


def run_stdio(server: Server[None], greeter: EarlyHandshake, *, parent: int, close: Callable[[], None]) -> NoReturn:
    """Serve until the client disconnects or the process `parent` exits; `close` is called in any case."""
    anyio.run(_serve_until_closed, server, greeter, parent, close)
    close()
    exit_immediately(0)


async def _serve_until_closed(
    server: Server[None], greeter: EarlyHandshake, parent: int, close: Callable[[], None]
) -> None:
    def stop(code: int) -> None:
        # Cancelling would wait for searches, and on Windows for the thread that reads standard input.
        close()
        exit_immediately(code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, stop)
        tasks.start_soon(stop_when_parent_exits, parent, stop)
        source, sink = _take_over_descriptors(greeter.read)
        async with stdio_server(stdin=source, stdout=sink) as (reader, writer):
            with contextlib.redirect_stdout(sys.stderr):
                unanswered = DuplicateResponseFilter(writer, greeter.answered)
                messages = _ValidMessages(reader, unanswered)
                await server.run(messages, unanswered, server.create_initialization_options())
        tasks.cancel_scope.cancel()


class _ValidMessages:
    """The valid messages of a client; invalid ones are answered with an error, where the SDK would be silent."""

    def __init__(self, reader: ReadStream[SessionMessage | Exception], writer: DuplicateResponseFilter) -> None:
        self._reader = reader
        self._writer = writer

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        async for item in self._reader:
            if not isinstance(item, Exception):
                return item
            if error := _error_of_invalid_message(item):
                await self._writer.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))
        raise StopAsyncIteration

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        return await anext(self)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._reader.aclose()

    async def __aenter__(self) -> Self:
        await self._reader.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._reader.__aexit__(kind, error, traceback)


def _error_of_invalid_message(mistake: Exception) -> ErrorData | None:
    """Return the error for an invalid message; None for a blank line."""
    details: dict[str, object] = next(iter(getattr(mistake, "errors", list)()), {})
    if details.get("type") != "json_invalid":
        return ErrorData(code=INVALID_REQUEST, message="this is no message of JSON-RPC 2.0")
    is_blank = not str(details.get("input")).strip()
    return None if is_blank else ErrorData(code=PARSE_ERROR, message="this is no JSON")


class _StdinLines:
    """The lines of a descriptor, beginning with what was already read, without a waiting thread."""

    def __init__(self, read: bytes, descriptor: int) -> None:
        self._rest = bytearray(read)
        self._n_searched = 0
        self._descriptor = descriptor
        self._is_pollable = _is_pollable(descriptor)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while (end := self._rest.find(b"\n", self._n_searched) + 1) == 0:
            self._n_searched = len(self._rest)
            if self._is_pollable:
                await anyio.wait_readable(self._descriptor)
            content = os.read(self._descriptor, _READ_BYTES)
            if not content:
                if not self._rest:
                    raise StopAsyncIteration
                end = len(self._rest)
                break
            self._rest += content
        line, self._n_searched = self._rest[:end].decode("utf-8", "replace"), 0
        del self._rest[:end]
        return _replace_surrogates(line) if "\\ud" in line or "\\uD" in line else line


def _replace_surrogates(line: str) -> str:
    """Replace lone surrogates, for which the SDK drops a message without a response."""
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace").decode()
    except (ValueError, RecursionError):
        return line


class _NonBlockingWriter:
    """A writer that never blocks the event loop: it writes what the descriptor accepts, and waits for slow clients."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_pollable = _is_pollable(descriptor)
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        rest = memoryview(text.encode())
        while rest:
            if self._is_pollable and not self._poll.poll(0):
                await anyio.wait_writable(self._descriptor)
            # A writable pipe accepts PIPE_BUF bytes without blocking.
            rest = rest[os.write(self._descriptor, rest[: select.PIPE_BUF]) :]

    async def flush(self) -> None:
        """Do nothing: there is no buffer."""


def _is_pollable(descriptor: int) -> bool:
    """Whether an event loop can wait for a descriptor; others, such as regular files, are always ready."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _take_over_descriptors(read: bytes) -> tuple[Any, Any]:
    """Take over standard input and output; leave an empty input and standard error in their places.

    On Windows the SDK reads them in threads.
    """
    if sys.platform == "win32":
        return None, None
    descriptors = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return _StdinLines(read, descriptors[0]), _NonBlockingWriter(descriptors[1])


_READ_BYTES = 1 << 16
