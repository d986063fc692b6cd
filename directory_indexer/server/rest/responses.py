"""HTTP responses for the answers and errors of operations.

An error is a problem with no more detail than a client may see.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio.to_thread
from starlette.responses import Response, StreamingResponse

from directory_indexer.api.fields import to_json_object
from directory_indexer.core.errors import (
    BusyError,
    ConflictError,
    ConsentNeededError,
    ContentRefusedError,
    DirIndexError,
    DiskFullError,
    IndexMismatchError,
    LockedError,
    NotHereError,
    NotIndexedError,
    NotStoppableError,
    OverlapError,
    ProviderError,
    RefusalReason,
    UnavailableError,
    UsageError,
)
from directory_indexer.server.middleware.request_context import BUSY, INTERNAL_ERROR, Problem
from directory_indexer.server.rest import requests
from directory_indexer.server.rest.operations import Content, HttpOperation, Reply, StreamedFile, StreamedRecords

_CHUNK_BYTES = 65_536


def make_response(operation: HttpOperation, answer: Any) -> Response:
    """Return the response for an answer."""
    if isinstance(answer, Content):
        return Response(answer.content, operation.status, dict(answer.headers), answer.media_type)
    if isinstance(answer, StreamedFile):
        return StreamingResponse(_read_stream(answer), answer.status, dict(answer.headers))
    if isinstance(answer, StreamedRecords):
        return StreamingResponse(_json_lines(answer), 200, media_type=requests.JSON_LINES_TYPE)
    reply = answer if isinstance(answer, Reply) else Reply(answer, operation.status, {})
    if reply.record is None:
        return Response(status_code=reply.status, headers=dict(reply.headers))
    return Response(record_json(reply.record), reply.status, dict(reply.headers), requests.JSON_TYPE)


def record_json(record: tuple[Any, ...]) -> bytes:
    """Encode a record as JSON; in ASCII, since paths may contain lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(to_json_object(record), separators=(",", ":")).encode()


def problem_response(problem: Problem) -> Response:
    """Return the response for a problem."""
    headers = {name.decode(): value.decode() for name, value in problem.headers()}
    return Response(problem.body(), problem.status, headers)


async def _json_lines(lines: StreamedRecords) -> AsyncIterator[bytes]:
    async for record in lines.records:
        yield record_json(record) + b"\n"


async def _read_stream(stored: StreamedFile) -> AsyncIterator[bytes]:
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


_RETRY_SECONDS = 2
_LONG_RETRY_SECONDS = 60
_DETAIL_FROM_ERROR = ""
CONTENT_TOO_LARGE = Problem(413, "too_large", _DETAIL_FROM_ERROR)

PROBLEMS: tuple[tuple[type[DirIndexError], Problem], ...] = (
    (BusyError, BUSY),
    (NotIndexedError, Problem(404, "not_found", _DETAIL_FROM_ERROR)),
    (NotHereError, Problem(501, "not_here", _DETAIL_FROM_ERROR)),
    (ConflictError, Problem(409, "conflict", _DETAIL_FROM_ERROR)),
    (NotStoppableError, Problem(403, "forbidden", _DETAIL_FROM_ERROR)),
    (ContentRefusedError, Problem(422, "content_refused", _DETAIL_FROM_ERROR)),
    (OverlapError, Problem(409, "conflict", _DETAIL_FROM_ERROR)),
    (ConsentNeededError, Problem(409, "consent_needed", _DETAIL_FROM_ERROR)),
    (IndexMismatchError, Problem(409, "index_mismatch", _DETAIL_FROM_ERROR)),
    (UsageError, Problem(422, "invalid_request", _DETAIL_FROM_ERROR)),
    (LockedError, Problem(503, "locked", _DETAIL_FROM_ERROR, _RETRY_SECONDS)),
    (
        ProviderError,
        Problem(503, "provider", "the embedding service is unavailable; mode keyword still works", _RETRY_SECONDS),
    ),
    (DiskFullError, Problem(507, "disk_full", "the disk of the server is full", _LONG_RETRY_SECONDS)),
    (
        UnavailableError,
        Problem(503, "unavailable", "the index is unavailable; see the server log", _RETRY_SECONDS),
    ),
)
"""The first matching row applies. An empty detail is replaced by the message, which is about the client's input."""


def problem_of_error(error: DirIndexError) -> Problem:
    """Return the problem for an error."""
    problem = next((problem for kind, problem in PROBLEMS if isinstance(error, kind)), INTERNAL_ERROR)
    if isinstance(error, ContentRefusedError) and error.reason is RefusalReason.TOO_LARGE:
        problem = CONTENT_TOO_LARGE
    if problem.detail != _DETAIL_FROM_ERROR:
        return problem
    hint = f" ({error.hint})" if error.hint and not error.hint.startswith("dirindex ") else ""
    return problem._replace(detail=f"{error.message}{hint}")
