"""`/api/v1/index` and `/api/v1/operations`: what goes on in the background, how it stands, and having it stopped."""

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
_GOES_ON = frozenset({"queued", "running"})
_ADMINISTRATIVE = frozenset(Kind)


def start(services: Services, call: IndexCall) -> Reply:
    """Start an index run, and say where to ask how it stands."""
    entry = services.runs.start(call.collection, call.path)
    return Reply(entry, _ACCEPTED, {"Location": f"{PATH}/{entry.id}"})


def operations(services: Services, call: InCollectionCall) -> OperationList:
    """List the newest operations of a collection."""
    rows = [row for row in services.administration.newest() if _concerns(services, row, call.collection)]
    with services.collections.using(call.collection) as opened:
        documents = opened.queue.looked_at(opened.documents.under_way(limit=_MOST_INGESTS))
    entries = [_administrative(row) for row in rows]
    entries += [_ingest(document, document.version) for document in documents]
    return OperationList((*entries, *services.runs.all(call.collection)))


async def operation(services: Services, call: OperationCall) -> OperationEntry:
    """Tell how an operation stands, at once or when it has ended."""
    deadline = anyio.current_time() + call.wait
    while True:
        entry = await services.desk.quickly(lambda: _entry(services, call.operation_id))
        left = deadline - anyio.current_time()
        if entry.state not in _GOES_ON or left <= 0 or services.is_ending():
            return entry
        await anyio.sleep(min(_POLL_SECONDS, left))


def cancel(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Ask an operation to stop; of a document whose ingest is cancelled, what was there before stays."""
    return _changed(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.cancel(document, seconds=0),
        of_run=partial(services.runs.cancel, by=origin_of(services.caller)),
        of_work=lambda name: services.administration.ask(name, Wish.CANCEL),
    )


def pause(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Ask an operation to go no further until it is resumed."""
    return _changed(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.pause(document, is_paused=True),
        of_run=partial(services.runs.pause, by=origin_of(services.caller)),
        of_work=lambda name: services.administration.ask(name, Wish.PAUSE),
    )


def resume(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Let an operation go on; of index runs, another one goes on with all that are paused."""
    return _changed(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.pause(document, is_paused=False),
        of_run=services.runs.resume,
        of_work=services.administration.resume,
    )


def _entry(services: Services, given: str) -> OperationEntry:
    collection, name = _place(services, given)
    kind = name.partition("-")[0]
    if kind in _ADMINISTRATIVE:
        return _administrative(_row(services, collection, name))
    if kind == "ingest":
        return _ingest(*_version(services, collection, name))
    return services.runs.state(collection, name)


def _changed(
    services: Services,
    given: str,
    *,
    of_ingest: Callable[[StoredDocument], object],
    of_run: Callable[[str, str], OperationEntry],
    of_work: Callable[[str], OperationRow],
) -> OperationEntry:
    """Change how an operation goes on, in the way of its kind.

    Raises:
        NotIndexedError: there is none of this id.
        RefusedError: it has ended.
    """
    collection, name = _place(services, given)
    kind = name.partition("-")[0]
    if kind in _ADMINISTRATIVE:
        _row(services, collection, name)
        return _administrative(of_work(name))
    if kind != "ingest":
        return of_run(collection, name)
    document, version = _version(services, collection, name)
    if document.version != version or _ingest(document, version).state not in {*_GOES_ON, "paused"}:
        raise RefusedError(HAS_ENDED)
    of_ingest(document)
    return _entry(services, given)


def _place(services: Services, given: str) -> tuple[str, str]:
    collection, name = collection_and_name(given)
    if not services.reaches(collection):
        raise _none(given)
    try:
        services.collections.key(collection)
    except NotIndexedError as error:
        raise _none(given) from error
    return collection, name


def _version(services: Services, collection: str, name: str) -> tuple[StoredDocument, int]:
    doc_id, _, version = name.removeprefix("ingest-").partition("-")
    with services.collections.using(collection) as opened:
        document = opened.documents.get(doc_id)
        if document is None or not version.isdecimal() or int(version) > document.version:
            raise _none(operation_id(collection, name))
        return opened.queue.looked_at([document])[0], int(version)


def _row(services: Services, collection: str, name: str) -> OperationRow:
    row = services.administration.get(name)
    is_seen = _concerns(services, row, collection) and collection == (row.collection or DEFAULT)
    if not is_seen:
        raise _none(operation_id(collection, name))
    return row


def _concerns(services: Services, row: OperationRow, collection: str) -> bool:
    """Tell whether whoever asks for the operations of a collection may hear of one: that of all is for keys for all."""
    is_for_all = services.caller is not None and services.caller.collections is None
    return row.collection == collection or (not row.collection and is_for_all)


def _administrative(row: OperationRow) -> OperationEntry:
    return administrative_entry(row, name=operation_id(row.collection or DEFAULT, row.name))


def _ingest(document: StoredDocument, version: int) -> OperationEntry:
    name = ingest_name(document._replace(version=version))
    return ingest_entry(document, name=operation_id(document.collection, name), version=version)


def _none(given: str) -> NotIndexedError:
    return NotIndexedError(f"there is no operation '{given}'")
