"""Index runs as operations: a run that this server started has its id before it is recorded, and keeps it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from directory_indexer.config.collections import DEFAULT
from directory_indexer.docstore.runs import Origin, Outcome, RunRecord
from directory_indexer.errors import ConflictError, NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.server.arguments import IndexArguments
from directory_indexer.server.gate.problems import Problem, RefusedError
from directory_indexer.server.index_verbs import is_ended
from directory_indexer.server.jobs import Job
from directory_indexer.server.tools import Tools
from directory_indexer.wire.operations import OperationEntry, run_entry

with lazily:
    from directory_indexer.registry.stored_documents import StoredDocument
    from directory_indexer.wire.runs import Run


PATH: Final = "/api/v1/operations"
_MOST_RUNS = 50
_MOST_JOBS = 1000
HAS_ENDED = Problem(409, "has_ended", "this operation has ended already")


def operation_id(collection: str, name: str) -> str:
    """Return the id of an operation by its collection and name."""
    return name if collection == DEFAULT else f"{collection}.{name}"


def collection_and_name(identifier: str) -> tuple[str, str]:
    """Split an operation id into its collection and name."""
    collection, dot, name = identifier.rpartition(".")
    return (collection, name) if dot else (DEFAULT, name)


def ingest_name(document: StoredDocument) -> str:
    """Return the operation name of the ingestion of a version of a document."""
    return f"ingest-{document.doc_id}-{document.version}"


class IndexRuns:
    """The index runs of all collections as operations."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._started: OrderedDict[str, tuple[str, Job]] = OrderedDict()

    def start(self, collection: str, path: str) -> OperationEntry:
        """Start a run, or join the one that covers it."""
        arguments = IndexArguments(path, collection=collection)
        jobs = self._tools.jobs.of(collection)
        job = self._tools.index.start(arguments)
        if isinstance(job, Job) and is_ended(jobs.state_of(job)):
            job.is_reported = True  # its outcome is not needed any more
            job = self._tools.index.start(arguments)
        return self._register(collection, job)

    def add(self, root: FilePath) -> OperationEntry:
        """Start the run that adds a directory.

        Raises:
            LockedError: too many runs are queued.
        """
        return self._register(DEFAULT, self._tools.jobs.of(DEFAULT).add(root))

    def all(self, collection: str) -> list[OperationEntry]:
        """Return the newest runs of all processes, newest first, preceded by those that have not begun."""
        records = self._records(collection)
        with self._lock:
            jobs = [job for of, job in self._started.values() if of == collection]
        begun = {job.id for job in jobs for record in records if job.is_of(record)}
        waiting = [job for job in reversed(jobs) if job.id not in begun]
        known = [next((job for job in jobs if job.is_of(record)), record) for record in records]
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
        jobs = self._tools.jobs.of(collection)
        if is_ended(jobs.state_of(run)):
            raise RefusedError(HAS_ENDED)
        if isinstance(run, Job):
            jobs.cancel(run)
        else:
            with self._tools.collections.using(collection) as opened:
                opened.app.run_control.stop(run, by=by)
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
        if is_ended(self._tools.jobs.of(collection).state_of(run)):
            raise RefusedError(HAS_ENDED)
        records = self._records(collection)
        record = next((record for record in records if run.is_of(record)), None) if isinstance(run, Job) else run
        if record is None:
            raise ConflictError("this run has not begun yet", hint="cancel it, or pause it when it has")
        with self._tools.collections.using(collection) as opened:
            opened.app.run_control.pause(record, by=by)
        return self._entry(collection, run)

    def resume(self, collection: str, name: str) -> OperationEntry:
        """Start a run that continues all paused runs.

        Raises:
            NotIndexedError: there is no run with this name.
            ConflictError: the run is not paused.
        """
        state = self.state(collection, name).state
        if state != Outcome.PAUSED:
            raise ConflictError(f"the operation is {state}", hint="only what is paused can be resumed")
        return self._register(collection, self._tools.jobs.of(collection).resume())

    def _register(self, collection: str, job: Job | RunRecord) -> OperationEntry:
        if isinstance(job, Job):
            with self._lock:
                self._started[job.id] = (collection, job)
                while len(self._started) > _MOST_JOBS:
                    self._started.popitem(last=False)
        return self._entry(collection, job)

    def _records(self, collection: str) -> tuple[RunRecord, ...]:
        with self._tools.collections.using(collection) as opened:
            return opened.app.status.runs(_MOST_RUNS)

    def _find(self, collection: str, name: str) -> Job | RunRecord:
        of, job = self._started.get(name, ("", None))
        if job is not None and of == collection:
            return job
        record = next((record for record in self._records(collection) if _name(record) == name), None)
        if record is None:
            raise NotIndexedError(f"there is no operation '{operation_id(collection, name)}'")
        return record

    def _entry(self, collection: str, run: Job | RunRecord) -> OperationEntry:
        name = operation_id(collection, run.id if isinstance(run, Job) else _name(run))
        state: Run = self._tools.jobs.of(collection).state_of(run)
        public_state = state._replace(joined=None, counts=None, next_step=None)
        return run_entry(public_state, name=name, collection=collection, has_ended=is_ended(state))


def _name(record: RunRecord) -> str:
    return f"run-{record.id}"
