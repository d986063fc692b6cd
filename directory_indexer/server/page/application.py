"""Answers for the page: its files, which are no secret, and the exchange of a code for what its requests show.

All else that the page asks for, it asks the API for.
"""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import Response

from directory_indexer.lazy import lazily
from directory_indexer.server.api.bodies import body_of
from directory_indexer.server.api.responses import problem_response
from directory_indexer.server.gate.browsers import Browsers
from directory_indexer.server.gate.problems import Problem, RefusedError, no_such_method, no_such_path
from directory_indexer.server.gate.visits import Place
from directory_indexer.server.page.assets import HEADERS, INDEX, assets

with lazily:
    from starlette.types import Receive, Scope, Send


ROOT = "/ui/"
_SESSION = "/ui/session"
_LONGEST_CODE = 1024
_PLACE = Place(ROOT, None, _LONGEST_CODE)
_SESSION_PLACE = Place(_SESSION, None, _LONGEST_CODE)
_READING = ("GET", "HEAD")

BAD_CODE = Problem(401, "unauthorized", "the code was used, or is too old: run dirindex ui again")
FOREIGN_PAGE = Problem(403, "foreign_origin", "only the page itself may ask for this")


def place_of(path: str) -> Place | None:
    """Tell the gate what a request asks for, if it is about the page."""
    if path == _SESSION:
        return _SESSION_PLACE
    return _PLACE if path.startswith(ROOT) or path == ROOT.rstrip("/") else None


class PageApplication:
    """The page as an application; it stands behind the gate."""

    def __init__(self, browsers: Browsers, *, port: int) -> None:
        self._browsers = browsers
        self._cookie = f"dirindex-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            response = await self._response(request, scope["path"])
        except RefusedError as refused:
            response = problem_response(refused.problem)
        await response(scope, receive, send)

    async def _response(self, request: Request, path: str) -> Response:
        if path == _SESSION:
            return await self._admission(request)
        if request.method not in _READING:
            return problem_response(no_such_method(_READING))
        if path == ROOT.rstrip("/"):
            return Response(status_code=308, headers={"Location": ROOT})
        return _file(request, path.removeprefix(ROOT) or INDEX)

    async def _admission(self, request: Request) -> Response:
        """Exchange a code, which came in the fragment of the address and so in no log, for the secrets of a browser."""
        if request.method != "POST":
            return problem_response(no_such_method(["POST"]))
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return problem_response(FOREIGN_PAGE)
        given = body_of(await request.body(), media_type=request.headers.get("content-type", ""))
        code = given.get("code")
        admitted = self._browsers.admit(code) if isinstance(code, str) else None
        if admitted is None:
            return problem_response(BAD_CODE)
        cookie = f"{self._cookie}={admitted.cookie}; Path=/; HttpOnly; SameSite=Strict"
        body = json.dumps({"token": admitted.token}).encode()
        return Response(body, 200, {"Set-Cookie": cookie}, "application/json")


def _file(request: Request, name: str) -> Response:
    found = assets().get(name)
    if found is None:
        return problem_response(no_such_path())
    headers = {**HEADERS, "ETag": found.etag}
    if request.headers.get("if-none-match") == found.etag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, 200, headers, found.media_type)
