"""Index runs, shared by all processes, and paused runs with their options, until they are resumed.

A pause is stored before the run is told. It ends for the directories that a requested run covers.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, well_formed
from directory_indexer.storage.databases.stored_values import (
    parse_epoch_seconds,
    parse_integer,
    parse_mapping,
    parse_path,
    parse_stored,
    parse_text,
    parse_texts,
)
from directory_indexer.storage.documents import IndexScope, SnapshotQueries, TableWrites, placeholders
from directory_indexer.storage.documents.incomplete_files import Scans

with lazily:
    import json
    import sqlite3

    from directory_indexer.storage.documents.embedding_queue import EmbeddingQueue


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

    def completed(self, *, embeds: bool) -> list[int]:
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
        return n_pages + (EmbeddingQueue(self._connection, self._known).count_embeddable(scope) if embeds else 0)


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

    def remove_directories(self, directories: Collection[FilePath], *, reason: str) -> None:
        """Remove directories from all pauses; `reason` names what happens to them now."""
        rows = self._execute("SELECT path FROM directories")
        tracked = {parse_stored("directories.path", parse_path, path) for (path,) in rows}
        for paused in _paused_runs(self._connection):
            remaining = (set(paused.directories) or tracked) - set(directories)
            if not remaining:
                self.delete([paused.run_id], reason=reason)
            elif paused.directories:
                kept = json.dumps([directory for directory in paused.directories if directory in remaining])
                self._execute("UPDATE paused_runs SET directories = ? WHERE run_id = ?", kept, paused.run_id)

    def delete(self, run_ids: Collection[int], *, reason: str) -> None:
        """Delete the pauses of runs; `reason` is the reason stored with the runs."""
        for run_id in run_ids:
            self._execute("DELETE FROM paused_runs WHERE run_id = ?", run_id)
            self._execute("UPDATE runs SET message = ? WHERE id = ? AND outcome = 'paused'", reason, run_id)


def _paused_runs(connection: sqlite3.Connection) -> tuple[PausedRun, ...]:
    rows = connection.execute("SELECT run_id, directories, options, paused_at FROM paused_runs ORDER BY run_id")
    return tuple(parse_stored("paused_runs", paused_run, row) for row in rows)


def paused_run(row: Sequence[Any]) -> PausedRun:
    """Parse a row of `PausedRun`."""
    run_id, directories, options, paused_at = row
    return PausedRun(
        parse_integer(run_id),
        tuple(map(FilePath, parse_texts(directories))),
        options_text(options),
        parse_epoch_seconds(paused_at),
    )


class Verb(StrEnum):
    """The command of a run."""

    INDEX = "index"
    MIGRATE = "migrate"


class Phase(StrEnum):
    """The phase of an index run."""

    STARTING = "starting"
    WAITING = "waiting"
    WALKING = "walking"
    READING = "reading"
    COVERING = "covering"
    RECOGNISING = "recognising"
    EMBEDDING = "embedding"
    MERGING = "merging"
    COPYING = "copying"
    DONE = "done"

    @property
    def description(self) -> str:
        """The description for users."""
        return _PHASE_DESCRIPTIONS.get(self, self)

    @property
    def is_measured_in_chunks(self) -> bool:
        """Whether progress is measured in chunks and not in files."""
        return self in {Phase.COVERING, Phase.EMBEDDING, Phase.COPYING}

    @property
    def yields_lock(self) -> bool:
        """Whether a run yields the write lock between two batches."""
        return self in {Phase.RECOGNISING, Phase.EMBEDDING}


_PHASE_DESCRIPTIONS = {
    Phase.WALKING: "looking for files",
    Phase.COVERING: "preparing search by meaning",
    Phase.RECOGNISING: "OCR",
    Phase.EMBEDDING: "improving search by meaning",
    Phase.MERGING: "saving",
}


class Outcome(StrEnum):
    """The outcome of an index run."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    PAUSED = "paused"
    OUT_OF_TIME = "out of time"
    FAILED = "failed"


class Origin(StrEnum):
    """The origin of a run: a terminal, or a server on behalf of its clients."""

    TERMINAL = "terminal"
    SERVER = "server"


class RunRequest(NamedTuple):
    """The request of a run; `options` is JSON that the verb can parse.

    `directories` are the tracked directories that it covers; empty for the whole index.
    """

    verb: Verb
    directories: Sequence[FilePath] = ()
    origin: Origin = Origin.TERMINAL
    options: str = "{}"


class RunProgress(NamedTuple):
    """The progress of an index run; unknown totals are 0. `notice` is a message for the user.

    While it waits, `waits_for` names the writer.
    """

    phase: Phase
    files_done: int = 0
    files_total: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    chunks_done: int = 0
    chunks_total: int = 0
    n_failed: int = 0
    pages_done: int = 0
    pages_total: int = 0
    notice: str = ""
    waits_for: str = ""


class RunRecord(NamedTuple):
    """An index run as all processes see it; times are seconds since the epoch.

    `directories` are the tracked directories that it covers; empty for the whole index. `is_paused`
    means that it was paused and not resumed, whether the process has noticed or not. While it runs,
    `message` is a notice for the user; afterwards it explains the outcome.
    """

    id: int
    pid: int
    host: str
    verb: Verb
    directories: tuple[FilePath, ...]
    started_at: float
    heartbeat_at: float
    progress: RunProgress
    outcome: Outcome | None = None
    message: str = ""
    origin: Origin = Origin.TERMINAL
    is_paused: bool = False
    options: str = "{}"


_PROGRESS_COLUMNS = ", ".join(RunProgress._fields[:-2])
RUN_COLUMNS = f"""id, pid, host, verb, directories, started_at, heartbeat_at, {_PROGRESS_COLUMNS},
    outcome, message, origin, id IN (SELECT run_id FROM paused_runs), options"""  # noqa: S608 - made of constants
_UPDATE_RUN = f"""UPDATE runs SET (heartbeat_at, {_PROGRESS_COLUMNS}, message)
    = ({", ".join("?" * len(RunProgress._fields))}) WHERE id = ?"""  # noqa: S608 - made of constants


class Runs(SnapshotQueries):
    """The runs of one snapshot."""

    def latest(self, limit: int) -> tuple[RunRecord, ...]:
        """Return the newest runs and all that have not ended, newest first.

        A run that embeds for hours may be followed by hundreds of newer ones.
        """
        rows = self._connection.execute(
            f"""SELECT {RUN_COLUMNS}
               FROM runs WHERE id IN (SELECT id FROM runs ORDER BY id DESC LIMIT ?) OR outcome IS NULL
               ORDER BY id DESC""",  # noqa: S608 - made of constants
            (limit,),
        )
        return tuple(parse_stored("runs", run_record, row) for row in rows)

    def directories(self, run_id: int) -> tuple[FilePath, ...]:
        """Return the tracked directories that a run covers; empty for the whole index."""
        return _directories(self._connection, run_id)


class RunWrites(TableWrites):
    """Writes to the table of runs."""

    def start(self, request: RunRequest, *, pid: int, host: str, others_yielded: bool = False) -> int:
        """Insert a run that begins; close those of dead processes, and delete old ones.

        If others gave way to it, waiting runs are alive.
        """
        now = time.time()
        alive = f"AND phase != '{Phase.WAITING}'" if others_yielded else ""
        self._connection.execute(
            f"""UPDATE runs SET message = 'the process ended',
                    outcome = iif(id IN (SELECT run_id FROM paused_runs), 'paused', 'interrupted')
                WHERE outcome IS NULL {alive}"""  # noqa: S608
        )
        cursor = self._execute(
            """INSERT INTO runs (pid, host, verb, directories, origin, options, started_at, heartbeat_at, phase)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'walking')""",
            *(pid, host, request.verb, json.dumps(request.directories), request.origin, request.options),
            *(now, now),
        )
        run_id = int(cursor.lastrowid or 0)
        self._execute("DELETE FROM runs WHERE id <= ? AND outcome IS NOT NULL", run_id - _N_RUNS_KEPT)
        return run_id

    def update(self, run_id: int, progress: RunProgress) -> None:
        """Store the progress of a run for other processes."""
        *counts, notice, _ = progress
        self._execute(_UPDATE_RUN, time.time(), *counts, well_formed(notice), run_id)

    def hand_over(self, run_id: int) -> None:
        """Add the directories of a run to the runs that yielded to it, unless these cover the whole index."""
        own = _directories(self._connection, run_id)
        hosts = self._execute(
            "SELECT id FROM runs WHERE outcome IS NULL AND phase = ? AND id <> ?", Phase.WAITING, run_id
        ).fetchall()
        for (host_id,) in hosts:
            if others := _directories(self._connection, host_id):
                together = list(dict.fromkeys((*others, *own)))
                self._execute("UPDATE runs SET directories = ? WHERE id = ?", json.dumps(together), host_id)

    def finish(self, run_id: int, outcome: Outcome, message: str) -> None:
        """Store the outcome of a run; a completed one is no longer paused."""
        if outcome is Outcome.COMPLETED:
            self._execute("DELETE FROM paused_runs WHERE run_id = ?", run_id)
        self._execute(
            """UPDATE runs SET heartbeat_at = ?, phase = 'done', message = ?,
                   outcome = iif(id IN (SELECT run_id FROM paused_runs), 'paused', ?)
               WHERE id = ?""",
            time.time(),
            well_formed(message),
            outcome.value,
            run_id,
        )

    def erase_details(self) -> None:
        """Remove the directories and messages of all runs."""
        self._execute("UPDATE runs SET directories = '[]', message = ''")


def _directories(connection: sqlite3.Connection, run_id: int) -> tuple[FilePath, ...]:
    row = connection.execute("SELECT directories FROM runs WHERE id = ?", (run_id,)).fetchone()
    return tuple(map(FilePath, parse_stored("runs.directories", parse_texts, row[0]))) if row else ()


def run_record(row: Sequence[Any]) -> RunRecord:
    """Parse a row of `RUN_COLUMNS`."""
    id_, pid, host, verb, directories, started_at, heartbeat_at, phase, *counts = row[:17]
    return RunRecord(
        id=parse_integer(id_),
        pid=parse_integer(pid),
        host=parse_text(host),
        verb=Verb(verb),
        directories=tuple(map(FilePath, parse_texts(directories))),
        started_at=parse_epoch_seconds(started_at),
        heartbeat_at=parse_epoch_seconds(heartbeat_at),
        progress=RunProgress(Phase(phase), *map(parse_integer, counts)),  # type: ignore[arg-type]
        outcome=Outcome(row[17]) if row[17] else None,
        message=parse_text(row[18]),
        origin=Origin(row[19]),
        is_paused=bool(row[20]),
        options=options_text(row[21]),
    )


def options_text(stored: object) -> str:
    """Return the options of a run as they are stored, if they are a JSON object."""
    parse_mapping(stored)
    return parse_text(stored)


_N_RUNS_KEPT = 100
