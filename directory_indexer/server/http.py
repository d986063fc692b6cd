"""HTTP server: MCP over streamable HTTP, the REST API and the web page, for several clients at once."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect

from directory_indexer.cluster_app import ClusterApp
from directory_indexer.core.lazy import lazily
from directory_indexer.core.rights import Right
from directory_indexer.integrations.previewing.workers import PreviewWorkers
from directory_indexer.server.lifecycle import exit_immediately, stop_on_signal
from directory_indexer.server.mcp.operation_tools import OperationTools
from directory_indexer.server.middleware.access import Access, open_listening_socket
from directory_indexer.server.middleware.authentication import Authenticator, KeyUses, LoginThrottle
from directory_indexer.server.middleware.connections import GracefulShutdown, TimeoutConnection
from directory_indexer.server.middleware.guard import GuardPolicy, RequestGuard
from directory_indexer.server.middleware.limits import Rate, SessionLimit, TokenBuckets
from directory_indexer.server.middleware.monitoring import Metrics
from directory_indexer.server.middleware.request_context import Route, context_of
from directory_indexer.server.rest import UNKNOWN_ROUTE, Method, Router, Services
from directory_indexer.server.rest.application import Application, Idempotency
from directory_indexer.server.rest.background import IndexRuns
from directory_indexer.server.rest.documents import DocumentIds
from directory_indexer.server.rest.operation_table import OPERATIONS, PAGE_OPERATIONS
from directory_indexer.server.rest.page_operations import Confirmations
from directory_indexer.server.ui import application as page_application
from directory_indexer.server.ui.files import FileOpener
from directory_indexer.storage.registry.keys import Keys

with lazily:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

    from directory_indexer.app import App
    from directory_indexer.collections.background import Administration, IngestWorker
    from directory_indexer.collections.documents import DocumentOperations
    from directory_indexer.collections.ingest import DocumentIngest
    from directory_indexer.server.background_model import BackgroundModel
    from directory_indexer.server.mcp.executor import ToolExecutor
    from directory_indexer.server.ui.hosting import PageHost


MAX_MCP_REQUEST_BYTES = 1_048_576
_MAX_SESSIONS = 200
_MAX_CONNECTIONS = 500
_SESSION_IDLE_SECONDS = 1800
_POLL_SECONDS = 0.01
_SHUTDOWN_GRACE_SECONDS = 5
_LAST_STEP_GRACE_SECONDS = 10
_MCP_ROUTE = Route("/mcp", Right.READ, MAX_MCP_REQUEST_BYTES)
_MCP_STREAM_ROUTE = _MCP_ROUTE._replace(is_stream=True)
"""The event stream of a session, which lasts as long as the session."""

_MCP_PATHS = (_MCP_ROUTE.path_template, f"{_MCP_ROUTE.path_template}/")


MakeServer: TypeAlias = "Callable[[OperationTools], Server[None]]"
"""Builds the MCP server with additional tools that are operations of the API."""


def run_http(make_server: MakeServer, parts: HttpParts, access: Access, *, close: Callable[[], None]) -> NoReturn:
    """Serve until a signal arrives; then `close` is called, before the requests in flight are finished.

    Background work is asked to stop at the same time, and is awaited after the last response.
    """
    listening = open_listening_socket(access.address)
    if parts.app.writes:
        parts.background.start()

    def close_all() -> None:
        close()
        parts.background.stop()
        parts.administration.stop()

    code = anyio.run(_serve_until_stopped, make_server, parts, access, listening, close_all)
    parts.background.join(_LAST_STEP_GRACE_SECONDS)
    parts.administration.join(_LAST_STEP_GRACE_SECONDS)
    if not parts.app.writes:
        parts.app.close()
    exit_immediately(code)


@dataclass(frozen=True, slots=True)
class HttpParts:
    """The parts of an HTTP server besides the MCP server."""

    app: App
    executor: ToolExecutor
    model: BackgroundModel
    background: IngestWorker
    administration: Administration
    page: PageHost | None = None
    """The web page of the local user, if there is one."""


_OPERATIONS_WITHOUT_DATABASE: Final = frozenset(
    {"search", "listDocuments", "getDocument", "health", "live", "ready", "metrics", "openapi", "docs"}
)
"""The operations that a cluster index can answer; all others need the database or the files."""


def make_http_app(
    make_server: MakeServer, parts: HttpParts, access: Access, *, port: int, on_use: Callable[[bytes], None]
) -> tuple[RequestGuard, GracefulShutdown]:
    """Build the application, MCP and the API behind one request guard, and its graceful shutdown.

    `on_use` is called with the digest of each key that is used.
    """
    operations = PAGE_OPERATIONS if parts.page else OPERATIONS
    router, metrics = Router(operations), Metrics()
    unsupported_error = parts.app.unsupported_operation_error if isinstance(parts.app, ClusterApp) else None
    metrics.add_gauges({"calls_waiting": ("Calls that wait for their turn.", lambda: parts.executor.n_waiting)})
    collections = parts.executor.tools.collections
    services = Services(
        collections=collections,
        executor=parts.executor,
        model=parts.model,
        runs=IndexRuns(parts.executor.tools),
        document_ids=DocumentIds(),
        confirmations=Confirmations(clock=time.monotonic),
        documents=DocumentOperations(collections, on_work=parts.background.enqueue),
        ingesting=DocumentIngest(collections, on_work=parts.background.enqueue),
        administration=parts.administration,
        previews=PreviewWorkers(parts.app.policies.scratch),
        background=parts.background,
        metrics=metrics,
        is_ending=lambda: drain.is_ending,
        operations=tuple(
            operation for operation in operations if parts.app.writes or operation.name in _OPERATIONS_WITHOUT_DATABASE
        ),
        unsupported_operation_error=unsupported_error,
    )
    api = Application(router, services, Idempotency(parts.app.registry))
    browsers = parts.page.browsers if parts.page else None
    page = page_application.PageApplication(browsers, FileOpener(services), port=port) if browsers else None
    protocol = _mcp_app(make_server(OperationTools(services)), access)
    drain = GracefulShutdown(_Dispatcher(protocol, api, page), is_exempt=_is_exempt_from_shutdown)

    def route_of(path: str, method: str) -> Route:
        if path in _MCP_PATHS:
            return _MCP_STREAM_ROUTE if method == Method.GET else _MCP_ROUTE
        of_page = page_application.route_of(path) if page is not None else None
        return of_page or router.route_of(path, method) or UNKNOWN_ROUTE

    keys, rate = Keys(parts.app.registry), parts.app.loaded.config.serving.requests_per_second
    rules = GuardPolicy(
        route_of=route_of,
        authenticator=Authenticator(
            keys.all,
            token=access.token,
            needs_key=access.needs_token,
            login_throttle=LoginThrottle(clock=time.monotonic),
            on_use=on_use,
            browsers=browsers,
        ),
        buckets=TokenBuckets(Rate(rate, 2 * rate), clock=time.monotonic),
        is_allowed_host=lambda host: access.is_allowed_host(host, port),
        is_allowed_origin=lambda origin: access.is_allowed_origin(origin, port),
        metrics=metrics,
    )
    return RequestGuard(drain, rules, clock=time.monotonic), drain


def _mcp_app(server: Server[None], access: Access) -> ASGIApp:
    app = server.streamable_http_app(
        streamable_http_path=_MCP_ROUTE.path_template,
        max_request_body_size=MAX_MCP_REQUEST_BYTES,
        session_idle_timeout=_SESSION_IDLE_SECONDS,
        max_sessions=_MAX_SESSIONS + _MAX_CONNECTIONS,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=False
        ),  # the request guard checks that
        host=access.address.host,
    )
    return SessionLimit(app, most=_MAX_SESSIONS, owner_of=_session_owner)


def _session_owner(scope: Scope) -> bytes:
    key = context_of(scope).key
    return key.digest if key else b""


def _is_exempt_from_shutdown(scope: Scope) -> bool:
    """Whether a request is exempt from graceful shutdown: probes, and event streams of MCP."""
    route = context_of(scope).route
    return route.is_probe or route.is_stream


class _Dispatcher:
    """Dispatches requests to MCP, the API or the web page."""

    def __init__(self, protocol: ASGIApp, api: ASGIApp, page: ASGIApp | None) -> None:
        self._protocol = protocol
        self._api = api
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._protocol(scope, receive, send)
        elif context_of(scope).route.path_template == _MCP_ROUTE.path_template:
            await self._protocol(
                {**scope, "path": _MCP_ROUTE.path_template, "raw_path": _MCP_ROUTE.path_template.encode()},
                receive,
                send,
            )
        elif self._page is not None and page_application.route_of(scope["path"]):
            await self._page(scope, receive, send)
        else:
            await self._api(scope, receive, send)


async def _serve_until_stopped(
    make_server: MakeServer, parts: HttpParts, access: Access, listening: socket.socket, close: Callable[[], None]
) -> int:
    port = listening.getsockname()[1]
    key_uses = KeyUses(Keys(parts.app.registry).record_uses)
    gate, drain = make_http_app(make_server, parts, access, port=port, on_use=key_uses.record_use)
    web = _web_server(gate, parts.app.loaded.config.serving.proxies)
    code: int | None = None

    async def stop() -> None:
        await drain.finish_requests(within=_SHUTDOWN_GRACE_SECONDS)
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it logs open streams as an error
        web.should_exit = True

    def stop_soon(with_code: int) -> None:
        nonlocal code
        if code is not None:  # a second signal
            exit_immediately(with_code)
        code = with_code
        close()
        tasks.start_soon(stop)

    async def attend() -> None:
        await web.until_started()
        if parts.page is None:
            sys.stderr.write(
                f"dirindex serves MCP on http://{access.address.host_in_url}:{port}{_MCP_ROUTE.path_template}\n"
            )
            sys.stderr.flush()
        else:
            await parts.page.open_and_wait_until_idle(access.address.host_in_url, port)
            stop_soon(0)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, stop_soon)
        tasks.start_soon(attend)
        await web.serve(sockets=[listening])
        tasks.cancel_scope.cancel()
    key_uses.close()
    return code or 0


def _web_server(gate: RequestGuard, proxies: Sequence[str]) -> _WebServer:
    for name in ("mcp.server.streamable_http", "uvicorn.error"):
        logging.getLogger(name).addFilter(_DisconnectFilter())
    config = uvicorn.Config(
        gate,
        # By h11: the other parser, the default where it is installed, keeps trailing white space of header values.
        http=TimeoutConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Uvicorn's default trusts every local program, so each guess of a key could claim another client address.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=0,
    )
    return _WebServer(config)


class _DisconnectFilter(logging.Filter):
    """Drops log records of clients that disconnect in the middle of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


class _WebServer(uvicorn.Server):
    """A web server without signal handlers: Uvicorn's raise the signal again after the shutdown."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def until_started(self) -> None:
        """Wait until the server accepts connections."""
        while not self.started:  # noqa: ASYNC110 - the server has no event for that
            await anyio.sleep(_POLL_SECONDS)
