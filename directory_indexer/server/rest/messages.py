"""HTTP messages: bodies and strictly parsed arguments of requests, and responses for answers and errors of operations.

Files are spooled to disk before they are processed. An error is a problem with no more detail than a client may see.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn, cast

import anyio.to_thread
import blake3
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from directory_indexer.api import JsonObject, Only, to_json_object
from directory_indexer.collections.originals import original_too_large
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
    StoreError,
    UnavailableError,
    UsageError,
)
from directory_indexer.core.kept_files import directory_mode, is_disk_full
from directory_indexer.server.mcp.arguments import invalid_argument_error, parse_arguments, quote_value
from directory_indexer.server.middleware.request_context import BUSY, INTERNAL_ERROR, Problem, RefusedError
from directory_indexer.server.rest import Content, HttpOperation, Reply, StreamedFile, StreamedRecords

INVALID_JSON = Problem(400, "invalid_json", "the body is not a JSON object")
JSON_REQUIRED = Problem(415, "unsupported_media_type", "the body must be application/json")

JSON_TYPE, JSON_LINES_TYPE = "application/json", "application/x-ndjson"
_JSON_LINES_TYPES = frozenset({JSON_LINES_TYPE, "application/ndjson", "application/jsonl"})
_MAX_MEMORY_BYTES = 1_048_576

_INTEGER = re.compile("-?[0-9]{1,18}")


def media_type_of(request: Request) -> str:
    """Return the media type of a body, without its parameters."""
    return str(request.headers.get("content-type", "")).partition(";")[0].strip().lower()


def is_json_lines(media_type: str) -> bool:
    """Whether a media type is that of JSON Lines."""
    return media_type in _JSON_LINES_TYPES


def parse_body(content: bytes, *, media_type: str) -> JsonObject:
    """Parse a JSON body; an empty one counts as an empty object.

    Raises:
        RefusedError: the body is not a JSON object, or nested too deeply.
    """
    if not content:
        return {}
    if media_type.partition(";")[0].strip().lower() != JSON_TYPE:
        raise RefusedError(JSON_REQUIRED)
    return parse_object(content)


def parse_object(content: bytes) -> JsonObject:
    """Parse a JSON object.

    Raises:
        RefusedError: the body is not a JSON object, or nested too deeply.
        UsageError: a name occurs twice.
    """
    try:
        body = json.loads(content, parse_constant=_reject_constant, object_pairs_hook=_reject_repeated_names)
    except (ValueError, RecursionError) as error:
        raise RefusedError(INVALID_JSON) from error
    if not isinstance(body, dict):
        raise RefusedError(INVALID_JSON)
    return body


async def spool_body(request: Request, directory: Path, *, max_bytes: int) -> tuple[BinaryIO, bytes]:
    """Spool a body to an unnamed temporary file, or a small one to memory; return it with the digest of its content.

    Raises:
        ContentRefusedError: the body is longer than `max_bytes`, or its Content-Length is: then nothing is written.
        DiskFullError: the disk is full.
    """
    if int(request.headers.get("content-length", 0)) > max_bytes:
        raise original_too_large(max_bytes)
    os.makedirs(directory, mode=directory_mode(), exist_ok=True)
    file = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=_MAX_MEMORY_BYTES, dir=str(directory)))  # noqa: SIM115
    hasher, n_bytes = blake3.blake3(), 0
    try:
        async for piece in request.stream():
            n_bytes += len(piece)
            if n_bytes > max_bytes:
                raise original_too_large(max_bytes)  # noqa: TRY301 - any error closes the file
            hasher.update(piece)
            file.write(piece)
        file.seek(0)
    except OSError as error:
        file.close()
        kind = DiskFullError if is_disk_full(error) else StoreError
        raise kind(f"a body cannot be written: {error.strerror}", hint="free some disk space") from error
    except BaseException:
        file.close()
        raise
    return file, hasher.digest()


def lines_of_body(file: BinaryIO) -> Iterator[bytes]:
    """Yield the non-empty lines of a body."""
    for line in file:
        if stripped := line.strip():
            yield stripped


def validate_call(operation: HttpOperation, arguments: Mapping[str, object]) -> Any:
    """Validate the arguments of an operation.

    Raises:
        UsageError: an argument is unknown, missing, of a wrong type, out of range, or contradicts another.
    """
    known: JsonObject = operation.schema["properties"]
    for name, value in arguments.items():
        if name in known and not _has_type(known[name], value):
            raise invalid_argument_error(name, value, known[name])
    return parse_arguments(operation.arguments, arguments, of=operation.name, audience=Only.PROGRAMS)


def arguments_in_query(operation: HttpOperation, pairs: Sequence[tuple[str, str]]) -> JsonObject:
    """Parse the arguments in a query string; a list is passed by repeating its name.

    Raises:
        UsageError: an argument that is not a list is repeated.
    """
    known: JsonObject = operation.schema["properties"]
    values: dict[str, Any] = {}
    for name, text in pairs:
        kind = known.get(name, {}).get("type", "string")
        if kind == "array":
            values.setdefault(name, []).append(text)
        elif name in values:
            raise UsageError(f"'{name}' is given twice")
        else:
            values[name] = _PARSERS.get(kind, str)(text)
    return values


def arguments_in_headers(operation: HttpOperation, headers: Mapping[str, str]) -> JsonObject:
    """Return the arguments of an operation in headers."""
    return {name: headers[header] for name, header in operation.header_arguments.items() if header in headers}


def _reject_repeated_names(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return an object of names and values; a repeated name is an error, since one value would be ignored."""
    body = dict(pairs)
    if len(body) == len(pairs):
        return body
    name = next(name for name, n_times in Counter(name for name, _ in pairs).items() if n_times > 1)
    values = " and ".join(quote_value(value) for other, value in pairs if other == name)
    raise UsageError(f"{quote_value(name)} is given twice: {values}", hint="give it once")


def _reject_constant(name: str) -> NoReturn:
    """Reject NaN and Infinity, which are not JSON."""
    raise ValueError(name)


def _has_type(schema: JsonObject, value: object) -> bool:
    """Whether a value has the type of a flat schema; its limits are checked with the record of the arguments."""
    match schema["type"]:
        case "integer":
            is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return is_whole and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(_has_type(schema["items"], item) for item in value)
        case kind:
            return isinstance(value, _TYPES[kind])


def _parse_integer(text: str) -> object:
    return int(text) if _INTEGER.fullmatch(text) else text


def _parse_boolean(text: str) -> object:
    return {"true": True, "false": False}.get(text, text)


_TYPES: Final[Mapping[str, type]] = {"string": str, "boolean": bool, "object": dict}
_PARSERS: dict[str, Callable[[str], object]] = {"integer": _parse_integer, "boolean": _parse_boolean}


_CHUNK_BYTES = 65_536


def make_response(operation: HttpOperation, answer: Any) -> Response:
    """Return the response for an answer."""
    if isinstance(answer, Content):
        return Response(answer.content, operation.status, dict(answer.headers), answer.media_type)
    if isinstance(answer, StreamedFile):
        return StreamingResponse(_read_stream(answer), answer.status, dict(answer.headers))
    if isinstance(answer, StreamedRecords):
        return StreamingResponse(_json_lines(answer), 200, media_type=JSON_LINES_TYPE)
    reply = answer if isinstance(answer, Reply) else Reply(answer, operation.status, {})
    if reply.record is None:
        return Response(status_code=reply.status, headers=dict(reply.headers))
    return Response(record_json(reply.record), reply.status, dict(reply.headers), JSON_TYPE)


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
