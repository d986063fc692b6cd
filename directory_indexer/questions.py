"""When an index was last asked something, so that what goes on in the background can step aside.

It is the time of a file beside the database, which is there only while somebody wants to know: to tell costs a search
a call to the system, in whichever process it runs, and one that is killed leaves nothing behind that says it goes on.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from directory_indexer.permissions import file_mode

QUESTIONS_NAME = "questions"
"""The name of the file beside the database."""


@contextlib.contextmanager
def question(database: Path) -> Iterator[None]:
    """Tell at the beginning and at the end of a question that there is one."""
    _tell(database)
    try:
        yield
    finally:
        _tell(database)


class QuestionListener:
    """Knows how long ago the last question was, from when it begins to listen until it is closed."""

    def __init__(self, database: Path) -> None:
        self._file = database.with_name(QUESTIONS_NAME)
        self._file.unlink(missing_ok=True)  # only its owner may set the time of one that was left behind
        self._file.touch(mode=file_mode())
        os.utime(self._file, (0, 0))

    def seconds_since(self) -> float:
        """Tell how long ago the index was asked something; a clock that was set back since counts as long ago."""
        try:
            ago = time.time() - self._file.stat().st_mtime
        except OSError:
            return float("inf")
        return ago if ago >= 0 else float("inf")

    def close(self) -> None:
        """Let questions cost nothing any more."""
        self._file.unlink(missing_ok=True)


def _tell(database: Path) -> None:
    with contextlib.suppress(OSError):  # nobody listens, or what is asked may only be read
        os.utime(database.with_name(QUESTIONS_NAME))
