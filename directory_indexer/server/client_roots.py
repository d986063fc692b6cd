"""The directories that a client works in: where it tells them, a search that names no place looks there."""

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
"""The roots of the client whose call is being answered."""

_PATIENCE_SECONDS = 1.0
_FRESH_SECONDS = 30.0
_MOST = 50
_MOST_CLIENTS = 200


class ClientRoots:
    """The roots of every client that has some, asked for now and then: they change when a folder is opened."""

    def __init__(self) -> None:
        self._known: dict[Client, tuple[float, tuple[FilePath, ...]]] = {}

    async def of(self, ctx: ServerRequestContext[Any, Any]) -> tuple[FilePath, ...]:
        """Give the roots of a client; none where it has none, or does not answer in time."""
        capabilities = ctx.session.client_capabilities
        if capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
            return ()
        client = client_of(ctx)
        asked_at, roots = self._known.get(client, (-_FRESH_SECONDS, ())) if client else (-_FRESH_SECONDS, ())
        if anyio.current_time() - asked_at < _FRESH_SECONDS:
            return roots
        answer = ListRootsResult(roots=[])
        with anyio.move_on_after(_PATIENCE_SECONDS), contextlib.suppress(MCPError):
            answer = await ctx.session.send_request(ListRootsRequest(), ListRootsResult)
        roots = tuple(_paths(str(root.uri) for root in answer.roots[:_MOST]))
        if client:
            self._known.pop(client, None)
            self._known[client] = anyio.current_time(), roots
            while len(self._known) > _MOST_CLIENTS:
                del self._known[next(iter(self._known))]
        return roots


def roots_indexed(snapshot: Snapshot) -> tuple[FilePath, ...]:
    """Give those of the client's roots that lie in or around what is tracked."""
    tracked = snapshot.directories.all()
    meant = (root for root in named.get() if any(lies_in(root, one) or lies_in(one, root) for one in tracked))
    return tuple(root for root in meant if snapshot.files.holds(root))


def roots_note(scope: tuple[FilePath, ...]) -> tuple[str, ...]:
    """Say that a search looked where the client works, or that nothing is indexed there."""
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
