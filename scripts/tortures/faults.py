"""Failing writes of a run, and damaged files of an index: the next run, or the doctor, repairs both."""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cheap import cheap_app
from tortures.workbench import Child, contents, mutate, plant_small, problems_of, run_index, try_index

from directory_indexer.core.errors import DirIndexError, StoreError
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.storage.documents.runs import Outcome

if TYPE_CHECKING:
    from tortures.workbench import Torture

_KINDS: Final = ("full", "broken", "killed", "limit")
_MERGE_AT: Final = 48


def faults(torture: Torture) -> str:
    """Inject faults into the writes of a run in random order, up to `size` or the time limit."""
    root, before, truth_dir = torture.place / "tree", torture.place / "before", torture.place / "truth"
    plant_small(root)
    torture.result_of("the first run", Child(run_index, before, root, merge_at=_MERGE_AT))
    for _ in range(25):
        mutate(root, torture.rng)
    torture.result_of("a run without a fault", Child(run_index, truth_dir, root, merge_at=_MERGE_AT))
    truth = torture.result_of("an index without a fault", Child(contents, truth_dir))
    counted = Child(_count_writes, _copy(before, torture.place / "counted"), root)
    n_writes = torture.result_of("counting the writes", counted) or 0
    points = [(kind, at) for at in range(1, n_writes + 1) for kind in _KINDS]
    torture.rng.shuffle(points)
    lanes = []
    for lane in range(n_lanes := os.cpu_count() or 1):
        share, data_dir = points[: torture.size][lane::n_lanes], torture.place / f"lane{lane}"
        lanes.append(Child(_try_all, torture, share, before, truth, data_dir))
    results = [result for lane in lanes if (result := torture.result_of("a lane of faults", lane))]
    hits = [hit for hits, _ in results for hit in hits]
    torture.failures += [failure for _, failures in results for failure in failures]
    return f"{len(hits)} of {len(points)} faults at {n_writes} writes, of which {sum(hits)} ended the run"


def _try_all(
    torture: Torture, points: list[tuple[str, int]], before: Path, truth: Any, data_dir: Path
) -> tuple[list[bool], list[str]]:
    """Inject a share of the faults; return whether each ended the run, and the failures."""
    hits: list[bool] = []
    root = torture.place / "tree"
    for kind, at in points:
        if not torture.goes_on(0):
            break
        code, result = Child(_run_with_fault, _copy(before, data_dir), root, kind, at).wait()
        hits.append(code != 0 or result == "refused")
        what = f"{kind} at write {at}"
        torture.require(code in {0, -signal.SIGKILL}, f"{what}: the run fails in a way that nobody foresaw: {result}")
        torture.result_of(f"{what}: the next run", Child(run_index, data_dir, root, merge_at=_MERGE_AT))
        torture.require_same(what, torture.result_of(what, Child(contents, data_dir)), truth)
    return hits, torture.failures


def _copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


def _count_writes(data_dir: Path, root: Path) -> int:
    counter = _Fault("none", 0)
    counter.put_in_place()
    run_index(data_dir, root, merge_at=_MERGE_AT)
    return counter.n_writes


def _run_with_fault(data_dir: Path, root: Path, kind: str, at: int) -> str:
    if kind == "limit":
        # The system refuses to let any file grow beyond a size, in the middle of a write: a later one is hit.
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


def damage(torture: Torture) -> str:
    """Damage up to `size` files within the time limit, each in a copy of the same index."""
    root, before, data_dir = torture.place / "tree", torture.place / "before", torture.place / "index"
    plant_small(root)
    torture.result_of("a run without damage", Child(run_index, before, root, merge_at=_MERGE_AT))
    truth = torture.result_of("an index without damage", Child(contents, before))
    victims = sorted(path.relative_to(before) for path in before.rglob("*") if path.is_file() and _matters(path))
    n_damaged = n_seen = 0
    while torture.goes_on(n_damaged):
        _copy(before, data_dir)
        # Half of the time the database, which is one file of many.
        victim = data_dir / ("data.db" if n_damaged % 2 else torture.rng.choice(victims))
        # What stands in the place of the database and is no file is nobody's to remove.
        way = torture.rng.choice(list(_WAYS)[: -1 if victim.name == "data.db" else None])
        _WAYS[way](victim, torture.rng)
        n_damaged += 1
        what = f"damage {n_damaged}: {victim.relative_to(data_dir)}, {way}"
        torture.result_of(f"{what}: search", Child(_search, data_dir))
        problems = torture.result_of(f"{what}: doctor", Child(problems_of, data_dir))
        n_seen += bool(problems)
        is_same = victim.is_file() and victim.read_bytes() == (before / victim.relative_to(data_dir)).read_bytes()
        torture.require(problems or is_same or victim.name == "data.db", f"{what}: the doctor does not see it")
        for repairs in (True, False):
            left = torture.result_of(f"{what}: repair", Child(problems_of, data_dir, repairs=repairs))
            torture.require(not left, f"{what}: after the repair there is: {left}")
        torture.result_of(f"{what}: the next run", Child(run_index, data_dir, root, merge_at=_MERGE_AT))
        mine = torture.result_of(f"{what}: what is there then", Child(contents, data_dir))
        if problems or victim.name != "data.db":  # SQLite has no checksums: a changed letter in a text is a letter.
            torture.require_same(what, mine, truth)
    return f"{n_damaged} files damaged, {n_seen} of them so that the doctor saw it before the repair"


def _matters(path: Path) -> bool:
    return path.name == "data.db" or ("qdrant" in path.parts and path.suffix != ".lock")


def _search(data_dir: Path) -> None:
    """Search in every mode; an error must be one of ours, with a hint."""
    for mode in SearchMode:
        try:
            cheap_app(data_dir).searcher.search(SearchRequest("import sqlite3", mode=mode))
        except DirIndexError as error:
            if "dirindex" not in (error.hint or ""):
                raise AssertionError(f"has no hint: {error.message} ({error.hint})") from error


def _flip(path: Path, rng: random.Random, n_bits: int) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    for _ in range(n_bits):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _zero_a_page(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content) + 1) // 4096 * 4096
    content[start : start + 4096] = bytes(len(content[start : start + 4096]))
    path.write_bytes(content)


_WAYS: Final[dict[str, Callable[[Path, random.Random], object]]] = {
    "cut short": lambda path, rng: os.truncate(path, rng.randrange(path.stat().st_size + 1)),
    "empty": lambda path, _: os.truncate(path, 0),
    "removed": lambda path, _: path.unlink(),
    "lengthened": lambda path, rng: path.write_bytes(path.read_bytes() + rng.randbytes(100)),
    "one bit": lambda path, rng: _flip(path, rng, 1),
    "many bits": lambda path, rng: _flip(path, rng, 100),
    "a page of zeros": _zero_a_page,
    "zeros": lambda path, _: path.write_bytes(bytes(path.stat().st_size)),
    "chance": lambda path, rng: path.write_bytes(rng.randbytes(path.stat().st_size)),
    "a directory": lambda path, _: (path.unlink(), path.mkdir()),
}
