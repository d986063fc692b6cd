"""Paused runs with their options, until they are resumed.

A pause is stored before the run is told, and only a requested run over the same directories ends it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath
from directory_indexer.storage.databases.stored_values import epoch_seconds, integer, parse_stored, parse_texts
from directory_indexer.storage.documents.embedding_queue import EmbeddingQueue
from directory_indexer.storage.documents.queries import IndexScope, SnapshotQueries, TableWrites, placeholders
from directory_indexer.storage.documents.runs import options_text
from directory_indexer.storage.documents.scans import Scans

with lazily:
    import json
    import sqlite3


class PausedRun(NamedTuple):
    """A paused run: its directories and its options as JSON.

    `directories` are the remaining ones; empty for the whole index.
    """

    run_id: int
    directories: tuple[FilePath, ...]
    options: str
    paused_at: float
    """Seconds since the epoch."""


class Pauses(SnapshotQueries):
    """The paused runs of one snapshot."""

    def all(self) -> tuple[PausedRun, ...]:
        """Return the paused runs, oldest first."""
        return _paused_runs(self._connection)

    def done(self, *, embeds: bool) -> list[int]:
        """Return the ids of paused runs with no work left; `embeds` tells whether runs embed.

        Their directories were completely searchable by keyword, and no page or chunk in them waits.
        """
        return [
            run.run_id
            for run in self.all()
            if self._is_keyword_searchable(run) and not self._n_waiting(run, embeds=embeds)
        ]

    def _is_keyword_searchable(self, paused: PausedRun) -> bool:
        n_complete = self._count(
            f"""SELECT count(*) FROM directories WHERE path IN ({placeholders(paused.directories)})
                AND completed_at >= coalesce((SELECT started_at FROM runs WHERE id = ?), ?)""",  # noqa: S608
            [*paused.directories, paused.run_id, paused.paused_at],
        )
        return n_complete == len(paused.directories)

    def _n_waiting(self, paused: PausedRun, *, embeds: bool) -> int:
        scope = IndexScope(paused.directories)
        n_pages = Scans(self._connection, self._known).counts(scope).n_waiting
        return n_pages + (EmbeddingQueue(self._connection, self._known).count_open(scope) if embeds else 0)


class PauseWrites(TableWrites):
    """Writes to the table of paused runs."""

    def put(self, run_id: int) -> bool:
        """Store that a run is paused, unless it has ended; return whether it is paused now."""
        self._execute(
            """INSERT OR IGNORE INTO paused_runs (run_id, directories, options, paused_at)
               SELECT id, directories, options, ? FROM runs WHERE id = ? AND outcome IS NULL""",
            time.time(),
            run_id,
        )
        cursor = self._execute("SELECT 1 FROM paused_runs WHERE run_id = ?", run_id)
        return cursor.fetchone() is not None

    def end(self, directories: Collection[FilePath], *, by: str) -> None:
        """Remove directories from all pauses; `by` names what happens to them now."""
        tracked = {FilePath(path) for (path,) in self._execute("SELECT path FROM directories")}
        for paused in _paused_runs(self._connection):
            remaining = (set(paused.directories) or tracked) - set(directories)
            if not remaining:
                self.drop([paused.run_id], by=by)
            elif paused.directories:
                kept = json.dumps([directory for directory in paused.directories if directory in remaining])
                self._execute("UPDATE paused_runs SET directories = ? WHERE run_id = ?", kept, paused.run_id)

    def drop(self, run_ids: Collection[int], *, by: str) -> None:
        """Delete the pauses of runs; `by` is the reason stored with the runs."""
        for run_id in run_ids:
            self._execute("DELETE FROM paused_runs WHERE run_id = ?", run_id)
            self._execute("UPDATE runs SET message = ? WHERE id = ? AND outcome = 'paused'", by, run_id)


def _paused_runs(connection: sqlite3.Connection) -> tuple[PausedRun, ...]:
    rows = connection.execute("SELECT run_id, directories, options, paused_at FROM paused_runs ORDER BY run_id")
    return tuple(parse_stored("paused_runs", paused_run, row) for row in rows)


def paused_run(row: Sequence[Any]) -> PausedRun:
    """Parse a row of `PausedRun`."""
    run_id, directories, options, paused_at = row
    return PausedRun(
        integer(run_id), tuple(map(FilePath, parse_texts(directories))), options_text(options), epoch_seconds(paused_at)
    )
