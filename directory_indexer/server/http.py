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
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from directory_indexer import __version__
from directory_indexer.lazy import lazily
from directory_indexer.server.ending import end, stop_at_a_signal
from directory_indexer.server.gate.access import Access, listening_socket
from directory_indexer.server.gate.patience import PatientConnection
from directory_indexer.server.gate.sessions import SessionRoom

with lazily:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send


LONGEST_REQUEST_BYTES = 1_048_576
_MOST_SESSIONS = 200
_MOST_CONNECTIONS = 500
_IDLE_SECONDS = 1800
_POLL_SECONDS = 0.01
_PATH = "/mcp"


def run_http(server: Server[None], access: Access, *, close: Callable[[], None]) -> NoReturn:
    """Serve until a signal ends it; `close` is called at the end."""
    listening = listening_socket(access.address)
    end(close, anyio.run(_serve, server, access, listening))


def make_http_app(server: Server[None], access: Access, *, port: int) -> ASGIApp:
    """Build the application: the protocol behind the checks, and a health page before them."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=access.allowed_hosts(port),
        allowed_origins=access.allowed_origins(port),
    )
    app = server.streamable_http_app(
        streamable_http_path=_PATH,
        max_request_body_size=LONGEST_REQUEST_BYTES,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=_MOST_SESSIONS + _MOST_CONNECTIONS,
        transport_security=security,
        host=access.address.host,
        custom_starlette_routes=[Route("/health", _health)],
    )
    return _TokenGate(SessionRoom(app, most=_MOST_SESSIONS), access)


async def _serve(server: Server[None], access: Access, listening: socket.socket) -> int:
    port = listening.getsockname()[1]
    for name in ("mcp.server.streamable_http", "uvicorn.error"):
        logging.getLogger(name).addFilter(_NoDisconnects())
    config = uvicorn.Config(
        make_http_app(server, access, port=port),
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
    code = 0

    def stop(with_code: int) -> None:
        nonlocal code
        code = with_code
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it calls it an error that streams are open
        web.should_exit = True

    async def announce() -> None:
        while not web.started:  # noqa: ASYNC110 - it has no event for that
            await anyio.sleep(_POLL_SECONDS)
        sys.stderr.write(f"dirindex serves MCP on http://{access.address.host_in_url}:{port}{_PATH}\n")
        sys.stderr.flush()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_at_a_signal, stop)
        tasks.start_soon(announce)
        await web.serve(sockets=[listening])
        tasks.cancel_scope.cancel()
    return code


class _NoDisconnects(logging.Filter):
    """Lets pass what others log, but for clients that go away in the middle of a request: that is for them to do."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


class _WebServer(uvicorn.Server):
    """A web server that leaves signals to us: its own way is to send them again when it has ended."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _TokenGate:
    """Let nobody through who does not know the token, except to the health page."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            headers = dict(scope["headers"])
            if not self._access.admits(headers.get(b"authorization", b"").decode("latin-1")):
                refusal = JSONResponse(
                    {"error": "a bearer token is needed"}, 401, headers={"WWW-Authenticate": 'Bearer realm="dirindex"'}
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "name": "dirindex", "version": __version__})
