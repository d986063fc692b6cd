"""Strict parsing of payloads: anybody with write access to the cluster may have written anything."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from qdrant_client import models

from directory_indexer.errors import VectorStoreError

Record = TypeVar("Record")
Point: TypeAlias = models.Record | models.ScoredPoint

MENDED: Final = "on the machine that indexes, dirindex doctor --repair writes it again"
_MAX_BITS: Final = 63
"""The number of bits of the largest integer that SQLite stores."""


class Stored(NamedTuple):
    """A point and its Qdrant collection."""

    collection: str
    point: Point

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the point."""
        return self.point.payload or {}

    def read(self, reader: Callable[[dict[str, Any]], Record], *, hint: str = MENDED) -> Record:
        """Parse the payload.

        Raises:
            VectorStoreError: dirindex did not write it.
        """
        try:
            return reader(self.payload)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            message = f"point {self.point.id} of the Qdrant collection '{self.collection}' is not as dirindex writes it"
            raise VectorStoreError(f"{message}: {_describe_error(error)}", hint=hint) from error


def record_in(kind: type[Record], payload: dict[str, Any]) -> Record:
    """Parse a record from the fields of a payload.

    Raises:
        ValueError: a field is missing, has another type, or is too large a number.
    """
    known = {name: payload[name] for name in cast("Any", kind)._fields if name in payload}
    record = _adapter(cast("Any", kind)).validate_python(known)
    if not _fits_sqlite(record):
        raise ValueError("it has a number that is too large")
    return cast("Record", record)


def _fits_sqlite(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_fits_sqlite, value))
    return not isinstance(value, int) or value.bit_length() <= _MAX_BITS


def _describe_error(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error) or type(error).__name__
    # The value is left out, since it may be a text.
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
