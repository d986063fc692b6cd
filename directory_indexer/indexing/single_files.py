"""Updates of single files of a tracked directory, without a walk, at a cost independent of its size.

The caller knows that the files have changed, so they are read whatever their stamps say. Keyword search comes first, as
in any run; embedding and OCR are a step of their own that stops as soon as requested.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from directory_indexer.core.batching import batched
from directory_indexer.core.files import SourceFile, source_file
from directory_indexer.core.lock import WriteLock
from directory_indexer.core.paths import FilePath
from directory_indexer.indexing.options import IndexParts, RebuildPolicy
from directory_indexer.indexing.planner import Plan
from directory_indexer.indexing.report import IndexReport
from directory_indexer.indexing.runs import Run, StoppedWhileYieldingError, hold_write_lock, recorded_run
from directory_indexer.indexing.updater import Updater
from directory_indexer.parsing.outcomes import ParseRequest
from directory_indexer.storage.documents.runs import Outcome, RunRequest


class FileUpdates:
    """Updates of single files of one tracked directory, which `request` names.

    Raises:
        LockedError: from every method, when another process is writing, and it is time to give up.
    """

    def __init__(self, request: RunRequest, parts: IndexParts) -> None:
        self._request = request
        (self._directory,) = request.directories
        self._parts = parts
        self._docstore = parts.docstore

    def read(self, paths: Iterable[FilePath], *, must_stop_waiting: Callable[[], bool]) -> IndexReport:
        """Make files searchable by keyword, replacing their old text; missing files stay in the index.

        `paths` is iterated once the index is locked.
        """
        with self._run(must_stop_waiting, lambda: None) as run:
            updater = Updater(self._parts, run)
            directory_id, plan = self._plan_named_files(list(_existing_files(paths)))
            updater.words.update([(directory_id, plan)])
            with self._docstore.transaction() as transaction:  # the directory contains only named files
                transaction.directories.mark_completed(directory_id)
            return updater.state.report._replace(outcome=run.outcome)

    def remove(self, paths: Sequence[FilePath], *, must_stop_waiting: Callable[[], bool]) -> None:
        """Remove files from the index, with all their members."""
        with self._hold_lock_until_given_up(must_stop_waiting):
            for batch in batched(paths, _FILES_PER_BATCH):
                with self._docstore.transaction() as transaction:
                    transaction.files.remove(batch)

    def remove_moved_directory(self, directory: FilePath) -> None:
        """Remove from the index a tracked directory that has moved; the vectors of its texts are reused."""
        with self._docstore.snapshot() as snapshot:
            paths = list(snapshot.files.records_within(directory))
        self.remove(paths, must_stop_waiting=lambda: False)
        with self._hold_lock_until_given_up(lambda: False):
            with self._docstore.snapshot() as snapshot:
                directory_id = snapshot.directories.all().get(directory)
            if directory_id is not None:
                with self._docstore.transaction() as transaction:
                    transaction.directories.remove(directory_id)

    def complete(
        self, *, must_stop_waiting: Callable[[], bool], stop_reason: Callable[[], Outcome | None]
    ) -> IndexReport:
        """Recognise scanned pages, and embed everything in the directory, until it is time to stop.

        While a run is paused, it does nothing.
        """
        with self._docstore.snapshot() as snapshot:
            if snapshot.pauses.all():
                return IndexReport(outcome=Outcome.PAUSED)
        with self._run(must_stop_waiting, stop_reason) as run:
            updater = Updater(self._parts, run)
            with contextlib.suppress(StoppedWhileYieldingError):
                updater.complete(most_pages=None, throttle=self._parts.policy().polite_throttle())
            return updater.state.report._replace(outcome=run.outcome)

    @contextlib.contextmanager
    def _run(self, must_stop_waiting: Callable[[], bool], stop_reason: Callable[[], Outcome | None]) -> Iterator[Run]:
        with self._hold_lock_until_given_up(must_stop_waiting) as lock:
            self._store_fingerprint_if_new()
            with recorded_run(
                self._docstore, self._request, lock=lock, listener=lambda _: None, stop_reason=stop_reason
            ) as run:
                self._parts.vectorizer().merger.requeue_lost_vectors()
                yield run

    def _hold_lock_until_given_up(
        self, must_stop_waiting: Callable[[], bool]
    ) -> contextlib.AbstractContextManager[WriteLock]:
        stop_reason = lambda: Outcome.INTERRUPTED if must_stop_waiting() else None  # noqa: E731 - as `writing` asks
        return hold_write_lock(self._docstore, self._parts.lock_path, stop_reason=stop_reason)

    def _store_fingerprint_if_new(self) -> None:
        """Store the fingerprint of a new index; an older one is adapted by a whole run."""
        with self._docstore.snapshot() as snapshot:
            fingerprint, places = snapshot.meta.get("fingerprint"), frozenset(snapshot.vector_sets.generations())
        if fingerprint is None:
            RebuildPolicy(self._parts).apply_settings(None, places, has_consent=False)

    def _plan_named_files(self, sources: Sequence[SourceFile]) -> tuple[int, Plan]:
        with self._docstore.transaction() as transaction:
            directory_id = transaction.directories.add(self._directory)
        with self._docstore.snapshot() as snapshot:
            mounts = snapshot.directories.mounts(directory_id)
            changed = {source.path for source in sources if snapshot.files.get(source.path)}
        return directory_id, Plan(
            directory=self._directory,
            requests=tuple(ParseRequest(source, None) for source in sources),
            changed=frozenset(changed),
            skipped=(),
            failures=(),
            removed=(),
            resolved=(),
            removed_hashes=frozenset(),
            n_unchanged=0,
            skip_counts=Counter(),
            ignored=(),
            mounts=mounts,
        )


def _existing_files(paths: Iterable[FilePath]) -> Iterator[SourceFile]:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            yield source_file(path)


_FILES_PER_BATCH: Final = 200
