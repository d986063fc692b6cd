"""Opaque cursors: where an answer ended, to what question, and in which state of the index."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING

import blake3

from directory_indexer.server.shapes import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence


def cursor_for(offset: int, *, question: Sequence[object], generation: str) -> str:
    """Make the cursor that continues after `offset` hits."""
    content = json.dumps([offset, _digest(question), _digest([generation])], separators=(",", ":"))
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def offset_of(cursor: str, *, question: Sequence[object], generation: str) -> int:
    """Tell where to go on; an empty cursor means at the beginning.

    Raises:
        ArgumentError: the cursor is none of ours, belongs to another question, or the index has changed since.
    """
    if not cursor:
        return 0
    offset, of_question, of_generation = _opened(cursor)
    if of_question != _digest(question):
        raise ArgumentError("the cursor belongs to another question; repeat the call without cursor")
    if of_generation != _digest([generation]):
        raise ArgumentError("the index has changed since the cursor was given; repeat the call without cursor")
    return offset


def _opened(cursor: str) -> tuple[int, str, str]:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        offset, of_question, of_generation = json.loads(raw)
    except (binascii.Error, ValueError, TypeError):
        offset = None
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset <= 100_000:  # noqa: PLR2004
        raise ArgumentError("the cursor is not one that this server gave; repeat the call without cursor")
    return offset, of_question, of_generation


def _digest(values: Sequence[object]) -> str:
    return blake3.blake3(json.dumps(list(values)).encode("utf-8", "replace")).hexdigest(length=8)
