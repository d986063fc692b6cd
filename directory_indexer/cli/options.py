"""The options that several commands share, and how what a person typed becomes a value."""

from __future__ import annotations

import re
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from directory_indexer.errors import UsageError

ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Read the configuration from FILE.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="DIR", help="Keep the index in DIR, not in ~/.directory-indexer.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no notes.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show more.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON object to standard output.")]

_AGE = r"(?i)(\d{1,9})\s*(s|min|h|d|w|m|y)[a-z]*"
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800, "m": 2629800, "y": 31557600}
_RANGE = r"(\d{1,9})(?:-(\d{1,9})?)?"
_END = 2**31


def since(text: str | None) -> float | None:
    """Turn `7d`, `2w` or `2026-01-31` into seconds since the epoch.

    Raises:
        UsageError: the text is neither an age nor a date.
    """
    if text is None:
        return None
    if age := re.fullmatch(_AGE, text.strip()):
        return time.time() - int(age[1]) * _SECONDS[age[2].lower()]
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
        raise UsageError(f"{option} '{text}' is no range", hint=f"write {option} 3, {option} 3-7 or {option} 3-")
    if found[2]:
        return int(found[1]), int(found[2])
    return int(found[1]), _END if text.strip().endswith("-") else int(found[1])
