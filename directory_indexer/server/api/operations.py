"""What an operation of the API is: all that makes its route, its page of documentation and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from directory_indexer.lazy import lazily
from directory_indexer.registry.keys import DEFAULT_COLLECTION, Key, Keys, Right
from directory_indexer.server.gate.metrics import Metrics
from directory_indexer.server.gate.problems import RefusedError, no_collection
from directory_indexer.server.running import Desk

with lazily:
    from directory_indexer.app import App
    from directory_indexer.server.api.documents import DocumentIds
    from directory_indexer.server.api.runs import IndexRuns
    from directory_indexer.server.model import BackgroundModel


LONGEST_BODY = 1_048_576
_COLLECTION = "collection"


class Method(StrEnum):
    """How a path is asked."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Services:
    """What operations work with."""

    app: App
    desk: Desk
    model: BackgroundModel
    runs: IndexRuns
    document_ids: DocumentIds
    metrics: Metrics
    is_ending: Callable[[], bool]
    operations: tuple[Operation, ...]
    """The table itself, which is described, too."""

    def open_stores(self) -> None:
        """Look whether the databases can be read.

        Raises:
            StoreError: one cannot.
        """
        with self.app.docstore.snapshot() as snapshot:
            snapshot.overview.summary()
        Keys(self.app.registry).all()


class Reply(NamedTuple):
    """A record as an answer that is not the usual one: of another status, or with headers."""

    record: Any
    status: int
    headers: Mapping[str, str]


class Content(NamedTuple):
    """An answer that is no record."""

    content: bytes
    media_type: str
    headers: Mapping[str, str] = {}


Answer: TypeAlias = Any
"""A record, a `Reply` or a `Content`."""

OperationRun: TypeAlias = Callable[[Services, Any], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One row of the table.

    `arguments` is a record, of which the path gives what it names, the query string or the body the rest; `answer` one
    too, or else `media_type` says what the answer is. `needs` is None where no key is needed. `failures` says which
    statuses come beside those that every operation may answer with, and when.
    """

    name: str
    method: Method
    path: str
    needs: Right | None
    title: str
    description: str
    arguments: type
    answer: type | None
    run: OperationRun
    status: int = 200
    failures: Mapping[int, str] = field(default_factory=dict)
    media_type: str = "application/json"
    longest_body: int = LONGEST_BODY
    is_probe: bool = False

    @property
    def collection(self) -> str | None:
        """Name the collection that a key must reach, where that is known before the arguments are read.

        An operation whose arguments have a field `collection` is about the one that a call names; one that needs no
        key, or one for no collection, is about none.
        """
        is_named = _COLLECTION in self.arguments._fields  # type: ignore[attr-defined]
        return DEFAULT_COLLECTION if self.needs in {Right.READ, Right.WRITE} and not is_named else None

    def require_reach(self, key: Key, call: Any) -> None:
        """Look whether a key is good for the collection that a call names.

        Raises:
            RefusedError: it is not; it is told what it would be told if there were no such collection.
        """
        name = getattr(call, _COLLECTION, None)
        if name is not None and not key.reaches(name):
            raise RefusedError(no_collection(name))

    @property
    def has_body(self) -> bool:
        """Tell whether arguments come as a body, not in the query string."""
        return self.method in {Method.POST, Method.PUT}


def slowly(verb: Callable[[Services, Any], Answer]) -> OperationRun:
    """Run what may take seconds, when it is its turn."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.slowly(lambda: verb(services, call))

    return run


def quickly(verb: Callable[[Services, Any], Answer]) -> OperationRun:
    """Run what takes milliseconds, when it is its turn."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.quickly(lambda: verb(services, call))

    return run


def at_once(verb: Callable[[Services, Any], Answer]) -> OperationRun:
    """Run what takes no time and asks no disk; it waits for no turn, however much there is to do."""

    async def run(services: Services, call: Any) -> Answer:
        return verb(services, call)

    return run
