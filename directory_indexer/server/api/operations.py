"""Operations of the API: the definition of route, documentation and response, and the services that handlers use."""

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
    """The HTTP methods of operations."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Services:
    """The services that operations use."""

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
    """The table of operations itself, for its documentation."""

    elsewhere: Callable[[str], DirIndexError] | None = None
    """Returns the error for an operation that only another machine performs."""

    caller: Key | None = None
    """The key of the request; None where no key is needed."""

    def reaches(self, collection: str) -> bool:
        """Whether the caller may use a collection."""
        return self.caller is not None and self.caller.reaches(collection)

    def open_stores(self) -> None:
        """Require that the databases can be read.

        Raises:
            StoreError: a database cannot be read.
        """
        with self.collections.using(DEFAULT_COLLECTION) as opened:
            with opened.app.docstore.snapshot() as snapshot:
                snapshot.overview.summary()
            Keys(opened.app.registry).all()


class Reply(NamedTuple):
    """A record with another status than the usual one, or with headers."""

    record: Any
    status: int
    headers: Mapping[str, str]


class Content(NamedTuple):
    """A response that is not a record."""

    content: bytes
    media_type: str
    headers: Mapping[str, str] = {}


class Stored(NamedTuple):
    """A response with parts of a file.

    Each part is a prefix, the first byte and the byte after the last one.
    """

    file: BinaryIO
    status: int
    headers: Mapping[str, str]
    parts: tuple[tuple[bytes, int, int], ...]
    ending: bytes = b""


class Lines(NamedTuple):
    """A streamed response of many records, one per line."""

    records: AsyncIterator[tuple[Any, ...]]


class Upload(NamedTuple):
    """The arguments of a request and its body, which was spooled to an unnamed file."""

    call: Any
    content: BinaryIO
    media_type: str


class Body(StrEnum):
    """The place of the arguments of an operation that are not in its path."""

    QUERY = "no body: arguments come in the query string"
    JSON = "application/json"
    BYTES = "application/octet-stream"
    """A file as it is; arguments are in the query string."""


Answer: TypeAlias = Any
"""A record, a `Reply`, a `Content`, a `Stored` or `Lines`."""

OperationRun: TypeAlias = "Callable[[Services, Any], Awaitable[Answer]]"


class AsTool(NamedTuple):
    """An operation as an MCP tool: its name and argument record there.

    `run` and `description` replace those of the operation, if set.
    """

    name: str
    arguments: type
    run: OperationRun | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One row of the table of operations.

    `arguments` is the record of the arguments, which come from the path, the query string, the body and `from_headers`.
    `answer` is the record of the response; if None, `media_type` describes the response. `needs` is the right that a
    key must have; None if no key is needed. `failures` are error statuses besides those of all operations, `also`
    additional success statuses, both with descriptions. `lines` handles bodies of JSON Lines, each line an object of
    arguments. With `repeats_answers`, a request with a known `Idempotency-Key` gets the stored response. `links` name
    the parts of a response that other operations accept as arguments. `longest_upload` returns the maximum size of a
    file of a media type, if less than `longest_body`.
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
    """Whether the operation itself checks the collections of the key."""

    as_tools: tuple[AsTool, ...] = ()
    """The MCP tools of the operation."""

    over_http: str = ""
    """An additional description that applies to HTTP only."""

    other_paths: tuple[str, ...] = ()
    """Additional paths, for clients of the plain contract."""

    @property
    def schema(self) -> JsonObject:
        """The schema of the arguments over HTTP."""
        return schema_with_aliases(self.arguments, self.name)

    @property
    def collection(self) -> str | None:
        """The collection that a key must grant access to, where that is known before the arguments are parsed.

        None for an operation whose arguments name collections, that needs no key, or that is about no collection.
        """
        is_named = not _COLLECTIONS.isdisjoint(self.arguments._fields)  # type: ignore[attr-defined]
        is_for_itself = is_named or self.about_all or self.needs in {Right.METRICS, None}
        return None if is_for_itself else DEFAULT_COLLECTION

    def require_right(self, key: Key | None) -> None:
        """Require that a key has the right of the operation; a second check behind the request guard.

        Raises:
            RefusedError: the key lacks the right.
        """
        if self.needs is not None and (key is None or not key.may(self.needs)):
            raise RefusedError(no_right(key.name if key else "", self.needs))

    def require_reach(self, key: Key, call: Any) -> None:
        """Require that a key grants access to the collections of a call.

        Raises:
            RefusedError: it does not; the error is the same as for a collection that does not exist.
        """
        is_named = not _COLLECTIONS.isdisjoint(self.arguments._fields)  # type: ignore[attr-defined]
        for name in collections_named(call) if is_named else ():
            if not key.reaches(name):
                raise RefusedError(no_collection(name))

    @property
    def takes(self) -> Body:
        """The place of the arguments that are not in the path."""
        return self.body or (Body.JSON if self.method in {Method.POST, Method.PUT} else Body.QUERY)

    @property
    def has_body(self) -> bool:
        """Whether the arguments are in a JSON body."""
        return self.takes is Body.JSON


def slowly(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that may take seconds."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.slowly(lambda: handler(services, call))

    return run


def quickly(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that takes milliseconds."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.quickly(lambda: handler(services, call))

    return run


def patiently(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that writes, and may wait for other writers."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.patiently(lambda: handler(services, call))

    return run


def remotely(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that waits for a web server."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.remotely(lambda: handler(services, call))

    return run


def elsewhere(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler whose work a worker process does."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.desk.elsewhere(lambda: handler(services, call))

    return run


def at_once(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that takes no time and does no I/O; it is never queued."""

    async def run(services: Services, call: Any) -> Answer:
        return handler(services, call)

    return run
