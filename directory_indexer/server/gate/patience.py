"""How long a connection may take: a client that says nothing, or reads nothing, must not keep others out.

The web server itself knows no such limits: it waits for the rest of a request for ever, and answers nobody any more
when it has as many connections as it may.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from typing import Any, ClassVar, NamedTuple, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from directory_indexer.server.gate.visits import CONNECTION


class Patience(NamedTuple):
    """How long a server waits: for the head of a request, for its body, and for a client to take what is written.

    A body gets another second for so many bytes of it that have come. A client that is answered before it has sent all
    has `linger_seconds` to read the answer; meanwhile no more than `linger_bytes` of the rest are taken.
    """

    head_seconds: float = 5
    body_seconds: float = 10
    body_bytes_a_second: int = 16_384
    stalled_seconds: float = 30
    linger_seconds: float = 2
    linger_bytes: int = 1_048_576


class PatientConnection(H11Protocol):
    """A connection that is closed when it takes too long, and gives way to new ones while its request is incomplete."""

    patience: ClassVar = Patience()

    is_waiting = True
    """Whether the client has to send something, be it the rest of a request or a further one."""

    owner = b""
    """The digest of the key of the latest request; empty until one has a key."""

    waits_since = 0.0
    _wire: asyncio.Transport
    _n_bytes = 0
    _waits_for: object = None
    _impatience: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    is_ending = False
    """Whether it is closed as soon as the client has read the answer."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.app_state = {**self.app_state, CONNECTION: self}

    @property
    def awaits_body(self) -> bool:
        """Whether a part of the body has yet to come."""
        return self.conn.their_state is h11.SEND_BODY

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the class above it
        """Begin; with too many connections, one that waits gives way."""
        self._make_room()
        super().connection_made(transport)
        self._wire = transport
        self.transport = cast("asyncio.Transport", _LingeringTransport(transport, self))
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and wait for nothing any more."""
        super().connection_lost(exc)
        for timer in (self._impatience, self._stalled):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take what came, and wait for the rest."""
        self._n_bytes += len(data)
        if self.is_ending:
            if self._n_bytes > self.patience.linger_bytes:
                self._give_up()
            return
        super().data_received(data)
        self._wait_for_request()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait_for_request()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; to a request that is being or was answered nothing more can be said."""
        if self.conn.our_state is h11.IDLE:
            super().send_400_response(msg)
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.abort()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.patience.stalled_seconds, self._give_up)

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def _make_room(self) -> None:
        if self.limit_concurrency is None or len(self.connections) + 1 < self.limit_concurrency:
            return
        waiting: defaultdict[tuple[bytes, object], list[PatientConnection]] = defaultdict(list)
        for connection in self.connections:
            if isinstance(connection, PatientConnection) and connection.is_waiting:
                waiting[connection.client_group].append(connection)
        if waiting:
            oldest = [min(group, key=lambda connection: connection.waits_since) for group in waiting.values()]
            n_waiting = {connection: len(waiting[connection.client_group]) for connection in oldest}
            max(oldest, key=lambda connection: (n_waiting[connection], -connection.waits_since)).give_way()

    @property
    def client_group(self) -> tuple[bytes, object]:
        """The key that the connection counts for, or else the address."""
        return self.owner, None if self.owner else self.client and self.client[0]

    def give_way(self) -> None:
        """Close for the sake of another connection."""
        self.connections.discard(self)
        self._give_up()

    def close(self) -> None:
        """Close when the client has read the answer, or has had the time to.

        A socket that is closed with bytes unread resets the connection, and the answer is lost (RFC 9112, 9.6).
        """
        if self.is_ending or self._wire.is_closing():
            return
        if self.conn.their_state not in {h11.SEND_BODY, h11.ERROR}:
            self._wire.close()
            return
        self.is_ending = self.is_waiting = True
        self.waits_since, self._n_bytes = self.loop.time(), 0
        if self._impatience is not None:
            self._impatience.cancel()
        self._impatience = self.loop.call_later(self.patience.linger_seconds, self._give_up)
        self.flow.resume_reading()
        with contextlib.suppress(OSError):  # the client has gone already
            self._wire.write_eof()

    def _give_up(self) -> None:
        self._wire.abort()

    def _wait_for_request(self) -> None:
        if self.is_ending:
            return
        if self._impatience is not None:
            self._impatience.cancel()
        state = self.conn.their_state
        if state is not self._waits_for:
            self._waits_for, self.waits_since, self._n_bytes = state, self.loop.time(), 0
        self.is_waiting = state in {h11.IDLE, h11.SEND_BODY}
        if self.is_waiting:
            self._impatience = self.loop.call_at(self.waits_since + self._seconds(), self._give_up)

    def _seconds(self) -> float:
        if self._waits_for is h11.IDLE:
            return self.patience.head_seconds
        return self.patience.body_seconds + self._n_bytes / self.patience.body_bytes_a_second


class _LingeringTransport:
    """The transport of a connection as the web server sees it: to close it is up to the connection."""

    def __init__(self, transport: asyncio.Transport, connection: PatientConnection) -> None:
        self._transport = transport
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        self._connection.close()

    def is_closing(self) -> bool:
        return self._connection.is_ending or self._transport.is_closing()
