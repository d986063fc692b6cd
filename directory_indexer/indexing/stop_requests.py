"""Requests to stop a run from a process that may not send it signals: files beside the database.

Each run has a file of its own, named by its id, since several runs may wait for each other, and a late request must
stop no other. The file contains the outcome, which the run reads at the end of its batch.
"""

from __future__ import annotations

import os
from pathlib import Path

from directory_indexer.docstore.runs import Outcome
from directory_indexer.permissions import file_mode


def request_stop(database: Path, run_id: int, outcome: Outcome = Outcome.INTERRUPTED) -> None:
    """Request that a run stops with this outcome."""
    file = _request_file(database, run_id)
    part = file.with_name(f"{file.name}.{os.getpid()}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, file_mode()), "w", encoding="ascii") as request:
        request.write(outcome)
    os.replace(part, file)


class StopRequests:
    """The stop request of one run; checking for a missing file takes a few microseconds."""

    def __init__(self, database: Path, run_id: int) -> None:
        self._request_file = _request_file(database, run_id)
        self._outcome: Outcome | None = None
        self.end()  # an existing file is of an index that was removed

    def requested_outcome(self) -> Outcome | None:
        """Return the requested outcome, if the run must stop."""
        self._outcome = self._outcome or self._read_request()
        return self._outcome

    def end(self) -> None:
        """Remove the request, since the run is over."""
        self._request_file.unlink(missing_ok=True)

    def _read_request(self) -> Outcome | None:
        try:
            return Outcome(self._request_file.read_text(encoding="ascii"))
        except (OSError, ValueError):  # no request, or one of another version of dirindex
            return None


def _request_file(database: Path, run_id: int) -> Path:
    return database.with_name(f"stop-request-{run_id}")
