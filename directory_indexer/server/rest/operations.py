"""Operations of the API: routes, documentation, responses, and the services that handlers use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from starlette.routing import compile_path

from directory_indexer.api.fields import JsonObject
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.lazy import lazily
from directory_indexer.server.mcp.arguments import schema_with_aliases
from directory_indexer.server.mcp.executor import ToolExecutor
from directory_indexer.server.mcp.search_requests import collections_of_call
from directory_indexer.server.middleware.monitoring import Metrics
from directory_indexer.server.middleware.request_context import RefusedError, Route, no_collection, no_right
from directory_indexer.storage.registry.keys import DEFAULT_COLLECTION, Key, Keys, Right

with lazily:
    from directory_indexer.collections.background import Administration, IngestWorker
    from directory_indexer.collections.collections import Collections
    from directory_indexer.collections.documents import DocumentOperations
    from directory_indexer.collections.ingest import DocumentIngest
    from directory_indexer.integrations.previewing.workers import PreviewWorkers
    from directory_indexer.server.model import BackgroundModel
    from directory_indexer.server.rest.background import IndexRuns
    from directory_indexer.server.rest.documents import DocumentIds
    from directory_indexer.server.rest.page_operations import Confirmations


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
    executor: ToolExecutor
    model: BackgroundModel
    runs: IndexRuns
    document_ids: DocumentIds
    confirmations: Confirmations
    documents: DocumentOperations
    ingesting: DocumentIngest
    administration: Administration
    previews: PreviewWorkers
    background: IngestWorker
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


class StreamedFile(NamedTuple):
    """A response with parts of a file.

    Each part is a prefix, the first byte and the byte after the last one.
    """

    file: BinaryIO
    status: int
    headers: Mapping[str, str]
    parts: tuple[tuple[bytes, int, int], ...]
    ending: bytes = b""


class StreamedRecords(NamedTuple):
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
"""A record, a `Reply`, a `Content`, a `StreamedFile` or `Lines`."""

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
        for name in collections_of_call(call) if is_named else ():
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


def search_handler(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that may take seconds."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.executor.in_search_pool(lambda: handler(services, call))

    return run


def read_handler(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that takes milliseconds."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.executor.in_read_pool(lambda: handler(services, call))

    return run


def write_handler(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that writes, and may wait for other writers."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.executor.in_write_pool(lambda: handler(services, call))

    return run


def network_handler(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that waits for a web server."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.executor.in_network_pool(lambda: handler(services, call))

    return run


def worker_handler(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler whose work a worker process does."""

    async def run(services: Services, call: Any) -> Answer:
        return await services.executor.elsewhere(lambda: handler(services, call))

    return run


def unqueued_handler(handler: Callable[[Services, Any], Answer]) -> OperationRun:
    """Return the runner of a handler that takes no time and does no I/O; it is never queued."""

    async def run(services: Services, call: Any) -> Answer:
        return handler(services, call)

    return run


UNKNOWN_ROUTE = Route("other", Right.READ, LONGEST_BODY)
"""The route of unknown paths: it needs a key, so that callers without one cannot probe for paths."""


class RouteMatch(NamedTuple):
    """The operations of a path by method, and the arguments in the path."""

    operations: Mapping[str, Operation]
    path_arguments: Mapping[str, str]


class Router:
    """The router of all operations."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            for path in (operation.path, *operation.other_paths):
                by_path.setdefault(path, {})[operation.method] = operation
        for methods in by_path.values():
            if Method.GET in methods:
                methods["HEAD"] = methods[Method.GET]
        self._patterns = [(compile_path(path)[0], methods) for path, methods in by_path.items()]

    def find(self, path: str) -> RouteMatch | None:
        """Return the operations of a path; None for an unknown path."""
        for pattern, operations in self._patterns:
            if match := pattern.fullmatch(path):
                return RouteMatch(operations, match.groupdict())
        return None

    def route_of(self, path: str, method: str) -> Route | None:
        """Return the route of a request for the guard; an unsupported method of a known path needs a key."""
        match = self.find(path)
        if match is None:
            return None
        operation = match.operations.get(method)
        if operation is None:
            return UNKNOWN_ROUTE._replace(template=next(iter(match.operations.values())).path)
        return Route(
            operation.path,
            operation.needs,
            operation.longest_body,
            is_probe=operation.is_probe,
            collection=operation.collection,
        )
