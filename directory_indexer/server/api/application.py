"""Answers requests by the table of operations."""

from __future__ import annotations

import json
import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from directory_indexer.errors import DirIndexError
from directory_indexer.lazy import lazily
from directory_indexer.server.api.failures import problem_of
from directory_indexer.server.api.operations import Content, Operation, Reply, Services
from directory_indexer.server.api.reading import arguments_in_query, body_of, call_of
from directory_indexer.server.api.surface import Found, Surface
from directory_indexer.server.gate.problems import Problem, RefusedError, no_such_method, no_such_path
from directory_indexer.server.gate.visits import visit_of
from directory_indexer.wire.objects import object_of

with lazily:
    from starlette.types import Receive, Scope, Send

_log = logging.getLogger("dirindex.serve")


class Application:
    """The API as an application; it stands behind the gate."""

    def __init__(self, surface: Surface, services: Services) -> None:
        self._surface = surface
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            response = await self._response(request)
        except RefusedError as refused:
            response = _problem(refused.problem)
        except DirIndexError as error:
            problem = problem_of(error)
            if problem.status >= 500:  # noqa: PLR2004 - what is not for the client to correct
                _log.warning("a request could not be answered", exc_info=error)
            response = _problem(problem)
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        found = self._surface.find(request.url.path)
        if found is None:
            return _problem(no_such_path())
        operation = found.operations.get(request.method)
        if operation is None:
            return _problem(no_such_method(list(found.operations)))
        call = call_of(operation, await _given(operation, found, request))
        if (key := visit_of(request.scope).key) is not None:
            operation.require_reach(key, call)
        return _response_of(operation, await operation.run(self._services, call))


async def _given(operation: Operation, found: Found, request: Request) -> dict[str, Any]:
    if operation.has_body:
        body = body_of(await request.body(), media_type=request.headers.get("content-type", ""))
        return {**body, **found.given}
    return {**arguments_in_query(operation, request.query_params.multi_items()), **found.given}


def _response_of(operation: Operation, answer: Any) -> Response:
    if isinstance(answer, Content):
        return Response(answer.content, operation.status, dict(answer.headers), answer.media_type)
    reply = answer if isinstance(answer, Reply) else Reply(answer, operation.status, {})
    if reply.record is None:
        return Response(status_code=reply.status, headers=dict(reply.headers))
    # ASCII, as all JSON of this program: a path may hold what no other encoding takes.
    body = json.dumps(object_of(reply.record), separators=(",", ":")).encode()
    return Response(body, reply.status, dict(reply.headers), "application/json")


def _problem(problem: Problem) -> Response:
    headers = {name.decode(): value.decode() for name, value in problem.headers()}
    return Response(problem.body(), problem.status, headers)
