"""Answers of operations as responses of HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio.to_thread
from starlette.responses import Response, StreamingResponse

from directory_indexer.lazy import lazily
from directory_indexer.server.api import bodies
from directory_indexer.server.api.operations import Content, Lines, Operation, Reply, Stored
from directory_indexer.wire.objects import object_of

with lazily:
    from directory_indexer.server.gate.problems import Problem

_PIECE = 65_536


def response_of(operation: Operation, answer: Any) -> Response:
    """Write an answer."""
    if isinstance(answer, Content):
        return Response(answer.content, operation.status, dict(answer.headers), answer.media_type)
    if isinstance(answer, Stored):
        return StreamingResponse(_pieces_of(answer), answer.status, dict(answer.headers))
    if isinstance(answer, Lines):
        return StreamingResponse(_written(answer), 200, media_type=bodies.LINES)
    reply = answer if isinstance(answer, Reply) else Reply(answer, operation.status, {})
    if reply.record is None:
        return Response(status_code=reply.status, headers=dict(reply.headers))
    return Response(json_of(reply.record), reply.status, dict(reply.headers), bodies.JSON)


def json_of(record: tuple[Any, ...]) -> bytes:
    """Write a record; in ASCII, as all JSON of this program: a path may hold what no other encoding takes."""
    return json.dumps(object_of(record), separators=(",", ":")).encode()


def problem_response(problem: Problem) -> Response:
    """Answer with a problem."""
    headers = {name.decode(): value.decode() for name, value in problem.headers()}
    return Response(problem.body(), problem.status, headers)


async def _written(lines: Lines) -> AsyncIterator[bytes]:
    async for record in lines.records:
        yield json_of(record) + b"\n"


async def _pieces_of(stored: Stored) -> AsyncIterator[bytes]:
    """Read a file part by part; it is closed when all of it was sent, or the client went away."""
    with stored.file:
        for before, start, end in stored.parts:
            if before:
                yield before
            await anyio.to_thread.run_sync(stored.file.seek, start)
            for at in range(start, end, _PIECE):
                yield await anyio.to_thread.run_sync(stored.file.read, min(_PIECE, end - at))
        if stored.ending:
            yield stored.ending
