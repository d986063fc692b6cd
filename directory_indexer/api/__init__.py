"""Records of the output formats: each is defined once, for `--json`, the HTTP API and MCP alike.

Fields are `Annotated[type, "description"]`. A field whose default is None is omitted while it is None; any other is
always present in `--json`. Assistants pay for every byte, so for them fields that are None or have their default value
are omitted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import Enum, auto
from typing import Annotated, Any, NamedTuple, TypeAlias


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
OnDisk = Annotated[str | None, "changed or gone since it was indexed."]
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
        return to_json_object(value) if hasattr(value, "_fields") else [_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _value(member) for name, member in value.items()}
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
