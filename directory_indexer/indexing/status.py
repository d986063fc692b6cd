"""Status of an index: its contents, its runs, and the vectors that answer queries."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from directory_indexer.core import machine
from directory_indexer.core.errors import NotIndexedError
from directory_indexer.core.files import FileFailure, Scan, SkippedFile
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, lies_in
from directory_indexer.embedding.models import embedded_model, missing_model_advice
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope
from directory_indexer.storage.documents.incomplete_files import ScanCounts
from directory_indexer.storage.documents.runs import Outcome, PausedRun, RunRecord
from directory_indexer.storage.documents.statistics import DirectoryStatus, IndexSummary
from directory_indexer.storage.documents.store import DocStore, Snapshot

with lazily:
    from directory_indexer.core.lock import is_locked

_MAX_LISTED = 1000

_MAX_CONCURRENT_RUNS = 8
"""A run that yielded to others is older than they are, and continues after them."""


class WaitingVectors(NamedTuple):
    """Chunks that wait for their vectors, and the estimated cost of embedding them.

    `are_covered` means that static vectors find them meanwhile; `seconds` is None where only the provider knows.
    """

    n_chunks: int = 0
    n_tokens: int = 0
    are_covered: bool = False
    seconds: float | None = None


class StatusReport(NamedTuple):
    """Status of the whole index, or of one directory. Sizes on disk and runs are those of the whole index.

    While vectors are being rebuilt in `next_space`, those in `space` answer.

    `ocr_advice` says why scanned pages are not recognised, `model_advice` why the configured model cannot be loaded,
    and `watch_advice` why directories cannot be watched; each is empty if nothing is wrong.
    """

    directories: tuple[DirectoryStatus, ...]
    failures: tuple[FileFailure, ...]
    space: EmbeddingSpace | None
    n_database_bytes: int
    n_vector_bytes: int
    running: RunRecord | None
    last_run: RunRecord | None
    next_space: EmbeddingSpace | None = None
    skipped_files: tuple[SkippedFile, ...] = ()
    scans: ScanCounts = ScanCounts()
    unreadable: tuple[tuple[FilePath, Scan], ...] = ()
    ocr_advice: str = ""
    model_advice: str = ""
    waiting: WaitingVectors = WaitingVectors()
    paused: tuple[PausedRun, ...] = ()
    is_whole: bool = True
    watch_advice: str = ""


class Status:
    """Reads the status of one index; a run that was killed no longer holds the lock and counts as ended."""

    def __init__(
        self,
        docstore: Callable[[], DocStore],
        *,
        configured: EmbeddingSpace,
        vector_bytes: Callable[[], int],
        lock_path: Path,
        ocr_advice: Callable[[], str] = lambda: "",
    ) -> None:
        self._ocr_advice = ocr_advice
        self._docstore = docstore
        self._configured = configured
        self._vector_bytes = vector_bytes
        self._lock_path = lock_path

    def report(self, within: FilePath | None = None) -> StatusReport:
        """Return the status of the index, or of the tracked directory that a path lies in.

        Raises:
            NotIndexedError: the path lies in no tracked directory.
        """
        docstore = self._docstore()
        with docstore.snapshot() as snapshot:
            directories = tuple(
                directory._replace(seconds_to_embed=self.seconds_to_embed(directory.n_tokens_to_embed))
                for directory in _directories(snapshot, within)
            )
            root = directories[0].path if within else None
            scope = IndexScope((root,)) if root else WHOLE_INDEX
            runs = snapshot.runs.latest(_MAX_CONCURRENT_RUNS)
            answering = snapshot.vector_sets.answering().space
            return StatusReport(
                directories=directories,
                failures=snapshot.left_out.failures(within=root, limit=_MAX_LISTED),
                skipped_files=snapshot.left_out.skipped(within=root, limit=_MAX_LISTED),
                scans=(scans := snapshot.scans.counts(scope)),
                unreadable=tuple(snapshot.scans.problems(within=root, limit=_MAX_LISTED)),
                ocr_advice=self._ocr_advice() if scans.n_waiting else "",
                waiting=self._waiting(snapshot, scope),
                space=answering or (self._configured if snapshot.meta.get("fingerprint") else None),
                model_advice=missing_model_advice(self._configured),
                next_space=self._configured if snapshot.vector_sets.is_switching else None,
                n_database_bytes=docstore.size_bytes(),
                n_vector_bytes=self._vector_bytes(),
                running=self._running_run(runs),
                last_run=runs[0] if runs and _is_relevant_run(runs[0], directories) else None,
                paused=snapshot.pauses.all(),
                is_whole=root is None,
                watch_advice=machine.WATCHES_MESSAGE if machine.is_watching_limited(docstore.path) else "",
            )

    def runs(self, limit: int) -> tuple[RunRecord, ...]:
        """Return the newest index runs of all processes, newest first."""
        with self._docstore().snapshot() as snapshot:
            return snapshot.runs.latest(limit)

    def running(self) -> RunRecord | None:
        """Return the run that is in progress, in whichever process."""
        return self._running_run(self.runs(_MAX_CONCURRENT_RUNS))

    def count_embeddable_chunks(self, scope: IndexScope) -> tuple[int, str | None]:
        """Return the number of chunks without vectors that can be embedded now, and the fingerprint of the index."""
        with self._docstore().snapshot() as snapshot:
            n_chunks = 0 if snapshot.pauses.all() else snapshot.embedding_queue.count_embeddable(scope)
            return n_chunks, snapshot.meta.get("fingerprint")

    def unfinished_runs(self) -> tuple[RunRecord, ...]:
        """Return the runs in progress: the one that writes, and those that yielded to it."""
        return tuple(run for run in self.runs(_MAX_CONCURRENT_RUNS) if run.outcome is None) if self.is_locked() else ()

    def is_locked(self) -> bool:
        """Whether some process writes to the index now."""
        return is_locked(self._lock_path)

    def summary(self) -> IndexSummary:
        """Return what answers are drawn from now."""
        with self._docstore().snapshot() as snapshot:
            return self.correct_running_state(snapshot.overview.summary())

    def correct_running_state(self, summary: IndexSummary) -> IndexSummary:
        """Correct a summary: `is_running` becomes false if no process holds the write lock."""
        return summary._replace(is_running=summary.is_running and is_locked(self._lock_path))

    def _waiting(self, snapshot: Snapshot, scope: IndexScope) -> WaitingVectors:
        n_chunks = snapshot.embedding_queue.count(scope)
        if not n_chunks:
            return WaitingVectors()
        n_tokens = snapshot.embedding_queue.count_tokens(scope, waiting_only=True)
        return WaitingVectors(n_chunks, n_tokens, snapshot.static_vectors.has_any(), self.seconds_to_embed(n_tokens))

    def seconds_to_embed(self, n_tokens: int) -> float | None:
        """Return the approximate time that so many tokens take; None where only the provider knows."""
        pace = self._measured_tokens_per_second()
        return n_tokens / pace if pace else None

    def _measured_tokens_per_second(self) -> int | None:
        """Return how many tokens a second this machine embeds; None where a service does that."""
        if self._configured.provider != "embedded":
            return None
        return embedded_model(self._configured.model).tokens_a_second * (os.cpu_count() or 1)

    def _running_run(self, runs: Sequence[RunRecord]) -> RunRecord | None:
        """Return the run that writes: of those that have not ended, the one with the newest heartbeat."""
        unended = [run for run in runs if run.outcome is None]
        return max(unended, key=lambda run: run.heartbeat_at) if unended and is_locked(self._lock_path) else None


def _is_relevant_run(run: RunRecord, directories: Sequence[DirectoryStatus]) -> bool:
    """Whether a run tells something about what is tracked now: forgetting a directory removes it from all runs."""
    has_work_left = any(each.completed_at is None or each.n_embedded < each.n_chunks for each in directories)
    return has_work_left or bool(run.directories) or run.outcome is Outcome.COMPLETED


def _directories(snapshot: Snapshot, within: FilePath | None) -> tuple[DirectoryStatus, ...]:
    directories = snapshot.directories.statuses()
    if within is None:
        return directories
    enclosing = tuple(directory for directory in directories if lies_in(within, directory.path))
    if not enclosing:
        raise NotIndexedError(f"{display(within)} is not tracked", hint="dirindex status shows what is")
    return enclosing
