"""What a session has been shown: a passage that it has in its context already is named, and not sent again.

It is kept for one session and one key, and of it no more than the newest part.
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
    """The lines of a passage that were shown, the last one included."""

    first: int
    last: int


before: Final[contextvars.ContextVar[Mapping[str, ShownLines]]] = contextvars.ContextVar("shown_before", default={})  # noqa: B039 - nobody writes to it
"""What the session whose call is being answered has been shown, by the ids of passages."""

_MOST = 300
_MOST_CLIENTS = 200


class ShownPassages:
    """The passages that every client has been shown; those of the client that was idle longest are forgotten first."""

    def __init__(self) -> None:
        self._clients: dict[Client, dict[str, ShownLines]] = {}

    def of(self, client: Client | None) -> Mapping[str, ShownLines]:
        """Give what a client has been shown; nothing to one that cannot be told from others."""
        return dict(self._clients.get(client, {})) if client else {}

    def note(self, client: Client | None, passages: Iterable[Passage]) -> None:
        """Remember what an answer shows."""
        if client is None:
            return
        shown = self._clients[client] = self._clients.pop(client, {})
        for one in passages:
            if one.shown_before is None and one.excerpt:
                shown.pop(one.chunk_id, None)
                shown[one.chunk_id] = ShownLines(one.excerpt_start_line, one.excerpt_end_line)
        _keep_newest(shown, _MOST)
        _keep_newest(self._clients, _MOST_CLIENTS)


def _keep_newest(kept: dict[Any, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]


def without_excerpt(passage: Passage) -> Passage:
    """Leave out the excerpt of a passage whose best line was shown before; what lies in a directory may change."""
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
