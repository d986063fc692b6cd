"""Opaque cursors: which hits an answer has shown, to what question, and in which state of the index.

A cursor names the hits themselves, not how many they were. So the next page repeats none and misses none, also when
an index run has changed the order meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass

import blake3

from directory_indexer.lazy import lazily
from directory_indexer.server.shapes import ArgumentError

with lazily:
    from directory_indexer.searching.answers import Hit


LONGEST_CURSOR = 2000
_DIGEST_BYTES = 4
_MARK_BYTES = 3
"""So few that a cursor stays short; two of a few hundred hits look the same once in hundreds of questions."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where an answer goes on: the marks of the hits that were shown, and the state of the index at that time."""

    shown: tuple[bytes, ...] = ()
    state_digest: bytes | None = None

    def is_before(self, state: str) -> bool:
        """Tell whether the index was in another state then."""
        return self.state_digest is not None and self.state_digest != _digest([state])


def mark_of(hit: Hit) -> bytes:
    """Give the few bytes that stand for a hit in a cursor."""
    return hit.chunk_id[:_MARK_BYTES]


def cursor_for(shown: Sequence[bytes], *, question: Sequence[object], state: str) -> str:
    """Make the cursor that continues after the hits with these marks."""
    content = b"".join([_digest(question), _digest([state]), *shown])
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def position_of(cursor: str, *, question: Sequence[object]) -> Position:
    """Tell where to go on; an empty cursor means at the beginning.

    Raises:
        ArgumentError: the cursor is none of ours, or belongs to another question.
    """
    if not cursor:
        return Position()
    try:
        content = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        content = b""
    of_question, rest = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    of_state, marks = rest[:_DIGEST_BYTES], rest[_DIGEST_BYTES:]
    if len(of_state) < _DIGEST_BYTES or len(marks) % _MARK_BYTES:
        raise ArgumentError("the cursor is not one that this server gave; repeat the call without cursor")
    if of_question != _digest(question):
        raise ArgumentError("the cursor belongs to another question; repeat the call without cursor")
    shown = tuple(marks[at : at + _MARK_BYTES] for at in range(0, len(marks), _MARK_BYTES))
    return Position(shown, of_state)


def _digest(values: Sequence[object]) -> bytes:
    return blake3.blake3(json.dumps(list(values)).encode("utf-8", "replace")).digest(length=_DIGEST_BYTES)
