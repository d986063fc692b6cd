"""ASGI application of the page: its static files, security headers, and the exchange of a code for a session.

The files in the package are the sources: there is no build step. They are public; for everything else the page calls
the API.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from directory_indexer.core.errors import DirIndexError, UnavailableError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import describe_invalid_character
from directory_indexer.core.rights import Right
from directory_indexer.ranking.filter_fields import FIELDS
from directory_indexer.server.middleware.authentication import BrowserSessions
from directory_indexer.server.middleware.request_context import (
    Problem,
    RefusedError,
    Route,
    method_not_allowed,
    path_not_found,
)
from directory_indexer.server.rest.messages import parse_body, problem_of_error, problem_response
from directory_indexer.server.ui.files import FileOpener, OpenTarget, OpenWith

with lazily:
    from starlette.types import Receive, Scope, Send

ROOT = "/ui/"
_SESSION_PATH = "/ui/session"
_MAX_CODE_BYTES = 1024
_PAGE_ROUTE = Route(ROOT, None, _MAX_CODE_BYTES)
_OPEN_PATH = "/ui/open"
_OPEN_ROUTE = Route(_OPEN_PATH, None, _MAX_CODE_BYTES)
_SESSION_ROUTE = Route(_SESSION_PATH, None, _MAX_CODE_BYTES)
_READ_METHODS = ("GET", "HEAD")

PROGRAM_UNAVAILABLE = Problem(503, "unavailable", "")
INVALID_LOGIN_CODE = Problem(401, "unauthorized", "the code was used or has expired: run dirindex ui again")
SESSION_REQUIRED = Problem(401, "unauthorized", "only the page may request this")
FOREIGN_PAGE = Problem(403, "foreign_origin", "only the page itself may request this")

INDEX_FILE: Final = "index.html"
_STATIC: Final = "static"
_MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_CONTENT_SECURITY_POLICY: Final[Mapping[str, str]] = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' blob:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    # No script may turn text into markup, not even by mistake.
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in _CONTENT_SECURITY_POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


def route_of(path: str) -> Route | None:
    """Return the route of a request for the guard; None if it is not for the page."""
    if path == _SESSION_PATH:
        return _SESSION_ROUTE
    if path == _OPEN_PATH:
        return _OPEN_ROUTE
    return _PAGE_ROUTE if path.startswith(ROOT) or path == ROOT.rstrip("/") else None


class PageApplication:
    """The page as an ASGI application behind the request guard."""

    def __init__(self, browsers: BrowserSessions, opener: FileOpener, *, port: int) -> None:
        self._browsers = browsers
        self._opener = opener
        self._allowed: set[bytes] = set()
        """The sessions in which the user has allowed opening files."""

        self._cookie = f"dirindex-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        request = Request(scope, receive)
        try:
            response = await self._response(request, scope["path"])
        except RefusedError as refused:
            response = problem_response(refused.problem)
        except DirIndexError as error:
            is_ours = isinstance(error, UnavailableError)  # its message names what is missing on this machine
            problem = PROGRAM_UNAVAILABLE._replace(detail=error.message) if is_ours else problem_of_error(error)
            response = problem_response(problem)
        await response(scope, receive, send)

    async def _response(self, request: Request, path: str) -> Response:
        if path == _SESSION_PATH:
            return await self._open_session(request)
        if path == _OPEN_PATH:
            return await self._open_file(request)
        if request.method not in _READ_METHODS:
            return problem_response(method_not_allowed(_READ_METHODS))
        if path == ROOT.rstrip("/"):
            return Response(status_code=308, headers={"Location": ROOT})
        return _static_file_response(request, path.removeprefix(ROOT) or INDEX_FILE)

    async def _open_session(self, request: Request) -> Response:
        """Exchange a code, which was in the fragment of the URL and so in no log, for the secrets of a session."""
        if request.method != "POST":
            return problem_response(method_not_allowed(["POST"]))
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return problem_response(FOREIGN_PAGE)
        body = parse_body(await request.body(), media_type=request.headers.get("content-type", ""))
        code = body.get("code")
        session = self._browsers.admit(code) if isinstance(code, str) else None
        if session is None:
            return problem_response(INVALID_LOGIN_CODE)
        cookie = f"{self._cookie}={session.cookie}; Path=/; HttpOnly; SameSite=Strict"
        return _json_response({"token": session.token}, {"Set-Cookie": cookie})

    async def _open_file(self, request: Request) -> Response:
        """Open a file with a local program, if the user has allowed that in this session."""
        if request.method != "POST":
            return problem_response(method_not_allowed(["POST"]))
        key = self._browsers.key_of(request.scope["headers"])
        if key is None or not key.has_right(Right.OWNER):
            return problem_response(SESSION_REQUIRED)
        body = parse_body(await request.body(), media_type=request.headers.get("content-type", ""))
        target = _parse_target(body)
        if body.get("allow") is True:
            self._allowed.add(key.digest)
        if key.digest not in self._allowed:
            return _json_response({"is_allowed": False})
        program = await anyio.to_thread.run_sync(self._opener.open, target)
        return _json_response({"is_allowed": True, "program": program})


class Asset(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str


@functools.cache
def read_assets() -> Mapping[str, Asset]:
    """Read all static files, by name: only these can be requested; the filters are those of the table."""
    with_facets_first = sorted(FIELDS, key=lambda field: not field.facet)
    filters = json.dumps({field.word: field.facet for field in with_facets_first})
    script = _asset("filters.js", f"export const FILTERS = {filters};\n".encode())
    return {**dict(_assets(files(__package__) / _STATIC, "")), **script}


def _json_response(answer: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(answer).encode(), 200, headers, "application/json")


def _parse_target(body: Mapping[str, object]) -> OpenTarget:
    """Parse the file to open.

    Raises:
        UsageError: the body has another form.
    """
    match body:
        case {"doc_id": str(doc_id), "how": str(how), "line": int(line), "page": int(page)} if how in set(OpenWith):
            if not describe_invalid_character(doc_id):
                return OpenTarget(doc_id, OpenWith(how), max(line, 1), max(page, 0))
    raise UsageError("give doc_id, how, line and page")


def _static_file_response(request: Request, name: str) -> Response:
    asset = read_assets().get(name)
    if asset is None:
        return problem_response(path_not_found())
    headers = {**SECURITY_HEADERS, "ETag": asset.etag}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, 200, headers, asset.media_type)


def _assets(directory: Traversable, prefix: str) -> Iterator[tuple[str, Asset]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _assets(entry, f"{prefix}{entry.name}/")
            continue
        yield from _asset(f"{prefix}{entry.name}", entry.read_bytes()).items()


def _asset(name: str, content: bytes) -> dict[str, Asset]:
    """Return a file by its name; nothing if no page needs files of its kind."""
    media_type = next((kind for ending, kind in _MEDIA_TYPES.items() if name.endswith(ending)), None)
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return {name: Asset(content, media_type, etag)} if media_type else {}
