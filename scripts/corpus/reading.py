"""Reads one file as a run does, in a worker process, and tells what it came to and what it cost."""

from __future__ import annotations

import io
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.formats.containers import MAX_DEPTH, Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import require_text
from directory_indexer.formats.recognition import format_of
from directory_indexer.parsing.one_file import format_origin
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure
from directory_indexer.parsing.workers import run_tasks

LIMITS = Limits(seconds=60.0, memory_bytes=2 << 30, clock_seconds=600.0)
_EMPTY = (SkipReason.NO_TEXT, SkipReason.EMPTY)


class Reading(NamedTuple):
    """The result of reading a file: its own text, the texts of its members, or why there is none."""

    kind: str
    text: str = ""
    members: tuple[str, ...] = ()
    """The names of the members that were read, at any depth."""

    member_text: str = ""
    problem: str = ""
    is_empty: bool = False
    seconds: float = 0.0
    peak_bytes: int = 0


def read_all(paths: Iterable[Path]) -> Iterator[tuple[Path, Reading]]:
    """Read files one after the other in one process, which a file may cost."""
    tasks = (Task((os.fspath(path),), (LIMITS,)) for path in paths)
    for path, result in run_tasks(_written, tasks, n_workers=1):
        is_lost = isinstance(result, WorkerFailure)
        yield Path(path), Reading("", problem=result.message) if is_lost else Reading(**json.loads(result))


def _written(path: str) -> str:
    """Write what reading a file came to: no record but those of the package is taken from a worker."""
    return json.dumps(read(path)._asdict())


def read(path: str) -> Reading:
    """Read a file with all of its members."""
    content, started = Path(path).read_bytes(), time.process_time()
    kind, _ = format_of(file_path(path), content)
    reading = Reading(kind)
    try:
        reading = _read(content, file_path(path))
    except SkipFileError as error:
        reading = Reading(kind, problem=str(error.reason), is_empty=error.reason in _EMPTY)
    except ExtractionError as error:
        reading = Reading(kind, problem=error.message)
    except Exception as error:  # noqa: BLE001 - what breaks over a file is what is measured
        reading = Reading(kind, problem=format_origin(error))
    return reading._replace(seconds=time.process_time() - started, peak_bytes=_peak_bytes())


def _read(content: bytes, path: FilePath) -> Reading:
    if not content:
        raise SkipFileError(SkipReason.EMPTY, "the file is empty")
    kind, file_format = format_of(path, content)
    budget = Budget()
    if file_format.open is None:
        return Reading(kind, require_text(file_format.extract(content, kind, budget)).text)
    names: list[str] = []
    texts: list[str] = []
    document = _open(content, path, budget, names, texts)
    if document is None and not names:
        raise SkipFileError(SkipReason.NO_TEXT, "no member holds text")
    if not names:
        require_text(document or Document("", kind))
    return Reading(kind, document.text if document else "", tuple(names), "\n".join(texts))


def _open(content: bytes, path: FilePath, budget: Budget, names: list[str], texts: list[str]) -> Document | None:
    kind, file_format = format_of(path, content)
    if file_format.open is None:
        return file_format.extract(content, kind, budget)
    if budget.depth > MAX_DEPTH:
        return None
    contents = file_format.open(io.BytesIO(content), kind, budget)
    for member in contents.members:
        inner = FilePath(f"{path}!/{member.name or 'member'}")
        if member.problem is not None or not member.content:
            continue
        budget.depth += 1
        try:
            document = _open(member.content, inner, budget, names, texts)
        except ExtractionError:
            document = None
        budget.depth -= 1
        names.append(inner[len(path) + 2 :])
        texts.append(document.text if document else "")
    return contents.document


def _peak_bytes() -> int:
    """Return the most memory that this process had; 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(match[1]) * 1024 if match else 0
