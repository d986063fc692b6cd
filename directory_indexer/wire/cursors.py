"""Opaque cursors: which hits an answer has shown, to what question, and in which state of the index.

A cursor names the hits themselves, not how many they were. So the next page repeats none and misses none, also when
an index run has changed the order meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import NamedTuple

import blake3

from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily
from directory_indexer.notes import Note

with lazily:
    from directory_indexer.searching.answers import Hit, SearchResult


_DIGEST_BYTES = 4
_MARK_BYTES = 3
"""So few that a cursor stays short; two of a few hundred hits look the same once in hundreds of questions."""

_MOST_SHOWN = 10_000
_AGAIN = "repeat the search without cursor"
_HAS_CHANGED = (
    "the index has changed since the page before; its hits are not repeated, but better ones may have come: "
    f"{_AGAIN} to see them"
)


class Position(NamedTuple):
    """Where an answer to a question goes on: the marks of the hits that were shown, and the index at that time."""

    question: bytes
    shown: tuple[bytes, ...] = ()
    state: bytes | None = None

    def limit(self, wanted: int) -> int:
        """Tell how many hits to look for to have so many that were not shown."""
        return len(self.shown) + wanted

    def rest(self, result: SearchResult, *, limit: int) -> SearchResult:
        """Leave out what was shown on the pages before."""
        hits = [hit for hit in result.hits if _mark(hit) not in self.shown]
        is_changed = self.state is not None and self.state != _digest([result.state])
        return result._replace(
            hits=tuple(hits[:limit]),
            is_truncated=result.is_truncated or len(hits) > limit,
            notes=(*result.notes, *([Note(_HAS_CHANGED)] if is_changed else [])),
        )

    def cursor_after(self, hits: Sequence[Hit], *, state: str) -> str:
        """Make the cursor that continues after these hits, too."""
        content = b"".join([self.question, _digest([state]), *self.shown, *map(_mark, hits)])
        return base64.urlsafe_b64encode(content).decode().rstrip("=")


def position_of(cursor: str, *, question: Sequence[object]) -> Position:
    """Tell where to go on; an empty cursor means at the beginning.

    Raises:
        UsageError: the cursor is none of ours, or belongs to another question.
    """
    digest = _digest(question)
    if not cursor:
        return Position(digest)
    try:
        content = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        content = b""
    of_question, rest = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    of_state, marks = rest[:_DIGEST_BYTES], rest[_DIGEST_BYTES:]
    if len(of_state) < _DIGEST_BYTES or len(marks) % _MARK_BYTES or len(marks) > _MOST_SHOWN * _MARK_BYTES:
        raise UsageError("the cursor is not one that a search gave", hint=_AGAIN)
    if of_question != digest:
        raise UsageError("the cursor belongs to another question", hint=_AGAIN)
    shown = tuple(marks[at : at + _MARK_BYTES] for at in range(0, len(marks), _MARK_BYTES))
    return Position(digest, shown, of_state)


def _mark(hit: Hit) -> bytes:
    return hit.chunk_id[:_MARK_BYTES]


def _digest(values: Sequence[object]) -> bytes:
    return blake3.blake3(json.dumps(list(values)).encode("utf-8", "replace")).digest(length=_DIGEST_BYTES)
