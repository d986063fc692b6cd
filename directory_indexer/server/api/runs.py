"""Index runs by the ids of operations: one that was started here has its id before it begins, and keeps it."""

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
    """Give the id of what is called so in a collection."""
    return name if collection == DEFAULT else f"{collection}.{name}"


def collection_and_name(given: str) -> tuple[str, str]:
    """Tell which collection an id is of, and what it is called there."""
    collection, dot, name = given.rpartition(".")
    return (collection, name) if dot else (DEFAULT, name)


def ingest_name(document: StoredDocument) -> str:
    """Name what goes on with a version of a document."""
    return f"ingest-{document.doc_id}-{document.version}"


class IndexRuns:
    """The index runs of all collections."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._started: OrderedDict[str, tuple[str, Job]] = OrderedDict()

    def start(self, collection: str, path: str) -> OperationEntry:
        """Start a run, or join the one that does the same."""
        asked = IndexArguments(path, collection=collection)
        jobs = self._tools.jobs.of(collection)
        job = self._tools.index.start(asked)
        if isinstance(job, Job) and is_ended(jobs.state_of(job)):
            job.is_reported = True  # nobody asks for that one any more
            job = self._tools.index.start(asked)
        return self._begun(collection, job)

    def add(self, root: FilePath) -> OperationEntry:
        """Start the run that adds a directory, whatever that takes.

        Raises:
            LockedError: too many runs wait already.
        """
        return self._begun(DEFAULT, self._tools.jobs.of(DEFAULT).add(root))

    def all(self, collection: str) -> list[OperationEntry]:
        """Give the newest runs of all processes, newest first; before them those that have not begun."""
        records = self._records(collection)
        with self._lock:
            jobs = [job for of, job in self._started.values() if of == collection]
        begun = {job.id for job in jobs for record in records if job.is_of(record)}
        waiting = [job for job in reversed(jobs) if job.id not in begun]
        known = [next((job for job in jobs if job.is_of(record)), record) for record in records]
        return [self._entry(collection, run) for run in [*waiting, *known]]

    def state(self, collection: str, name: str) -> OperationEntry:
        """Tell how a run stands.

        Raises:
            NotIndexedError: there is none of this name.
        """
        return self._entry(collection, self._find(collection, name))

    def cancel(self, collection: str, name: str, *, by: Origin) -> OperationEntry:
        """Ask a run to stop at the end of its batch, whichever client started it.

        Raises:
            NotIndexedError: there is none of this name.
            NotStoppableError: it was started in a terminal.
            RefusedError: it has ended.
        """
        found = self._find(collection, name)
        jobs = self._tools.jobs.of(collection)
        if is_ended(jobs.state_of(found)):
            raise RefusedError(HAS_ENDED)
        if isinstance(found, Job):
            jobs.cancel(found)
        else:
            with self._tools.collections.using(collection) as opened:
                opened.app.run_control.stop(found, by=by)
        return self._entry(collection, found)

    def pause(self, collection: str, name: str, *, by: Origin) -> OperationEntry:
        """Pause a run at the end of its batch, until somebody resumes it.

        Raises:
            NotIndexedError: there is none of this name.
            NotStoppableError: it was started in a terminal.
            ConflictError: it has not begun yet, or cannot be paused.
            RefusedError: it has ended.
        """
        found = self._find(collection, name)
        if is_ended(self._tools.jobs.of(collection).state_of(found)):
            raise RefusedError(HAS_ENDED)
        records = self._records(collection)
        record = next((one for one in records if found.is_of(one)), None) if isinstance(found, Job) else found
        if record is None:
            raise ConflictError("this run has not begun yet", hint="cancel it, or pause it when it has")
        with self._tools.collections.using(collection) as opened:
            opened.app.run_control.pause(record, by=by)
        return self._entry(collection, found)

    def resume(self, collection: str, name: str) -> OperationEntry:
        """Start the run that goes on with all that is paused.

        Raises:
            NotIndexedError: there is none of this name.
            ConflictError: it is not paused.
        """
        state = self.state(collection, name).state
        if state != Outcome.PAUSED:
            raise ConflictError(f"the operation is {state}", hint="only what is paused can be resumed")
        return self._begun(collection, self._tools.jobs.of(collection).resume())

    def _begun(self, collection: str, job: Job | RunRecord) -> OperationEntry:
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
        found = next((record for record in self._records(collection) if _name(record) == name), None)
        if found is None:
            raise NotIndexedError(f"there is no operation '{operation_id(collection, name)}'")
        return found

    def _entry(self, collection: str, run: Job | RunRecord) -> OperationEntry:
        name = operation_id(collection, run.id if isinstance(run, Job) else _name(run))
        state: Run = self._tools.jobs.of(collection).state_of(run)
        shown = state._replace(joined=None, counts=None, next_step=None)
        return run_entry(shown, name=name, collection=collection, has_ended=is_ended(state))


def _name(record: RunRecord) -> str:
    return f"run-{record.id}"
