"""Lets one write of an index run fail, each in turn: a full disk, an error of the disk, or the end of the process."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tortures.workbench import Child, contents, differences, mutate, plant_small, run_index, try_index

from directory_indexer.core.errors import StoreError
from directory_indexer.storage.documents.runs import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from tortures.workbench import Torture

_KINDS = ("full", "broken", "killed", "limit")
_MERGE_AT = 48


def faults(torture: Torture) -> str:
    """Try faults at all writes of a run in an order of chance, as many as `size` or as time allows."""
    root, before = torture.place / "tree", torture.place / "before"
    plant_small(root)
    _must(torture, Child(run_index, before, root, merge_at=_MERGE_AT).wait())
    for _ in range(25):
        mutate(root, torture.chance)
    truth_dir = torture.place / "truth"
    _must(torture, Child(run_index, truth_dir, root, merge_at=_MERGE_AT).wait())
    truth = _must(torture, Child(contents, truth_dir).wait())
    n_writes = _must(torture, Child(_count_writes, _copy(before, torture.place / "counted"), root).wait())
    points = [(kind, at) for at in range(1, n_writes + 1) for kind in _KINDS]
    torture.chance.shuffle(points)
    n_lanes = os.cpu_count() or 1
    lanes = [
        Child(
            _try_all, torture, points[: torture.size][number::n_lanes], before, truth, torture.place / f"lane{number}"
        )
        for number in range(n_lanes)
    ]
    results = [_must(torture, lane.wait(), "a lane of faults") for lane in lanes]
    tried = [hit for hits, _ in filter(None, results) for hit in hits]
    torture.failures += [failure for _, failures in filter(None, results) for failure in failures]
    return f"{len(tried)} of {len(points)} faults at {n_writes} writes, of which {sum(tried)} ended the run"


def _try_all(
    torture: Torture, points: list[tuple[str, int]], before: Path, truth: Any, data_dir: Path
) -> tuple[list[bool], list[str]]:
    """Try a share of the faults; tell of each whether it ended the run, and what went wrong."""
    hits: list[bool] = []
    root = torture.place / "tree"
    for kind, at in points:
        if torture.is_over or torture.failures:
            break
        code, result = Child(_run_with_fault, _copy(before, data_dir), root, kind, at).wait()
        hits.append(code != 0 or result == "refused")
        what = f"{kind} at write {at}"
        torture.require(code in {0, -signal.SIGKILL}, f"{what}: the run fails in a way that nobody foresaw: {result}")
        _must(torture, Child(run_index, data_dir, root, merge_at=_MERGE_AT).wait(), what)
        mine = _must(torture, Child(contents, data_dir).wait(), what)
        if mine and truth:
            problems = differences(mine, truth)
            torture.require(not problems, f"{what}: {'; '.join(problems[:5])}")
    return hits, torture.failures


def _copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


def _must(torture: Torture, outcome: tuple[int, Any], what: str = "a run without any fault") -> Any:
    code, result = outcome
    torture.require(code == 0, f"{what}: the next run ends with {code}: {result}")
    return result if code == 0 else None


def _count_writes(data_dir: Path, root: Path) -> int:
    counter = _Fault("none", 0)
    counter.put_in_place()
    run_index(data_dir, root, merge_at=_MERGE_AT)
    return counter.n_writes


def _run_with_fault(data_dir: Path, root: Path, kind: str, at: int) -> str:
    if kind == "limit":
        # The system refuses to let any file grow beyond a size, in the midst of whatever writes it: a later one is hit.
        largest = max(path.stat().st_size for path in data_dir.rglob("*") if path.is_file())
        limit = min(4096 * at + 1000, largest)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    else:
        _Fault(kind, at).put_in_place()
    try:
        report = try_index(data_dir, root, merge_at=_MERGE_AT)
    except (StoreError, OSError) as error:
        return "refused" if str(error) else "refused without a word"
    return "done" if report.outcome is Outcome.COMPLETED else "refused"


class _Fault:
    """Counts what changes files, and lets one of these calls fail."""

    def __init__(self, kind: str, at: int) -> None:
        self._kind = kind
        self._at = at
        self.n_writes = 0

    def put_in_place(self) -> None:
        fault = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                if not sql.lstrip().upper().startswith(("SELECT", "PRAGMA", "BEGIN")):
                    fault.strike_database()
                return super().execute(sql, *parameters)

            def executemany(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                fault.strike_database()
                return super().executemany(sql, *parameters)

        connect = sqlite3.connect
        sqlite3.connect = lambda *arguments, **more: connect(*arguments, factory=Connection, **more)  # type: ignore[assignment]
        for home, name in ((os, "fsync"), (Path, "rename"), (Path, "chmod"), (Path, "write_text"), (Path, "mkdir")):
            setattr(home, name, self._guarded(getattr(home, name)))

    def strike_database(self) -> None:
        if self._is_due():
            error = sqlite3.OperationalError("injected")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL if self._kind == "full" else sqlite3.SQLITE_IOERR
            raise error

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **more: Any) -> Any:
            if self._is_due():
                raise OSError(errno.ENOSPC if self._kind == "full" else errno.EIO, "injected")
            return function(*arguments, **more)

        return guarded

    def _is_due(self) -> bool:
        self.n_writes += 1
        if self.n_writes != self._at:
            return False
        if self._kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return True
