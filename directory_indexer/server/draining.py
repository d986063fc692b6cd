"""Requests in flight when a server ends: they are answered first, and whoever comes then is told to come back.

The web server itself would either wait for streams that never end or answer everything that is in flight with an
error of its own.
"""

from __future__ import annotations

import anyio
from starlette.responses import JSONResponse

from directory_indexer.lazy import lazily

with lazily:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_RETRY_SECONDS = 5


class Drain:
    """Answer requests until it is time to end; streams that a client only listens to (GET) are not waited for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._in_flight: set[anyio.CancelScope] = set()
        self._is_ending = False
        self._is_empty = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it (503) when the server ends before it is answered."""
        if scope["type"] != "http" or scope["method"] == "GET":
            await self._app(scope, receive, send)
        elif self._is_ending:
            await _refuse(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def answer_all(self, *, within: float) -> None:
        """Take no more requests, and return when those in flight are answered: after so many seconds with a refusal."""
        self._is_ending = True
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
                await _refuse(scope, receive, send)
        finally:
            self._in_flight.discard(request)
            if self._is_ending and not self._in_flight:
                self._is_empty.set()


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"Retry-After": str(_RETRY_SECONDS), "Connection": "close"}
    await JSONResponse({"error": "this server is ending"}, 503, headers=headers)(scope, receive, send)
