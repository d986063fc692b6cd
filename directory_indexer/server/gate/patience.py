"""How long a connection may take: a client that says nothing, or reads nothing, must not keep others out.

The web server itself knows no such limits: it waits for the rest of a request for ever, and answers nobody any more
when it has as many connections as it may.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class Patience(NamedTuple):
    """How long a server waits: for the head of a request, for its body, and for a client to take what is written.

    A body gets another second for so many bytes of it that have come.
    """

    head_seconds: float = 5
    body_seconds: float = 10
    body_bytes_a_second: int = 16_384
    stalled_seconds: float = 30


class PatientConnection(H11Protocol):
    """A connection that is closed when it takes too long, and gives way to new ones while its request is incomplete."""

    patience: ClassVar = Patience()

    is_waiting = True
    """Whether the client has to send something, be it the rest of a request or a further one."""

    waits_since = 0.0
    _n_bytes = 0
    _waits_for: object = None
    _impatience: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the class above it
        """Begin, if need be in the place of the connection that has been waiting longest."""
        self._make_room()
        super().connection_made(transport)
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
        waiting = [one for one in self.connections if isinstance(one, PatientConnection) and one.is_waiting]
        if waiting:
            min(waiting, key=lambda one: one.waits_since).give_way()

    def give_way(self) -> None:
        """Close for the sake of another connection."""
        self.connections.discard(self)
        self._give_up()

    def _give_up(self) -> None:
        self.transport.abort()

    def _wait_for_request(self) -> None:
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
