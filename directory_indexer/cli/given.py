"""Turns what a person types into a value, whichever way the command line is read."""

from __future__ import annotations

import math
import os
from pathlib import Path

from directory_indexer.errors import UsageError
from directory_indexer.paths import FilePath, exact_text, without_line, written_path


def given_path(text: str) -> Path:
    """Return a path as a person types or pastes it, or as `--json` writes it.

    An empty one is refused: a variable that a script left unset would mean the working directory.

    Raises:
        UsageError: the text is empty or blank.
    """
    if not text.strip():
        raise UsageError("a path is empty", hint="for the working directory write .")
    if os.path.lexists(os.path.expanduser(text)):
        return Path(text)
    text = written_path(text)
    return Path(text if text.isascii() or os.path.lexists(text) else exact_text(FilePath(text)))


def given_place(text: str) -> Path:
    """Return the file or directory to look in, behind which lines may stand as in `FILE:12`.

    Raises:
        UsageError: the text is empty or blank.
    """
    path = given_path(text)
    file = without_line(os.fspath(path))
    return Path(file) if os.path.lexists(os.path.expanduser(file)) and not os.path.lexists(path) else path


def given_seconds(text: str) -> float:
    """Parse a number of seconds.

    Raises:
        UsageError: the text is no number, or one below zero.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:  # which NaN is not, either
        raise UsageError(f"'{text}' is no number of seconds", hint="write for instance 600")
    return seconds
