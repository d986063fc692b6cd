"""Roots of MCP clients: a search without a path is restricted to them."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

import anyio
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.types import ListRootsRequest, ListRootsResult

from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display, lies_in, path_in_file_uri, resolved_path
from directory_indexer.server.clients import Client, client_of

with lazily:
    from directory_indexer.docstore.store import Snapshot


named: Final[contextvars.ContextVar[tuple[FilePath, ...]]] = contextvars.ContextVar("client_roots", default=())
"""The roots of the client whose call is being processed."""

_TIMEOUT_SECONDS = 1.0
_MAX_AGE_SECONDS = 30.0
_MAX_ROOTS = 50
_MAX_CLIENTS = 200


class ClientRoots:
    """A cache of the roots of clients, requested again after a while: they change when a folder is opened."""

    def __init__(self) -> None:
        self._known: dict[Client, tuple[float, tuple[FilePath, ...]]] = {}

    async def of(self, ctx: ServerRequestContext[Any, Any]) -> tuple[FilePath, ...]:
        """Return the roots of a client; none if it does not support roots or does not respond in time."""
        capabilities = ctx.session.client_capabilities
        if capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
            return ()
        client = client_of(ctx)
        requested_at, roots = self._known.get(client, (-_MAX_AGE_SECONDS, ())) if client else (-_MAX_AGE_SECONDS, ())
        if anyio.current_time() - requested_at < _MAX_AGE_SECONDS:
            return roots
        answer = ListRootsResult(roots=[])
        with anyio.move_on_after(_TIMEOUT_SECONDS), contextlib.suppress(MCPError):
            answer = await ctx.session.send_request(ListRootsRequest(), ListRootsResult)
        roots = tuple(_paths(str(root.uri) for root in answer.roots[:_MAX_ROOTS]))
        if client:
            self._known.pop(client, None)
            self._known[client] = anyio.current_time(), roots
            while len(self._known) > _MAX_CLIENTS:
                del self._known[next(iter(self._known))]
        return roots


def roots_indexed(snapshot: Snapshot) -> tuple[FilePath, ...]:
    """Return the roots of the current client that lie in or around tracked directories and contain indexed files."""
    tracked = snapshot.directories.all()
    overlapping = (
        root
        for root in named.get()
        if any(lies_in(root, directory) or lies_in(directory, root) for directory in tracked)
    )
    return tuple(root for root in overlapping if snapshot.files.holds(root))


def roots_note(scope: tuple[FilePath, ...]) -> tuple[str, ...]:
    """Return a note that the search was restricted to the client's roots, or that nothing is indexed there."""
    if scope:
        roots = ", ".join(map(display, scope))
        return (f'looked in the roots of this client alone: {roots}; path="/" looks everywhere',)
    if named.get():
        return ("nothing is indexed in the roots of this client: the answer comes from elsewhere",)
    return ()


def _paths(uris: Iterable[str]) -> Iterator[FilePath]:
    for uri in uris:
        location = path_in_file_uri(uri)
        if location and os.path.isabs(location) and "\0" not in location:
            yield resolved_path(location)
