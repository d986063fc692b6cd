"""Identity of the client of a call; the SDK's session objects do not tell, since each call gets a new one."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcp.server import ServerRequestContext

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.server.gate import visits

_SESSION = "mcp-session-id"


class Client(NamedTuple):
    """A session and the API key of its calls; both are empty on standard input, which has one client."""

    session: str = ""
    key: bytes = b""


def client_of(ctx: ServerRequestContext[Any, Any]) -> Client | None:
    """Return the client of a call; None if the call has no session."""
    if ctx.request is None:
        return Client()
    session = ctx.request.headers.get(_SESSION)
    key = visits.visit_of(ctx.request.scope).key
    return Client(session, key.digest if key else b"") if session else None
