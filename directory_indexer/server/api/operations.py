"""What an operation of the API is: all that makes its route, its page of documentation and its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from directory_indexer.errors import DirIndexError
from directory_indexer.lazy import lazily
from directory_indexer.registry.keys import DEFAULT_COLLECTION, Key, Keys, Right
from directory_indexer.server.arguments import schema_with_aliases
from directory_indexer.server.gate.metrics import Metrics
from directory_indexer.server.gate.problems import RefusedError, no_collection, no_right
from directory_indexer.server.questions import collections_named
from directory_indexer.server.running import Desk
from directory_indexer.wire.objects import JsonObject

with lazily:
    from directory_indexer.previewing.workers import PreviewWorkers
    from directory_indexer.server.api.confirmations import Confirmations
    from directory_indexer.server.api.documents import DocumentIds
    from directory_indexer.server.api.runs import IndexRuns
    from directory_indexer.server.model import BackgroundModel
    from directory_indexer.team.administration import Administration
    from directory_indexer.team.background import Background
    from directory_indexer.team.collections import Collections
    from directory_indexer.team.documents import DocumentVerbs
    from directory_indexer.team.ingesting import Ingesting


LONGEST_BODY = 1_048_576
LONGEST_TEXTS = 33_554_432
LONGEST_FILE = 200_000_000
_COLLECTIONS = frozenset({"collection", "collections"})


class Method(StrEnum):
    """How a path is asked."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Services:
    """What operations work with."""

    collections: Collections
    desk: Desk
    model: BackgroundModel
    runs: IndexRuns
    document_ids: DocumentIds
    confirmations: Confirmations
    documents: DocumentVerbs
    ingesting: Ingesting
    administration: Administration
    previews: PreviewWorkers
    background: Background
    metrics: Metrics
    is_ending: Callable[[], bool]
    operations: tuple[Operation, ...]
    """The table itself, which is described, too."""

    elsewhere: Callable[[str], DirIndexError] | None = None
    """What is said of an operation that is not in the table of this server, and that another machine does."""

    caller: Key | None = None
    """Whose key came with the request; None where none is needed."""

    def reaches(self, collection: str) -> bool:
        """Tell whether a collection is there for whoever asks."""
        return self.caller is not None and self.caller.reaches(collection)

    def open_stores(self) -> None:
        """Look whether the databases can be read.

        Raises:
            StoreError: one cannot.
        """
        with self.collections.using(DEFAULT_COLLECTION) as opened:
            with opened.app.docstore.snapshot() as snapshot:
                snapshot.overview.summary()
            Keys(opened.app.registry).all()


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


class Stored(NamedTuple):
    """An answer that is a file, which is sent from here to there; `parts` are from where to where, with what between.

    Each part is what comes before it, and the first and the following byte.
    """

    file: BinaryIO
    status: int
    headers: Mapping[str, str]
    parts: tuple[tuple[bytes, int, int], ...]
    ending: bytes = b""


class Lines(NamedTuple):
    """An answer of many records, a line each, as they are made."""

    records: AsyncIterator[tuple[Any, ...]]


class Upload(NamedTuple):
    """What a request says beside its body, and the body itself, which was written to a file that has no name."""

    call: Any
    content: BinaryIO
    media_type: str


class Body(StrEnum):
    """What an operation takes beside its path."""

    QUERY = "no body: arguments come in the query string"
    JSON = "application/json"
    BYTES = "application/octet-stream"
    """A file as it is; arguments come in the query string."""


Answer: TypeAlias = Any
"""A record, a `Reply`, a `Content`, a `Stored` or `Lines`."""

OperationRun: TypeAlias = "Callable[[Services, Any], Awaitable[Answer]]"


class AsTool(NamedTuple):
    """An operation as a tool of MCP: its name there, and which of its arguments over HTTP it takes.

    `run` and `description` replace those of the operation, where they are set.
    """

    name: str
    arguments: type
    run: OperationRun | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One row of the table.

    `arguments` is a record, of which the path gives what it names, the query string or the body the rest; `answer` one
    too, or else `media_type` says what the answer is. `needs` is None where no key is needed. `failures` says which
    statuses come beside those that every operation may answer with, and when; `also` which others mean success.
    `from_headers` names the headers that arguments come in. `lines` answers bodies of many lines, each of them such an
    object as the operation takes. With `repeats_answers`, a request that is sent again by the same `Idempotency-Key` is
    answered as it was. `links` say what of an answer another operation takes. `longest_upload` returns how many bytes a
    file of a media type may have, where that is less than `longest_body`.
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
    body: Body | None = None
    longest_upload: Callable[[Services, Any, str], int] | None = None
    also: Mapping[int, str] = field(default_factory=dict)
    from_headers: Mapping[str, str] = field(default_factory=dict)
    lines: OperationRun | None = None
    repeats_answers: bool = False
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    about_all: bool = False
    """Whether it looks for itself which collections the key is for."""

    as_tools: tuple[AsTool, ...] = ()
    """The tools of MCP that it is, too."""

    over_http: str = ""
    """What else there is to say of it, that means nothing to those who call it as a tool."""

    other_paths: tuple[str, ...] = ()
    """The paths that clients of the plain contract use."""

    @property
    def schema(self) -> JsonObject:
        """Return the schema of what it takes over HTTP."""
        return schema_with_aliases(self.arguments, self.name)

    @property
    def collection(self) -> str | None:
        """Name the collection that a key must reach, where that is known before the arguments are read.

        An operation whose arguments have a field `collection` is about the one that a call names; one that needs no
        key, or one for no collection, is about none.
        """
        is_named = not _COLLECTIONS.isdisjoint(self.arguments._fields)  # type: ignore[attr-defined]
        is_for_itself = is_named or self.about_all or self.needs in {Right.METRICS, None}
        return None if is_for_itself else DEFAULT_COLLECTION

    def require_right(self, key: Key | None) -> None:
        """Look whether a key allows it, once more behind the gate.

        Raises:
            RefusedError: it does not.
        """
        if self.needs is not None and (key is None or not key.may(self.needs)):
            raise RefusedError(no_right(key.name if key else "", self.needs))

    def require_reach(self, key: Key, call: Any) -> None:
        """Look whether a key is good for the collection that a call names.

        Raises:
            RefusedError: it is not; it is told what it would be told if there were no such collection.
        """
        is_named = not _COLLECTIONS.isdisjoint(self.arguments._fields)  # type: ignore[attr-defined]
        for name in collections_named(call) if is_named else ():
            if not key.reaches(name):
                raise RefusedError(no_collection(name))

    @property
    def takes(self) -> Body:
        """Tell what it takes beside its path."""
        return self.body or (Body.JSON if self.method in {Method.POST, Method.PUT} else Body.QUERY)

    @property
    def has_body(self) -> bool:
        """Tell whether arguments come as a body, not in the query string."""
        return self.takes is Body.JSON


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


def patiently(verb: Callable[[Services, Any], Answer]) -> OperationRun:
    """Run what writes, and may wait for others who do, when it is its turn."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.patiently(lambda: verb(services, call))

    return run


def remotely(verb: Callable[[Services, Any], Answer]) -> OperationRun:
    """Run what waits for a server on the web, when it is its turn."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.remotely(lambda: verb(services, call))

    return run


def elsewhere(verb: Callable[[Services, Any], Answer]) -> OperationRun:
    """Run what another process works at, when it is its turn."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.elsewhere(lambda: verb(services, call))

    return run


def at_once(verb: Callable[[Services, Any], Answer]) -> OperationRun:
    """Run what takes no time and asks no disk; it waits for no turn, however much there is to do."""

    async def run(services: Services, call: Any) -> Answer:
        return verb(services, call)

    return run
