"""The options that several commands share, and how what a person typed becomes a value."""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.errors import UsageError


def given_path(text: str) -> Path:
    """Take a path that was given; a variable that a script did not set would mean the working directory.

    Raises:
        UsageError: the text is empty or blank.
    """
    if not text.strip():
        raise UsageError("a path is empty", hint="for the working directory write .")
    return Path(text)


ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", parser=given_path, help="Read the configuration from FILE."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", parser=given_path, help="Keep the index in DIR, not in ~/.directory-indexer."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no notes.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show more.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON object to standard output.")]

_AGE = r"([0-9]{1,9})\s*([a-z]+)"
_UNITS = {
    1: "s sec secs second seconds",
    60: "min mins minute minutes",
    3600: "h hr hrs hour hours",
    86400: "d day days",
    604800: "w wk wks week weeks",
    2629800: "m mo month months",
    31557600: "y yr yrs year years",
}
_SECONDS = {name: seconds for seconds, names in _UNITS.items() for name in names.split()}
_RANGE = r"(\d{1,9})(?:-(\d{1,9})?)?"
_END = 2**31


def since(text: str | None) -> float | None:
    """Turn `7d`, `2w` or `2026-01-31` into seconds since the epoch.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    if text is None:
        return None
    age = re.fullmatch(_AGE, text.strip().lower())
    if age and age[2] in _SECONDS:
        return time.time() - int(age[1]) * _SECONDS[age[2]]
    try:
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since '{text}' is neither an age nor a date", hint="write 36h, 7d, 2w, 6m or 2026-01-31"
        ) from error


def first_and_last(text: str, option: str) -> tuple[int, int]:
    """Turn `3`, `3-7` or `3-` into the first and the last number.

    Raises:
        UsageError: the text is no range.
    """
    found = re.fullmatch(_RANGE, text.strip())
    if not found:
        raise UsageError(f"invalid range '{text}' for {option}", hint=f"write {option} 3, {option} 3-7 or {option} 3-")
    if found[2]:
        return int(found[1]), int(found[2])
    return int(found[1]), _END if text.strip().endswith("-") else int(found[1])
