"""Operations `/api/v1/index` and `/api/v1/operations`: start, list, pause, resume and cancel background work.

An index run that this server started has its id before it is recorded, and keeps it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

import anyio

from directory_indexer.api.operations import Pool
from directory_indexer.api.runs import OperationEntry, OperationList, administrative_entry, ingest_entry, run_entry
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import ConflictError, NotIndexedError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.server.index_jobs import IndexJob
from directory_indexer.server.mcp.arguments import IndexCall
from directory_indexer.server.mcp.index_tool import is_ended
from directory_indexer.server.mcp.tools import Tools
from directory_indexer.server.middleware.request_context import Problem, RefusedError, origin_of
from directory_indexer.server.rest import Reply, Services
from directory_indexer.server.rest.arguments import AdminCall, NamedOperationCall, OperationCall
from directory_indexer.storage.documents.runs import Origin, Outcome, RunRecord
from directory_indexer.storage.registry.operations import OperationKind, RequestedState

with lazily:
    from directory_indexer.api.runs import Run
    from directory_indexer.storage.registry.operations import OperationRow
    from directory_indexer.storage.registry.stored_documents import StoredDocument

_ACCEPTED = 202
_POLL_SECONDS = 0.25
_MAX_INGESTS = 50
_ACTIVE_STATES = frozenset({"queued", "running"})
_ADMINISTRATIVE = frozenset(OperationKind)

PATH: Final = "/api/v1/operations"
_MAX_RUNS = 50
_MAX_JOBS = 1000
OPERATION_HAS_ENDED = Problem(409, "has_ended", "this operation has ended already")


def start(services: Services, call: IndexCall) -> Reply:
    """Start an index run, and return its location."""
    entry = services.runs.start(call.collection, call.path)
    return Reply(entry, _ACCEPTED, {"Location": f"{PATH}/{entry.id}"})


def operations(services: Services, call: AdminCall) -> OperationList:
    """List the newest operations of a collection."""
    rows = [row for row in services.administration.newest() if _is_listed(services, row, call.collection)]
    with services.collections.opened(call.collection) as opened:
        documents = opened.queue.current_states_of(opened.documents.not_yet_embedded(limit=_MAX_INGESTS))
    entries = [_administrative_entry(row) for row in rows]
    entries += [_ingest_entry(document, document.version) for document in documents]
    return OperationList((*entries, *services.runs.all(call.collection)))


async def operation(services: Services, call: OperationCall) -> OperationEntry:
    """Return the state of an operation, at once or when it has ended."""
    deadline = anyio.current_time() + call.wait
    while True:
        entry = await services.executor.run(Pool.READ, lambda: _entry(services, call.operation_id))
        left = deadline - anyio.current_time()
        if entry.state not in _ACTIVE_STATES or left <= 0 or services.is_ending():
            return entry
        await anyio.sleep(min(_POLL_SECONDS, left))


def cancel(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Ask an operation to stop; a document whose ingest is cancelled keeps its previous version."""
    return _change_by_kind(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.cancel(document, seconds=0),
        of_run=partial(services.runs.cancel, by=origin_of(services.caller)),
        of_work=lambda name: services.administration.request_state(name, RequestedState.CANCEL),
    )


def pause(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Ask an operation to pause until it is resumed."""
    return _change_by_kind(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.pause(document, is_paused=True),
        of_run=partial(services.runs.pause, by=origin_of(services.caller)),
        of_work=lambda name: services.administration.request_state(name, RequestedState.PAUSE),
    )


def resume(services: Services, call: NamedOperationCall) -> OperationEntry:
    """Resume an operation; paused index runs are continued by one new run."""
    return _change_by_kind(
        services,
        call.operation_id,
        of_ingest=lambda document: services.documents.pause(document, is_paused=False),
        of_run=services.runs.resume,
        of_work=services.administration.resume,
    )


def operation_id(collection: str, name: str) -> str:
    """Return the id of an operation by its collection and name."""
    return name if collection == DEFAULT else f"{collection}.{name}"


def parse_operation_id(identifier: str) -> tuple[str, str]:
    """Split an operation id into its collection and name."""
    collection, dot, name = identifier.rpartition(".")
    return (collection, name) if dot else (DEFAULT, name)


def ingest_operation_name(document: StoredDocument) -> str:
    """Return the operation name of the ingestion of a version of a document."""
    return f"ingest-{document.doc_id}-{document.version}"


class IndexRuns:
    """The index runs of all collections as operations."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._started: OrderedDict[str, tuple[str, IndexJob]] = OrderedDict()

    def start(self, collection: str, path: str) -> OperationEntry:
        """Start a run, or join the one that covers it."""
        arguments = IndexCall(path, collection=collection)
        jobs = self._tools.jobs.jobs_of(collection)
        job = self._tools.index.start(arguments)
        if isinstance(job, IndexJob) and is_ended(jobs.run_state_of(job)):
            job.is_reported = True  # its outcome is not needed any more
            job = self._tools.index.start(arguments)
        return self._register_job(collection, job)

    def add(self, root: FilePath) -> OperationEntry:
        """Start the run that adds a directory.

        Raises:
            LockedError: too many runs are queued.
        """
        return self._register_job(DEFAULT, self._tools.jobs.jobs_of(DEFAULT).add(root))

    def all(self, collection: str) -> list[OperationEntry]:
        """Return the newest runs of all processes, newest first, preceded by those that have not begun."""
        records = self._records(collection)
        with self._lock:
            jobs = [job for of, job in self._started.values() if of == collection]
        begun = {job.id for job in jobs for record in records if job.is_job_of_run(record)}
        waiting = [job for job in reversed(jobs) if job.id not in begun]
        known = [next((job for job in jobs if job.is_job_of_run(record)), record) for record in records]
        return [self._entry(collection, run) for run in [*waiting, *known]]

    def state(self, collection: str, name: str) -> OperationEntry:
        """Return the state of a run.

        Raises:
            NotIndexedError: there is no run with this name.
        """
        return self._entry(collection, self._find(collection, name))

    def cancel(self, collection: str, name: str, *, by: Origin) -> OperationEntry:
        """Ask a run to stop after the current batch, whichever client started it.

        Raises:
            NotIndexedError: there is no run with this name.
            NotStoppableError: the run was started in a terminal.
            RefusedError: the run has ended.
        """
        run = self._find(collection, name)
        jobs = self._tools.jobs.jobs_of(collection)
        if is_ended(jobs.run_state_of(run)):
            raise RefusedError(OPERATION_HAS_ENDED)
        if isinstance(run, IndexJob):
            jobs.cancel(run)
        else:
            with self._tools.collections.opened(collection) as opened:
                opened.app.runs.control.stop(run, by=by)
        return self._entry(collection, run)

    def pause(self, collection: str, name: str, *, by: Origin) -> OperationEntry:
        """Pause a run after the current batch, until it is resumed.

        Raises:
            NotIndexedError: there is no run with this name.
            NotStoppableError: the run was started in a terminal.
            ConflictError: the run has not begun yet, or cannot be paused.
            RefusedError: the run has ended.
        """
        run = self._find(collection, name)
        if is_ended(self._tools.jobs.jobs_of(collection).run_state_of(run)):
            raise RefusedError(OPERATION_HAS_ENDED)
        records = self._records(collection)
        record = (
            next((record for record in records if run.is_job_of_run(record)), None)
            if isinstance(run, IndexJob)
            else run
        )
        if record is None:
            raise ConflictError("this run has not begun yet", hint="cancel it, or pause it when it has")
        with self._tools.collections.opened(collection) as opened:
            opened.app.runs.control.pause(record, by=by)
        return self._entry(collection, run)

    def resume(self, collection: str, name: str) -> OperationEntry:
        """Start a run that continues all paused runs.

        Raises:
            NotIndexedError: there is no run with this name.
            ConflictError: the run is not paused.
        """
        state = self.state(collection, name).state
        if state != Outcome.PAUSED:
            raise ConflictError(f"the operation is {state}", hint="only paused operations can be resumed")
        return self._register_job(collection, self._tools.jobs.jobs_of(collection).resume())

    def _register_job(self, collection: str, job: IndexJob | RunRecord) -> OperationEntry:
        if isinstance(job, IndexJob):
            with self._lock:
                self._started[job.id] = (collection, job)
                while len(self._started) > _MAX_JOBS:
                    self._started.popitem(last=False)
        return self._entry(collection, job)

    def _records(self, collection: str) -> tuple[RunRecord, ...]:
        with self._tools.collections.opened(collection) as opened:
            return opened.app.status.runs(_MAX_RUNS)

    def _find(self, collection: str, name: str) -> IndexJob | RunRecord:
        of, job = self._started.get(name, ("", None))
        if job is not None and of == collection:
            return job
        record = next((record for record in self._records(collection) if _run_name(record) == name), None)
        if record is None:
            raise NotIndexedError(f"there is no operation '{operation_id(collection, name)}'")
        return record

    def _entry(self, collection: str, run: IndexJob | RunRecord) -> OperationEntry:
        name = operation_id(collection, run.id if isinstance(run, IndexJob) else _run_name(run))
        state: Run = self._tools.jobs.jobs_of(collection).run_state_of(run)
        public_state = state._replace(joined=None, counts=None, next_step=None)
        return run_entry(public_state, name=name, collection=collection, has_ended=is_ended(state))


def _entry(services: Services, identifier: str) -> OperationEntry:
    collection, name = _find_collection(services, identifier)
    kind = name.partition("-")[0]
    if kind in _ADMINISTRATIVE:
        return _administrative_entry(_find_operation_row(services, collection, name))
    if kind == "ingest":
        return _ingest_entry(*_find_ingested_version(services, collection, name))
    return services.runs.state(collection, name)


def _change_by_kind(
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
    collection, name = _find_collection(services, identifier)
    kind = name.partition("-")[0]
    if kind in _ADMINISTRATIVE:
        _find_operation_row(services, collection, name)
        return _administrative_entry(of_work(name))
    if kind != "ingest":
        return of_run(collection, name)
    document, version = _find_ingested_version(services, collection, name)
    if document.version != version or _ingest_entry(document, version).state not in {*_ACTIVE_STATES, "paused"}:
        raise RefusedError(OPERATION_HAS_ENDED)
    of_ingest(document)
    return _entry(services, identifier)


def _find_collection(services: Services, identifier: str) -> tuple[str, str]:
    collection, name = parse_operation_id(identifier)
    if not services.grants_collection(collection):
        raise _operation_not_found(identifier)
    try:
        services.collections.key(collection)
    except NotIndexedError as error:
        raise _operation_not_found(identifier) from error
    return collection, name


def _find_ingested_version(services: Services, collection: str, name: str) -> tuple[StoredDocument, int]:
    doc_id, _, version = name.removeprefix("ingest-").partition("-")
    with services.collections.opened(collection) as opened:
        document = opened.documents.get(doc_id)
        if document is None or not version.isdecimal() or int(version) > document.version:
            raise _operation_not_found(operation_id(collection, name))
        return opened.queue.current_states_of([document])[0], int(version)


def _find_operation_row(services: Services, collection: str, name: str) -> OperationRow:
    row = services.administration.get(name)
    is_visible = _is_listed(services, row, collection) and collection == (row.collection or DEFAULT)
    if not is_visible:
        raise _operation_not_found(operation_id(collection, name))
    return row


def _is_listed(services: Services, row: OperationRow, collection: str) -> bool:
    """Whether an operation is in the list of a collection; one about all collections needs a key for all."""
    is_for_all = services.caller is not None and services.caller.collections is None
    return row.collection == collection or (not row.collection and is_for_all)


def _administrative_entry(row: OperationRow) -> OperationEntry:
    return administrative_entry(row, name=operation_id(row.collection or DEFAULT, row.name))


def _ingest_entry(document: StoredDocument, version: int) -> OperationEntry:
    name = ingest_operation_name(document._replace(version=version))
    return ingest_entry(document, name=operation_id(document.collection, name), version=version)


def _operation_not_found(identifier: str) -> NotIndexedError:
    return NotIndexedError(f"there is no operation '{identifier}'")


def _run_name(record: RunRecord) -> str:
    return f"run-{record.id}"
