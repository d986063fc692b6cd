"""Index runs over the tracked directories, one at a time; plans and estimates of runs; removal of directories."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from directory_indexer.config.indexing import EmbeddingMode
from directory_indexer.core.batching import batched
from directory_indexer.core.errors import (
    ConflictError,
    ConsentNeededError,
    ProviderError,
    RootUnavailableError,
    VectorStoreError,
)
from directory_indexer.core.files import FileFailure, SourceFile, Stage
from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, exact_text, file_path
from directory_indexer.indexing.directory_plans import (
    Plans,
    WalkStoppedError,
    requested_or_all_roots,
    require_forgettable,
    require_not_reserved,
    resolve_forgettable_path,
    resolve_roots,
)
from directory_indexer.indexing.options import Effort, IndexOptions, IndexParts, RebuildPolicy, ServiceChecks, Throttle
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport, WorkEstimate
from directory_indexer.indexing.runs import Run, StoppedWhileYieldingError, hold_write_lock, recorded_run
from directory_indexer.indexing.updater import Updater, describe_error
from directory_indexer.storage.documents import IndexScope
from directory_indexer.storage.documents.runs import Outcome, Phase, RunProgress, RunRequest, Verb
from directory_indexer.storage.vectors import VectorPlace

with lazily:
    from directory_indexer.formats.kinds import is_media, may_be_scanned

BYTES_PER_TEXT_BYTE = 3
"""The size of an index for each byte of text: measured on source code and prose, rounded up."""

_TEXTS_PER_COMPRESSION = 4000

BYTES_PER_TOKEN = 4
"""For prose and code, rounded; a PDF has fewer tokens than its size suggests."""

_GIB = 1 << 30
_LARGE_FILE_BYTES = 64 << 20
_BYTES_PER_DISK_BLOCK = 512
"""The unit of `st_blocks` on all file systems (POSIX, sys_stat.h)."""

_MAX_DISK_SHARE = 0.8
_REMOVE_BATCH = 200
_MIN_READ_TO_SETTLE = 100
_MAX_UNCHANGED_PER_READ = 10
"""Settling compares all files again, 10 µs each; after fewer changes, that costs more than it saves."""
_NO_CHECKS = ServiceChecks()


class _StateAtStart(NamedTuple):
    """The state of the index when a run gets the write lock."""

    tracked: dict[FilePath, int]
    fingerprint: str | None
    vector_places: frozenset[VectorPlace]
    was_cut_off: bool
    """Whether the last run was killed; the caller holds the lock, so no run is active."""

    is_paused: bool
    """Whether a paused run waits to be resumed."""


class Indexer:
    """Index runs over the index of one data directory."""

    def __init__(self, parts: IndexParts, *, checks: ServiceChecks = _NO_CHECKS) -> None:
        self._parts = parts
        self._docstore = parts.docstore
        self._checks = checks
        self._vectorizer = parts.vectorizer()
        self._policy = policy = parts.policy()
        self._rebuild_policy = RebuildPolicy(parts)
        embeds = policy.embedding is EmbeddingMode.COMPLETE
        self.directory_plans = Plans(parts.docstore, policy.walk, recipe=policy.fingerprint.recipe, embeds=embeds)

    def index(
        self,
        paths: Sequence[str],
        *,
        options: IndexOptions,
        listener: Callable[[RunProgress], None],
        stop_reason: Callable[[], Outcome | None],
    ) -> IndexReport:
        """Update the index of these directories, or without any of all tracked ones, and of nothing else.

        Between batches, `stop_reason` is asked for the outcome with which to end early; None means to go on.

        Raises:
            UsageError: a path is not a directory, or nothing is tracked.
            OverlapError: a path lies inside or around a tracked directory.
            ConsentNeededError: much would be rebuilt or written, and the options do not allow it.
            LockedError: another run holds the lock and the options say not to wait.
        """
        started = time.monotonic()
        # Resolved before waiting for the lock: paths mean what they meant when the caller named them.
        requested = (
            list(map(file_path, paths)) if options.is_exact else resolve_roots(paths, self._tracked_directories())
        )
        require_not_reserved(requested, self._policy.walk)
        with hold_write_lock(
            self._docstore, self._parts.lock_path, listener=listener, stop_reason=stop_reason, wait=options.wait
        ) as lock:
            start = self._read_state_at_start()
            if start.is_paused and options.unless_paused:
                return IndexReport(outcome=Outcome.PAUSED)
            roots = [] if options.waiting_only else requested_or_all_roots(requested, start.tracked)
            if options.tracked_only:
                roots = [root for root in roots if root in start.tracked]
            self._rebuild_policy.apply_settings(start.fingerprint, start.vector_places, has_consent=options.has_consent)
            # If all named directories are untracked by now, this is still not a run over the whole index.
            request = RunRequest(Verb.INDEX, roots or requested, options.origin, options.to_json())
            with recorded_run(self._docstore, request, lock=lock, listener=listener, stop_reason=stop_reason) as run:
                if not run.must_stop:  # It may have been told to stop while it waited for the lock.
                    run.take_over_paused(roots)
                self._vectorizer.merger.requeue_lost_vectors()
                updater = Updater(self._parts, run, is_wary=start.was_cut_off)
                with contextlib.suppress(StoppedWhileYieldingError):
                    self._run_updates(updater, run, roots, options)
                    self._compress_old_texts(run)
                    self._end_completed_pauses(run)
                outcome = run.outcome
            if lock.is_held:
                self._docstore.maintenance.checkpoint(must_stop=lambda: run.must_stop)
            with self._docstore.snapshot() as snapshot:
                files, reasons = snapshot.overview.file_counts(run.scope), snapshot.overview.skip_reasons(run.scope)
            seconds = time.monotonic() - started
            return updater.state.report._replace(outcome=outcome, seconds=seconds, files=files, skip_reasons=reasons)

    def roots(self, paths: Sequence[str]) -> list[FilePath]:
        """Return the directories that a run for these paths covers, tracked or new; without any, all tracked ones."""
        tracked = self._tracked_directories()
        return requested_or_all_roots(resolve_roots(paths, tracked), tracked)

    def plans(self, paths: Sequence[str]) -> list[Plan]:
        """Return the plans of `index` for these paths, without changing or locking anything."""
        return [self.directory_plans.plan(root, IndexOptions(has_consent=True)) for root in self.roots(paths)]

    def plan_addition(self, path: str, *, must_stop: Callable[[], bool]) -> tuple[Plan, bool]:
        """Return the plan for the addition of a directory, and whether it is complete or was stopped.

        Raises:
            UsageError: it is not a directory, or must not be tracked.
            OverlapError: it lies inside or around a tracked directory.
            ConflictError: it is tracked.
            RootUnavailableError: it cannot be read.
        """
        [root] = self.roots([path])
        if root in self._tracked_directories():
            raise ConflictError(f"{display(root)} is tracked already")
        require_not_reserved([root], self._policy.walk)
        return self.directory_plans.plan_untracked(root, must_stop=must_stop)

    def estimate_work(self, plans: Sequence[Plan]) -> WorkEstimate:
        """Estimate the work of a run: tokens to embed, in waiting chunks and in files to read, and pages for OCR."""
        scope = IndexScope(tuple(plan.directory for plan in plans))
        current = self._policy.fingerprint
        with self._docstore.snapshot() as snapshot:
            stored = snapshot.meta.get("fingerprint")
            built = Fingerprint.from_json(stored) if stored else current
            n_pages = snapshot.scans.counts(scope).n_waiting
            n_tokens = snapshot.embedding_queue.count_tokens(scope, waiting_only=built.embedding == current.embedding)
        n_tokens += sum(map(estimate_text_bytes, plans)) // BYTES_PER_TOKEN
        cost = self._parts.ocr_runner().reading.cost(n_pages) if n_pages else ""
        n_possible = sum(may_be_scanned(request.source.path) for plan in plans for request in plan.requests)
        return WorkEstimate(current.embedding, n_tokens, current.differences(built), n_pages, cost, n_possible)

    def forget(
        self,
        path: str,
        *,
        listener: Callable[[RunProgress], None] = lambda _: None,
        stop_reason: Callable[[], Outcome | None] = lambda: None,
    ) -> int:
        """Stop tracking a directory and remove its files from the index; return how many files had text.

        A part of a tracked directory can be forgotten if the last run could not reach it, so that it cannot be deleted.

        Raises:
            NotIndexedError: the directory is not tracked.
            LockedError: another process writes, and this one stopped waiting.
        """
        with hold_write_lock(self._docstore, self._parts.lock_path, listener=listener, stop_reason=stop_reason):
            with self._docstore.snapshot() as snapshot:
                tracked = snapshot.directories.all()
                root = resolve_forgettable_path(path, snapshot)
                require_forgettable(root, self._policy.walk)
                known = snapshot.files.records_within(root)
            self._vectorizer.merger.requeue_lost_vectors()
            for batch in batched(known, _REMOVE_BATCH):
                with self._docstore.transaction() as transaction:
                    transaction.files.remove(batch)
            if root in tracked:
                with self._docstore.transaction() as transaction:
                    transaction.directories.remove(tracked[root])
            self._vectorizer.merger.repair_tags()
            self._vectorizer.merger.delete_removed()
            self._vectorizer.drop_temporary_vectors()
            self._vectorizer.cluster.update(purges_removed=True)
            with self._docstore.transaction() as transaction:
                transaction.pauses.remove_directories([root], reason="")
                transaction.runs.erase_details()
            self._docstore.maintenance.compact()
            self._parts.ocr_runner().delete_unused_pages()  # last: if it fails, nothing else is left to do
        return sum(file.hash is not None for file in known.values())

    def _run_updates(self, updater: Updater, run: Run, roots: Sequence[FilePath], options: IndexOptions) -> None:
        plans: list[Plan] = []
        for root in roots:
            try:
                plans.append(self.directory_plans.plan(root, options, must_stop=lambda: run.must_stop))
            except WalkStoppedError:
                return
            except RootUnavailableError as error:
                failure = FileFailure(root, Stage.WALK, error.message)
                updater.state.add_to_report(unavailable_roots=(root,), failures=(failure,))
                run.record_failure(error.message)
        _require_space(plans, self._docstore.path.parent, has_consent=options.has_consent)
        run.notice = self._notice_of_unavailable_services(plans, options, run.scope)
        with self._docstore.transaction() as transaction:
            directories = [(transaction.directories.add(plan.directory), plan) for plan in plans]
        updater.words.update(directories)
        if not run.must_stop:
            with self._docstore.transaction() as transaction:
                for directory_id, _ in directories:
                    transaction.directories.mark_completed(directory_id)
        for directory_id, plan in directories:
            if len(plan.requests) >= max(_MIN_READ_TO_SETTLE, plan.n_unchanged // _MAX_UNCHANGED_PER_READ):
                self._settle(directory_id, plan.directory, run)
        throttles: dict[Effort, Callable[[], Throttle]] = {
            Effort.BACKGROUND: self._policy.background_throttle,
            Effort.FULL: Throttle,
        }
        throttle = throttles.get(options.effort)
        updater.complete(most_pages=options.most_pages, throttle=throttle() if throttle else None)

    def _settle(self, directory_id: int, root: FilePath, run: Run) -> None:
        """Settle the directories whose files were read, so that searches need not compare these one by one."""
        with contextlib.suppress(WalkStoppedError, RootUnavailableError):
            plan = self.directory_plans.plan(root, IndexOptions(has_consent=True), must_stop=lambda: run.must_stop)
            with self._docstore.transaction() as transaction:
                transaction.directories.settle(directory_id, plan.settled)

    def _compress_old_texts(self, run: Run) -> None:
        """Compress the texts that an older version wrote; the next run continues a stopped one."""
        has_more = True
        while has_more and not run.must_stop:
            with self._docstore.transaction() as transaction:
                has_more = transaction.chunks.compress_old_texts(_TEXTS_PER_COMPRESSION)

    def _notice_of_unavailable_services(self, plans: Sequence[Plan], options: IndexOptions, scope: IndexScope) -> str:
        """Return a notice about unavailable services, checked before hours of work; keywords need none."""
        has_reads = any(plan.requests for plan in plans)
        if not has_reads and not (
            self._policy.embedding is EmbeddingMode.COMPLETE and self._vectorizer.n_waiting(scope)
        ):
            return ""
        checks = self._checks if options.most_pages != 0 else (self._checks.for_vectors,)
        problems = [problem for check in checks if (problem := _describe_failure(check))]
        return f"{'; '.join(problems)}; indexing words meanwhile" if problems else ""

    def _end_completed_pauses(self, run: Run) -> None:
        """End the pauses of runs that have no work left."""
        # A stopped run may have left its cluster index outdated.
        if not run.must_stop or not self._vectorizer.cluster.is_kept:
            run.end_completed_pauses(embeds=self._policy.embedding is EmbeddingMode.COMPLETE)

    def _read_state_at_start(self) -> _StateAtStart:
        with self._docstore.snapshot() as snapshot:
            runs = snapshot.runs.latest(1)
            return _StateAtStart(
                tracked=snapshot.directories.all(),
                fingerprint=snapshot.meta.get("fingerprint"),
                vector_places=frozenset(snapshot.vector_sets.generations()),
                was_cut_off=bool(runs) and runs[0].outcome is None and runs[0].progress.phase is not Phase.WAITING,
                is_paused=bool(snapshot.pauses.all()),
            )

    def _tracked_directories(self) -> dict[FilePath, int]:
        with self._docstore.snapshot() as snapshot:
            return snapshot.directories.all()


def _describe_failure(check: Callable[[], None]) -> str:
    try:
        check()
    except (ProviderError, VectorStoreError) as error:
        return describe_error(error)
    return ""


def estimate_text_bytes(plan: Plan) -> int:
    """Estimate the size of the text that a run would read, by the sizes of files other than images and audio."""
    return sum(_bytes_without_holes(request.source) for request in plan.requests if not is_media(request.source.path))


def _bytes_without_holes(source: SourceFile) -> int:
    """Return the size of a file, for a large one without the holes of a sparse file."""
    if source.size < _LARGE_FILE_BYTES:
        return source.size
    try:
        n_blocks = getattr(os.stat(exact_text(source.path)), "st_blocks", None)
    except OSError:
        return source.size
    return source.size if n_blocks is None else min(source.size, n_blocks * _BYTES_PER_DISK_BLOCK)


def _require_space(plans: Sequence[Plan], place: Path, *, has_consent: bool) -> None:
    needed = BYTES_PER_TEXT_BYTE * sum(map(estimate_text_bytes, plans))
    free = shutil.disk_usage(place).free
    if needed > _MAX_DISK_SHARE * free and not has_consent:
        raise ConsentNeededError(
            f"the index may take {needed / _GIB:.1f} GiB, and {place} has {free / _GIB:.1f} GiB free",
            hint="add --yes to start all the same, or choose another place with --data-dir",
        )
