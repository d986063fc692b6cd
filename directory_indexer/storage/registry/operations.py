"""Administrative operations and idempotent responses in the registry, shared by all processes.

Operations have progress and results. A response is stored by its idempotency key, so a repeated request gets the same
one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_epoch_seconds,
    parse_intact_rows,
    parse_mapping,
    parse_stored,
    parse_text,
)
from directory_indexer.storage.registry import Registry

_MAX_LISTED: Final = 50
_MAX_STORED: Final = 200


class OperationKind(StrEnum):
    """The kind of an administrative operation."""

    OPTIMIZE = "optimize"
    REBUILD = "rebuild"
    BACKUP = "backup"
    PURGE = "purge"


class OperationState(StrEnum):
    """The state of an operation."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class RequestedState(StrEnum):
    """The requested state of a running operation."""

    NONE = ""
    PAUSE = "pause"
    CANCEL = "cancel"


class OperationRow(NamedTuple):
    """An operation; `collection` is empty if it covers all of them.

    `id` is its start in milliseconds: a counter would reveal operations on other collections.
    """

    id: int
    kind: OperationKind
    collection: str
    options: Mapping[str, Any]
    state: OperationState
    wish: RequestedState
    message: str
    result: Mapping[str, Any]
    started_at: float
    ended_at: float | None

    @property
    def name(self) -> str:
        """Its public id."""
        return f"{self.kind}-{self.id}"


_COLUMNS: Final = ", ".join(OperationRow._fields)


class Operations:
    """The operations of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def newest(self) -> list[OperationRow]:
        """Return the last operations, newest first."""
        return self._select_operations("ORDER BY id DESC LIMIT ?", _MAX_LISTED)

    def get(self, name: str) -> OperationRow | None:
        """Return an operation by name."""
        number = name.rpartition("-")[2]
        rows = (
            self._select_operations("WHERE id = ?", int(number))
            if number.isdecimal() and len(number) < len(str(2**63))
            else []
        )
        return next((row for row in rows if row.name == name), None)

    def insert_running(self, kind: OperationKind, collection: str, options: Mapping[str, Any]) -> OperationRow:
        """Insert a running operation."""
        now = time.time()
        with self._registry.writing() as connection:
            (latest,) = connection.execute("SELECT max(id) FROM operations").fetchone()
            number = max(int(now * 1000), (latest or 0) + 1)
            connection.execute(
                """INSERT INTO operations (id, kind, collection, options, state, started_at)
                   VALUES (?, ?, ?, ?, 'running', ?)""",
                (number, kind, collection, json.dumps(dict(options)), now),
            )
            connection.execute(
                "DELETE FROM operations WHERE id NOT IN (SELECT id FROM operations ORDER BY id DESC LIMIT ?)",
                (_MAX_STORED,),
            )
        return self._select_operations("WHERE id = ?", number)[0]

    def mark_resumed(self, number: int) -> None:
        """Mark a paused operation as running again."""
        self._registry.change(
            "UPDATE operations SET state = 'running', wish = '', message = '', ended_at = NULL WHERE id = ?", number
        )

    def report_progress(self, number: int, message: str) -> RequestedState:
        """Store the progress of an operation, and return the requested state."""
        with self._registry.writing() as connection:
            connection.execute("UPDATE operations SET message = ? WHERE id = ?", (message, number))
            (wish,) = connection.execute("SELECT wish FROM operations WHERE id = ?", (number,)).fetchone()
        return RequestedState(wish)

    def requested_state(self, number: int) -> RequestedState:
        """Return the requested state of an operation."""
        return next((row.wish for row in self._select_operations("WHERE id = ?", number)), RequestedState.NONE)

    def request_state(self, number: int, wish: RequestedState) -> None:
        """Request a state of a running operation."""
        self._registry.change("UPDATE operations SET wish = ? WHERE id = ? AND state = 'running'", wish, number)

    def store_outcome(self, number: int, state: OperationState, message: str, result: Mapping[str, Any]) -> None:
        """Store the outcome of an operation, or that it is paused."""
        self._registry.change(
            "UPDATE operations SET state = ?, wish = '', message = ?, result = ?, ended_at = ? WHERE id = ?",
            *(state, message, json.dumps(dict(result)), time.time(), number),
        )

    def fail_running(self, message: str) -> None:
        """Mark all running operations as failed; the caller knows that no process works on them."""
        if not any(row.state is OperationState.RUNNING for row in self.newest()):
            return
        self._registry.change(
            "UPDATE operations SET state = 'failed', wish = '', message = ?, ended_at = ? WHERE state = 'running'",
            *(message, time.time()),
        )

    def delete_all(self) -> None:
        """Delete all operations and stored responses."""
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM operations")
            connection.execute("DELETE FROM answers")

    def delete_ended_operations(self) -> int:
        """Delete operations that have ended; return their number."""
        return self._registry.change("DELETE FROM operations WHERE state NOT IN ('running', 'paused')")

    def _select_operations(self, condition: str, *values: object) -> list[OperationRow]:
        rows = self._registry.rows(f"SELECT {_COLUMNS} FROM operations {condition}", *values)  # noqa: S608 - constants
        return list(parse_intact_rows(parse_operation, rows))


def parse_operation(row: Sequence[Any]) -> OperationRow:
    """Parse the columns of a row."""
    operation = OperationRow._make(row)
    if not isinstance(operation.id, int):
        raise DamagedValueError("operations.id")
    parse_stored("operations.started_at", parse_epoch_seconds, operation.started_at)
    if operation.ended_at is not None:
        parse_stored("operations.ended_at", parse_epoch_seconds, operation.ended_at)
    values = operation._asdict()
    return operation._replace(
        **{column: parse_stored(f"operations.{column}", parse, values[column]) for column, parse in _PARSERS.items()}
    )


_PARSERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "kind": OperationKind,
    "collection": parse_text,
    "options": parse_mapping,
    "state": OperationState,
    "wish": RequestedState,
    "message": parse_text,
    "result": parse_mapping,
}


_RESPONSE_SECONDS: Final = 86_400.0
"""The lifetime of a response."""


class StoredResponse(NamedTuple):
    """A response, and a digest of its request."""

    request: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes


def parse_response(row: Sequence[Any]) -> StoredResponse:
    """Parse the columns of a row."""
    request, status, headers, body = row
    if not (isinstance(request, bytes) and isinstance(body, bytes) and isinstance(status, int) and 100 <= status < 600):  # noqa: PLR2004 - as HTTP has them
        raise DamagedValueError("answers.body")
    return StoredResponse(request, status, parse_stored("answers.headers", _parse_headers, headers), body)


def _parse_headers(stored: object) -> dict[str, str]:
    headers = parse_mapping(stored)
    if not all(_HEADER_NAME.fullmatch(f"{name}: {parse_text(value)}") for name, value in headers.items()):
        raise ValueError(headers)
    return headers


RESPONSE_COLUMNS: Final = "request, status, headers, body"
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9-]+: [\x20-\x7e]*")


class StoredResponses:
    """The stored responses of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def get(self, caller: bytes, name: str) -> StoredResponse | None:
        """Return the response that a caller got to a request with this name."""
        query = f"SELECT {RESPONSE_COLUMNS} FROM answers WHERE caller = ? AND name = ? AND at > ?"  # noqa: S608 - constants
        rows = self._registry.rows(query, caller, name, time.time() - _RESPONSE_SECONDS)
        return next(parse_intact_rows(parse_response, rows), None)

    def put(self, caller: bytes, name: str, answer: StoredResponse) -> None:
        """Store a response, and delete expired ones."""
        now = time.time()
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM answers WHERE at <= ?", (now - _RESPONSE_SECONDS,))
            connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (caller, name, answer.request, answer.status, json.dumps(dict(answer.headers)), answer.body, now),
            )

    def delete_all(self) -> int:
        """Delete all responses; return their number."""
        return self._registry.change("DELETE FROM answers")
