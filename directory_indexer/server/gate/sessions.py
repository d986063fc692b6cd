"""Open sessions: when there are too many, one that nobody uses gives way.

Clients often leave without a word. The SDK keeps their sessions for half an hour, and opens no other one when it has
as many as it may.
"""

from __future__ import annotations

from directory_indexer.lazy import lazily

with lazily:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_SESSION = b"mcp-session-id"
_NOT_FOUND = 404


class SessionRoom:
    """Make room: of more than `most` sessions, the one that was idle longest is ended, as its client could have done.

    A session with a request that is answered, or with an open stream, is not idle.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most
        self._n_requests: dict[bytes, int] = {}
        """Of each session, how many are being answered; the session that was used last comes last."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = dict(scope["headers"]).get(_SESSION)
        if session is None:
            await self._open(scope, receive, send)
            return
        is_counted = session in self._n_requests
        if is_counted:
            self._n_requests[session] += 1
        try:
            await self._app(scope, receive, self._noting_the_end(session, scope, send))
        finally:
            if is_counted:
                self._leave(session)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened = b""

        async def noting(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start":
                opened = dict(message["headers"]).get(_SESSION, b"")
                if opened:  # its client may ask the next thing before this answer has ended
                    self._n_requests[opened] = 1
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if opened:
                self._leave(opened)
        if opened:
            await self._make_room(scope, except_for=opened)

    def _leave(self, session: bytes) -> None:
        """Count a request as answered, unless its session has ended meanwhile."""
        if session in self._n_requests:
            self._n_requests[session] = self._n_requests.pop(session) - 1

    def _noting_the_end(self, session: bytes, scope: Scope, send: Send) -> Send:
        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and (
                scope["method"] == "DELETE" or message["status"] == _NOT_FOUND
            ):
                self._n_requests.pop(session, None)
            await send(message)

        return noting

    async def _make_room(self, scope: Scope, *, except_for: bytes) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        # Looked for anew each time: while one is ended, others may be used, or end by themselves.
        while (session := self._superfluous(except_for)) is not None:
            self._n_requests.pop(session, None)
            await self._app(
                {**scope, "method": "DELETE", "headers": [*headers, (_SESSION, session)]}, _nothing, _nobody
            )

    def _superfluous(self, except_for: bytes) -> bytes | None:
        if len(self._n_requests) <= self._most:
            return None
        idle = (one for one, n_requests in self._n_requests.items() if not n_requests and one != except_for)
        return next(idle, None)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(_: Message) -> None:
    return None
