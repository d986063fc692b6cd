"""Strict parsing of values from a database: anybody with write access to the file may have written anything.

Parsers of columns raise Python's exceptions for a wrong value, those here `TypeError` and `ValueError`. They become one
error, which the stores translate into theirs; so damage is never taken for a bug, nor a bug for damage. Parsers of
whole rows raise that error, `DamagedValueError`, themselves.
"""

from __future__ import annotations

import contextlib
import ntpath
import posixpath
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from directory_indexer.core.errors import UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath

with lazily:
    import json

_MAX_SECONDS = 62_135_596_800.0
"""The distance from 1970 to the year 1, the first one of Python's calendars."""

_MAX_BITS = 63

Value = TypeVar("Value")
Row = TypeVar("Row")


class DamagedValueError(Exception):
    """A column has a value that this program does not write; messages omit the value, which may be a user's text."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


def parse_stored(column: str, parse: Callable[[Any], Value], value: object) -> Value:
    """Parse the value of a column.

    Raises:
        DamagedValueError: the parser rejects it.
    """
    try:
        return parse(value)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, UsageError) as error:
        raise DamagedValueError(column) from error


def parse_intact_rows(parse: Callable[[Any], Value], rows: Iterable[Row]) -> Iterator[Value]:
    """Yield the parsed rows, without damaged ones, which `doctor` reports."""
    for row in rows:
        with contextlib.suppress(DamagedValueError):
            yield parse(row)


def parse_text(value: object) -> str:
    """Return a value that is a text."""
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()
    return value


def parse_path(value: object) -> FilePath:
    """Return a value that is an absolute path of this or another operating system."""
    path = parse_text(value)
    if "\0" in path or not (posixpath.isabs(path) or ntpath.splitdrive(path)[0]):
        raise ValueError(path)
    return FilePath(path)


def parse_integer(value: object) -> int:
    """Return a value that is an integer and fits SQLite."""
    if not isinstance(value, int):
        raise TypeError(value)
    if value.bit_length() > _MAX_BITS:
        raise ValueError
    return value


def parse_epoch_seconds(value: object) -> float:
    """Return a value that is a number of seconds since the epoch, in the years 1 to 3938."""
    if not isinstance(value, float):
        raise TypeError(value)
    if not abs(value) < _MAX_SECONDS:
        raise ValueError(value)
    return value


def parse_texts(value: object) -> tuple[str, ...]:
    """Parse a JSON array of texts."""
    return tuple(map(parse_text, parse_list(value)))


def parse_list(value: object) -> list[Any]:
    """Parse a JSON array."""
    return _parse_json(list, value)


def parse_mapping(value: object) -> dict[str, Any]:
    """Parse a JSON object."""
    return _parse_json(dict, value)


def _parse_json(kind: type[Value], value: object) -> Value:
    json_text = parse_text(value)
    parsed = json.loads(json_text, parse_constant=_reject_constant)
    if not isinstance(parsed, kind):
        raise TypeError(parsed)
    if "\\u" in json_text:  # an escape may stand for a lone surrogate, which no output can encode
        json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def _reject_constant(constant: str) -> None:
    raise ValueError(constant)
