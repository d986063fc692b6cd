"""Requests: bodies of JSON, JSON Lines and files, and arguments parsed strictly by the schema.

Files are spooled to disk before they are processed.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn, cast

import blake3
from starlette.requests import Request

from directory_indexer.api.fields import JsonObject, Only
from directory_indexer.collections.originals import original_too_large
from directory_indexer.core.errors import DiskFullError, StoreError, UsageError
from directory_indexer.core.kept_files import directory_mode, is_disk_full
from directory_indexer.server.mcp.arguments import invalid_argument_error, parse_arguments, quote_value
from directory_indexer.server.middleware.request_context import Problem, RefusedError
from directory_indexer.server.rest.operations import HttpOperation

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


async def spool_body(request: Request, directory: Path, *, most_bytes: int) -> tuple[BinaryIO, bytes]:
    """Spool a body to an unnamed temporary file, or a small one to memory; return it with the digest of its content.

    Raises:
        ContentRefusedError: the body is longer than `most_bytes`, or its Content-Length is: then nothing is written.
        DiskFullError: the disk is full.
    """
    if int(request.headers.get("content-length", 0)) > most_bytes:
        raise original_too_large(most_bytes)
    os.makedirs(directory, mode=directory_mode(), exist_ok=True)
    file = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=_MAX_MEMORY_BYTES, dir=str(directory)))  # noqa: SIM115
    hasher, n_bytes = blake3.blake3(), 0
    try:
        async for piece in request.stream():
            n_bytes += len(piece)
            if n_bytes > most_bytes:
                raise original_too_large(most_bytes)  # noqa: TRY301 - any error closes the file
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


def parse_call(operation: HttpOperation, arguments: Mapping[str, object]) -> Any:
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
    return {name: headers[header] for name, header in operation.from_headers.items() if header in headers}


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
