"""HTTP responses for the answers of operations."""

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

_CHUNK_BYTES = 65_536


def response_of(operation: Operation, answer: Any) -> Response:
    """Return the response for an answer."""
    if isinstance(answer, Content):
        return Response(answer.content, operation.status, dict(answer.headers), answer.media_type)
    if isinstance(answer, Stored):
        return StreamingResponse(_pieces_of(answer), answer.status, dict(answer.headers))
    if isinstance(answer, Lines):
        return StreamingResponse(_encoded_lines(answer), 200, media_type=bodies.LINES)
    reply = answer if isinstance(answer, Reply) else Reply(answer, operation.status, {})
    if reply.record is None:
        return Response(status_code=reply.status, headers=dict(reply.headers))
    return Response(json_of(reply.record), reply.status, dict(reply.headers), bodies.JSON)


def json_of(record: tuple[Any, ...]) -> bytes:
    """Encode a record as JSON; in ASCII, since paths may contain lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(object_of(record), separators=(",", ":")).encode()


def problem_response(problem: Problem) -> Response:
    """Return the response for a problem."""
    headers = {name.decode(): value.decode() for name, value in problem.headers()}
    return Response(problem.body(), problem.status, headers)


async def _encoded_lines(lines: Lines) -> AsyncIterator[bytes]:
    async for record in lines.records:
        yield json_of(record) + b"\n"


async def _pieces_of(stored: Stored) -> AsyncIterator[bytes]:
    """Yield the parts of a file; it is closed at the end, or when the client disconnects."""
    with stored.file:
        for before, start, end in stored.parts:
            if before:
                yield before
            await anyio.to_thread.run_sync(stored.file.seek, start)
            for at in range(start, end, _CHUNK_BYTES):
                yield await anyio.to_thread.run_sync(stored.file.read, min(_CHUNK_BYTES, end - at))
        if stored.ending:
            yield stored.ending
