"""Passages already returned in a session: they are named and not sent again.

They are kept by session and key, up to a limit of the newest ones.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from directory_indexer.files import DIRECTORY
from directory_indexer.lazy import lazily
from directory_indexer.server.clients import Client

with lazily:
    from directory_indexer.wire.hits import Passage


class ShownLines(NamedTuple):
    """The lines of a passage that were returned, the last one included."""

    first: int
    last: int


before: Final[contextvars.ContextVar[Mapping[str, ShownLines]]] = contextvars.ContextVar("shown_before", default={})  # noqa: B039 - it is never modified
"""The lines returned in the session of the current call, by passage id."""

_MAX_PASSAGES = 300
_MAX_TRACKED_CLIENTS = 200


class ShownPassages:
    """The passages returned to each client; the least recently used client is dropped first."""

    def __init__(self) -> None:
        self._clients: dict[Client, dict[str, ShownLines]] = {}

    def of(self, client: Client | None) -> Mapping[str, ShownLines]:
        """Return the lines returned to a client; none for a client that cannot be identified."""
        return dict(self._clients.get(client, {})) if client else {}

    def note(self, client: Client | None, passages: Iterable[Passage]) -> None:
        """Record the passages of an answer."""
        if client is None:
            return
        lines = self._clients[client] = self._clients.pop(client, {})
        for passage in passages:
            if passage.shown_before is None and passage.excerpt:
                lines.pop(passage.chunk_id, None)
                lines[passage.chunk_id] = ShownLines(passage.excerpt_start_line, passage.excerpt_end_line)
        _keep_newest(lines, _MAX_PASSAGES)
        _keep_newest(self._clients, _MAX_TRACKED_CLIENTS)


def _keep_newest(entries: dict[Any, Any], most: int) -> None:
    while len(entries) > most:
        del entries[next(iter(entries))]


def without_excerpt(passage: Passage) -> Passage:
    """Omit the excerpt of a passage whose best line was already returned; directory listings may change."""
    lines = None if passage.kind == DIRECTORY else before.get().get(passage.chunk_id)
    if lines is None or not lines.first <= passage.line <= lines.last:
        return passage
    return passage._replace(
        excerpt="",
        excerpt_start_line=lines.first,
        excerpt_end_line=lines.last,
        marks=(),
        shown_before=f"{lines.first}-{lines.last}",
    )
