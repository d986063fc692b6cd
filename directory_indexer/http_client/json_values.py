"""Typed access to untrusted JSON: values that are missing or of another type count as empty."""

from __future__ import annotations

import json
import math
from typing import Any, Final


def parse_object(content: bytes) -> dict[str, Any] | None:
    """Parse a JSON object, or return None."""
    try:
        value = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def object_in(value: object, name: str) -> dict[str, Any]:
    """Return the object with a name."""
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else {}


def items_in(value: object, name: str) -> list[dict[str, Any]]:
    """Return the objects in the list with a name."""
    return [item for item in values_in(value, name) if isinstance(item, dict)]


def values_in(value: object, name: str) -> list[Any]:
    """Return the list with a name."""
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, list) else []


def text_in(value: object, name: str) -> str:
    """Return the text with a name, without invalid characters."""
    member = value.get(name) if isinstance(value, dict) else None
    return _whole(member) if isinstance(member, str) else ""


def number_in(value: object, name: str) -> float:
    """Return the number with a name."""
    return as_number(value.get(name)) if isinstance(value, dict) else 0.0


def count_in(value: object, name: str) -> int:
    """Return the whole number with a name, within bounds."""
    return max(0, min(int(number_in(value, name)), _LARGEST))


def as_number(value: object) -> float:
    """Return a value as a finite number, or 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST
    return float(value) if is_number and math.isfinite(value) else 0.0  # type: ignore[arg-type]  # checked above


def _whole(text: str) -> str:
    """Replace lone surrogates by question marks, and drop control characters."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CONTROLS)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_LARGEST: Final = 1 << 40
_CONTROLS: Final = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r\x85"}
