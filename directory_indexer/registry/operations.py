"""Administrative operations: what was begun, how far it is and how it ended, for all processes to see."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from directory_indexer.databases.stored_values import (
    DamagedValueError,
    epoch_seconds,
    intact_rows,
    mapping_in,
    parse_stored,
    text,
)
from directory_indexer.registry.store import Registry

_MOST_SHOWN: Final = 50
_MOST_KEPT: Final = 200


class Kind(StrEnum):
    """What an administrative operation does."""

    OPTIMIZE = "optimize"
    REBUILD = "rebuild"
    BACKUP = "backup"
    PURGE = "purge"


class OperationState(StrEnum):
    """How far an operation is."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class Wish(StrEnum):
    """What somebody asks of an operation that goes on."""

    NONE = ""
    PAUSE = "pause"
    CANCEL = "cancel"


class OperationRow(NamedTuple):
    """One operation; `collection` is empty where it is about all of them.

    `id` is the moment of its beginning in milliseconds: a count would tell of operations on other collections.
    """

    id: int
    kind: Kind
    collection: str
    options: Mapping[str, Any]
    state: OperationState
    wish: Wish
    message: str
    result: Mapping[str, Any]
    started_at: float
    ended_at: float | None

    @property
    def name(self) -> str:
        """Its id, for those who ask for it."""
        return f"{self.kind}-{self.id}"


_COLUMNS: Final = ", ".join(OperationRow._fields)


class Operations:
    """The operations in a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def newest(self) -> list[OperationRow]:
        """Give the last ones, newest first."""
        return self._read("ORDER BY id DESC LIMIT ?", _MOST_SHOWN)

    def get(self, name: str) -> OperationRow | None:
        """Look for one by its name."""
        number = name.rpartition("-")[2]
        found = self._read("WHERE id = ?", int(number)) if number.isdecimal() and len(number) < len(str(2**63)) else []
        return next((row for row in found if row.name == name), None)

    def begin(self, kind: Kind, collection: str, options: Mapping[str, Any]) -> OperationRow:
        """Note that an operation begins."""
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
                (_MOST_KEPT,),
            )
        return self._read("WHERE id = ?", number)[0]

    def go_on(self, number: int) -> None:
        """Note that a paused operation begins again."""
        with self._registry.writing() as connection:
            connection.execute(
                "UPDATE operations SET state = 'running', wish = '', message = '', ended_at = NULL WHERE id = ?",
                (number,),
            )

    def tell(self, number: int, message: str) -> Wish:
        """Note how far an operation is, and give what is asked of it."""
        with self._registry.writing() as connection:
            connection.execute("UPDATE operations SET message = ? WHERE id = ?", (message, number))
            (wish,) = connection.execute("SELECT wish FROM operations WHERE id = ?", (number,)).fetchone()
        return Wish(wish)

    def wish(self, number: int) -> Wish:
        """Give what is asked of an operation."""
        return next((row.wish for row in self._read("WHERE id = ?", number)), Wish.NONE)

    def ask(self, number: int, wish: Wish) -> None:
        """Ask something of an operation that goes on."""
        with self._registry.writing() as connection:
            connection.execute("UPDATE operations SET wish = ? WHERE id = ? AND state = 'running'", (wish, number))

    def end(self, number: int, state: OperationState, message: str, result: Mapping[str, Any]) -> None:
        """Note how an operation ended, or that it is paused."""
        with self._registry.writing() as connection:
            connection.execute(
                "UPDATE operations SET state = ?, wish = '', message = ?, result = ?, ended_at = ? WHERE id = ?",
                (state, message, json.dumps(dict(result)), time.time(), number),
            )

    def fail_running(self, message: str) -> None:
        """Note of all that are running that they ended; whoever calls this knows that nobody does their work."""
        if not any(row.state is OperationState.RUNNING for row in self.newest()):
            return
        with self._registry.writing() as connection:
            connection.execute(
                "UPDATE operations SET state = 'failed', wish = '', message = ?, ended_at = ? WHERE state = 'running'",
                (message, time.time()),
            )

    def forget_all(self) -> None:
        """Forget all of them, and every answer that was kept to be given again."""
        with self._registry.writing() as connection:
            connection.execute("DELETE FROM operations")
            connection.execute("DELETE FROM answers")

    def forget_ended(self) -> int:
        """Forget those that have ended; tell how many."""
        with self._registry.writing() as connection:
            return connection.execute("DELETE FROM operations WHERE state NOT IN ('running', 'paused')").rowcount

    def _read(self, condition: str, *values: object) -> list[OperationRow]:
        if not self._registry.exists():
            return []
        query = f"SELECT {_COLUMNS} FROM operations {condition}"  # noqa: S608 - constants
        with self._registry.reading() as connection:
            return list(intact_rows(operation_row, connection.raw.execute(query, values)))


def operation_row(row: Sequence[Any]) -> OperationRow:
    """Parse the columns of a row.

    Raises:
        DamagedValueError: one of them holds what this program does not write.
    """
    operation = OperationRow._make(row)
    if not isinstance(operation.id, int):
        raise DamagedValueError("operations.id")
    parse_stored("operations.started_at", epoch_seconds, operation.started_at)
    if operation.ended_at is not None:
        parse_stored("operations.ended_at", epoch_seconds, operation.ended_at)
    return operation._replace(
        kind=parse_stored("operations.kind", Kind, operation.kind),
        collection=parse_stored("operations.collection", text, operation.collection),
        options=parse_stored("operations.options", mapping_in, operation.options),
        state=parse_stored("operations.state", OperationState, operation.state),
        wish=parse_stored("operations.wish", Wish, operation.wish),
        message=parse_stored("operations.message", text, operation.message),
        result=parse_stored("operations.result", mapping_in, operation.result),
    )
