"""Parsers of argument values."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from directory_indexer.core.errors import UsageError
from directory_indexer.core.paths import FilePath, exact_text, unquote_path, without_line_number


def parse_path(text: str) -> Path:
    """Parse a path as a person types or pastes it, or as `--json` writes it.

    An empty path is rejected: a variable that a script left unset would mean the working directory.

    Raises:
        UsageError: the text is empty or blank.
    """
    if not text.strip():
        raise UsageError("a path is empty", hint="for the working directory write .")
    if os.path.lexists(os.path.expanduser(text)):
        return Path(text)
    text = unquote_path(text)
    return Path(text if text.isascii() or os.path.lexists(text) else exact_text(FilePath(text)))


def parse_location(text: str) -> Path:
    """Parse a file or directory to search in; a line number as in `FILE:12` is dropped.

    Raises:
        UsageError: the text is empty or blank.
    """
    path = parse_path(text)
    file = without_line_number(os.fspath(path))
    return Path(file) if os.path.lexists(os.path.expanduser(file)) and not os.path.lexists(path) else path


def parse_seconds(text: str) -> float:
    """Parse a number of seconds.

    Raises:
        UsageError: the text is no number, or one below zero.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:  # NaN fails this comparison, too
        raise UsageError(f"'{text}' is not a number of seconds", hint="for example 600")
    return seconds


_RANGE = r"(\d{1,9})(?:-(\d{1,9})?)?"
_END = 2**31


def parse_range(text: str, option: str) -> tuple[int, int]:
    """Parse `3`, `3-7` or `3-` into the first and the last number.

    Raises:
        UsageError: the text is no range.
    """
    match = re.fullmatch(_RANGE, text.strip())
    if not match:
        raise UsageError(f"invalid range '{text}' for {option}", hint=f"write {option} 3, {option} 3-7 or {option} 3-")
    if match[2]:
        return int(match[1]), int(match[2])
    return int(match[1]), _END if text.strip().endswith("-") else int(match[1])
