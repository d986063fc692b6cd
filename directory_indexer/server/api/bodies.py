"""Request bodies: JSON, JSON Lines, and files, which are spooled to disk before they are processed."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import blake3
from starlette.requests import Request

from directory_indexer.errors import DiskFullError, StoreError, UsageError
from directory_indexer.permissions import directory_mode
from directory_indexer.server.arguments import quoted
from directory_indexer.server.gate.problems import Problem, RefusedError
from directory_indexer.team.originals import too_large
from directory_indexer.wire.objects import JsonObject

NO_JSON = Problem(400, "invalid_json", "the body is no JSON object")
NOT_JSON = Problem(415, "unsupported_media_type", "the body must be application/json")

JSON, LINES = "application/json", "application/x-ndjson"
_LINES = frozenset({LINES, "application/ndjson", "application/jsonl"})
_MAX_MEMORY_BYTES = 1_048_576
_DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})


def media_type_of(request: Request) -> str:
    """Return the media type of a body, without its parameters."""
    return str(request.headers.get("content-type", "")).partition(";")[0].strip().lower()


def has_lines(media_type: str) -> bool:
    """Whether a media type is that of JSON Lines."""
    return media_type in _LINES


def body_of(content: bytes, *, media_type: str) -> JsonObject:
    """Parse a JSON body; an empty one counts as an empty object.

    Raises:
        RefusedError: the body is not a JSON object, or nested too deeply.
    """
    if not content:
        return {}
    if media_type.partition(";")[0].strip().lower() != JSON:
        raise RefusedError(NOT_JSON)
    return object_in(content)


def object_in(content: bytes) -> JsonObject:
    """Parse a JSON object.

    Raises:
        RefusedError: the body is not a JSON object, or nested too deeply.
        UsageError: a name occurs twice.
    """
    try:
        body = json.loads(content, parse_constant=_refuse_constant, object_pairs_hook=_unique_names)
    except (ValueError, RecursionError) as error:
        raise RefusedError(NO_JSON) from error
    if not isinstance(body, dict):
        raise RefusedError(NO_JSON)
    return body


async def written(request: Request, directory: Path, *, most_bytes: int) -> tuple[BinaryIO, bytes]:
    """Spool a body to an unnamed temporary file, or a small one to memory; return it with the digest of its content.

    Raises:
        ContentRefusedError: the body is longer than `most_bytes`, or its Content-Length is: then nothing is written.
        DiskFullError: the disk is full.
    """
    if int(request.headers.get("content-length", 0)) > most_bytes:
        raise too_large(most_bytes)
    os.makedirs(directory, mode=directory_mode(), exist_ok=True)
    file = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=_MAX_MEMORY_BYTES, dir=str(directory)))  # noqa: SIM115
    hasher, n_bytes = blake3.blake3(), 0
    try:
        async for piece in request.stream():
            n_bytes += len(piece)
            if n_bytes > most_bytes:
                raise too_large(most_bytes)  # noqa: TRY301 - any error closes the file
            hasher.update(piece)
            file.write(piece)
        file.seek(0)
    except OSError as error:
        file.close()
        kind = DiskFullError if error.errno in _DISK_FULL_ERRORS else StoreError
        raise kind(f"a body cannot be written: {error.strerror}", hint="free some disk space") from error
    except BaseException:
        file.close()
        raise
    return file, hasher.digest()


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the non-empty lines of a body."""
    for line in file:
        if stripped := line.strip():
            yield stripped


def _unique_names(pairs: list[tuple[str, Any]]) -> JsonObject:
    """Return an object of names and values; a repeated name is an error, since one value would be ignored."""
    body = dict(pairs)
    if len(body) == len(pairs):
        return body
    name = next(name for name, n_times in Counter(name for name, _ in pairs).items() if n_times > 1)
    values = " and ".join(quoted(value) for other, value in pairs if other == name)
    raise UsageError(f"{quoted(name)} is given twice: {values}", hint="give it once")


def _refuse_constant(name: str) -> NoReturn:
    """Reject NaN and Infinity, which are not JSON."""
    raise ValueError(name)
