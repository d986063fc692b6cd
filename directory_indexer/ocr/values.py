"""Takes values out of JSON that anybody may have written: what is missing or of another type counts as nothing."""

from __future__ import annotations

import json
import math
from typing import Any, Final


def parsed(content: bytes) -> dict[str, Any] | None:
    """Read an object; None where there is something else."""
    try:
        found = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def object_in(value: object, name: str) -> dict[str, Any]:
    """Return the object of that name."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def items_in(value: object, name: str) -> list[dict[str, Any]]:
    """Return the objects of the list of that name."""
    return [one for one in values_in(value, name) if isinstance(one, dict)]


def values_in(value: object, name: str) -> list[Any]:
    """Return the list of that name."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def text_in(value: object, name: str) -> str:
    """Return the text of that name, without what no text may hold."""
    found = value.get(name) if isinstance(value, dict) else None
    return _whole(found) if isinstance(found, str) else ""


def number_in(value: object, name: str) -> float:
    """Return the number of that name."""
    return number(value.get(name)) if isinstance(value, dict) else 0.0


def count_in(value: object, name: str) -> int:
    """Return the whole number of that name, within bounds."""
    return max(0, min(int(number_in(value, name)), _LARGEST))


def number(value: object) -> float:
    """Take a value for a number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST
    return float(value) if is_number and math.isfinite(value) else 0.0  # type: ignore[arg-type]  # as just found


def _whole(text: str) -> str:
    """Put a question mark for each lone surrogate, and drop control characters."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CONTROLS)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_LARGEST: Final = 1 << 40
_CONTROLS: Final = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r\x85"}
