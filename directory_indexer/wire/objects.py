"""Conversion of records to JSON objects."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]

_PLAIN = frozenset({str, int, float, bool, type(None)})
_PRESENT = object()


def object_of(record: tuple[Any, ...]) -> JsonObject:
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
        return object_of(value) if hasattr(value, "_fields") else [_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _value(member) for name, member in value.items()}
    return value


def timestamp(seconds: float | None) -> str | None:
    """Format a time in the local time zone, with its offset from UTC."""
    if seconds is None:
        return None
    local = time.localtime(seconds)
    offset = time.strftime("%z", local)
    return time.strftime("%Y-%m-%dT%H:%M:%S", local) + (f"{offset[:3]}:{offset[3:5]}" if local.tm_gmtoff else "Z")
