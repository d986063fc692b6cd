"""Requests that are sent again by the same name: they are answered as before, and done once."""

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
_NAME: Final = re.compile(r"[\x21-\x7e]{1,200}")
_FIRST_FAILURE: Final = 400
_LEFT_OUT: Final = frozenset({"content-length", "x-request-id"})

NO_NAME: Final = Problem(
    422, "invalid_request", "'Idempotency-Key' must be 1 to 200 printable ASCII characters without spaces"
)
OTHER_REQUEST: Final = Problem(422, "key_used", "this Idempotency-Key came with another request before")
STILL_AT_IT: Final = Problem(
    409, "in_hand", "the request that came with this Idempotency-Key is still being answered", retry_seconds=1
)
OF_MANY: Final = Problem(422, "invalid_request", "'Idempotency-Key' names one document; give each line an id")


class Repetition:
    """Keep the answers of operations that repeat them; what failed is done again."""

    def __init__(self, registry: Registry) -> None:
        self._answers = GivenAnswers(registry)
        self._in_hand: set[tuple[bytes, str]] = set()

    def refuse(self, request: Request) -> None:
        """Refuse a name for what cannot be answered again.

        Raises:
            RefusedError: there is one.
        """
        if HEADER in request.headers:
            raise RefusedError(OF_MANY)

    async def answered(
        self,
        operation: Operation,
        request: Request,
        content: bytes,
        answer: Callable[[], Awaitable[Response]],
        services: Services,
    ) -> Response:
        """Answer a request, as it was answered before if it is sent again; `content` is its body, or a digest of it.

        Raises:
            RefusedError: the name is none, was that of another request, or its first request is being answered.
        """
        given = request.headers.getlist(HEADER) if operation.repeats_answers else []
        if not given:
            return await answer()
        if len(given) > 1 or not _NAME.fullmatch(given[0]):
            raise RefusedError(NO_NAME)
        place = (services.caller.digest if services.caller else b"", given[0])
        if place in self._in_hand:
            raise RefusedError(STILL_AT_IT)
        self._in_hand.add(place)
        try:
            digest = _digest(request, content)
            known = await services.desk.quickly(lambda: self._answers.get(*place))
            if known is not None:
                return _again(known, digest)
            response = await answer()
            if response.status_code < _FIRST_FAILURE:
                headers = {name: value for name, value in response.headers.items() if name not in _LEFT_OUT}
                kept = GivenAnswer(digest, response.status_code, headers, bytes(response.body))
                await services.desk.quickly(lambda: self._answers.keep(*place, kept))
            return response
        finally:
            self._in_hand.discard(place)


def _again(known: GivenAnswer, digest: bytes) -> Response:
    if known.request != digest:
        raise RefusedError(OTHER_REQUEST)
    return Response(known.body, known.status, {**known.headers, "Idempotency-Replayed": "true"})


def _digest(request: Request, content: bytes) -> bytes:
    """Hash all of a request that tells it from another one."""
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
