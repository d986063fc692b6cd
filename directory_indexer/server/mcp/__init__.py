"""JSON schemas of argument and result records, and token budgets of answers, for the MCP server.

Here are the JSON schemas of records for assistants, conversion of records to the objects that they describe, and token
budgets. The schemas are flat and portable: no references, no unions, no nulls. Fields that are None or have
their default value are omitted from an object, and so are fields for programs only.

Tokenizers differ, so a token counts as three bytes of JSON: about right for code, for Chinese and for escaped
characters, and more than English prose needs. Clients forward the text, the structured content or both, so each of
them has to keep to the budget by itself.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from directory_indexer.api import JsonObject, Only

Record = TypeVar("Record")

PLAIN_SCHEMAS: dict[object, JsonObject] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Any: {},
}
_SCALAR_TYPES = frozenset({str, int, float, bool})
_SCHEMA_KEYS_OF_LIMITS = {
    "string": {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "integer": {"ge": "minimum", "le": "maximum"},
    "object": {"max_length": "maxProperties"},
}
NO_DEFAULT: Final = object()
"""The default of a required field."""

_OMITTED_DEFAULTS = (NO_DEFAULT, None, (), "")


class Field(NamedTuple):
    """A field of a record; `limits` are those that pydantic checks."""

    name: str
    type: Any
    description: str
    limits: tuple[object, ...]
    only: Only | None
    default: object

    @property
    def is_required(self) -> bool:
        """Whether the field is always present."""
        return self.default is NO_DEFAULT and not _is_optional(self.type)


@functools.cache
def record_fields(record: type) -> tuple[Field, ...]:
    """Return the fields of a record with their descriptions."""
    hints = typing.get_type_hints(record, include_extras=True)
    defaults: Mapping[str, object] = record._field_defaults  # type: ignore[attr-defined]
    return tuple(_make_field(name, hints[name], defaults.get(name, NO_DEFAULT)) for name in record._fields)  # type: ignore[attr-defined]


@functools.cache
def record_schema(record: type, audience: Only = Only.MODELS) -> JsonObject:
    """Return the JSON schema of a record for an audience, as a result or as arguments."""
    fields = fields_for(record, audience)
    properties = {field.name: _schema_of_field(field) for field in fields}
    required = [field.name for field in fields if field.is_required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def record_to_object(value: object) -> Any:
    """Convert a record to the object that its schema describes."""
    if type(value) in _SCALAR_TYPES:  # most values are
        return value
    if isinstance(value, tuple):
        if not hasattr(value, "_fields"):
            return [record_to_object(item) for item in value]
        fields = ((field, getattr(value, field.name)) for field in fields_for(type(value), Only.MODELS))
        return {
            field.name: record_to_object(member)
            for field, member in fields
            if member is not None and member != field.default
        }
    if isinstance(value, Mapping):
        return {str(name): record_to_object(member) for name, member in value.items()}
    if isinstance(value, list):  # in the metadata of a sent document
        return list(map(record_to_object, value))
    return str(value)


def type_without_annotations(hint: Any) -> Any:
    """Return a type without its annotations."""
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    return getattr(hint, "__supertype__", hint)


@functools.cache
def fields_for(record: type, audience: Only) -> tuple[Field, ...]:
    """Return the fields of a record that an audience sees."""
    return tuple(field for field in record_fields(record) if field.only in {None, audience})


def _make_field(name: str, hint: Any, default: object) -> Field:
    plain, *notes = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
    only = next((note for note in notes if isinstance(note, Only)), None)
    description = next((note for note in notes if isinstance(note, str)), "")
    limits = tuple(limit for note in notes for limit in getattr(note, "metadata", ()))
    return Field(name, plain, description, limits, only, default)


def _schema_of_field(field: Field) -> JsonObject:
    schema = _schema_of_type(field.type)
    for limit in field.limits:
        known = _SCHEMA_KEYS_OF_LIMITS.get(schema["type"], {})
        schema |= {name: value for of, name in known.items() if (value := getattr(limit, of, None)) is not None}
    if field.description:
        schema["description"] = field.description
    if field.default not in _OMITTED_DEFAULTS:
        schema["default"] = record_to_object(field.default)
    return schema


def _schema_of_type(hint: Any) -> JsonObject:
    hint = type_without_annotations(hint)
    if _is_optional(hint):
        return _schema_of_type(next(member for member in typing.get_args(hint) if member is not type(None)))
    origin = typing.get_origin(hint)
    if origin is tuple:
        return {"type": "array", "items": _schema_of_type(typing.get_args(hint)[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema_of_type(typing.get_args(hint)[1])}
    if hasattr(hint, "_fields"):
        return dict(record_schema(hint))
    if hint in PLAIN_SCHEMAS:
        return dict(PLAIN_SCHEMAS[hint])
    return {"type": "string", "enum": [str(member) for member in hint]}


def _is_optional(hint: Any) -> bool:
    return typing.get_origin(hint) in {typing.Union, types.UnionType}


_BYTES_PER_TOKEN = 3


class Budgets:
    """Budgets in tokens. With that of `search`, text and structured content together stay below 10 KB."""

    SEARCH: Final = 1500
    CONTENT: Final = 4000
    INFO: Final = 1500
    RUN: Final = 750
    OUTLINE: Final = 600
    READING: Final = 8000
    LEAST: Final = 200
    MOST: Final = 10_000


def count_json_tokens(value: object) -> int:
    """Return the token count of a value in JSON."""
    return -(-count_json_bytes(value) // _BYTES_PER_TOKEN)


def max_bytes_of_tokens(n_tokens: int) -> int:
    """Return the largest byte count of so many tokens."""
    return n_tokens * _BYTES_PER_TOKEN


def count_json_bytes(value: object) -> int:
    """Return the byte count of a value in JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def fits_budget(answer: Record, max_tokens: int, format_answer: Callable[[Record], str]) -> bool:
    """Whether an answer keeps to a budget, both its structured content and its text."""
    return (
        count_json_tokens(record_to_object(answer)) <= max_tokens
        and count_json_tokens(format_answer(answer)) <= max_tokens
    )


def largest_number_that_fits(most: int, fits: Callable[[int], bool], *, estimate: int | None = None) -> int:
    """Return the largest number up to `most` that fits, by binary search; 0 if none does.

    A right estimate, or one that is too low by one, takes two trials.
    """
    low, high = 0, most
    first_trials = [] if estimate is None else [estimate, estimate + 2, estimate + 1]
    while low < high:
        middle = first_trials.pop() if first_trials else (low + high + 1) // 2
        if not low < middle <= high:
            continue
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
