"""Stopping, pausing and resuming of runs, and which of them a client may stop.

A pause is stored before the run is told, so that it persists whatever is killed next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from directory_indexer.docstore.pauses import PausedRun
from directory_indexer.docstore.runs import Origin, Outcome, RunRecord, Verb
from directory_indexer.docstore.store import DocStore
from directory_indexer.errors import ConflictError, NotStoppableError
from directory_indexer.indexing.options import IndexOptions, options_of
from directory_indexer.indexing.stop_requests import request_stop
from directory_indexer.paths import FilePath


class Resumption(NamedTuple):
    """The directories and options of a run that resumes all paused ones; no directories mean the whole index."""

    directories: tuple[FilePath, ...]
    options: IndexOptions


class RunControl:
    """Stops, pauses and resumes the runs of one index, in any process.

    `by` is the caller: a client may stop runs started for clients; runs started in a terminal can only be stopped by
    terminals, and by clients with the right `admin`, which count as terminals.
    """

    def __init__(self, docstore: Callable[[], DocStore], *, unended: Callable[[], Sequence[RunRecord]]) -> None:
        self._docstore = docstore
        self._unended = unended

    def stop(self, run: RunRecord, *, by: Origin) -> None:
        """Request that a run stops at the end of its batch.

        Raises:
            NotStoppableError: it was started in a terminal, and the caller is a client.
        """
        _require_stoppable(run, by)
        request_stop(self._docstore().path, run.id)

    def pause(self, run: RunRecord | None = None, *, by: Origin) -> tuple[RunRecord, ...]:
        """Pause a run, or all active ones: they stop at the end of their batch, and none starts by itself then.

        Raises:
            ConflictError: no run is active, or it copies vectors, which nothing resumes by itself.
            NotStoppableError: it was started in a terminal, and the caller is a client.
        """
        runs = (run,) if run else tuple(self._unended())
        if not runs:
            raise ConflictError("no index run is under way", hint="dirindex status shows how the last one ended")
        for pausable in runs:
            _require_pausable(pausable)
            _require_stoppable(pausable, by)
        with self._docstore().transaction() as transaction:
            paused = tuple(pausable for pausable in runs if transaction.pauses.put(pausable.id))
        if not paused:
            raise ConflictError(f"run-{runs[0].id} has ended already", hint="dirindex status shows how")
        for pausable in paused:
            request_stop(self._docstore().path, pausable.id, Outcome.PAUSED)
        return paused

    def paused(self) -> tuple[PausedRun, ...]:
        """Return the paused runs, oldest first."""
        with self._docstore().snapshot() as snapshot:
            return snapshot.pauses.all()

    def resumption(self) -> Resumption:
        """Return the work of a run that resumes all paused ones.

        Raises:
            ConflictError: nothing is paused.
        """
        paused = self.paused()
        if not paused:
            raise ConflictError("no index run is paused", hint="dirindex index brings all directories up to date")
        return Resumption(_directories(paused), options_of(run.options for run in paused))


def _directories(paused: Sequence[PausedRun]) -> tuple[FilePath, ...]:
    if not all(run.directories for run in paused):
        return ()
    return tuple(dict.fromkeys(directory for run in paused for directory in run.directories))


def _require_pausable(run: RunRecord) -> None:
    if run.verb is not Verb.INDEX:
        raise ConflictError(
            f"run-{run.id} copies vectors and cannot be paused",
            hint="stop it where it was started; dirindex migrate goes on where it stopped",
        )


def _require_stoppable(run: RunRecord, by: Origin) -> None:
    if run.origin is Origin.TERMINAL and by is Origin.SERVER:
        raise NotStoppableError(
            f"run-{run.id} was started in a terminal, by process {run.pid} on {run.host}",
            hint="only its user can stop it: with ^C there, or with dirindex index --pause in any terminal",
        )
