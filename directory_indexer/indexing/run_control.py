"""Stops the run that goes on, or pauses it until somebody lets it go on; which of them a client may stop.

That a run is paused is recorded before it is told, so that it stays so whatever is killed next.
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
    """The directories and options of a run that goes on with all paused ones; no directories mean the whole index."""

    directories: tuple[FilePath, ...]
    options: IndexOptions


class RunControl:
    """Stop, pause and resume the runs of one index, in whichever process they are.

    `by` tells who asks: a client may stop what was started for clients; what was started in a terminal is for
    terminals to stop, and for clients with the right `admin`, which ask as terminals do.
    """

    def __init__(self, docstore: Callable[[], DocStore], *, unended: Callable[[], Sequence[RunRecord]]) -> None:
        self._docstore = docstore
        self._unended = unended

    def stop(self, run: RunRecord, *, by: Origin) -> None:
        """Ask a run to stop at the end of its batch.

        Raises:
            NotStoppableError: it was started in a terminal, and a client asks.
        """
        _require_stoppable(run, by)
        request_stop(self._docstore().path, run.id)

    def pause(self, run: RunRecord | None = None, *, by: Origin) -> tuple[RunRecord, ...]:
        """Pause a run, or all that go on: they stop at the end of their batch, and nothing starts by itself then.

        Raises:
            ConflictError: no run goes on, or it copies vectors, which nothing goes on with by itself.
            NotStoppableError: it was started in a terminal, and a client asks.
        """
        runs = (run,) if run else tuple(self._unended())
        if not runs:
            raise ConflictError("no index run is under way", hint="dirindex status shows how the last one ended")
        for one in runs:
            _require_pausable(one)
            _require_stoppable(one, by)
        with self._docstore().transaction() as transaction:
            paused = tuple(one for one in runs if transaction.pauses.put(one.id))
        if not paused:
            raise ConflictError(f"run-{runs[0].id} has ended already", hint="dirindex status shows how")
        for one in paused:
            request_stop(self._docstore().path, one.id, Outcome.PAUSED)
        return paused

    def paused(self) -> tuple[PausedRun, ...]:
        """List the paused runs, the oldest first."""
        with self._docstore().snapshot() as snapshot:
            return snapshot.pauses.all()

    def resumption(self) -> Resumption:
        """Tell what a run is to do that goes on with all that is paused.

        Raises:
            ConflictError: nothing is paused.
        """
        paused = self.paused()
        if not paused:
            raise ConflictError("no index run is paused", hint="dirindex index brings all directories up to date")
        return Resumption(_directories(paused), options_of(one.options for one in paused))


def _directories(paused: Sequence[PausedRun]) -> tuple[FilePath, ...]:
    if not all(run.directories for run in paused):
        return ()
    return tuple(dict.fromkeys(directory for one in paused for directory in one.directories))


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
