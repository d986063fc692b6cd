"""Turns what a person types into a value, whichever way the command line is read."""

from __future__ import annotations

import math
import os
from pathlib import Path

from directory_indexer.errors import UsageError
from directory_indexer.paths import FilePath, exact_text


def given_path(text: str) -> Path:
    """Take a path as a person types it, or as `--json` writes it.

    An empty one is refused: a variable that a script left unset would mean the working directory.

    Raises:
        UsageError: the text is empty or blank.
    """
    if not text.strip():
        raise UsageError("a path is empty", hint="for the working directory write .")
    return Path(text if text.isascii() or os.path.lexists(os.path.expanduser(text)) else exact_text(FilePath(text)))


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
