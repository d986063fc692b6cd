"""Connection timeouts, and graceful shutdown.

Clients that send or read nothing must not exhaust the connections. The web server itself has no such limits: it waits
for the rest of a request for ever, and stops responding at its connection limit.

At shutdown, requests in flight are finished, and new ones are rejected with 503. The web server itself would either
wait for streams that never end, or fail all requests in flight.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, cast

import anyio
import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from directory_indexer.core.lazy import lazily
from directory_indexer.server.middleware.request_context import CLOSING, CONNECTION_KEY

with lazily:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Timeouts(NamedTuple):
    """The timeouts of the head of a request, of its body, and of reading a response.

    Each `body_bytes_per_second` bytes of a body extend its timeout by a second. A client that gets a response before
    its request is complete has `linger_seconds` to read it; meanwhile at most `linger_bytes` of the rest are accepted.
    """

    head_seconds: float = 5
    body_seconds: float = 10
    body_bytes_per_second: int = 16_384
    stalled_seconds: float = 30
    linger_seconds: float = 2
    linger_bytes: int = 1_048_576


class TimeoutConnection(H11Protocol):
    """A connection with timeouts, which may be evicted for a new one while its request is incomplete."""

    timeouts: ClassVar = Timeouts()

    is_waiting = True
    """Whether the client has to send something: the rest of a request, or the next one."""

    owner = b""
    """The digest of the key of the latest request; empty until there is one."""

    waits_since = 0.0
    _raw_transport: asyncio.Transport
    _n_bytes = 0
    _awaited_state: object = None
    _request_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    is_ending = False
    """Whether the connection is closed as soon as the client has read the response."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.app_state = {**self.app_state, CONNECTION_KEY: self}

    @property
    def awaits_body(self) -> bool:
        """Whether the body is incomplete."""
        return self.conn.their_state is h11.SEND_BODY

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in its base class
        """Start the timeouts; at the connection limit, a waiting connection is evicted."""
        self._close_longest_waiting()
        super().connection_made(transport)
        self._raw_transport = transport
        self.transport = cast("asyncio.Transport", _LingeringTransport(transport, self))
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeouts."""
        super().connection_lost(exc)
        for timer in (self._request_timer, self._write_timer):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Process data, and restart the timeout of the rest."""
        self._n_bytes += len(data)
        if self.is_ending:
            if self._n_bytes > self.timeouts.linger_bytes:
                self._abort_transport()
            return
        super().data_received(data)
        self._wait_for_request()

    def on_response_complete(self) -> None:
        """Start the timeout of the next request."""
        super().on_response_complete()
        self._wait_for_request()

    def send_400_response(self, msg: str) -> None:
        """Reject invalid HTTP; after the start of a response the connection is aborted instead."""
        if self.conn.our_state is h11.IDLE:
            super().send_400_response(msg)
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.abort()

    def pause_writing(self) -> None:
        """Start the timeout of reading."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.timeouts.stalled_seconds, self._abort_transport)

    def resume_writing(self) -> None:
        """Cancel the timeout of reading."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def _close_longest_waiting(self) -> None:
        if self.limit_concurrency is None or len(self.connections) + 1 < self.limit_concurrency:
            return
        waiting: defaultdict[tuple[bytes, object], list[TimeoutConnection]] = defaultdict(list)
        for connection in self.connections:
            if isinstance(connection, TimeoutConnection) and connection.is_waiting:
                waiting[connection.client_group].append(connection)
        if waiting:
            oldest = [min(group, key=lambda connection: connection.waits_since) for group in waiting.values()]
            n_waiting = {connection: len(waiting[connection.client_group]) for connection in oldest}
            max(oldest, key=lambda connection: (n_waiting[connection], -connection.waits_since)).evict()

    @property
    def client_group(self) -> tuple[bytes, object]:
        """The key that the connection belongs to, or else the client address."""
        return self.owner, None if self.owner else self.client and self.client[0]

    def evict(self) -> None:
        """Close the connection to make room for another one."""
        self.connections.discard(self)
        self._abort_transport()

    def close(self) -> None:
        """Close the connection after the client has read the response or its time is up.

        Closing a socket with unread bytes resets the connection, and the response is lost (RFC 9112, 9.6).
        """
        if self.is_ending or self._raw_transport.is_closing():
            return
        if self.conn.their_state not in {h11.SEND_BODY, h11.ERROR}:
            self._raw_transport.close()
            return
        self.is_ending = self.is_waiting = True
        self.waits_since, self._n_bytes = self.loop.time(), 0
        if self._request_timer is not None:
            self._request_timer.cancel()
        self._request_timer = self.loop.call_later(self.timeouts.linger_seconds, self._abort_transport)
        self.flow.resume_reading()
        with contextlib.suppress(OSError):  # the client has disconnected
            self._raw_transport.write_eof()

    def _abort_transport(self) -> None:
        self._raw_transport.abort()

    def _wait_for_request(self) -> None:
        if self.is_ending:
            return
        if self._request_timer is not None:
            self._request_timer.cancel()
        state = self.conn.their_state
        if state is not self._awaited_state:
            self._awaited_state, self.waits_since, self._n_bytes = state, self.loop.time(), 0
        self.is_waiting = state in {h11.IDLE, h11.SEND_BODY}
        if self.is_waiting:
            self._request_timer = self.loop.call_at(self.waits_since + self._timeout_seconds(), self._abort_transport)

    def _timeout_seconds(self) -> float:
        if self._awaited_state is h11.IDLE:
            return self.timeouts.head_seconds
        return self.timeouts.body_seconds + self._n_bytes / self.timeouts.body_bytes_per_second


class _LingeringTransport:
    """The transport of a connection for the web server; closing it is delegated to the connection."""

    def __init__(self, transport: asyncio.Transport, connection: TimeoutConnection) -> None:
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        self._connection.close()

    def is_closing(self) -> bool:
        return self._connection.is_ending or self._transport.is_closing()


class GracefulShutdown:
    """Tracks requests until the shutdown, except exempt ones.

    Exempt are event streams and probes: they are neither rejected nor awaited.
    """

    def __init__(self, app: ASGIApp, *, is_exempt: Callable[[Scope], bool]) -> None:
        self._app = app
        self._is_exempt = is_exempt
        self._in_flight: set[anyio.CancelScope] = set()
        self.is_ending = False
        self._is_idle = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request, with 503 if the shutdown comes first."""
        if scope["type"] != "http" or self._is_exempt(scope):
            await self._app(scope, receive, send)
        elif self.is_ending:
            await _respond_closing(send)
        else:
            await self._answer(scope, receive, send)

    async def finish_requests(self, *, within: float) -> None:
        """Reject new requests, and wait for those in flight; after `within` seconds they are cancelled with 503."""
        self.is_ending = True
        if not self._in_flight:
            return
        with anyio.move_on_after(within):
            await self._is_idle.wait()
            return
        for request in self._in_flight:
            request.cancel()
        with anyio.move_on_after(within):
            await self._is_idle.wait()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        request = anyio.CancelScope()
        self._in_flight.add(request)
        try:
            with request:
                await self._app(scope, receive, noting)
            if request.cancelled_caught and not has_begun:
                await _respond_closing(send)
        finally:
            self._in_flight.discard(request)
            if self.is_ending and not self._in_flight:
                self._is_idle.set()


async def _respond_closing(send: Send) -> None:
    headers = [*CLOSING.headers(), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": CLOSING.status, "headers": headers})
    await send({"type": "http.response.body", "body": CLOSING.body()})
