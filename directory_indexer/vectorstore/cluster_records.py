"""Payloads of a cluster index read with distrust: whoever may write to the cluster can have written anything."""

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
_MOST_BITS: Final = 63
"""So large may a number be that SQLite takes."""


class Stored(NamedTuple):
    """A point, and the Qdrant collection that it is in."""

    collection: str
    point: Point

    @property
    def payload(self) -> dict[str, Any]:
        """What it says."""
        return self.point.payload or {}

    def read(self, reader: Callable[[dict[str, Any]], Record], *, hint: str = MENDED) -> Record:
        """Read what it says.

        Raises:
            VectorStoreError: it is not what dirindex writes.
        """
        try:
            return reader(self.payload)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            message = f"point {self.point.id} of the Qdrant collection '{self.collection}' is not as dirindex writes it"
            raise VectorStoreError(f"{message}: {_reason(error)}", hint=hint) from error


def record_in(kind: type[Record], payload: dict[str, Any]) -> Record:
    """Read a record from the fields of a payload that it has.

    Raises:
        ValueError: a field is missing, of another type, or too large a number.
    """
    known = {name: payload[name] for name in cast("Any", kind)._fields if name in payload}
    record = _adapter(cast("Any", kind)).validate_python(known)
    if not _fits(record):
        raise ValueError("it has a number that is too large")
    return cast("Record", record)


def _fits(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_fits, value))
    return not isinstance(value, int) or value.bit_length() <= _MOST_BITS


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error) or type(error).__name__
    # Not the value, which may be a text.
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
