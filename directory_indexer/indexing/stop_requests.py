"""A request to stop the run that goes on, from a process that may not send it signals: a file beside the database.

It names the run, so that one that came too late stops no other; the run that reads it stops at the end of its batch.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOOK_SECONDS = 0.5


def request_stop(database: Path, run_id: int) -> None:
    """Ask the run of this number to stop."""
    file = _file(database)
    part = file.with_name(f"{file.name}.{os.getpid()}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as request:
        request.write(str(run_id))
    os.replace(part, file)


class StopRequests:
    """Whether somebody has asked one run to stop; the file is looked at twice a second."""

    def __init__(self, database: Path, run_id: int) -> None:
        self._file = _file(database)
        self._run_id = run_id
        self._looked_at: float | None = None
        self._is_asked = False
        self.end()  # nobody can have asked yet: what names this run was meant for one of an index that is gone

    def is_asked(self) -> bool:
        """Tell whether the run is to stop."""
        now = time.monotonic()
        if self._looked_at is None or now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._is_asked = self._is_asked or self._names_this_run()
        return self._is_asked

    def end(self) -> None:
        """Remove what is left of a request, for the run is over."""
        if self._names_this_run():
            self._file.unlink(missing_ok=True)

    def _names_this_run(self) -> bool:
        try:
            return self._file.read_text(encoding="ascii").strip() == str(self._run_id)
        except (OSError, UnicodeDecodeError):
            return False


def _file(database: Path) -> Path:
    return database.with_name("stop-request")
