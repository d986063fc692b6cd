"""Requests in flight when a server ends: they are answered first, and whoever comes then is told to come back.

The web server itself would either wait for streams that never end or answer everything that is in flight with an
error of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

from directory_indexer.lazy import lazily
from directory_indexer.server.gate.problems import CLOSING

with lazily:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Drain:
    """Answer requests until it is time to end, but for those that neither wait nor are waited for.

    Those are streams that a client only listens to, and questions whether the server is there.
    """

    def __init__(self, app: ASGIApp, *, passes: Callable[[Scope], bool]) -> None:
        self._app = app
        self._passes = passes
        self._in_flight: set[anyio.CancelScope] = set()
        self.is_ending = False
        self._is_empty = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it (503) when the server ends before it is answered."""
        if scope["type"] != "http" or self._passes(scope):
            await self._app(scope, receive, send)
        elif self.is_ending:
            await _refuse(send)
        else:
            await self._answer(scope, receive, send)

    async def answer_all(self, *, within: float) -> None:
        """Take no more requests, and return when those in flight are answered: after so many seconds with a refusal."""
        self.is_ending = True
        if not self._in_flight:
            return
        with anyio.move_on_after(within):
            await self._is_empty.wait()
            return
        for request in self._in_flight:
            request.cancel()
        with anyio.move_on_after(within):
            await self._is_empty.wait()

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
                self._is_empty.set()


async def _refuse(send: Send) -> None:
    headers = [*CLOSING.headers(), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": CLOSING.status, "headers": headers})
    await send({"type": "http.response.body", "body": CLOSING.body()})
