"""MCP over streamable HTTP, for several clients at once."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from directory_indexer import __version__
from directory_indexer.lazy import lazily
from directory_indexer.server.access import Access, listening_socket
from directory_indexer.server.draining import Drain
from directory_indexer.server.ending import end, stop_at_a_signal
from directory_indexer.server.patience import PatientConnection
from directory_indexer.server.sessions import SessionRoom

with lazily:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send


LONGEST_REQUEST_BYTES = 1_048_576
_MOST_SESSIONS = 200
_MOST_CONNECTIONS = 500
_IDLE_SECONDS = 1800
_POLL_SECONDS = 0.01
_DRAIN_SECONDS = 5
_PATH = "/mcp"
_HEALTH_PATH = "/health"


def run_http(server: Server[None], access: Access, *, close: Callable[[], None]) -> NoReturn:
    """Serve until a signal ends it; `close` is called then, before the requests in flight are answered."""
    listening = listening_socket(access.address)
    end(anyio.run(_serve, server, access, listening, close))


def make_http_app(server: Server[None], access: Access, *, port: int) -> ASGIApp:
    """Build the application: the protocol behind the checks, and a health page before them."""
    app = server.streamable_http_app(
        streamable_http_path=_PATH,
        max_request_body_size=LONGEST_REQUEST_BYTES,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_SESSIONS + _MOST_CONNECTIONS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the gate checks that
        host=access.address.host,
        custom_starlette_routes=[Route(_HEALTH_PATH, _health)],
    )
    app.router.redirect_slashes = False  # it would send clients to the address that they claim to have called
    return _Gate(SessionRoom(app, most=_MOST_SESSIONS), access, port=port)


async def _serve(server: Server[None], access: Access, listening: socket.socket, close: Callable[[], None]) -> int:
    port = listening.getsockname()[1]
    drain = Drain(make_http_app(server, access, port=port))
    for name in ("mcp.server.streamable_http", "uvicorn.error"):
        logging.getLogger(name).addFilter(_NoDisconnects())
    config = uvicorn.Config(
        drain,
        # By h11: the other parser, taken where it is installed, leaves white space at the end of header values.
        http=PatientConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=0,
    )
    web = _WebServer(config)
    code: int | None = None

    async def stop() -> None:
        await drain.answer_all(within=_DRAIN_SECONDS)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it calls it an error that streams are open
        web.should_exit = True

    def stop_soon(with_code: int) -> None:
        nonlocal code
        if code is not None:  # told a second time
            end(with_code)
        code = with_code
        close()
        tasks.start_soon(stop)

    async def announce() -> None:
        while not web.started:  # noqa: ASYNC110 - it has no event for that
            await anyio.sleep(_POLL_SECONDS)
        sys.stderr.write(f"dirindex serves MCP on http://{access.address.host_in_url}:{port}{_PATH}\n")
        sys.stderr.flush()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_at_a_signal, stop_soon)
        tasks.start_soon(announce)
        await web.serve(sockets=[listening])
        tasks.cancel_scope.cancel()
    return code or 0


class _NoDisconnects(logging.Filter):
    """Lets pass what others log, but for clients that go away in the middle of a request: that is for them to do."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


class _WebServer(uvicorn.Server):
    """A web server that leaves signals to us: its own way is to send them again when it has ended."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Gate:
    """Let nobody through who calls another server or does not know the token, except to the health page."""

    def __init__(self, app: ASGIApp, access: Access, *, port: int) -> None:
        self._app = app
        self._access = access
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != _HEALTH_PATH:
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            if scope["path"] == f"{_PATH}/":
                scope = {**scope, "path": _PATH, "raw_path": _PATH.encode()}
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        if not self._access.answers_to(headers.get("host", ""), self._port):
            return _refused(421, "this server does not go by that name (--allow-host NAME makes it)")
        if not self._access.trusts(headers.get("origin", ""), self._port):
            return _refused(403, "pages of that origin may not call this server")
        if not self._access.admits(headers.get("authorization", "")):
            return _refused(401, "a bearer token is needed", **{"WWW-Authenticate": 'Bearer realm="dirindex"'})
        return None


def _refused(status: int, error: str, **headers: str) -> Response:
    return JSONResponse({"error": error}, status, headers=headers)


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "name": "dirindex", "version": __version__})
