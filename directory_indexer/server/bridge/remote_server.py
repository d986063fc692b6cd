"""A remote index server: its MCP endpoint, called by the client of the MCP SDK, and its operation that stores a text.

Each request is one HTTP exchange without a session, so a restart of the server loses nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import anyio
import anyio.to_thread
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import Request, Result
from pydantic import TypeAdapter, ValidationError

from directory_indexer.core.errors import DirIndexError, NotIndexedError, UnavailableError, UsageError
from directory_indexer.http_client.client import Response
from directory_indexer.server.bridge.http_client import (
    MAX_ANSWER_BYTES,
    Backoff,
    CancellableWait,
    HttpClient,
    HttpRequest,
    RetryingClient,
    RetryWait,
)
from directory_indexer.server.lifecycle import DISCOVERY_VERSIONS

_MCP_PATH: Final = "/mcp"
_INGEST_PATH: Final = "/api/v1/ingest"
_FORWARDED_HEADERS: Final = frozenset({"accept", "content-type"})
_PROTOCOL_VERSION: Final = DISCOVERY_VERSIONS[-1]
_MAX_CONCURRENT_REQUESTS: Final = 8
_MAX_TEXT_CHARS: Final = 10_000_000
_MAX_DETAIL_CHARS: Final = 300
_HTTP_OK: Final = range(200, 300)
_REDIRECT_STATUSES: Final = range(300, 400)
_ERRORS_BY_STATUS: Final[Mapping[int, tuple[type[DirIndexError], str | None]]] = {
    400: (UsageError, None),
    401: (UsageError, "the token in --token-file is not one of its keys"),
    403: (UsageError, "the key needs the right to write for documents to be sent, and to read for all else"),
    404: (NotIndexedError, None),
    409: (UsageError, None),
    413: (UsageError, None),
    421: (UsageError, "start the server with --allow-host and the name by which it is called"),
    422: (UsageError, None),
}

_Result = TypeVar("_Result", bound=Result)


class SentDocument(NamedTuple):
    """The processing state of a document that was sent."""

    status: str
    effect: str
    doc_id: str
    state: str
    chunks: int


_SENT_DOCUMENT_PARSER: Final = TypeAdapter(SentDocument)


class RemoteServer:
    """An index server over HTTP: its MCP endpoint, and its operation that stores a text."""

    def __init__(self, http_client: HttpClient, *, backoff: Backoff = Backoff()) -> None:  # noqa: B008 - it is a value
        self._address = http_client.address
        self._client = RetryingClient(http_client.send, backoff=backoff)
        self.limiter = anyio.CapacityLimiter(_MAX_CONCURRENT_REQUESTS)

    async def request(
        self, request: Request[Any, Any], result: type[_Result], report: Callable[[RetryWait], None]
    ) -> _Result:
        """Send a request of MCP and return its result; `report` is called before each wait, and may raise to give up.

        Raises:
            DirIndexError: the server is unavailable, refuses the request, or its response is invalid.
            MCPError: the server answers with an error of the protocol.
        """
        _require_json(request)
        transport = _Transport(self, report)
        failure: Exception
        async with (
            httpx2.AsyncClient(transport=transport, trust_env=False) as http,
            Client(
                streamable_http_client(
                    f"http://server{_MCP_PATH}", http_client=http, max_sse_event_size=MAX_ANSWER_BYTES
                ),
                mode=_PROTOCOL_VERSION,
                cache=None,
            ) as client,
        ):
            try:  # here, since what leaves the client is wrapped in exception groups
                return await client.session.send_request(request, result)
            except MCPError as error:
                failure = transport.error or error
            except ValidationError:
                failure = self._not_dirindex_error()
        raise failure

    async def send(self, request: HttpRequest, report: Callable[[RetryWait], None]) -> Response:
        """Send an HTTP request and return the response to it, which is a success or an error of JSON-RPC.

        Raises:
            DirIndexError: the server is unavailable or refuses the request.
        """
        wait = CancellableWait(report)
        try:
            response = await anyio.to_thread.run_sync(
                lambda: self._client.send(request, pause=wait.pause), abandon_on_cancel=True, limiter=self.limiter
            )
        finally:
            wait.cancel()
        if response.status in _HTTP_OK or "jsonrpc" in _parse_json_object(response.content):
            return response
        raise self._error_of_response(response)

    async def ingest(self, content: Mapping[str, Any], report: Callable[[RetryWait], None]) -> SentDocument:
        """Send a text; it replaces the one with the same id, and is stored once however often the request is repeated.

        Raises:
            DirIndexError: the text is too long, or the server is unavailable or refuses it.
        """
        body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        if len(content["text"]) > _MAX_TEXT_CHARS or len(body) > MAX_ANSWER_BYTES:
            raise UsageError(
                f"the document has more than {_MAX_TEXT_CHARS:,} characters or {MAX_ANSWER_BYTES:,} bytes",
                hint="send parts of it",
            )
        headers = {"content-type": "application/json", "idempotency-key": str(uuid.uuid4())}
        answer = _parse_json_object(
            (await self.send(HttpRequest("POST", _INGEST_PATH, body=body, headers=headers), report)).content
        )
        try:
            return _SENT_DOCUMENT_PARSER.validate_python({name: answer.get(name) for name in SentDocument._fields})
        except ValidationError as error:
            raise self._not_dirindex_error() from error

    def _not_dirindex_error(self) -> UnavailableError:
        return UnavailableError(
            f"{self._address.display_url} is not a dirindex server",
            hint="check that the address is that of dirindex serve --http",
        )

    def _error_of_response(self, response: Response) -> DirIndexError:
        if response.status in _REDIRECT_STATUSES:
            return UnavailableError(
                f"{self._address.display_url} redirects; redirects are not followed",
                hint="give the address of the server itself to --remote",
            )
        detail = str(_parse_json_object(response.content).get("detail") or "")[:_MAX_DETAIL_CHARS]
        kind, hint = _ERRORS_BY_STATUS.get(response.status, (UnavailableError, None))
        return kind(f"the server refuses: {detail or f'it answers {response.status}'}", hint=hint)


class _Transport(httpx2.AsyncBaseTransport):
    """Carries the requests of the MCP client to the server, and keeps the error that the client cannot express."""

    def __init__(self, server: RemoteServer, report: Callable[[RetryWait], None]) -> None:
        self._server = server
        self._report = report
        self.error: DirIndexError | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {
            name: text
            for name, text in request.headers.items()
            if name in _FORWARDED_HEADERS or name.startswith("mcp-")
        }
        sent = HttpRequest("POST", _MCP_PATH, body=await request.aread(), headers=headers)
        try:
            response = await self._server.send(sent, self._report)
        except DirIndexError as error:
            self.error = error
            return httpx2.Response(502)
        media_type = response.headers.get("content-type", "")
        return httpx2.Response(response.status, headers={"content-type": media_type}, content=response.content)


def _require_json(request: Request[Any, Any]) -> None:
    """Require that a request can be written as JSON, before the client of the SDK fails with an error of its own."""
    try:
        json.dumps(request.model_dump(), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(
            "the arguments cannot be written as JSON", hint="remove unpaired surrogates and NaN"
        ) from error


def _parse_json_object(body: bytes) -> Mapping[str, Any]:
    """Parse a JSON object; an empty one for anything else, such as the error page of a proxy."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
