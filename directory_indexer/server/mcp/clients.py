"""Clients of MCP calls: their identity, their roots, and the passages already returned in a session.

The SDK's session objects do not identify a client, since each call gets a new one. A search without a path is
restricted to the roots. Passages already returned are named and not sent again; they are kept by session and key, up to
a limit of the newest ones.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import anyio
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.types import ListRootsRequest, ListRootsResult

from directory_indexer.core.files import DIRECTORY
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, lies_in, path_in_file_uri, resolved_path

with lazily:
    from directory_indexer.api.hits import Passage
    from directory_indexer.server.middleware import request_context
    from directory_indexer.storage.documents.store import Snapshot


_SESSION_HEADER = "mcp-session-id"


class Client(NamedTuple):
    """A session and the API key of its calls; both are empty on standard input, which has one client."""

    session: str = ""
    key: bytes = b""


def identify_client(ctx: ServerRequestContext[Any, Any]) -> Client | None:
    """Return the client of a call; None if the call has no session."""
    if ctx.request is None:
        return Client()
    session = ctx.request.headers.get(_SESSION_HEADER)
    key = request_context.context_of(ctx.request.scope).key
    return Client(session, key.digest if key else b"") if session else None


current_roots: Final[contextvars.ContextVar[tuple[FilePath, ...]]] = contextvars.ContextVar("client_roots", default=())
"""The roots of the client whose call is being processed."""

_ROOTS_TIMEOUT_SECONDS = 1.0
_MAX_ROOTS_AGE_SECONDS = 30.0
_MAX_ROOTS = 50
_MAX_CLIENTS = 200


class ClientRoots:
    """A cache of the roots of clients, requested again after a while: they change when a folder is opened."""

    def __init__(self) -> None:
        self._known: dict[Client, tuple[float, tuple[FilePath, ...]]] = {}

    async def roots_of(self, ctx: ServerRequestContext[Any, Any]) -> tuple[FilePath, ...]:
        """Return the roots of a client; none if it does not support roots or does not respond in time."""
        capabilities = ctx.session.client_capabilities
        if capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
            return ()
        client = identify_client(ctx)
        requested_at, roots = (
            self._known.get(client, (-_MAX_ROOTS_AGE_SECONDS, ())) if client else (-_MAX_ROOTS_AGE_SECONDS, ())
        )
        if anyio.current_time() - requested_at < _MAX_ROOTS_AGE_SECONDS:
            return roots
        answer = ListRootsResult(roots=[])
        with anyio.move_on_after(_ROOTS_TIMEOUT_SECONDS), contextlib.suppress(MCPError):
            answer = await ctx.session.send_request(ListRootsRequest(), ListRootsResult)
        roots = tuple(_paths_of_uris(str(root.uri) for root in answer.roots[:_MAX_ROOTS]))
        if client:
            self._known.pop(client, None)
            self._known[client] = anyio.current_time(), roots
            while len(self._known) > _MAX_CLIENTS:
                del self._known[next(iter(self._known))]
        return roots


def indexed_client_roots(snapshot: Snapshot) -> tuple[FilePath, ...]:
    """Return the roots of the current client that lie in or around tracked directories and contain indexed files."""
    tracked = snapshot.directories.all()
    overlapping = (
        root
        for root in current_roots.get()
        if any(lies_in(root, directory) or lies_in(directory, root) for directory in tracked)
    )
    return tuple(root for root in overlapping if snapshot.files.covers(root))


def describe_client_roots(scope: tuple[FilePath, ...]) -> tuple[str, ...]:
    """Return a note that the search was restricted to the client's roots, or that nothing is indexed there."""
    if scope:
        roots = ", ".join(map(display, scope))
        return (f'looked in the roots of this client alone: {roots}; path="/" looks everywhere',)
    if current_roots.get():
        return ("nothing is indexed in the roots of this client: the answer comes from elsewhere",)
    return ()


def _paths_of_uris(uris: Iterable[str]) -> Iterator[FilePath]:
    for uri in uris:
        location = path_in_file_uri(uri)
        if location and os.path.isabs(location) and "\0" not in location:
            yield resolved_path(location)


class ReturnedLines(NamedTuple):
    """The lines of a passage that were returned, the last one included."""

    first: int
    last: int


returned_lines: Final[contextvars.ContextVar[Mapping[str, ReturnedLines]]] = contextvars.ContextVar(
    "shown_before",
    default={},  # noqa: B039 - it is never modified
)
"""The lines returned in the session of the current call, by passage id."""

_MAX_PASSAGES = 300
_MAX_TRACKED_CLIENTS = 200


class ReturnedPassages:
    """The passages returned to each client; the least recently used client is dropped first."""

    def __init__(self) -> None:
        self._clients: dict[Client, dict[str, ReturnedLines]] = {}

    def lines_returned_to(self, client: Client | None) -> Mapping[str, ReturnedLines]:
        """Return the lines returned to a client; none for a client that cannot be identified."""
        return dict(self._clients.get(client, {})) if client else {}

    def record(self, client: Client | None, passages: Iterable[Passage]) -> None:
        """Record the passages of an answer."""
        if client is None:
            return
        lines = self._clients[client] = self._clients.pop(client, {})
        for passage in passages:
            if passage.shown_before is None and passage.excerpt:
                lines.pop(passage.chunk_id, None)
                lines[passage.chunk_id] = ReturnedLines(passage.excerpt_start_line, passage.excerpt_end_line)
        _drop_oldest(lines, _MAX_PASSAGES)
        _drop_oldest(self._clients, _MAX_TRACKED_CLIENTS)


def _drop_oldest(entries: dict[Any, Any], most: int) -> None:
    while len(entries) > most:
        del entries[next(iter(entries))]


def omit_returned_excerpt(passage: Passage) -> Passage:
    """Omit the excerpt of a passage whose best line was already returned; directory listings may change."""
    lines = None if passage.kind == DIRECTORY else returned_lines.get().get(passage.chunk_id)
    if lines is None or not lines.first <= passage.line <= lines.last:
        return passage
    return passage._replace(
        excerpt="",
        excerpt_start_line=lines.first,
        excerpt_end_line=lines.last,
        marks=(),
        shown_before=f"{lines.first}-{lines.last}",
    )
