"""Values that a database holds, read as what they must be: whoever could write to the file can have written anything.

Parsers of columns raise what Python raises for a wrong value. It becomes one error here, which the rooms of databases
turn into theirs; so damage is never taken for a bug, and a bug never for damage.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from directory_indexer.errors import UsageError
from directory_indexer.lazy import lazily

with lazily:
    import json

_MOST_SECONDS = 62_135_596_800.0
"""The distance from 1970 to the year 1, before which calendars of Python do not go."""

_MOST_BITS = 63

Value = TypeVar("Value")
Row = TypeVar("Row")


class DamagedValueError(Exception):
    """A column holds what this program does not write; no message has the value, which may be a text of the user."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


def parse_stored(column: str, parse: Callable[[Any], Value], value: object) -> Value:
    """Parse the value of a column.

    Raises:
        DamagedValueError: the parser cannot take it.
    """
    try:
        return parse(value)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, UsageError) as error:
        raise DamagedValueError(column) from error


def intact_rows(parse: Callable[[Any], Value], rows: Iterable[Row]) -> Iterator[Value]:
    """Yield the rows that can be parsed; `doctor` names the others."""
    for row in rows:
        with contextlib.suppress(DamagedValueError):
            yield parse(row)


def text(value: object) -> str:
    """Return a value that is a text.

    Raises:
        TypeError: it is something else.
        ValueError: it is no Unicode.
    """
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()
    return value


def integer(value: object) -> int:
    """Return a value that is a whole number, and that SQLite can hold.

    Raises:
        TypeError: it is something else.
        ValueError: it is too large.
    """
    if not isinstance(value, int):
        raise TypeError(value)
    if value.bit_length() > _MOST_BITS:
        raise ValueError
    return value


def epoch_seconds(value: object) -> float:
    """Return a value that is a number of seconds since the epoch, in the years 1 to 3938.

    Raises:
        TypeError: it is something else.
        ValueError: it lies before or after that.
    """
    if not isinstance(value, float):
        raise TypeError(value)
    if not abs(value) < _MOST_SECONDS:
        raise ValueError(value)
    return value


def texts_in(value: object) -> tuple[str, ...]:
    """Parse a list of texts, written as JSON.

    Raises:
        TypeError: it is something else.
        ValueError: it is no JSON.
    """
    return tuple(map(text, list_in(value)))


def list_in(value: object) -> list[Any]:
    """Parse a list, written as JSON.

    Raises:
        TypeError: it is something else.
        ValueError: it is no JSON.
    """
    return _of_kind(list, value)


def mapping_in(value: object) -> dict[str, Any]:
    """Parse an object, written as JSON.

    Raises:
        TypeError: it is something else.
        ValueError: it is no JSON.
    """
    return _of_kind(dict, value)


def _of_kind(kind: type[Value], value: object) -> Value:
    written = text(value)
    parsed = json.loads(written, parse_constant=_refuse)
    if not isinstance(parsed, kind):
        raise TypeError(parsed)
    if "\\u" in written:  # an escape may stand for half of a character, which can leave the program in no way
        json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def _refuse(constant: str) -> None:
    raise ValueError(constant)
