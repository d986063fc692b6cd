"""A server in this process, over an index: its application asked without a socket, or through one."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import anyio
import anyio.from_thread
import uvicorn
from mcp import Client

from directory_indexer.collections.background import Administration, IngestWorker
from directory_indexer.config import DEFAULT
from directory_indexer.server.admin_jobs import AdminJobs
from directory_indexer.server.background_model import BackgroundModel
from directory_indexer.server.http import HttpParts, make_http_app
from directory_indexer.server.index_jobs import CollectionJobs
from directory_indexer.server.mcp.executor import ToolExecutor
from directory_indexer.server.mcp.protocol import make_server
from directory_indexer.server.mcp.tools import Tools
from directory_indexer.server.middleware.access import Access, parse_address
from directory_indexer.server.middleware.authentication import BrowserSessions
from directory_indexer.server.middleware.connections import TimeoutConnection
from directory_indexer.server.ui.hosting import PageHost, PageOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp.server.lowlevel import Server
    from teams import Team

    from directory_indexer.server.mcp.operation_tools import OperationTools

TOKEN = "a-token-of-the-operator-of-this-server"  # noqa: S105 - of a server that ends with its test
_HOST = "127.0.0.1"


class Heard(NamedTuple):
    """The answer of an application."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_failure(self) -> bool:
        """Whether the server is to blame: others may be writing, and the model may still be loading."""
        return self.status >= 500 and not (self.status == 503 and self.json["error"] in {"locked", "not_ready"})


class Served:
    """A server with all its parts; with a page, whoever asks is its owner, else its operator."""

    protocol: Server[None]
    operation_tools: OperationTools

    def __init__(self, team: Team, *, has_page: bool = False) -> None:
        self.log = _Log()
        self._model = BackgroundModel(lambda: team.embedder)
        jobs = CollectionJobs(team.collections, command=lambda _: ())
        jobs.jobs_of(DEFAULT).close()  # no run is started: it is answered that others wait already
        tools = Tools(collections=team.collections, model=self._model, jobs=jobs, allowed=())
        self._desk = ToolExecutor(tools)
        self._administration = Administration(team.app.registry, team.data_dir, AdminJobs(team.app, tools).all())
        browsers = BrowserSessions(clock=time.monotonic)
        parts = HttpParts(
            team.app,
            self._desk,
            self._model,
            IngestWorker(team.collections),
            self._administration,
            PageHost(browsers, PageOptions(opens_browser=False), team.data_dir) if has_page else None,
        )
        self._listening = socket.create_server((_HOST, 0))
        self.port = self._listening.getsockname()[1]
        access = Access(parse_address(f"{_HOST}:{self.port}"), token=TOKEN)
        self._app, _ = make_http_app(self._make_protocol, parts, access, port=self.port, on_use=lambda _: None)
        self._headers = self._page_headers(browsers) if has_page else {"authorization": f"Bearer {TOKEN}"}
        self._ending = contextlib.ExitStack()

    def _make_protocol(self, more: OperationTools) -> Server[None]:
        self.operation_tools = more
        self.protocol = make_server(self._desk, self._model, more)
        return self.protocol

    def __enter__(self) -> Self:
        self._ending.callback(self._listening.close)
        self.portal = self._ending.enter_context(anyio.from_thread.start_blocking_portal())
        self._ending.enter_context(self.log.of("dirindex.serve"))
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()
        self._administration.stop()
        self._administration.join(10)

    @contextlib.contextmanager
    def listening(self) -> Iterator[str]:
        """Answer over a socket, too, and give the address."""
        config = uvicorn.Config(self._app, http=TimeoutConnection, ws="none", log_config=None, access_log=False)
        web = uvicorn.Server(config)
        web.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]  # only the main thread has signals
        serving = self.portal.start_task_soon(web.serve, [self._listening])
        try:
            yield f"http://{_HOST}:{self.port}"
        finally:
            web.should_exit = True
            serving.result()

    def ask(
        self, method: str, path: str, query: str = "", *, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Heard:
        """Ask as a client does whose request the web server has read."""
        sent_headers = {"host": f"{_HOST}:{self.port}", **self._headers}
        sent_headers |= {"content-type": "application/json"} if body else {}
        sent_headers |= {name.lower(): value for name, value in (headers or {}).items()}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode("utf-8", "replace"),
            "query_string": query.encode(),
            "headers": [
                (name.encode(), value.encode("utf-8", "surrogatepass")) for name, value in sent_headers.items()
            ],
            "http_version": "1.1",
            "scheme": "http",
            "server": (_HOST, self.port),
            "client": (_HOST, 50_000),
            "root_path": "",
        }
        heard: Heard = self.portal.call(self._heard, scope, body)
        return heard

    def call(self, tool: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Call a tool as an assistant does; return the text and the structure of its answer."""

        async def answer() -> tuple[str, dict[str, Any]]:
            async with Client(self.protocol) as client:
                result = await client.call_tool(tool, dict(given))
            assert not result.is_error, result
            return "".join(part.text for part in result.content if part.type == "text"), result.structured_content or {}

        return anyio.run(answer)

    async def _heard(self, scope: dict[str, Any], body: bytes) -> Heard:
        pieces = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            return pieces.pop() if pieces else await anyio.sleep_forever()

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        return Heard(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent))

    def _page_headers(self, browsers: BrowserSessions) -> dict[str, str]:
        admitted = browsers.admit(browsers.new_code())
        assert admitted is not None
        return {
            "cookie": f"dirindex-{self.port}={admitted.cookie}",
            "x-dirindex-page": admitted.token,
            "sec-fetch-site": "same-origin",
        }


class _Log(logging.Handler):
    """Keeps what is logged as a bug."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.bugs: list[str] = []

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        logging.getLogger(name).addHandler(self)
        try:
            yield
        finally:
            logging.getLogger(name).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.bugs.append(f"{record.getMessage()}: {record.exc_info and record.exc_info[1]!r}")
