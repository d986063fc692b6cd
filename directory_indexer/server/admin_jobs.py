"""Administrative operations, each as a sequence of steps."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from directory_indexer.api import to_json_object
from directory_indexer.api.collections import backup_answer
from directory_indexer.collections.background import OperationFunction, OperationStoppedError, ReportProgress
from directory_indexer.collections.backup import back_up
from directory_indexer.collections.consistency_checks import repair_documents
from directory_indexer.core.errors import DirIndexError, LockedError, UsageError
from directory_indexer.core.kept_files import directory_mode
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Finding, Verdict
from directory_indexer.indexing.runs import hold_write_lock
from directory_indexer.server.mcp.index_tool import is_ended
from directory_indexer.server.mcp.tools import Tools
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.registry.operations import OperationKind, Operations, StoredResponses

with lazily:
    from directory_indexer.app import App
    from directory_indexer.config import LoadedConfig

_POLL_SECONDS: Final = 0.5
_WAITING_MESSAGE: Final = "waits for an index run to end"


class AdminJobs:
    """The administrative operations over all collections."""

    def __init__(self, app: App, tools: Tools) -> None:
        self._app = app
        self._tools = tools
        self._collections = tools.collections

    def all(self) -> Mapping[OperationKind, OperationFunction]:
        """Return the implementation of each kind of operation."""
        return {
            OperationKind.OPTIMIZE: self.optimize,
            OperationKind.REBUILD: self.rebuild,
            OperationKind.BACKUP: self.back_up,
            OperationKind.PURGE: self.purge,
        }

    def optimize(self, collection: str, _: Mapping[str, Any], report_progress: ReportProgress) -> Mapping[str, Any]:
        """Check and repair an index, and compact it."""
        with self._collections.opened(collection) as opened:
            before = _index_bytes(opened.app)
            repaired: list[str] = []
            for finding in (*_repair_when_unlocked(opened.app, report_progress), *repair_documents(opened)):
                report_progress(finding.check)
                repaired += [finding.message] if finding.verdict is Verdict.REPAIRED else []
            _compact_when_unlocked(opened.app, report_progress)
            return {"repaired": repaired, "bytes_before": before, "bytes_after": _index_bytes(opened.app)}

    def rebuild(self, collection: str, _: Mapping[str, Any], report_progress: ReportProgress) -> Mapping[str, Any]:
        """Read all files and documents again, by an index run in a child process."""
        jobs = self._tools.jobs.jobs_of(collection)
        job = jobs.rebuild()
        while not is_ended(run := jobs.run_state_of(job)):
            try:
                report_progress(f"{run.phase}: {run.files_done:,} of {run.files_total:,} files")
            except OperationStoppedError:
                jobs.cancel(job)
                raise
            time.sleep(_POLL_SECONDS)
        job.is_reported = True
        if run.state != Outcome.COMPLETED:
            raise DirIndexError(run.message or f"the index run ended: {run.state}")
        with self._collections.opened(collection) as opened:
            opened.queue.current_states_of(opened.documents.all())
        return {"run": run.id, "counts": dict(run.counts or {})}

    def purge(self, collection: str, _: Mapping[str, Any], report_progress: ReportProgress) -> Mapping[str, Any]:
        """Remove deleted data for good: from the index, the disk, and the stored responses to repeated requests."""
        with self._collections.opened(collection) as opened:
            report_progress("documents that are being deleted")
            opened.queue.recover()
            _compact_when_unlocked(opened.app, report_progress)
            residue = opened.app.docstore.maintenance.residue_warnings()
        report_progress("answers and operations of before")
        StoredResponses(self._app.registry).delete_all()
        Operations(self._app.registry).delete_ended_operations()
        return {"left_behind": residue}

    def back_up(self, _: str, options: Mapping[str, Any], report_progress: ReportProgress) -> Mapping[str, Any]:
        """Write a backup of everything into the backup directory of the operator."""
        directory = backup_directory(self._collections.app.loaded, str(options["name"]))
        directory.parent.mkdir(mode=directory_mode(), parents=True, exist_ok=True)
        report = back_up(self._app, self._collections, directory, report_progress=report_progress)
        return {**to_json_object(backup_answer(report)), "place": directory.name}


def backup_directory(loaded: LoadedConfig, name: str) -> Path:
    """Return the directory of a backup, by its name or the current time.

    Raises:
        UsageError: no backup directory is configured.
    """
    directory = loaded.config.serving.backups
    if directory is None:
        raise UsageError(
            "this server has no backup directory",
            hint="the operator can set serving.backups, or run dirindex backup",
        )
    return directory / (name or time.strftime("%Y%m%d-%H%M%S", time.gmtime()))


def _compact_when_unlocked(app: App, report_progress: ReportProgress) -> None:
    """Remove the vectors of deleted texts, and compact the database."""
    _wait_until_unlocked(app, report_progress)
    with hold_write_lock(app.docstore, app.lock_path):
        report_progress("vectors")
        app.vectors.vectorizer.merger.delete_removed()
        report_progress("the database is written anew")
        app.docstore.maintenance.compact()


def _repair_when_unlocked(app: App, report_progress: ReportProgress) -> tuple[Finding, ...]:
    while True:
        _wait_until_unlocked(app, report_progress)
        with contextlib.suppress(LockedError):  # of a run that just began
            return tuple(app.doctor.repair())


def _wait_until_unlocked(app: App, report_progress: ReportProgress) -> None:
    """Wait until no index run is in progress.

    Raises:
        OperationStoppedError: the operation is paused or cancelled before.
    """
    while app.status.is_locked():
        report_progress(_WAITING_MESSAGE)
        time.sleep(_POLL_SECONDS)


def _index_bytes(app: App) -> int:
    database = app.loaded.config.storage.sqlite_path
    return database.stat().st_size if database.exists() else 0
