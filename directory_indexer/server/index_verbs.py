"""Implementation of the tool `index`: start, pause, resume and cancel index runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from directory_indexer.config.collections import DEFAULT
from directory_indexer.docstore.runs import Origin, RunRecord
from directory_indexer.errors import DirIndexError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath
from directory_indexer.server.answer import Answer
from directory_indexer.server.arguments import IndexArguments
from directory_indexer.server.collection_jobs import CollectionJobs
from directory_indexer.server.directories import to_index
from directory_indexer.server.failures import NoRunError
from directory_indexer.server.jobs import Job
from directory_indexer.server.run_results import ENDED, covers
from directory_indexer.server.wording import run_text
from directory_indexer.wire.runs import Run

with lazily:
    from directory_indexer.team.collections import Collections
    from directory_indexer.team.opened import OpenCollection

_POLL_SECONDS = 0.05


class IndexVerbs:
    """The index runs of all collections as clients control them; `by` is the origin under which they stop a run."""

    def __init__(self, collections: Collections, jobs: CollectionJobs, allowed: Sequence[FilePath]) -> None:
        self._collections = collections
        self._jobs = jobs
        self._allowed = tuple(allowed)

    def start(self, call: IndexArguments) -> Job | RunRecord:
        """Start a run, or join the one in progress."""
        with self._collections.using(call.collection) as opened:
            with opened.app.docstore.snapshot() as snapshot:
                tracked = tuple(snapshot.directories.all())
            try:
                directories = self._directories(call, opened)
            except DirIndexError:
                # A directory that is being added is not tracked yet; following its run needs no permission.
                running = opened.app.status.running()
                if running is not None and (not call.path or covers(running, FilePath(call.path))):
                    return running
                raise
        return self._jobs.of(call.collection).start_or_join(directories, may_add=not set(directories) <= set(tracked))

    def cancel(self, call: IndexArguments, *, by: Origin) -> Answer:
        """Stop the runs that this server started, or else the one in progress.

        Raises:
            NoRunError: no run is in progress.
            NotStoppableError: the run was started in a terminal.
        """
        directory = self._directory(call)
        stopped: list[Job | RunRecord] = [*self._jobs.of(call.collection).cancel_all(directory)]
        if not stopped:
            # Its server may have exited, and nobody else could stop the run.
            running = self._running(call, directory)
            with self._collections.using(call.collection) as opened:
                opened.app.run_control.stop(running, by=by)
            stopped = [running]
        return self._wait_until_ended(call, stopped)

    def pause(self, call: IndexArguments, *, by: Origin) -> Answer:
        """Pause the run in progress until it is resumed.

        Raises:
            NoRunError: no run is in progress.
            ConflictError: the run cannot be paused.
            NotStoppableError: the run was started in a terminal.
        """
        running = self._running(call, self._directory(call))
        with self._collections.using(call.collection) as opened:
            opened.app.run_control.pause(running, by=by)
        return self._wait_until_ended(call, [running])

    def resume(self, call: IndexArguments) -> Job:
        """Start a run that continues all paused runs.

        Raises:
            ConflictError: nothing is paused.
        """
        with self._collections.using(call.collection) as opened:
            opened.app.run_control.resumption()
        return self._jobs.of(call.collection).resume()

    def _directory(self, call: IndexArguments) -> FilePath | None:
        if not call.path:
            return None
        with self._collections.using(call.collection) as opened:
            return self._directories(call, opened)[0]

    def _directories(self, call: IndexArguments, opened: OpenCollection) -> tuple[FilePath, ...]:
        with opened.app.docstore.snapshot() as snapshot:
            return to_index(
                call.path,
                tracked=tuple(snapshot.directories.all()),
                allowed=self._allowed_directories(call),
                is_known=snapshot.files.holds,
            )

    def _running(self, call: IndexArguments, directory: FilePath | None) -> RunRecord:
        with self._collections.using(call.collection) as opened:
            running = opened.app.status.running()
        if running is None or (directory is not None and not covers(running, directory)):
            raise NoRunError("no index run goes on there" if directory else "no index run goes on")
        return running

    def _wait_until_ended(self, call: IndexArguments, stopped: Sequence[Job | RunRecord]) -> Answer:
        jobs = self._jobs.of(call.collection)
        deadline = time.monotonic() + call.wait_seconds
        for job in stopped:
            while not is_ended(jobs.state_of(job)) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        return index_answer(jobs.state_of(stopped[-1]))

    def _allowed_directories(self, call: IndexArguments) -> tuple[FilePath, ...]:
        """Return the directories that the operator allows: they apply to the default collection only."""
        return self._allowed if call.collection == DEFAULT else ()


def index_answer(run: Run) -> Answer:
    """Return the answer for a run."""
    return Answer(run_text(run), run)


def is_ended(result: Run) -> bool:
    """Whether a run has ended."""
    return result.state in ENDED
