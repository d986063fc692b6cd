"""Idempotency keys: a repeated request gets the stored response and is executed once."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

import blake3
from starlette.requests import Request
from starlette.responses import Response

from directory_indexer.lazy import lazily
from directory_indexer.registry.answers import GivenAnswer, GivenAnswers
from directory_indexer.server.api.operations import Operation, Services
from directory_indexer.server.gate.problems import Problem, RefusedError

with lazily:
    from directory_indexer.registry.store import Registry

HEADER: Final = "Idempotency-Key"
_KEY_FORMAT: Final = re.compile(r"[\x21-\x7e]{1,200}")
_FIRST_ERROR_STATUS: Final = 400
_UNSTORED_HEADERS: Final = frozenset({"content-length", "x-request-id"})

INVALID_KEY: Final = Problem(
    422, "invalid_request", "'Idempotency-Key' must be 1 to 200 printable ASCII characters without spaces"
)
OTHER_REQUEST: Final = Problem(422, "key_used", "this Idempotency-Key came with another request before")
IN_PROGRESS: Final = Problem(
    409, "in_hand", "the request that came with this Idempotency-Key is still being answered", retry_seconds=1
)
NOT_PER_LINE: Final = Problem(422, "invalid_request", "'Idempotency-Key' names one document; give each line an id")


class Idempotency:
    """The stored responses of operations that support idempotency keys; failures are not stored."""

    def __init__(self, registry: Registry) -> None:
        self._answers = GivenAnswers(registry)
        self._in_progress: set[tuple[bytes, str]] = set()

    def refuse(self, request: Request) -> None:
        """Reject an idempotency key where it is not supported.

        Raises:
            RefusedError: the request has an idempotency key.
        """
        if HEADER in request.headers:
            raise RefusedError(NOT_PER_LINE)

    async def answered(
        self,
        operation: Operation,
        request: Request,
        content: bytes,
        answer: Callable[[], Awaitable[Response]],
        services: Services,
    ) -> Response:
        """Return the response to a request, the stored one if it is repeated; `content` is its body, or a digest of it.

        Raises:
            RefusedError: the key is invalid, belongs to another request, or its first request is still in progress.
        """
        keys = request.headers.getlist(HEADER) if operation.repeats_answers else []
        if not keys:
            return await answer()
        if len(keys) > 1 or not _KEY_FORMAT.fullmatch(keys[0]):
            raise RefusedError(INVALID_KEY)
        scoped_key = (services.caller.digest if services.caller else b"", keys[0])
        if scoped_key in self._in_progress:
            raise RefusedError(IN_PROGRESS)
        self._in_progress.add(scoped_key)
        try:
            digest = _digest(request, content)
            stored = await services.desk.quickly(lambda: self._answers.get(*scoped_key))
            if stored is not None:
                return _replay(stored, digest)
            response = await answer()
            if response.status_code < _FIRST_ERROR_STATUS:
                headers = {name: value for name, value in response.headers.items() if name not in _UNSTORED_HEADERS}
                given_answer = GivenAnswer(digest, response.status_code, headers, bytes(response.body))
                await services.desk.quickly(lambda: self._answers.keep(*scoped_key, given_answer))
            return response
        finally:
            self._in_progress.discard(scoped_key)


def _replay(stored: GivenAnswer, digest: bytes) -> Response:
    if stored.request != digest:
        raise RefusedError(OTHER_REQUEST)
    return Response(stored.body, stored.status, {**stored.headers, "Idempotency-Replayed": "true"})


def _digest(request: Request, content: bytes) -> bytes:
    """Return a hash of everything that identifies a request."""
    parts = (
        request.method.encode(),
        request.scope["path"].encode("utf-8", "surrogateescape"),
        request.url.query.encode("utf-8", "surrogateescape"),
        request.headers.get("content-type", "").encode("latin-1"),
        content,
    )
    hasher = blake3.blake3()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    return hasher.digest()
