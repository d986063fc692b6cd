"""Limit of MCP sessions: each belongs to the key that opened it; at the limit, an idle one is closed.

Clients often disconnect without closing their sessions. The SDK keeps those for half an hour, and opens no new ones at
its limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from directory_indexer.lazy import lazily

with lazily:
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_SESSION = b"mcp-session-id"
_NOT_FOUND = 404


@dataclass(slots=True)
class _Session:
    owner: bytes
    n_requests: int = 1
    """The number of requests in progress."""


class SessionRoom:
    """Closes a session of the owner with the most sessions when there are more than `most`, as its client could do.

    The one that has been idle longest is chosen; a session with a request or an open stream is not idle. For other
    callers than its owner a session does not exist.
    """

    def __init__(self, app: ASGIApp, *, most: int, owner_of: Callable[[Scope], bytes]) -> None:
        self._app = app
        self._most = most
        self._owner_of = owner_of
        self._sessions: dict[bytes, _Session] = {}
        """In the order of last use."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        owner = self._owner_of(scope)
        scope = {**scope, "user": _user(owner)}
        name = next((value for name, value in scope["headers"] if name == _SESSION), None)
        if name is None:
            await self._open(scope, receive, send)
            return
        session = self._sessions.get(name)
        if session is None or session.owner != owner:
            await self._app(scope, receive, send)
            return
        session.n_requests += 1
        try:
            await self._app(scope, receive, self._detecting_close(name, scope, send))
        finally:
            self._leave(name)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened = b""

        async def noting(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start":
                opened = dict(message["headers"]).get(_SESSION, b"")
                if opened:  # its client may send the next request before this response ends
                    self._sessions[opened] = _Session(self._owner_of(scope))
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            if opened:
                self._leave(opened)
        if opened:
            await self._make_room(scope, except_for=opened)

    def _leave(self, name: bytes) -> None:
        """Count a request as finished, unless its session has been closed in the meantime."""
        session = self._sessions.pop(name, None)
        if session is not None:
            session.n_requests -= 1
            self._sessions[name] = session

    def _detecting_close(self, name: bytes, scope: Scope, send: Send) -> Send:
        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and (
                scope["method"] == "DELETE" or message["status"] == _NOT_FOUND
            ):
                self._sessions.pop(name, None)
            await send(message)

        return noting

    async def _make_room(self, scope: Scope, *, except_for: bytes) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        # Chosen anew each time: while one is closed, others may be used or closed.
        while (name := self._session_to_close(except_for)) is not None:
            session = self._sessions.pop(name)
            ending = {"method": "DELETE", "headers": [*headers, (_SESSION, name)], "user": _user(session.owner)}
            await self._app({**scope, **ending}, _receive_empty_body, _discard_message)

    def _session_to_close(self, except_for: bytes) -> bytes | None:
        if len(self._sessions) <= self._most:
            return None
        n_of_owner = Counter(session.owner for session in self._sessions.values())
        idle = [name for name, session in self._sessions.items() if not session.n_requests and name != except_for]
        return max(idle, key=lambda name: n_of_owner[self._sessions[name].owner], default=None)


def _user(owner: bytes) -> AuthenticatedUser:
    """Return the user that the SDK records for a session and requires for its later requests."""
    return AuthenticatedUser(AccessToken(token="", client_id=owner.hex(), scopes=[]))


async def _receive_empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard_message(_: Message) -> None:
    return None
