"""Refresh before a search: changes that can be indexed in time are, and the answer reports the rest.

It waits for no run but one that embeds, which gives way, and stops at its deadline: an answer may be older than the
files, but says so. What there was no time for is read in the background, so that later answers have it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from directory_indexer.core.errors import LockedError, RootUnavailableError, UnavailableError
from directory_indexer.core.fingerprint import Fingerprint
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note, NoteKind
from directory_indexer.core.paths import FilePath, lies_in
from directory_indexer.indexing.directory_plans import Plans, WalkStoppedError
from directory_indexer.indexing.options import IndexOptions, IndexParts
from directory_indexer.indexing.planner import Plan
from directory_indexer.storage.documents.runs import Origin, Outcome, Phase, RunRequest, Verb
from directory_indexer.walk import WalkPolicy

with lazily:
    from directory_indexer.indexing.report import IndexReport
    from directory_indexer.indexing.runs import hold_write_lock, recorded_run
    from directory_indexer.indexing.updater import Updater


class RefreshResult(NamedTuple):
    """The result of a refresh: the number of files whose current state is not indexed, and problems.

    `cut_off_after` is the time that did not suffice to check everything. `is_watched` means that a watch indexes
    changes soon after, `is_arriving` that a run indexes the missing files now. `unread` are the tracked directories
    with files that there was no time for. `completed_at` is when a run was last completed, if files are missing.
    """

    n_missing: int = 0
    problems: tuple[str, ...] = ()
    cut_off_after: float | None = None
    is_watched: bool = False
    is_arriving: bool = False
    unread: tuple[FilePath, ...] = ()
    completed_at: float = 0.0

    @property
    def notes(self) -> tuple[Note, ...]:
        """Return notes for the reader of the answer."""
        notes = [Note(problem, NoteKind.CHANGES) for problem in self.problems]
        if self.cut_off_after is not None and self.is_watched:
            notes.append(Note(_NOT_YET_INDEXED_NOTE, NoteKind.ARRIVING))
        elif self.cut_off_after is not None:
            cut_off = f"not every directory could be checked in {self.cut_off_after * 1000:.0f} ms"
            notes.append(Note(f"{cut_off}: {_OLDER_VERSION_NOTE} ({_CHANGED_SETTINGS_NOTE})", NoteKind.CHANGES))
        if self.n_missing:
            files, are = ("1 file", "is") if self.n_missing == 1 else (f"{self.n_missing:,} files", "are")
            changed = f"{files} changed since the last run and {are}"
            if self.is_watched or self.is_arriving:
                key = f"files changed since {self.completed_at} and are being indexed"
                notes.append(Note(f"{changed} being indexed now", NoteKind.ARRIVING, key=key))
            else:
                hint = "dirindex index reads what is missing"
                notes.append(Note(f"{changed} not indexed yet", NoteKind.CHANGES, hint))
        return tuple(notes)


class Refresher:
    """Checks tracked directories before a search, and indexes changes for keyword search.

    `read_in_background` starts a run over directories, and returns whether there is one. `clock` measures the limit.
    """

    def __init__(
        self,
        parts: IndexParts,
        *,
        walk: WalkPolicy,
        origin: Origin = Origin.TERMINAL,
        read_in_background: Callable[[Sequence[FilePath]], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parts = parts
        self._docstore = parts.docstore
        self._walk = walk
        self._origin = origin
        self._read_in_background = read_in_background
        self._clock = clock
        self._lock = threading.Lock()
        self._last: tuple[float, tuple[FilePath, ...], RefreshResult] = (0.0, (), RefreshResult())
        self._skip_until = 0.0

    def refresh(self, scope: Sequence[FilePath], *, seconds: float) -> RefreshResult:
        """Index changes in or around some places, or everywhere, as far as time permits."""
        freshness = self._refresh(scope, seconds, seconds)
        if not freshness.unread:
            return freshness
        return freshness._replace(is_arriving=not self._is_paused() and self._read_in_background(freshness.unread))

    def refresh_watched(self, scope: Sequence[FilePath], *, seconds: float) -> RefreshResult:
        """Do the same in watched directories, where changes are indexed within seconds anyway.

        If there is too much to check in a moment, watching must suffice, and the next check comes later.
        Until then, every answer notes that changes may be missing.
        """
        moment = min(seconds, _WATCHED_CHECK_SECONDS)
        if time.monotonic() < self._skip_until:
            return RefreshResult(cut_off_after=moment, is_watched=True)
        freshness = self._refresh(scope, seconds, moment)
        if freshness.cut_off_after is not None:
            self._skip_until = time.monotonic() + _SLOW_ROOT_SKIP_SECONDS
        return freshness._replace(is_watched=True)

    def _refresh(self, scope: Sequence[FilePath], seconds: float, walk_seconds: float) -> RefreshResult:
        requested_at = time.monotonic()
        with self._lock:
            # Of concurrent callers, those that waited reuse the result found meanwhile.
            checked_at, places, freshness = self._last
            if checked_at < requested_at or places != tuple(scope):
                checked_at = time.monotonic()
                freshness = self._plan_and_index(scope, seconds, walk_seconds)
                self._last = (checked_at, tuple(scope), freshness)
        return freshness

    def _plan_and_index(self, scope: Sequence[FilePath], seconds: float, walk_seconds: float) -> RefreshResult:
        began = self._clock()
        roots, built = self._roots(scope)
        if built is None:
            return RefreshResult()
        plans: list[Plan] = []
        problems: list[str] = []
        cut_off_after = None
        planner = Plans(self._docstore, self._walk, recipe=built.recipe)
        for root in roots:
            try:
                plan = planner.plan(root, IndexOptions(), must_stop=lambda: self._clock() - began > walk_seconds)
                plans.append(_restrict_to_scope(plan, scope))
            except WalkStoppedError:
                cut_off_after = walk_seconds
                break
            except RootUnavailableError as error:
                problems.append(f"a directory could not be looked through: {error.message}")
        changed = [plan for plan in plans if _count_changes(plan)]
        freshness = RefreshResult(sum(map(_count_changes, changed)))
        # Nearly always nothing has changed; then half of the modules of a policy are never loaded.
        if changed and built.to_json() == self._parts.policy().fingerprint.to_json():
            patience = _PATIENCE if _are_small(changed) and not self._is_paused() else 1
            freshness = self._index_changes(changed, began + patience * seconds)
        if freshness.n_missing:
            with self._docstore.snapshot() as snapshot:
                freshness = freshness._replace(completed_at=snapshot.directories.last_completed())
        return freshness._replace(problems=tuple(problems), cut_off_after=cut_off_after)

    def _is_paused(self) -> bool:
        with self._docstore.snapshot() as snapshot:
            return bool(snapshot.pauses.all())

    def _roots(self, scope: Sequence[FilePath]) -> tuple[list[FilePath], Fingerprint | None]:
        with self._docstore.snapshot() as snapshot:
            tracked, stored = snapshot.directories.all(), snapshot.meta.get("fingerprint")
        near = [
            root
            for root in tracked
            if not scope or any(lies_in(root, place) or lies_in(place, root) for place in scope)
        ]
        own = [root for root in near if not any(lies_in(root, directory) for directory in self._walk.own)]
        return own, Fingerprint.from_json(stored) if stored else None

    def _index_changes(self, plans: Sequence[Plan], deadline: float) -> RefreshResult:
        """Index changes; return which files remain."""
        n_changes = sum(map(_count_changes, plans))
        if sum(plan.n_bytes for plan in plans) > _MAX_BYTES:
            return RefreshResult(n_changes)
        remaining = RefreshResult(n_changes, unread=tuple(plan.directory for plan in plans))
        if self._clock() > deadline:
            return remaining
        try:
            report = self._index_until_deadline(plans, deadline)
        except LockedError:
            return self._freshness_while_locked(remaining)
        except UnavailableError:
            return RefreshResult(n_changes)
        if report.outcome is Outcome.COMPLETED:
            return RefreshResult()
        n_indexed = report.n_added + report.n_changed + report.n_moved + report.n_removed
        return remaining._replace(n_missing=max(n_changes - n_indexed, 1))

    def _freshness_while_locked(self, remaining: RefreshResult) -> RefreshResult:
        """Return what remains while another run writes: it may read the same files, or give way to one that does."""
        with self._docstore.snapshot() as snapshot:
            runs = [run for run in snapshot.runs.latest(1) if run.outcome is None]
        if any(run.progress.phase.yields_lock for run in runs):
            return remaining
        reads = (run for run in runs if run.progress.phase in {Phase.WALKING, Phase.READING})
        covers = any(not run.directories or {*remaining.unread} <= {*run.directories} for run in reads)
        return remaining._replace(unread=(), is_arriving=covers)

    def _index_until_deadline(self, plans: Sequence[Plan], deadline: float) -> IndexReport:
        stop_reason = lambda: Outcome.INTERRUPTED if self._clock() > deadline else None  # noqa: E731 - as runs ask
        with (
            hold_write_lock(self._docstore, self._parts.lock_path, stop_reason=stop_reason, wait=False) as lock,
            recorded_run(
                self._docstore,
                RunRequest(Verb.INDEX, [plan.directory for plan in plans], self._origin),
                lock=lock,
                listener=lambda _: None,
                stop_reason=stop_reason,
            ) as run,
        ):
            updater = Updater(self._parts, run)
            with self._docstore.snapshot() as snapshot:
                ids = snapshot.directories.all()
            updater.words.update([(ids[plan.directory], plan) for plan in plans])
            # If time runs out during the last file, everything is done.
            is_whole = run.progress.files_done == sum(len(plan.requests) for plan in plans)
            return updater.state.report._replace(outcome=Outcome.COMPLETED if is_whole else run.outcome)


def _restrict_to_scope(plan: Plan, scope: Sequence[FilePath]) -> Plan:
    """Restrict a plan to what affects a search: files to read for it, and files it must not return any more.

    Unreadable files are left to the next run, and counted as failed: they may not have changed.
    """

    def matters(path: FilePath) -> bool:
        return not scope or any(lies_in(path, place) for place in scope)

    return plan._replace(
        requests=tuple(
            request
            for request in plan.requests
            if matters(request.source.path) and request.source.path not in plan.retried
        ),
        removed=tuple(path for path in plan.removed if matters(path)),
        skipped=(),
        failures=(),
        resolved=(),
        settled={},
        left=frozenset(),
    )


def _count_changes(plan: Plan) -> int:
    return len(plan.requests) + len(plan.removed)


def _are_small(plans: Sequence[Plan]) -> bool:
    return (
        sum(map(_count_changes, plans)) <= _MAX_SMALL_CHANGES
        and sum(plan.n_bytes for plan in plans) <= _MAX_SMALL_BYTES
    )


_OLDER_VERSION_NOTE: Final = "some files may have changed since they were indexed"
_CHANGED_SETTINGS_NOTE: Final = "searching.refresh_ms"
_NOT_YET_INDEXED_NOTE: Final = "changes of the last seconds may not be in the index yet; they come in by themselves"
_WATCHED_CHECK_SECONDS: Final = 0.1
_SLOW_ROOT_SKIP_SECONDS: Final = 10.0
_MAX_SMALL_CHANGES: Final = 10
_MAX_SMALL_BYTES: Final = 1_000_000
_PATIENCE: Final = 7
"""Small changes may take so many times as long: on a busy machine, a single file takes up to a second."""

_MAX_BYTES: Final = 20_000_000
"""Larger changes are never read within a search: they need an index run."""
