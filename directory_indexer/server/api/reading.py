"""From a request to the arguments of an operation; what the schema does not allow is refused, nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from directory_indexer.errors import UsageError
from directory_indexer.server.api.operations import Operation
from directory_indexer.server.arguments import ArgumentError, arguments_of, expected
from directory_indexer.wire.objects import JsonObject

_INTEGER = re.compile("-?[0-9]{1,18}")


def call_of(operation: Operation, given: Mapping[str, object]) -> Any:
    """Read the arguments of an operation from what path and body say.

    Raises:
        UsageError: an argument is unknown, missing, of another type or out of its limits, or contradicts another.
    """
    known: JsonObject = operation.schema["properties"]
    for name, value in given.items():
        if name in known and not _fits(known[name], value):
            raise ArgumentError(f"'{name}' must be {expected(known[name])}")
    return arguments_of(operation.arguments, given, of=operation.name)


def arguments_in_query(operation: Operation, pairs: Sequence[tuple[str, str]]) -> JsonObject:
    """Read the arguments that a query string gives; a list is given by several of one name.

    Raises:
        UsageError: an argument is given twice that is no list.
    """
    known: JsonObject = operation.schema["properties"]
    values: dict[str, Any] = {}
    for name, text in pairs:
        kind = known.get(name, {}).get("type", "string")
        if kind == "array":
            values.setdefault(name, []).append(text)
        elif name in values:
            raise UsageError(f"'{name}' is given twice")
        else:
            values[name] = _READERS.get(kind, str)(text)
    return values


def arguments_in_headers(operation: Operation, headers: Mapping[str, str]) -> JsonObject:
    """Read the arguments of an operation that headers give."""
    return {name: headers[header] for name, header in operation.from_headers.items() if header in headers}


def _fits(schema: JsonObject, value: object) -> bool:
    """Tell whether a value is what a flat schema describes."""
    match schema["type"]:
        case "string":
            return isinstance(value, str) and _has_form(schema, value)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return is_whole and not isinstance(value, bool) and _is_within(schema, value)
        case "array":
            return (
                isinstance(value, list)
                and len(value) <= schema.get("maxItems", len(value))
                and all(_fits(schema["items"], one) for one in value)
            )
        case "object":
            return isinstance(value, dict) and len(value) <= schema.get("maxProperties", len(value))
    return False


def _has_form(schema: JsonObject, text: str) -> bool:
    return (
        schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
        and ("enum" not in schema or text in schema["enum"])
        and ("pattern" not in schema or bool(re.fullmatch(schema["pattern"], text)))
    )


def _is_within(schema: JsonObject, number: Any) -> bool:
    return bool(schema.get("minimum", number) <= number <= schema.get("maximum", number))


def _integer(text: str) -> object:
    return int(text) if _INTEGER.fullmatch(text) else text


def _truth(text: str) -> object:
    return {"true": True, "false": False}.get(text, text)


_READERS: dict[str, Callable[[str], object]] = {"integer": _integer, "boolean": _truth}
