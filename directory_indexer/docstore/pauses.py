"""Runs that somebody has paused, with what they were asked to do, until somebody lets them go on."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from directory_indexer.databases.stored_values import moment, stored, texts_in, whole
from directory_indexer.docstore.reading import Reading
from directory_indexer.docstore.runs import options_text
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath

with lazily:
    import json
    import sqlite3


class PausedRun(NamedTuple):
    """A run that was paused: what it was about, and the JSON of how it was to behave."""

    run_id: int
    directories: tuple[FilePath, ...]
    options: str
    paused_at: float
    """Seconds since the epoch."""


class Pauses(Reading):
    """The paused runs of one moment."""

    def all(self) -> tuple[PausedRun, ...]:
        """List them, the oldest first."""
        return _paused_runs(self._connection)


class PauseWrites:
    """Pause runs, and let them go on."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, run_id: int) -> bool:
        """Record that a run is paused, unless it has ended; tell whether it is paused now."""
        self._connection.execute(
            """INSERT OR IGNORE INTO paused_runs (run_id, directories, options, paused_at)
               SELECT id, directories, options, ? FROM runs WHERE id = ? AND outcome IS NULL""",
            (time.time(), run_id),
        )
        found = self._connection.execute("SELECT 1 FROM paused_runs WHERE run_id = ?", (run_id,))
        return found.fetchone() is not None

    def end(self, directories: Collection[FilePath], *, by: str) -> None:
        """Let directories be paused no more: `by` names what is done with them now."""
        for paused in _paused_runs(self._connection):
            left = [one for one in paused.directories if one not in directories]
            if left:
                self._keep(paused, left)
                continue
            self._connection.execute("DELETE FROM paused_runs WHERE run_id = ?", (paused.run_id,))
            self._connection.execute(
                "UPDATE runs SET message = ? WHERE id = ? AND outcome = 'paused'", (by, paused.run_id)
            )

    def _keep(self, paused: PausedRun, directories: Collection[FilePath]) -> None:
        self._connection.execute(
            "UPDATE paused_runs SET directories = ? WHERE run_id = ?", (json.dumps(directories), paused.run_id)
        )


def _paused_runs(connection: sqlite3.Connection) -> tuple[PausedRun, ...]:
    rows = connection.execute("SELECT run_id, directories, options, paused_at FROM paused_runs ORDER BY run_id")
    return tuple(stored("paused_runs", paused_run, row) for row in rows)


def paused_run(row: Sequence[Any]) -> PausedRun:
    """Parse a row of `PausedRun`.

    Raises:
        ValueError, TypeError: a column holds what this program does not write.
    """
    run_id, directories, options, paused_at = row
    return PausedRun(
        whole(run_id), tuple(map(FilePath, texts_in(directories))), options_text(options), moment(paused_at)
    )
