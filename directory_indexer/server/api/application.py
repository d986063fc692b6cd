"""ASGI application of the API, driven by the table of operations."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from directory_indexer.config.collections import team_directory
from directory_indexer.errors import DirIndexError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.server.api.bodies import body_of, has_lines, media_type_of, written
from directory_indexer.server.api.failures import problem_of
from directory_indexer.server.api.operations import Body, Operation, Services, Upload
from directory_indexer.server.api.reading import arguments_in_headers, arguments_in_query, call_of
from directory_indexer.server.api.repeating import Idempotency
from directory_indexer.server.api.responses import problem_response, response_of
from directory_indexer.server.api.surface import Found, Surface
from directory_indexer.server.gate.problems import RefusedError, no_such_method, no_such_path
from directory_indexer.server.gate.visits import visit_of

with lazily:
    from typing import BinaryIO

    from starlette.types import Receive, Scope, Send

_MOST_SHOWN = 80
_log = logging.getLogger("dirindex.serve")


class Application:
    """The API as an ASGI application behind the request guard."""

    def __init__(self, surface: Surface, services: Services, repetition: Idempotency) -> None:
        self._surface = surface
        self._services = services
        self._repetition = repetition

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        request = Request(scope, receive)
        try:
            response = await self._response(request)
        except RefusedError as refused:
            response = problem_response(refused.problem)
        except DirIndexError as error:
            problem = problem_of(error)
            if problem.status >= 500:  # noqa: PLR2004 - errors that the client cannot correct
                _log.warning("a request could not be answered", exc_info=error)
            response = problem_response(problem)
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        # The path that the guard has checked: `request.url` drops line breaks and tabs, and may be another path.
        match = self._surface.find(request.scope["path"])
        if match is None:
            return problem_response(no_such_path())
        operation = match.operations.get(request.method)
        if operation is None:
            return problem_response(no_such_method(list(match.operations)))
        services = dataclasses.replace(self._services, caller=visit_of(request.scope).key)
        operation.require_right(services.caller)
        elsewhere = services.elsewhere
        if elsewhere is not None and operation not in services.operations:
            raise await services.desk.quickly(lambda: elsewhere(operation.title))
        if operation.takes is Body.BYTES or (operation.lines and has_lines(media_type_of(request))):
            return await self._answer_upload(operation, match, request, services)
        content = await request.body()
        _require_right_place(operation, request, content)
        arguments = arguments_in_headers(operation, request.headers)
        if operation.has_body:
            arguments |= body_of(content, media_type=request.headers.get("content-type", ""))
        else:
            arguments |= arguments_in_query(operation, request.query_params.multi_items())
        call = _parse_permitted(operation, services, {**arguments, **match.path_arguments})

        async def answer() -> Response:
            return response_of(operation, await operation.run(services, call))

        return await self._repetition.answered(operation, request, content, answer, services)

    async def _answer_upload(
        self, operation: Operation, match: Found, request: Request, services: Services
    ) -> Response:
        arguments = {**arguments_in_query(operation, request.query_params.multi_items()), **match.path_arguments}
        is_lines = operation.takes is not Body.BYTES
        if is_lines:
            _require_right_place(operation, request, b"")
        call = None if is_lines else _parse_permitted(operation, services, arguments)
        most_bytes = await _max_bytes(operation, services, call, media_type_of(request))
        directory = team_directory(services.collections.data_dir)
        file, digest = await written(request, directory, most_bytes=most_bytes)
        if is_lines:
            self._repetition.refuse(request)
            return response_of(operation, await _answer_lines(operation, services, file))

        async def answer() -> Response:
            with file:
                upload = Upload(call, file, media_type_of(request))
                return response_of(operation, await operation.run(services, upload))

        return await self._repetition.answered(operation, request, digest, answer, services)


async def _max_bytes(operation: Operation, services: Services, call: Any, media_type: str) -> int:
    longest = operation.longest_upload
    if longest is None or call is None:
        return operation.longest_body
    return await services.desk.quickly(lambda: longest(services, call, media_type))


async def _answer_lines(operation: Operation, services: Services, file: BinaryIO) -> Any:
    assert operation.lines is not None  # noqa: S101 - checked before the body was read
    return await operation.lines(services, Upload(operation, file, ""))


def _require_right_place(operation: Operation, request: Request, content: bytes) -> None:
    """Reject arguments in a place that the operation ignores.

    Raises:
        UsageError: there are arguments in the wrong place.
    """
    if operation.has_body and (names := ", ".join(f"'{name[:_MOST_SHOWN]}'" for name in request.query_params)):
        raise UsageError(f"{names} cannot be given in the query string: arguments of this operation come in the body")
    if not operation.has_body and content:
        raise UsageError("this operation takes no body: its arguments come in the query string")


def _parse_permitted(operation: Operation, services: Services, arguments: dict[str, Any]) -> Any:
    """Parse the arguments of an operation, and require that the caller's key grants access to their collections."""
    call = call_of(operation, arguments)
    if services.caller is not None:
        operation.require_reach(services.caller, call)
    return call
