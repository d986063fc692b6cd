"""Time of the last query of an index, so that background work can step aside.

It is the modification time of a file beside the database, which exists only while something listens. Recording a query
costs one system call in any process, and a killed process leaves no stale state.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.core.kept_files import file_mode

QUERY_MARK_NAME = "questions"
"""The name of the file beside the database."""


@contextlib.contextmanager
def recorded_query(database: Path) -> Iterator[None]:
    """Record a query at its beginning and at its end."""
    _touch(database)
    try:
        yield
    finally:
        _touch(database)


class QueryListener:
    """Measures the time since the last query, from its creation until it is closed."""

    def __init__(self, database: Path) -> None:
        self._file = database.with_name(QUERY_MARK_NAME)
        self._file.unlink(missing_ok=True)  # only the owner of a leftover file may set its time
        self._file.touch(mode=file_mode())
        os.utime(self._file, (0, 0))

    def seconds_since(self) -> float:
        """Return the seconds since the last query; infinity if there was none, or if the clock was set back since."""
        try:
            ago = time.time() - self._file.stat().st_mtime
        except OSError:
            return float("inf")
        return ago if ago >= 0 else float("inf")

    def close(self) -> None:
        """Remove the file, so that queries cost nothing any more."""
        self._file.unlink(missing_ok=True)


def _touch(database: Path) -> None:
    with contextlib.suppress(OSError):  # nobody listens, or the index is read-only
        os.utime(database.with_name(QUERY_MARK_NAME))
