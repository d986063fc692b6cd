"""JSON schemas of records for programs: with references, nulls and required keys."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

from directory_indexer.server.schemas import MISSING, PLAIN_SCHEMAS, Field, fields_of, plain_type
from directory_indexer.wire.fields import Only
from directory_indexer.wire.objects import JsonObject


class Components:
    """The schemas of records by their names."""

    def __init__(self) -> None:
        self.schemas: dict[str, JsonObject] = {}

    def reference(self, record: type) -> JsonObject:
        """Return a reference to the schema of a record, which is added if missing."""
        name = record.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # a record may contain itself
            self.schemas[name] = self._schema(record)
        return {"$ref": f"#/components/schemas/{name}"}

    def _schema(self, record: type) -> JsonObject:
        fields = [field for field in fields_of(record) if field.only is not Only.MODELS]
        required = [field.name for field in fields if field.default is not None]
        return {
            "type": "object",
            "description": (record.__doc__ or "").partition("\n")[0],
            "properties": {field.name: self._of_field(field) for field in fields},
            **({"required": required} if required else {}),
        }

    def _of_field(self, field: Field) -> JsonObject:
        schema = self._of_type(field.type, is_nullable=field.default is MISSING)
        if "$ref" in schema:
            return {"allOf": [schema], "description": field.description} if field.description else schema
        return {**schema, "description": field.description} if field.description else schema

    def _of_type(self, hint: Any, *, is_nullable: bool = True) -> JsonObject:
        """Return the schema of a type; an optional field is omitted where others are null."""
        hint = plain_type(hint)
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin in {typing.Union, types.UnionType}:
            schema = self._of_type(next(member for member in inner if member is not types.NoneType))
            return _with_null(schema) if is_nullable else schema
        if origin is tuple:
            return self._of_tuple(inner)
        if origin is Mapping:
            return {"type": "object", "additionalProperties": self._of_type(inner[1])}
        if hasattr(hint, "_fields"):
            return self.reference(hint)
        if hint in PLAIN_SCHEMAS:
            return dict(PLAIN_SCHEMAS[hint])
        return {"type": "string", "enum": [str(member) for member in hint]}

    def _of_tuple(self, inner: tuple[Any, ...]) -> JsonObject:
        items = self._of_type(inner[0])
        if inner[-1] is ...:
            return {"type": "array", "items": items}
        return {"type": "array", "items": items, "minItems": len(inner), "maxItems": len(inner)}


def _with_null(schema: JsonObject) -> JsonObject:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    if "enum" in schema:
        return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}
