"""Background work of a server on collections: administrative operations, and indexing of sent documents.

Operations run one at a time across processes. Their worker holds a lock that the kernel releases when its process dies:
an operation stored as running without the lock has failed. Sent documents are made searchable by one thread, first by
keyword and then by meaning.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from directory_indexer.collections import Collections
from directory_indexer.config import team_directory
from directory_indexer.core.errors import ConflictError, DirIndexError, NotIndexedError
from directory_indexer.core.kept_files import directory_mode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import HeldLock, is_locked, try_lock
from directory_indexer.storage.registry.operations import (
    OperationKind,
    OperationRow,
    Operations,
    OperationState,
    RequestedState,
)
from directory_indexer.storage.registry.stored_documents import DocumentState

with lazily:
    from pathlib import Path

    from directory_indexer.storage.registry import Registry

ReportProgress: TypeAlias = Callable[[str], None]
"""Reports progress; raises `OperationStoppedError` when the operation must stop."""

OperationFunction: TypeAlias = Callable[[str, Mapping[str, Any], ReportProgress], Mapping[str, Any]]
"""Performs an operation on a collection, with options; returns its result."""

_PROCESS_DIED_MESSAGE: Final = "its process ended unexpectedly"
_STOPPED_STATES: Final = {
    RequestedState.PAUSE: (OperationState.PAUSED, "it begins again when it is resumed"),
    RequestedState.CANCEL: (OperationState.CANCELLED, ""),
    RequestedState.NONE: (OperationState.INTERRUPTED, "the server ended"),
}
_log = logging.getLogger(__name__)


class OperationStoppedError(Exception):
    """The operation must stop, on request or because the process ends."""


class OperationRunningError(ConflictError):
    """Another administrative operation is running: `operation`, if known."""

    def __init__(self, operation: OperationRow | None) -> None:
        super().__init__("another administrative operation is in progress", hint="try again when it has ended")
        self.operation = operation


class Administration:
    """Starts administrative operations, and reports their states; threads may share it.

    Raises:
        NotIndexedError: from every method that takes a name, when there is no operation of that name.
    """

    def __init__(self, registry: Registry, data_dir: Path, works: Mapping[OperationKind, OperationFunction]) -> None:
        self._operations = Operations(registry)
        self._lock_path = team_directory(data_dir) / "administration.lock"
        self._works = works
        self._thread: threading.Thread | None = None
        self._is_over = False

    def start(self, kind: OperationKind, collection: str, options: Mapping[str, Any]) -> OperationRow:
        """Start an operation.

        Raises:
            OperationRunningError: another one is running.
        """
        lock = self._acquire_lock()
        with _released_on_error(lock):
            row = self._operations.insert_running(kind, collection, options)
            self._start_thread(row, lock)
        return row

    def resume(self, name: str) -> OperationRow:
        """Resume a paused operation.

        Raises:
            ConflictError: it is not paused, or another one is running.
        """
        row = self.get(name)
        if row.state is OperationState.RUNNING and row.wish is RequestedState.PAUSE:
            self._operations.request_state(row.id, RequestedState.NONE)
            return self.get(name)
        lock = self._acquire_lock()
        with _released_on_error(lock):
            row = self.get(name)
            if row.state is not OperationState.PAUSED:
                raise ConflictError(f"the operation is {row.state}", hint="only paused operations can be resumed")
            self._operations.mark_resumed(row.id)
            self._start_thread(row, lock)
        return self.get(name)

    def request_state(self, name: str, requested: RequestedState) -> OperationRow:
        """Request that an operation is paused or cancelled at the end of its step.

        Raises:
            ConflictError: it has ended.
        """
        row = self.get(name)
        if row.state is OperationState.PAUSED and requested is RequestedState.CANCEL:
            self._operations.store_outcome(row.id, OperationState.CANCELLED, "", {})
        elif row.state is OperationState.RUNNING:
            self._operations.request_state(row.id, requested)
        elif row.state is not OperationState.PAUSED:
            raise ConflictError("this operation has ended already", hint="start another one")
        return self.get(name)

    def get(self, name: str) -> OperationRow:
        """Return the state of an operation."""
        row = self._operations.get(name)
        if row is None:
            raise NotIndexedError(f"there is no operation '{name}'")
        return self._with_current_state(row)

    def newest(self) -> list[OperationRow]:
        """Return the last operations with their states, newest first."""
        return list(map(self._with_current_state, self._operations.newest()))

    def stop(self) -> None:
        """Request that the operation stops at the end of its step."""
        self._is_over = True

    def join(self, seconds: float) -> None:
        """Wait at most `seconds` until the operation has stopped."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _with_current_state(self, row: OperationRow) -> OperationRow:
        """Return an operation; one whose process died counts as failed."""
        if row.state is not OperationState.RUNNING or is_locked(self._lock_path):
            return row
        latest = self._operations.get(row.name)  # it may have ended meanwhile
        if latest is None or latest.state is not OperationState.RUNNING:
            return latest or row
        return row._replace(state=OperationState.FAILED, message=_PROCESS_DIED_MESSAGE)

    def _acquire_lock(self) -> HeldLock:
        self._lock_path.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        lock = try_lock(self._lock_path, exclusive=True)
        if lock is None:
            running = (row for row in self._operations.newest() if row.state is OperationState.RUNNING)
            raise OperationRunningError(next(running, None))
        with _released_on_error(lock):
            self._operations.fail_running(_PROCESS_DIED_MESSAGE)
        return lock

    def _start_thread(self, row: OperationRow, lock: HeldLock) -> None:
        self._thread = threading.Thread(target=self._perform_and_record, args=(row, lock), name=row.name, daemon=True)
        self._thread.start()

    def _perform_and_record(self, row: OperationRow, lock: HeldLock) -> None:
        with lock:
            state, message, result = self._run_operation(row)
            try:
                self._operations.store_outcome(row.id, state, message, result)
            except DirIndexError:
                _log.exception("how the operation %s ended cannot be noted", row.name)

    def _run_operation(self, row: OperationRow) -> tuple[OperationState, str, Mapping[str, Any]]:
        def report_progress(message: str) -> None:
            if self._operations.report_progress(row.id, message) is not RequestedState.NONE or self._is_over:
                raise OperationStoppedError

        try:
            result = self._works[row.kind](row.collection, row.options, report_progress)
        except OperationStoppedError:
            return (*_STOPPED_STATES[self._operations.requested_state(row.id)], {})
        except DirIndexError as error:
            return OperationState.FAILED, error.message, {}
        except Exception:  # noqa: BLE001 - a bug in it must not leave it running for ever; it is logged
            _log.exception("the operation %s failed because of a bug", row.name)
            return OperationState.FAILED, "a bug: the log of the server has more", {}
        return OperationState.COMPLETED, "", result


@contextlib.contextmanager
def _released_on_error(lock: HeldLock) -> Iterator[None]:
    try:
        yield
    except BaseException:
        lock.release()
        raise


_REMOVALS_JOB = ""
"""Stands for deleted collections among the names of others."""

_RETRY_SECONDS = 60.0
"""The interval of retries, for instance when a service is away or another process was writing."""


class IngestWorker:
    """A thread that indexes requested collections, and continues the work of earlier processes.

    `on_failure` receives the errors that ended work on a collection.
    """

    def __init__(
        self, collections: Collections, *, on_failure: Callable[[str, DirIndexError], None] | None = None
    ) -> None:
        self._collections = collections
        self._on_failure = on_failure or _log_failure
        self._condition = threading.Condition()
        self._pending: dict[str, None] = {}
        self._later: set[str] = set()
        self._is_over = False
        self._thread = threading.Thread(target=self._process_until_stopped, name="documents", daemon=True)

    def start(self) -> None:
        """Start with all work that earlier processes left undone."""
        self._thread.start()

    def enqueue(self, collection: str) -> None:
        """Request the indexing of a collection."""
        with self._condition:
            self._pending[collection] = None
            self._condition.notify_all()

    def enqueue_removals(self) -> None:
        """Request the removal of collections that were deleted while somebody wrote to them."""
        self.enqueue(_REMOVALS_JOB)

    def stop(self) -> None:
        """Request that it ends after the current batch; the rest is left to the next process."""
        with self._condition:
            self._is_over = True
            self._condition.notify_all()

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has ended, or at most `seconds`."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _process_until_stopped(self) -> None:
        try:
            self._collections.recover()
        except DirIndexError as error:
            self._on_failure("", error)
        for collection in self._collections.names():
            self.enqueue(collection)
        while (name := self._wait_for_next()) is not None:
            try:
                if not self._process_collection(name):
                    self._later.add(name)
            except NotIndexedError:
                continue  # the collection is gone
            except DirIndexError as error:
                self._later.add(name)
                self._on_failure(name, error)

    def _wait_for_next(self) -> str | None:
        with self._condition:
            while not (self._pending or self._is_over):
                if not self._condition.wait(timeout=_RETRY_SECONDS if self._later else None):
                    self._pending = dict.fromkeys(sorted(self._later))
                    self._later.clear()
            if self._is_over:
                return None
            name = next(iter(self._pending))
            del self._pending[name]
            return name

    def _process_collection(self, name: str) -> bool:
        if name == _REMOVALS_JOB:
            self._collections.finish_deletions()
            return True
        with self._collections.opened(name) as opened:
            if DocumentState.DELETING in opened.documents.unfinished_states():
                opened.queue.recover()
            to_do = opened.documents.unfinished_states()
            if DocumentState.QUEUED in to_do:
                opened.queue.make_keyword_searchable()
            if to_do & {DocumentState.QUEUED, DocumentState.WORDS}:
                return opened.queue.complete(must_stop=lambda: self._is_over)
        return True


def _log_failure(collection: str, error: DirIndexError) -> None:
    logging.getLogger(__name__).warning("collection '%s': %s", collection, error.message)
