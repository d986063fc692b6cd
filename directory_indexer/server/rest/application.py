"""ASGI application of the API, driven by the table of operations, with idempotency keys.

A repeated request with the same key gets the stored response and is executed once.
"""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import blake3
from starlette.requests import Request
from starlette.responses import Response

from directory_indexer.api.operations import Pool
from directory_indexer.config import team_directory
from directory_indexer.core.errors import DirIndexError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.server.middleware.request_context import (
    Problem,
    RefusedError,
    context_of,
    method_not_allowed,
    path_not_found,
)
from directory_indexer.server.rest import (
    Body,
    HttpOperation,
    RouteMatch,
    Router,
    Services,
    Upload,
    require_collection_access,
    require_right,
)
from directory_indexer.server.rest.messages import (
    arguments_in_headers,
    arguments_in_query,
    is_json_lines,
    make_response,
    media_type_of,
    parse_body,
    problem_of_error,
    problem_response,
    spool_body,
    validate_call,
)
from directory_indexer.storage.registry.operations import StoredResponse, StoredResponses

with lazily:
    from typing import BinaryIO

    from starlette.types import Receive, Scope, Send

    from directory_indexer.storage.registry import Registry


_MAX_QUOTED_CHARS = 80
_log = logging.getLogger("dirindex.serve")


class Application:
    """The API as an ASGI application behind the request guard."""

    def __init__(self, router: Router, services: Services, idempotency: Idempotency) -> None:
        self._router = router
        self._services = services
        self._idempotency = idempotency

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        request = Request(scope, receive)
        try:
            response = await self._response(request)
        except RefusedError as refused:
            response = problem_response(refused.problem)
        except DirIndexError as error:
            problem = problem_of_error(error)
            if problem.status >= 500:  # noqa: PLR2004 - errors that the client cannot correct
                _log.warning("a request could not be answered", exc_info=error)
            response = problem_response(problem)
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        # The path that the guard has checked: `request.url` drops line breaks and tabs, and may be another path.
        match = self._router.find(request.scope["path"])
        if match is None:
            return problem_response(path_not_found())
        operation = match.operations.get(request.method)
        if operation is None:
            return problem_response(method_not_allowed(list(match.operations)))
        services = dataclasses.replace(self._services, caller=context_of(request.scope).key)
        require_right(operation, services.caller)
        unsupported = services.unsupported_operation_error
        if unsupported is not None and operation not in services.operations:
            raise await services.executor.run(Pool.READ, lambda: unsupported(operation.title))
        if operation.argument_place is Body.BYTES or (
            operation.run_json_lines and is_json_lines(media_type_of(request))
        ):
            return await self._answer_upload(operation, match, request, services)
        content = await request.body()
        _require_no_misplaced_arguments(operation, request, content)
        arguments = arguments_in_headers(operation, request.headers)
        if operation.has_json_body:
            arguments |= parse_body(content, media_type=request.headers.get("content-type", ""))
        else:
            arguments |= arguments_in_query(operation, request.query_params.multi_items())
        call = _parse_permitted(operation, services, {**arguments, **match.path_arguments})

        async def answer() -> Response:
            return make_response(operation, await services.executor.answer(operation, services, call))

        return await self._idempotency.answered(operation, request, content, answer, services)

    async def _answer_upload(
        self, operation: HttpOperation, match: RouteMatch, request: Request, services: Services
    ) -> Response:
        arguments = {**arguments_in_query(operation, request.query_params.multi_items()), **match.path_arguments}
        is_lines = operation.argument_place is not Body.BYTES
        if is_lines:
            _require_no_misplaced_arguments(operation, request, b"")
        call = None if is_lines else _parse_permitted(operation, services, arguments)
        max_bytes = await _max_bytes(operation, services, call, media_type_of(request))
        directory = team_directory(services.collections.app.loaded.data_dir)
        file, digest = await spool_body(request, directory, max_bytes=max_bytes)
        if is_lines:
            self._idempotency.refuse(request)
            return make_response(operation, await _answer_json_lines(operation, services, file))

        async def answer() -> Response:
            with file:
                upload = Upload(call, file, media_type_of(request))
                return make_response(operation, await services.executor.answer(operation, services, upload))

        return await self._idempotency.answered(operation, request, digest, answer, services)


async def _max_bytes(operation: HttpOperation, services: Services, call: Any, media_type: str) -> int:
    longest = operation.max_upload_bytes
    if longest is None or call is None:
        return operation.max_body_bytes
    return await services.executor.run(Pool.READ, lambda: longest(services, call, media_type))


async def _answer_json_lines(operation: HttpOperation, services: Services, file: BinaryIO) -> Any:
    assert operation.run_json_lines is not None  # noqa: S101 - checked before the body was read
    return await operation.run_json_lines(services, Upload(operation, file, ""))


def _require_no_misplaced_arguments(operation: HttpOperation, request: Request, content: bytes) -> None:
    """Reject arguments in a place that the operation ignores.

    Raises:
        UsageError: there are arguments in the wrong place.
    """
    if operation.has_json_body and (
        names := ", ".join(f"'{name[:_MAX_QUOTED_CHARS]}'" for name in request.query_params)
    ):
        raise UsageError(f"{names} cannot be given in the query string: arguments of this operation come in the body")
    if not operation.has_json_body and content:
        raise UsageError("this operation takes no body: its arguments come in the query string")


def _parse_permitted(operation: HttpOperation, services: Services, arguments: dict[str, Any]) -> Any:
    """Parse the arguments of an operation, and require that the caller's key grants access to their collections."""
    call = validate_call(operation, arguments)
    require_collection_access(operation, services.caller, call)
    return call


IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
_KEY_FORMAT: Final = re.compile(r"[\x21-\x7e]{1,200}")
_FIRST_ERROR_STATUS: Final = 400
_UNSTORED_HEADERS: Final = frozenset({"content-length", "x-request-id"})

INVALID_IDEMPOTENCY_KEY: Final = Problem(
    422, "invalid_request", "'Idempotency-Key' must be 1 to 200 printable ASCII characters without spaces"
)
KEY_OF_OTHER_REQUEST: Final = Problem(422, "key_used", "this Idempotency-Key was used for another request")
REQUEST_IN_PROGRESS: Final = Problem(
    409, "in_hand", "the request with this Idempotency-Key is still in progress", retry_seconds=1
)
KEY_FOR_JSON_LINES: Final = Problem(
    422, "invalid_request", "'Idempotency-Key' names one document; give each line an id"
)


class Idempotency:
    """The stored responses of operations that support idempotency keys; failures are not stored."""

    def __init__(self, registry: Registry) -> None:
        self._answers = StoredResponses(registry)
        self._in_progress: set[tuple[bytes, str]] = set()

    def refuse(self, request: Request) -> None:
        """Reject an idempotency key where it is not supported.

        Raises:
            RefusedError: the request has an idempotency key.
        """
        if IDEMPOTENCY_HEADER in request.headers:
            raise RefusedError(KEY_FOR_JSON_LINES)

    async def answered(
        self,
        operation: HttpOperation,
        request: Request,
        content: bytes,
        answer: Callable[[], Awaitable[Response]],
        services: Services,
    ) -> Response:
        """Return the response to a request, the stored one if it is repeated; `content` is its body, or a digest of it.

        Raises:
            RefusedError: the key is invalid, belongs to another request, or its first request is still in progress.
        """
        keys = request.headers.getlist(IDEMPOTENCY_HEADER) if operation.supports_idempotency else []
        if not keys:
            return await answer()
        if len(keys) > 1 or not _KEY_FORMAT.fullmatch(keys[0]):
            raise RefusedError(INVALID_IDEMPOTENCY_KEY)
        scoped_key = (services.caller.digest if services.caller else b"", keys[0])
        if scoped_key in self._in_progress:
            raise RefusedError(REQUEST_IN_PROGRESS)
        self._in_progress.add(scoped_key)
        try:
            digest = _request_digest(request, content)
            stored = await services.executor.run(Pool.READ, lambda: self._answers.get(*scoped_key))
            if stored is not None:
                return _stored_response(stored, digest)
            response = await answer()
            if response.status_code < _FIRST_ERROR_STATUS:
                headers = {name: value for name, value in response.headers.items() if name not in _UNSTORED_HEADERS}
                given_answer = StoredResponse(digest, response.status_code, headers, bytes(response.body))
                await services.executor.run(Pool.READ, lambda: self._answers.put(*scoped_key, given_answer))
            return response
        finally:
            self._in_progress.discard(scoped_key)


def _stored_response(stored: StoredResponse, digest: bytes) -> Response:
    if stored.request != digest:
        raise RefusedError(KEY_OF_OTHER_REQUEST)
    return Response(stored.body, stored.status, {**stored.headers, "Idempotency-Replayed": "true"})


def _request_digest(request: Request, content: bytes) -> bytes:
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
