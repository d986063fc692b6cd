"""Records of the output formats: each is defined once, for `--json`, the HTTP API and MCP alike.

Fields are `Annotated[type, "description"]`. A field whose default is None is omitted while it is None; any other is
always present in `--json`. Assistants pay for every byte, so for them fields that are None or have their default value
are omitted.

A cursor of pages is opaque: it holds the hits already returned, the query and the state of the index, not an offset. So
the next page repeats no hit and misses none, even if an index run has changed the order in the meantime.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Annotated, Any, NamedTuple, TypeAlias

import blake3

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note

with lazily:
    from directory_indexer.search.requests import Hit, SearchResult


class Only(Enum):
    """The audience of a field that is not for everybody."""

    PROGRAMS = auto()
    """Scripts that read `--json`; for a model the field would not be worth its tokens."""
    MODELS = auto()
    """Assistants, which need the field to continue."""
    NOBODY = auto()
    """The server itself, which sets the field."""


Files = Annotated[int, "Searchable files."]
Chunks = Annotated[int, "Passages searchable by words."]
Embedded = Annotated[int, "Passages also searchable by meaning."]
Bytes = Annotated[int, "Size of these files.", Only.PROGRAMS]
Skipped = Annotated[int, "Files with nothing to index."]
Failed = Annotated[int, "Files that could not be processed."]
Masked = Annotated[int, "Secrets masked in the texts.", Only.PROGRAMS]
SkipReasons = Annotated[Mapping[str, int], "Skipped files by reason.", Only.PROGRAMS]
Seconds = Annotated[float, "Duration in seconds."]
IndexedAt = Annotated[str | None, "When keyword search was last up to date."]
DiskChange = Annotated[str | None, "changed or gone since it was indexed."]
Truncated = Annotated[bool, "Whether the list was cut."]
Outcomes = Annotated[str, "completed, interrupted, out of time or failed; the next run continues."]


JsonObject: TypeAlias = dict[str, Any]

_PLAIN = frozenset({str, int, float, bool, type(None)})
_PRESENT = object()


def to_json_object(record: tuple[Any, ...]) -> JsonObject:
    """Return a record as an object with all keys except optional ones that are None."""
    defaults: Mapping[str, object] = record._field_defaults  # type: ignore[attr-defined]
    fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    return {
        name: value if type(value) in _PLAIN else _value(value)
        for name, value in zip(fields, record, strict=True)
        if value is not None or defaults.get(name, _PRESENT) is not None
    }


def _value(value: object) -> object:
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return to_json_object(value)
        return [item if type(item) in _PLAIN else _value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): member if type(member) in _PLAIN else _value(member) for name, member in value.items()}
    return value


def format_timestamp(seconds: float | None) -> str | None:
    """Format a time in the local time zone, with its offset from UTC."""
    if seconds is None:
        return None
    local = time.localtime(seconds)
    offset = time.strftime("%z", local)
    return time.strftime("%Y-%m-%dT%H:%M:%S", local) + (f"{offset[:3]}:{offset[3:5]}" if local.tm_gmtoff else "Z")


class HttpError(NamedTuple):
    """The error of a failed request."""

    error: Annotated[str, "A stable name of the error."]
    detail: Annotated[str, "What happened and what to do, for people."]
    status_code: Annotated[int, "The HTTP status."]
    timestamp: Annotated[str, "When it occurred."]
    request_id: Annotated[str, "The id of the request, as in the header X-Request-Id and in the log of the server."]


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
