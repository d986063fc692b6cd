"""Operations for administration and monitoring: collections, background work, health, metrics and documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import anyio.to_thread

from directory_indexer import __version__
from directory_indexer.api.collections import CollectionEntry, CollectionsAnswer, collection_entry
from directory_indexer.api.runs import administrative_entry
from directory_indexer.collections.background import OperationRunningError
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import ConflictError, DirIndexError, LockedError, NotIndexedError, UsageError
from directory_indexer.server.admin_jobs import backup_directory
from directory_indexer.server.background_model import ModelState
from directory_indexer.server.lifecycle import NAME
from directory_indexer.server.middleware.monitoring import METRICS_CONTENT_TYPE
from directory_indexer.server.middleware.request_context import CLOSING, Problem, RefusedError
from directory_indexer.server.rest import Content, Reply, Services
from directory_indexer.server.rest.arguments import AdminCall, BackupCall, CollectionCall, DescribeCall, NoArguments
from directory_indexer.server.rest.background import PATH, operation_id
from directory_indexer.server.rest.documentation import documentation_pages
from directory_indexer.storage.registry.operations import OperationKind

_HTTP_STARTED = 202
OPERATION_IN_PROGRESS = Problem(409, "occupied", "another administrative operation is in progress")
KEY_NOT_FOR_ALL = Problem(403, "forbidden", "a backup contains all collections, but this key is valid for some only")

_HTTP_CREATED, _HTTP_OK, _HTTP_ACCEPTED, _GONE = 201, 200, 202, 204
_COLLECTIONS_PATH = "/api/v1/collections"
_DELETION_SECONDS = 20.0

_MODEL_LOADING = Problem(503, "not_ready", "the model is being loaded; keyword search works already", retry_seconds=2)
_INDEX_UNREADABLE = Problem(503, "not_ready", "the index cannot be opened; see the server log", retry_seconds=5)


class Health(NamedTuple):
    """That a server is there."""

    status: Annotated[str, "ok"]
    name: Annotated[str, "dirindex"]
    version: Annotated[str, "Version of dirindex."]


class Readiness(NamedTuple):
    """That a server answers as it should."""

    status: Annotated[str, "ready"]
    model: Annotated[str, "The model that searches by meaning: ready, or failed, where words alone answer."]


def make_start_handler(kind: OperationKind) -> Callable[[Services, AdminCall], Reply]:
    """Return the handler that starts an operation of this kind on a collection."""

    def run(services: Services, call: AdminCall) -> Reply:
        services.collections.key(call.collection)
        return _start_operation(services, kind, call.collection, {})

    return run


def back_up(services: Services, call: BackupCall) -> Reply:
    """Start a backup of all collections.

    Raises:
        UsageError: no backup directory is configured, or a backup of this name exists.
        RefusedError: the key does not grant access to all collections.
    """
    if services.caller is None or services.caller.collections is not None:
        raise RefusedError(KEY_NOT_FOR_ALL)
    directory = backup_directory(services.collections.app.loaded, call.name)
    if directory.exists():
        raise UsageError(f"a backup '{directory.name}' already exists", hint="use another name")
    return _start_operation(services, OperationKind.BACKUP, "", {"name": directory.name})


def collections(services: Services, _: NoArguments) -> CollectionsAnswer:
    """Return the collections that the caller may use."""
    entries: list[CollectionEntry] = []
    for name in services.collections.names():
        if services.grants_collection(name):
            try:
                entries.append(collection_entry(services.collections.get(name)))
            except NotIndexedError:  # it has been deleted in the meantime
                continue
    return CollectionsAnswer(tuple(entries))


def collection(services: Services, call: CollectionCall) -> CollectionEntry:
    """Return a collection."""
    return collection_entry(services.collections.get(call.collection))


def put_collection(services: Services, call: DescribeCall) -> Reply:
    """Create a collection, or change the description of an existing one."""
    try:
        name = services.collections.create(call.collection, description=call.description or "")
    except ConflictError:
        try:
            entry = collection_entry(services.collections.get(call.collection))
        except NotIndexedError:
            entry = None
        if entry is None:  # it is being deleted
            raise
        if call.description is not None:
            services.collections.describe(call.collection, call.description)
            entry = entry._replace(description=call.description or None)
        return Reply(entry, _HTTP_OK, {})
    return Reply(
        collection_entry(services.collections.get(name)), _HTTP_CREATED, {"Location": f"{_COLLECTIONS_PATH}/{name}"}
    )


def delete_collection(services: Services, call: CollectionCall) -> Reply:
    """Delete a collection: at once for all clients, and from the disk when no process writes to it any more."""
    try:
        services.collections.delete(call.collection, seconds=_DELETION_SECONDS)
    except LockedError:
        services.background.enqueue_removals()
        return Reply(None, _HTTP_ACCEPTED, {})
    return Reply(None, _GONE, {})


def health(_: Services, __: object) -> Health:
    """Return that the server is alive."""
    return Health("ok", NAME, __version__)


async def ready(services: Services, _: object) -> Readiness:
    """Return that the server is ready; the first call starts loading the model.

    Raises:
        RefusedError: the server is not ready yet, or is shutting down.
    """
    if services.is_ending():
        raise RefusedError(CLOSING)
    try:
        await anyio.to_thread.run_sync(services.open_stores)
    except DirIndexError as error:
        raise RefusedError(_INDEX_UNREADABLE) from error
    services.model.start()
    if services.model.state is ModelState.LOADING:
        raise RefusedError(_MODEL_LOADING)
    return Readiness("ready", services.model.state)


def metrics(services: Services, _: object) -> Content:
    """Return the metrics in the Prometheus text format."""
    return Content(services.metrics.text().encode(), METRICS_CONTENT_TYPE)


def make_documentation_handler(path: str) -> Callable[[Services, object], Content]:
    """Return the handler of a documentation page."""

    def run(services: Services, _: object) -> Content:
        return documentation_pages(services.operations)[path]

    return run


def _start_operation(services: Services, kind: OperationKind, collection: str, options: Mapping[str, Any]) -> Reply:
    try:
        row = services.administration.start(kind, collection, options)
    except OperationRunningError as error:
        raise RefusedError(_occupied_problem(services, error)) from error
    name = operation_id(collection or DEFAULT, row.name)
    return Reply(administrative_entry(row, name=name), _HTTP_STARTED, {"Location": f"{PATH}/{name}"})


def _occupied_problem(services: Services, error: OperationRunningError) -> Problem:
    """Return the problem, with the operation in progress if the key may see it."""
    row = error.operation
    if row is None or services.caller is None:
        return OPERATION_IN_PROGRESS
    is_visible = services.caller.collections is None or (row.collection and services.grants_collection(row.collection))
    if not is_visible:
        return OPERATION_IN_PROGRESS
    return OPERATION_IN_PROGRESS._replace(
        detail=f"{OPERATION_IN_PROGRESS.detail}: {operation_id(row.collection or DEFAULT, row.name)}"
    )
