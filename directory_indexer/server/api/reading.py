"""Parsing of the arguments of an operation from a request, strictly by the schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from directory_indexer.errors import UsageError
from directory_indexer.server.api.operations import Operation
from directory_indexer.server.arguments import ArgumentError, arguments_of, expected
from directory_indexer.wire.objects import JsonObject

_INTEGER = re.compile("-?[0-9]{1,18}")


def call_of(operation: Operation, arguments: Mapping[str, object]) -> Any:
    """Validate the arguments of an operation.

    Raises:
        UsageError: an argument is unknown, missing, of a wrong type, out of range, or contradicts another.
    """
    known: JsonObject = operation.schema["properties"]
    for name, value in arguments.items():
        if name in known and not _is_valid(known[name], value):
            raise ArgumentError(f"'{name}' must be {expected(known[name])}")
    return arguments_of(operation.arguments, arguments, of=operation.name)


def arguments_in_query(operation: Operation, pairs: Sequence[tuple[str, str]]) -> JsonObject:
    """Parse the arguments in a query string; a list is passed by repeating its name.

    Raises:
        UsageError: an argument that is not a list is repeated.
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
            values[name] = _PARSERS.get(kind, str)(text)
    return values


def arguments_in_headers(operation: Operation, headers: Mapping[str, str]) -> JsonObject:
    """Return the arguments of an operation in headers."""
    return {name: headers[header] for name, header in operation.from_headers.items() if header in headers}


def _is_valid(schema: JsonObject, value: object) -> bool:
    """Whether a value is valid by a flat schema."""
    match schema["type"]:
        case "string":
            return isinstance(value, str) and _is_valid_string(schema, value)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return is_whole and not isinstance(value, bool) and _is_within(schema, value)
        case "array":
            return (
                isinstance(value, list)
                and len(value) <= schema.get("maxItems", len(value))
                and all(_is_valid(schema["items"], item) for item in value)
            )
        case "object":
            return isinstance(value, dict) and len(value) <= schema.get("maxProperties", len(value))
    return False


def _is_valid_string(schema: JsonObject, text: str) -> bool:
    return (
        schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
        and ("enum" not in schema or text in schema["enum"])
        and ("pattern" not in schema or bool(re.fullmatch(schema["pattern"], text)))
    )


def _is_within(schema: JsonObject, number: Any) -> bool:
    return bool(schema.get("minimum", number) <= number <= schema.get("maximum", number))


def _parse_integer(text: str) -> object:
    return int(text) if _INTEGER.fullmatch(text) else text


def _parse_boolean(text: str) -> object:
    return {"true": True, "false": False}.get(text, text)


_PARSERS: dict[str, Callable[[str], object]] = {"integer": _parse_integer, "boolean": _parse_boolean}
