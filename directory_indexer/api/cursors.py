"""Opaque pagination cursors: the hits already returned, the query and the state of the index.

A cursor holds the hits themselves, not an offset. So the next page repeats none and misses none, even if an index run
has changed the order in the meantime.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import NamedTuple

import blake3

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note

with lazily:
    from directory_indexer.search.requests import Hit, SearchResult


_DIGEST_BYTES = 4
_MARK_BYTES = 3
"""Few enough for short cursors; a collision among a few hundred hits occurs once in hundreds of queries."""

_MAX_MARKS = 10_000
_REPEAT_HINT = "repeat the search without cursor"
_HAS_CHANGED = (
    "the index has changed since the page before; its hits are not repeated, but better ones may have come: "
    f"{_REPEAT_HINT} to see them"
)


class Position(NamedTuple):
    """A decoded cursor: the query, the marks of the hits already returned, and the state of the index at that time."""

    question: bytes
    marks: tuple[bytes, ...] = ()
    state: bytes | None = None

    def limit(self, n_hits: int) -> int:
        """Return how many hits to retrieve to get `n_hits` new ones."""
        return len(self.marks) + n_hits

    def rest(self, result: SearchResult, *, limit: int) -> SearchResult:
        """Return the result without the hits of earlier pages."""
        hits = [hit for hit in result.hits if _mark(hit) not in self.marks]
        is_changed = self.state is not None and self.state != _digest([result.state])
        return result._replace(
            hits=tuple(hits[:limit]),
            is_truncated=result.is_truncated or len(hits) > limit,
            notes=(*result.notes, *([Note(_HAS_CHANGED)] if is_changed else [])),
        )

    def cursor_after(self, hits: Sequence[Hit], *, state: str) -> str:
        """Return the cursor that continues after these hits, too."""
        content = b"".join([self.question, _digest([state]), *self.marks, *map(_mark, hits)])
        return base64.urlsafe_b64encode(content).decode().rstrip("=")


def parse_cursor(cursor: str, *, question: Sequence[object]) -> Position:
    """Parse a cursor; an empty one is the beginning.

    Raises:
        UsageError: the cursor is invalid, or belongs to another query.
    """
    digest = _digest(question)
    if not cursor:
        return Position(digest)
    try:
        content = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        content = b""
    question_digest, rest = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    state_digest, marks = rest[:_DIGEST_BYTES], rest[_DIGEST_BYTES:]
    if len(state_digest) < _DIGEST_BYTES or len(marks) % _MARK_BYTES or len(marks) > _MAX_MARKS * _MARK_BYTES:
        raise UsageError("invalid cursor: no search returned it", hint=_REPEAT_HINT)
    if question_digest != digest:
        raise UsageError("the cursor belongs to another query", hint=_REPEAT_HINT)
    returned_marks = tuple(marks[at : at + _MARK_BYTES] for at in range(0, len(marks), _MARK_BYTES))
    return Position(digest, returned_marks, state_digest)


def _mark(hit: Hit) -> bytes:
    return hit.chunk_id[:_MARK_BYTES]


def _digest(values: Sequence[object]) -> bytes:
    return blake3.blake3(json.dumps(list(values)).encode("utf-8", "replace")).digest(length=_DIGEST_BYTES)
