"""Operations `/api/v1/index` and `/api/v1/operations`: start, list, pause, resume and cancel background work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio

from directory_indexer.config.collections import DEFAULT
from directory_indexer.errors import NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.registry.operations import Kind, Wish
from directory_indexer.server.api.arguments import InCollectionCall, IndexCall, NamedOperationCall, OperationCall
from directory_indexer.server.api.operations import Reply, Services
from directory_indexer.server.api.runs import HAS_ENDED, PATH, collection_and_name, ingest_name, operation_id
from directory_indexer.server.gate.problems import RefusedError
from directory_indexer.server.gate.visits import origin_of
from directory_indexer.wire.operations import OperationEntry, OperationList, administrative_entry, ingest_entry

with lazily:
    from directory_indexer.registry.operations import OperationRow
    from directory_indexer.registry.stored_documents import StoredDocument

_ACCEPTED = 202
_POLL_SECONDS = 0.25
_MOST_INGESTS = 50
_ACTIVE_STATES = frozenset({"queued", "running"})
_ADMINISTRATIVE = frozenset(Kind)


def start(services: Services, call: IndexCall) -> Reply:
    """Start an index run, and return its location."""
    entry = services.runs.start(call.collection, call.path)
    return Reply(entry, _ACCEPTED, {"Location": f"{PATH}/{entry.id}"})


def operations(services: Services, call: InCollectionCall) -> OperationList:
    """List the newest operations of a collection."""
    rows = [row for row in services.administration.newest() if _is_listed(services, row, call.collection)]
    with services.collections.using(call.collection) as opened:
        documents = opened.queue.looked_at(opened.documents.under_way(limit=_MOST_INGESTS))
    entries = [_administrative_entry(row) for row in rows]
    entries += [_ingest_entry(document, document.version) for document in documents]
    return OperationList((*entries, *services.runs.all(call.collection)))


async def operation(services: Services, call: OperationCall) -> OperationEntry:
    """Return the state of an operation, at once or when it has ended."""
    deadline = anyio.current_time() + call.wait
    while True:
        entry = await services.desk.quickly(lambda: _entry(services, call.operation_id))
        left = deadline - anyio.current_time()
        if entry.state not in _ACTIVE_STATES or left <= 0 or services.is_ending():
            return entry
        await anyio.sleep(min(_POLL_SECONDS, left))


def cancel(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Ask an operation to stop; a document whose ingest is cancelled keeps its previous version."""
    return _apply(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.cancel(document, seconds=0),
        of_run=partial(services.runs.cancel, by=origin_of(services.caller)),
        of_work=lambda name: services.administration.ask(name, Wish.CANCEL),
    )


def pause(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Ask an operation to pause until it is resumed."""
    return _apply(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.pause(document, is_paused=True),
        of_run=partial(services.runs.pause, by=origin_of(services.caller)),
        of_work=lambda name: services.administration.ask(name, Wish.PAUSE),
    )


def resume(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Resume an operation; paused index runs are continued by one new run."""
    return _apply(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.pause(document, is_paused=False),
        of_run=services.runs.resume,
        of_work=services.administration.resume,
    )


def _entry(services: Services, identifier: str) -> OperationEntry:
    collection, name = _locate(services, identifier)
    kind = name.partition("-")[0]
    if kind in _ADMINISTRATIVE:
        return _administrative_entry(_find_row(services, collection, name))
    if kind == "ingest":
        return _ingest_entry(*_find_version(services, collection, name))
    return services.runs.state(collection, name)


def _apply(
    services: Services,
    identifier: str,
    *,
    of_ingest: Callable[[StoredDocument], object],
    of_run: Callable[[str, str], OperationEntry],
    of_work: Callable[[str], OperationRow],
) -> OperationEntry:
    """Apply a change to an operation, by its kind.

    Raises:
        NotIndexedError: there is no operation with this id.
        RefusedError: the operation has ended.
    """
    collection, name = _locate(services, identifier)
    kind = name.partition("-")[0]
    if kind in _ADMINISTRATIVE:
        _find_row(services, collection, name)
        return _administrative_entry(of_work(name))
    if kind != "ingest":
        return of_run(collection, name)
    document, version = _find_version(services, collection, name)
    if document.version != version or _ingest_entry(document, version).state not in {*_ACTIVE_STATES, "paused"}:
        raise RefusedError(HAS_ENDED)
    of_ingest(document)
    return _entry(services, identifier)


def _locate(services: Services, identifier: str) -> tuple[str, str]:
    collection, name = collection_and_name(identifier)
    if not services.reaches(collection):
        raise _not_found(identifier)
    try:
        services.collections.key(collection)
    except NotIndexedError as error:
        raise _not_found(identifier) from error
    return collection, name


def _find_version(services: Services, collection: str, name: str) -> tuple[StoredDocument, int]:
    doc_id, _, version = name.removeprefix("ingest-").partition("-")
    with services.collections.using(collection) as opened:
        document = opened.documents.get(doc_id)
        if document is None or not version.isdecimal() or int(version) > document.version:
            raise _not_found(operation_id(collection, name))
        return opened.queue.looked_at([document])[0], int(version)


def _find_row(services: Services, collection: str, name: str) -> OperationRow:
    row = services.administration.get(name)
    is_visible = _is_listed(services, row, collection) and collection == (row.collection or DEFAULT)
    if not is_visible:
        raise _not_found(operation_id(collection, name))
    return row


def _is_listed(services: Services, row: OperationRow, collection: str) -> bool:
    """Whether an operation is in the list of a collection; one about all collections needs a key for all."""
    is_for_all = services.caller is not None and services.caller.collections is None
    return row.collection == collection or (not row.collection and is_for_all)


def _administrative_entry(row: OperationRow) -> OperationEntry:
    return administrative_entry(row, name=operation_id(row.collection or DEFAULT, row.name))


def _ingest_entry(document: StoredDocument, version: int) -> OperationEntry:
    name = ingest_name(document._replace(version=version))
    return ingest_entry(document, name=operation_id(document.collection, name), version=version)


def _not_found(identifier: str) -> NotIndexedError:
    return NotIndexedError(f"there is no operation '{identifier}'")
