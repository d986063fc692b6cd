"""REST API: the index for programs that use plain HTTP, with the same records as MCP.

Here are the operations of the API: routes, documentation, responses, and the services that handlers use.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, NamedTuple

from starlette.routing import compile_path

from directory_indexer.api import JsonObject, Only
from directory_indexer.api.operations import Operation, Pool
from directory_indexer.core.errors import DirIndexError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.rights import Right
from directory_indexer.server.mcp.arguments import schema_with_aliases
from directory_indexer.server.mcp.executor import ToolExecutor
from directory_indexer.server.mcp.search_answer import requested_collections
from directory_indexer.server.middleware.monitoring import Metrics
from directory_indexer.server.middleware.request_context import RefusedError, Route, collection_not_found, missing_right
from directory_indexer.storage.registry.keys import DEFAULT_COLLECTION, Key, Keys

with lazily:
    from directory_indexer.collections import Collections
    from directory_indexer.collections.background import Administration, IngestWorker
    from directory_indexer.collections.documents import DocumentOperations
    from directory_indexer.collections.ingest import DocumentIngest
    from directory_indexer.integrations.previewing.workers import PreviewWorkers
    from directory_indexer.server.background_model import BackgroundModel
    from directory_indexer.server.rest.background import IndexRuns
    from directory_indexer.server.rest.documents import DocumentIds
    from directory_indexer.server.rest.page_operations import Confirmations


MAX_BODY_BYTES = 1_048_576
MAX_TEXTS_BYTES = 33_554_432
MAX_UPLOAD_BYTES = 200_000_000
_COLLECTION_ARGUMENTS = frozenset({"collection", "collections"})


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
    operations: tuple[HttpOperation, ...]
    """The table of operations itself, for its documentation."""

    unsupported_operation_error: Callable[[str], DirIndexError] | None = None
    """Returns the error for an operation that only another machine performs."""

    caller: Key | None = None
    """The key of the request; None where no key is needed."""

    def grants_collection(self, collection: str) -> bool:
        """Whether the caller may use a collection."""
        return self.caller is not None and self.caller.grants_collection(collection)

    def open_stores(self) -> None:
        """Require that the databases can be read.

        Raises:
            StoreError: a database cannot be read.
        """
        with self.collections.opened(DEFAULT_COLLECTION) as opened:
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


class ToolVariant(NamedTuple):
    """An operation as an MCP tool: its name and argument record there.

    `run`, with its pool, and `description` replace those of the operation, if set.
    """

    name: str
    arguments: type
    run: Callable[[Services, Any], Any] | None = None
    pool: Pool | None = None
    description: str = ""

    def make_tool(self, operation: HttpOperation) -> Operation[Services]:
        """Return the MCP tool for an operation."""
        run, pool = (self.run, self.pool) if self.run else (operation.run, operation.pool)
        description = self.description or operation.description
        return Operation(
            self.name,
            operation.title,
            description,
            self.arguments,
            operation.answer,
            run,
            pool,
            operation.required_right,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HttpOperation(Operation[Services]):
    """An operation over HTTP: one row of the table of the API.

    Arguments come from the path, the query string, the body and `header_arguments`. `media_type` describes an answer
    that is no record. `failures` are error statuses besides those of all operations, `other_successes` additional
    success statuses, both with descriptions. `run_json_lines` handles bodies of JSON Lines, each line an object of
    arguments. With `supports_idempotency`, a request with a known `Idempotency-Key` gets the stored response. `links`
    name the parts of a response that other operations accept as arguments. `max_upload_bytes` returns the maximum size
    of a file of a media type, if less than `max_body_bytes`.
    """

    route: str
    """The method and the path, with the names of the arguments in it."""

    status: int = 200
    failures: Mapping[int, str] = field(default_factory=dict)
    media_type: str = "application/json"
    max_body_bytes: int = MAX_BODY_BYTES
    is_probe: bool = False
    body: Body | None = None
    max_upload_bytes: Callable[[Services, Any, str], int] | None = None
    other_successes: Mapping[int, str] = field(default_factory=dict)
    header_arguments: Mapping[str, str] = field(default_factory=dict)
    run_json_lines: Callable[[Services, Any], Awaitable[Any]] | None = None
    supports_idempotency: bool = False
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    checks_collections_itself: bool = False
    """Whether the operation itself checks the collections of the key."""

    tools: tuple[ToolVariant, ...] = ()
    """The MCP tools of the operation."""

    http_note: str = ""
    """An additional description that applies to HTTP only."""

    path_aliases: tuple[str, ...] = ()
    """Additional paths, for clients of the plain contract."""

    @property
    def method(self) -> Method:
        """The HTTP method."""
        return Method(self.route.partition(" ")[0])

    @property
    def path(self) -> str:
        """The path, with the names of the arguments in it."""
        return self.route.partition(" ")[2]

    @property
    def schema(self) -> JsonObject:
        """The schema of the arguments over HTTP."""
        return schema_with_aliases(self.arguments, self.name, Only.PROGRAMS)

    @property
    def collection(self) -> str | None:
        """The collection that a key must grant access to, where that is known before the arguments are parsed.

        None for an operation whose arguments name collections, that needs no key, or that is about no collection.
        """
        has_own_check = (
            _has_collection_argument(self)
            or self.checks_collections_itself
            or self.required_right in {Right.METRICS, None}
        )
        return None if has_own_check else DEFAULT_COLLECTION

    @property
    def argument_place(self) -> Body:
        """The place of the arguments that are not in the path."""
        return self.body or (Body.JSON if self.method in {Method.POST, Method.PUT} else Body.QUERY)

    @property
    def has_json_body(self) -> bool:
        """Whether the arguments are in a JSON body."""
        return self.argument_place is Body.JSON


def require_right(operation: Operation[Services], key: Key | None) -> None:
    """Require that a key has the right of an operation; a second check behind the request guard.

    Raises:
        RefusedError: the key lacks the right.
    """
    if operation.required_right is not None and (key is None or not key.has_right(operation.required_right)):
        raise RefusedError(missing_right(key.name if key else "", operation.required_right))


def require_collection_access(operation: Operation[Services], key: Key | None, call: Any) -> None:
    """Require that a key, if one is needed, grants access to the collections of a call.

    Raises:
        RefusedError: it does not; the error is the same as for a collection that does not exist.
    """
    if key is None or not _has_collection_argument(operation):
        return
    for name in requested_collections(call):
        if not key.grants_collection(name):
            raise RefusedError(collection_not_found(name))


def _has_collection_argument(operation: Operation[Services]) -> bool:
    return not _COLLECTION_ARGUMENTS.isdisjoint(operation.arguments._fields)  # type: ignore[attr-defined]


UNKNOWN_ROUTE = Route("other", Right.READ, MAX_BODY_BYTES)
"""The route of unknown paths: it needs a key, so that callers without one cannot probe for paths."""


class RouteMatch(NamedTuple):
    """The operations of a path by method, and the arguments in the path."""

    operations: Mapping[str, HttpOperation]
    path_arguments: Mapping[str, str]


class Router:
    """The router of all operations."""

    def __init__(self, operations: Iterable[HttpOperation]) -> None:
        by_path: dict[str, dict[str, HttpOperation]] = {}
        for operation in operations:
            for path in (operation.path, *operation.path_aliases):
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
            return UNKNOWN_ROUTE._replace(path_template=next(iter(match.operations.values())).path)
        return Route(
            operation.path,
            operation.required_right,
            operation.max_body_bytes,
            is_probe=operation.is_probe,
            collection=operation.collection,
        )
