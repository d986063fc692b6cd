"""Which client a call comes from, where that can be told: the SDK gives every call a session object of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcp.server import ServerRequestContext

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.server.gate import visits

_SESSION = "mcp-session-id"


class Client(NamedTuple):
    """A session, and the key by which its calls come; both are empty on standard input, which has one client."""

    session: str = ""
    key: bytes = b""


def client_of(ctx: ServerRequestContext[Any, Any]) -> Client | None:
    """Tell which client sent a call; None where each of its calls stands for itself."""
    if ctx.request is None:
        return Client()
    session = ctx.request.headers.get(_SESSION)
    key = visits.visit_of(ctx.request.scope).key
    return Client(session, key.digest if key else b"") if session else None
