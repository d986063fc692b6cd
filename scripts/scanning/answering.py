"""Functions that the programs share that read pictures with one engine each.

They take lines of JSON with a path and a language, and answer each with what was read and what it cost. One may be run
by an interpreter that has nothing of dirindex, so this imports nothing of it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path


def answer(read: Callable[[str, str], str]) -> None:
    """Read all pictures that are asked for."""
    for line in sys.stdin:
        page = json.loads(line)
        processor, clock = _seconds(), time.monotonic()
        text = read(page["path"], page["language"])
        costs = {"seconds": _seconds() - processor, "wall": time.monotonic() - clock, "peak_mb": _peak_mb()}
        print(json.dumps({"text": text, **costs}), flush=True)


def pixels_of(path: str) -> tuple[int, int, bytes]:
    """Return width, height and samples of a grey PNM."""
    _, width, height, rest = Path(path).read_bytes().split(maxsplit=3)
    return int(width), int(height), rest[len(b"255\n") :]


def _seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _peak_mb() -> int:
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024
