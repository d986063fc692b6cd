"""Graceful shutdown: requests in flight are finished, and new ones are rejected with 503.

The web server itself would either wait for streams that never end, or fail all requests in flight.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

from directory_indexer.lazy import lazily
from directory_indexer.server.gate.problems import CLOSING

with lazily:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Drain:
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
            await _refuse(send)
        else:
            await self._answer(scope, receive, send)

    async def answer_all(self, *, within: float) -> None:
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
                await _refuse(send)
        finally:
            self._in_flight.discard(request)
            if self.is_ending and not self._in_flight:
                self._is_idle.set()


async def _refuse(send: Send) -> None:
    headers = [*CLOSING.headers(), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": CLOSING.status, "headers": headers})
    await send({"type": "http.response.body", "body": CLOSING.body()})
