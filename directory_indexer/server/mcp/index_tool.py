"""The tool `index`: start, pause, resume and cancel index runs of directories that a client may index.

Those are tracked ones, and those that the operator allows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence

from directory_indexer.api.runs import Run
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import DirIndexError, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, exact_text, file_path, lies_in, unquote_path
from directory_indexer.server.index_jobs import ENDED_STATES, CollectionJobs, IndexJob, run_covers
from directory_indexer.server.mcp.answer import Answer
from directory_indexer.server.mcp.answer_text import format_run, run_within_budget
from directory_indexer.server.mcp.arguments import IndexCall
from directory_indexer.server.mcp.tool_results import NoRunError
from directory_indexer.server.path_resolution import interpret_relative_path, require_valid_path
from directory_indexer.storage.documents.runs import Origin, RunRecord

with lazily:
    from directory_indexer.collections import Collections, OpenCollection


_POLL_SECONDS = 0.05


class IndexActions:
    """The actions of the tool `index` on the runs of all collections; `by` is the origin that stops a run."""

    def __init__(self, collections: Collections, jobs: CollectionJobs, allowed: Sequence[FilePath]) -> None:
        self._collections = collections
        self._jobs = jobs
        self._allowed = tuple(allowed)

    def start(self, call: IndexCall) -> IndexJob | RunRecord:
        """Start a run, or join the one in progress."""
        with self._collections.opened(call.collection) as opened:
            with opened.app.docstore.snapshot() as snapshot:
                tracked = tuple(snapshot.directories.all())
            try:
                directories = self._requested_directories(call, opened)
            except DirIndexError:
                # A directory that is being added is not tracked yet; following its run needs no permission.
                running = opened.app.status.running()
                if running is not None and (not call.path or run_covers(running, FilePath(call.path))):
                    return running
                raise
        return self._jobs.jobs_of(call.collection).start_or_join(
            directories, may_add=not set(directories) <= set(tracked)
        )

    def cancel(self, call: IndexCall, *, by: Origin) -> Answer:
        """Stop the runs that this server started, or else the one in progress.

        Raises:
            NoRunError: no run is in progress.
            NotStoppableError: the run was started in a terminal.
        """
        directory = self._requested_directory(call)
        stopped: list[IndexJob | RunRecord] = [*self._jobs.jobs_of(call.collection).cancel_all(directory)]
        if not stopped:
            # Its server may have exited, and nobody else could stop the run.
            running = self._require_running_run(call, directory)
            with self._collections.opened(call.collection) as opened:
                opened.app.runs.control.stop(running, by=by)
            stopped = [running]
        return self._wait_until_ended(call, stopped)

    def pause(self, call: IndexCall, *, by: Origin) -> Answer:
        """Pause the run in progress until it is resumed.

        Raises:
            NoRunError: no run is in progress.
            ConflictError: the run cannot be paused.
            NotStoppableError: the run was started in a terminal.
        """
        running = self._require_running_run(call, self._requested_directory(call))
        with self._collections.opened(call.collection) as opened:
            opened.app.runs.control.pause(running, by=by)
        return self._wait_until_ended(call, [running])

    def resume(self, call: IndexCall) -> IndexJob:
        """Start a run that continues all paused runs.

        Raises:
            ConflictError: nothing is paused.
        """
        with self._collections.opened(call.collection) as opened:
            opened.app.runs.control.resumed_work()
        return self._jobs.jobs_of(call.collection).resume()

    def _requested_directory(self, call: IndexCall) -> FilePath | None:
        if not call.path:
            return None
        with self._collections.opened(call.collection) as opened:
            return self._requested_directories(call, opened)[0]

    def _requested_directories(self, call: IndexCall, opened: OpenCollection) -> tuple[FilePath, ...]:
        with opened.app.docstore.snapshot() as snapshot:
            return directories_to_index(
                call.path,
                tracked=tuple(snapshot.directories.all()),
                allowed=self._allowed_directories(call),
                is_known=snapshot.files.covers,
            )

    def _require_running_run(self, call: IndexCall, directory: FilePath | None) -> RunRecord:
        with self._collections.opened(call.collection) as opened:
            running = opened.app.status.running()
        if running is None or (directory is not None and not run_covers(running, directory)):
            raise NoRunError("no index run is in progress there" if directory else "no index run is in progress")
        return running

    def _wait_until_ended(self, call: IndexCall, stopped: Sequence[IndexJob | RunRecord]) -> Answer:
        jobs = self._jobs.jobs_of(call.collection)
        deadline = time.monotonic() + call.wait_seconds
        for job in stopped:
            while not is_ended(jobs.run_state_of(job)) and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        return index_answer(jobs.run_state_of(stopped[-1]))

    def _allowed_directories(self, call: IndexCall) -> tuple[FilePath, ...]:
        """Return the directories that the operator allows: they apply to the default collection only."""
        return self._allowed if call.collection == DEFAULT else ()


def index_answer(run: Run) -> Answer:
    """Return the answer for a run."""
    run = run_within_budget(run)
    return Answer(format_run(run), run)


def is_ended(result: Run) -> bool:
    """Whether a run has ended."""
    return result.state in ENDED_STATES


def directories_to_index(
    name: str,
    *,
    tracked: Sequence[FilePath],
    allowed: Sequence[FilePath],
    is_known: Callable[[FilePath], bool] = lambda _: False,
) -> tuple[FilePath, ...]:
    """Return the directories that a client asks to index; an empty name means all.

    A path that the index knows need not exist any more: the run will remove it.

    Raises:
        UsageError: the directory is not allowed or does not exist.
        NotIndexedError: nothing is tracked and the operator allows nothing.
    """
    if not name:
        new = [path for path in allowed if not any(lies_in(path, root) or lies_in(root, path) for root in tracked)]
        if not tracked and not new:
            raise NotIndexedError(
                "nothing is indexed yet, and the operator of this server allows no directory", hint=_OPERATOR_HINT
            )
        return (*tracked, *new)
    name = unquote_path(name)
    require_valid_path(name)
    paths = _directories_of_name(name, [*tracked, *allowed])
    below = [(path, root) for path in paths for root in tracked if lies_in(path, root)]
    addable = [(path, path) for path in paths if any(lies_in(path, root) for root in allowed)]
    for path, directory in [*below, *addable]:
        if is_known(path) or os.path.lexists(exact_text(path)):
            return (directory,)
    if below or addable:
        raise UsageError(f"there is no '{name}'", hint="give the path of a directory or file that is there, or none")
    places = ", ".join(map(display, dict.fromkeys([*tracked, *allowed]))) or "none"
    raise UsageError(f"'{name}' may not be indexed from here; allowed are: {places}", hint=_OPERATOR_HINT)


def _directories_of_name(name: str, roots: Iterable[FilePath]) -> list[FilePath]:
    plain = exact_text(FilePath(name))
    paths = (
        [plain] if os.path.isabs(plain) else [path for root in roots for path in interpret_relative_path(root, plain)]
    )
    return [file_path(os.path.realpath(path)) for path in paths]


_OPERATOR_HINT = (
    "the operator adds one with `dirindex index DIRECTORY`, or starts this server with `dirindex serve DIRECTORY`"
)
