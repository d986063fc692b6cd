"""Index runs as all processes see them."""

from enum import StrEnum
from typing import NamedTuple

from directory_indexer.paths import FilePath


class Verb(StrEnum):
    """Which command a run belongs to."""

    INDEX = "index"
    MIGRATE = "migrate"


class Phase(StrEnum):
    """What an index run is doing."""

    WAITING = "waiting"
    WALKING = "walking"
    READING = "reading"
    EMBEDDING = "embedding"
    MERGING = "merging"
    COPYING = "copying"
    DONE = "done"


class Outcome(StrEnum):
    """How an index run ended."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    OUT_OF_TIME = "out of time"
    FAILED = "failed"


class RunProgress(NamedTuple):
    """How far an index run is; totals are 0 while they are not known. `notice` is what somebody should know now.

    While it waits, `waits_for` says who writes.
    """

    phase: Phase
    files_done: int = 0
    files_total: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    chunks_done: int = 0
    chunks_total: int = 0
    n_failed: int = 0
    notice: str = ""
    waits_for: str = ""


class RunRecord(NamedTuple):
    """One index run as all processes see it; times are seconds since the epoch.

    `directories` are the tracked directories that it works on; none where it works on the whole index.
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
