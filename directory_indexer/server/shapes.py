"""JSON schemas of the arguments and results of tools, made from their records, and arguments read back by them.

The schemas are flat and portable: no references, no unions, no nulls. A field that may be None is left out of the
object when it is, and is not required.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import types
import typing
from enum import StrEnum
from typing import Any, TypeVar

from directory_indexer.errors import UsageError

Record = TypeVar("Record")
JsonObject: typing.TypeAlias = dict[str, object]

_NAMES: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_PLAIN = frozenset({str, int, float, bool, type(None)})
_WORDS = {"true": True, "false": False}
_MOST_SHOWN = 80


class ArgumentError(UsageError):
    """The arguments of a call cannot be meant."""


def described(
    text: str, *, default: Any = dataclasses.MISSING, at_least: int | None = None, at_most: int | None = None
) -> Any:
    """Describe a field for a schema; the limits are those of a number, or of the length of a text or list."""
    return dataclasses.field(default=default, metadata={"text": text, "at_least": at_least, "at_most": at_most})


@functools.cache
def schema_of(record: type) -> JsonObject:
    """Make the JSON schema of a record."""
    required = []
    properties: JsonObject = {}
    for field, hint in _fields(record):
        properties[field.name] = _schema_of_field(field, hint)
        if field.default is dataclasses.MISSING:
            required.append(field.name)
    schema: JsonObject = {"type": "object", "properties": properties}
    return (
        {**schema, "required": required, "additionalProperties": False}
        if required
        else {**schema, "additionalProperties": False}
    )


def object_of(value: object) -> Any:
    """Turn a record into what its schema describes."""
    if type(value) in _PLAIN:  # most values are
        return value
    if isinstance(value, tuple):
        return [object_of(one) for one in value]
    if isinstance(value, StrEnum):
        return str(value)
    fields = ((name, getattr(value, name)) for name in _names(typing.cast("type", type(value))))
    return {name: object_of(one) for name, one in fields if one is not None}


def arguments_of(record: type[Record], given: typing.Mapping[str, object]) -> Record:
    """Read the arguments of a call; a null counts as not given.

    Raises:
        ArgumentError: an argument is unknown, missing, of another type or out of its limits.
    """
    fields = {field.name: (field, hint) for field, hint in _fields(typing.cast("type", record))}
    values = {name: value for name, value in given.items() if value is not None}
    if unknown := [name for name in values if name not in fields]:
        raise ArgumentError(f"unknown argument {', '.join(map(_quoted, unknown))}{_advice(unknown[0], fields)}")
    missing = [n for n, (field, _) in fields.items() if field.default is dataclasses.MISSING and n not in values]
    if missing:
        raise ArgumentError(f"the argument {', '.join(map(_quoted, missing))} is missing")
    return record(**{name: _read(*fields[name], value) for name, value in values.items()})


@functools.cache
def _fields(record: type) -> tuple[tuple[dataclasses.Field[Any], Any], ...]:
    """Give the fields of a record with their types, which takes half a millisecond to find out."""
    hints = typing.get_type_hints(record)
    return tuple((field, hints[field.name]) for field in dataclasses.fields(record))


@functools.cache
def _names(record: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(record))


def _schema_of_field(field: dataclasses.Field[Any], hint: Any) -> JsonObject:
    schema = _schema_of_type(_plain(hint))
    text, at_least, at_most = (field.metadata.get(key) for key in ("text", "at_least", "at_most"))
    if text:
        schema["description"] = text
    low, high = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}.get(
        str(schema["type"]), ("minimum", "maximum")
    )
    schema |= {name: limit for name, limit in ((low, at_least), (high, at_most)) if limit is not None}
    if field.default not in {dataclasses.MISSING, None}:
        schema["default"] = object_of(field.default)
    return schema


def _schema_of_type(hint: Any) -> JsonObject:
    if typing.get_origin(hint) is tuple:
        return {"type": "array", "items": _schema_of_type(typing.get_args(hint)[0])}
    if dataclasses.is_dataclass(hint):
        return dict(schema_of(typing.cast("type", hint)))
    if issubclass(hint, StrEnum):
        return {"type": "string", "enum": [str(one) for one in hint]}
    return {"type": _NAMES[hint]}


def _plain(hint: Any) -> Any:
    """Take `None` out of a union with it."""
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        return next(one for one in typing.get_args(hint) if one is not type(None))
    return hint


def _read(field: dataclasses.Field[Any], hint: Any, given: object) -> object:
    plain = _plain(hint)
    value = (
        _read_list(field.name, given) if typing.get_origin(plain) is tuple else _read_scalar(field.name, plain, given)
    )
    low, high = field.metadata.get("at_least"), field.metadata.get("at_most")
    size = len(value) if isinstance(value, str | tuple) else value
    if (low is not None and size < low) or (high is not None and size > high):
        unit = " characters" if isinstance(value, str) else " entries" if isinstance(value, tuple) else ""
        raise ArgumentError(f"'{field.name}' is {size}{unit}; it must lie between {low or 0} and {high}")
    return value


def _read_scalar(name: str, hint: Any, given: object) -> Any:
    if issubclass(hint, StrEnum):
        if given in list(hint):
            return hint(given)
        raise ArgumentError(f"'{name}' is {_quoted(given)}; it must be one of {', '.join(hint)}")
    value = _converted(hint, given)
    if value is None:
        raise ArgumentError(f"'{name}' is {_quoted(given)}; it must be of type {_NAMES[hint]}")
    return value


def _converted(hint: type, given: object) -> object:
    """Take what models write for a number or a truth value, too: `"3"`, `3.0`, `"true"`; None when it is neither."""
    if hint is bool:
        return given if isinstance(given, bool) else _WORDS.get(str(given).lower())
    if hint is int:
        try:
            number = float(given) if isinstance(given, int | float | str) and not isinstance(given, bool) else 0.5
        except (ValueError, OverflowError):
            return None
        return int(number) if abs(number) < 2**53 and number == int(number) else None
    return given if isinstance(given, hint) else None


def _read_list(name: str, given: object) -> tuple[str, ...]:
    value = given
    if isinstance(given, str):
        try:
            value = json.loads(given) if given.lstrip().startswith("[") else [given]
        except ValueError:
            value = [given]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise ArgumentError(f"'{name}' is {_quoted(given)}; it must be a list of texts")


def _advice(name: str, known: typing.Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    names = ", ".join(known)
    return f"; did you mean '{close[0]}'? Allowed are: {names}" if close else f"; allowed are: {names or 'none'}"


def _quoted(value: object) -> str:
    text = str(value)
    return f"'{text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + '…'}'"
