"""A request to stop the run that goes on, from a process that may not send it signals: a file beside the database.

Each run has a file of its own, by its number, for several may wait for each other, and one that came too late must
stop no other. It says how the run is to end, which reads it at the end of its batch.
"""

from __future__ import annotations

import os
from pathlib import Path

from directory_indexer.docstore.runs import Outcome
from directory_indexer.permissions import file_mode


def request_stop(database: Path, run_id: int, outcome: Outcome = Outcome.INTERRUPTED) -> None:
    """Ask the run of this number to stop, and to end in this way."""
    file = _file(database, run_id)
    part = file.with_name(f"{file.name}.{os.getpid()}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, file_mode()), "w", encoding="ascii") as request:
        request.write(outcome)
    os.replace(part, file)


class StopRequests:
    """Whether somebody has asked one run to stop: looking for a file that is not there takes a few microseconds."""

    def __init__(self, database: Path, run_id: int) -> None:
        self._file = _file(database, run_id)
        self._asked: Outcome | None = None
        self.end()  # nobody can have asked yet: what names this run was meant for one of an index that is gone

    def asked(self) -> Outcome | None:
        """Tell how the run is to end, if it is to stop."""
        self._asked = self._asked or self._request()
        return self._asked

    def end(self) -> None:
        """Remove what is left of a request, for the run is over."""
        self._file.unlink(missing_ok=True)

    def _request(self) -> Outcome | None:
        try:
            return Outcome(self._file.read_text(encoding="ascii"))
        except (OSError, ValueError):  # nobody asks, or whoever does is no dirindex of this version
            return None


def _file(database: Path, run_id: int) -> Path:
    return database.with_name(f"stop-request-{run_id}")
