"""Measurements of processor and wall-clock time in interleaved rounds, and their medians."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PYTHON: Final = sys.executable
NOTHING: Final = {"python -c pass": (PYTHON, "-c", "pass")}
"""The baseline of commands: starting an interpreter."""

Item = TypeVar("Item")

DIRINDEX = str(Path(sys.executable).with_name("dirindex"))

_LOOK_SECONDS = 0.05

Command: TypeAlias = Sequence[str]
Prepared: TypeAlias = Callable[[], Command]
"""Prepares each run, which is not measured, and returns the command."""


@dataclass(frozen=True)
class Options:
    """The options of all benchmarks: `place` keeps trees and indexes, `linux` is an unpacked source package."""

    place: Path
    rounds: int
    n_chunks: int
    n_chunks_large: int
    n_files: int
    n_files_large: int
    linux: Path | None


class Row(NamedTuple):
    """One figure of ours and that of the baseline, measured in the same run."""

    what: str
    unit: str
    ours: float
    baseline: float | None = None
    of: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of the baseline."""
        return self.ours / self.baseline if self.baseline else None

    def __str__(self) -> str:
        line = f"{self.what:56} {self.ours:10.1f} {self.unit:22}"
        return line.rstrip() if self.ratio is None else f"{line} {self.baseline:10.1f} {self.of:34} {self.ratio:7.2f}"


class Cost(NamedTuple):
    """The time of a command in milliseconds, and the peak memory of it and its children in megabytes.

    Of what several share each has its part (PSS).
    """

    cpu: float
    wall: float
    memory: float = 0.0

    def since(self, other: Cost) -> Cost:
        """Return the difference from an earlier cost."""
        return Cost(self.cpu - other.cpu, self.wall - other.wall)


def costs(commands: Mapping[str, Command | Prepared], *, rounds: int, is_watched: bool = False) -> dict[str, Cost]:
    """Run each command once to warm the caches, then once per round; return the medians."""
    taken: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            cost = cost_of(command() if callable(command) else command, is_watched=is_watched)
            if number:
                taken[name].append(cost)
    return {name: median(runs) for name, runs in taken.items()}


def rows_of(what: str, ours: Cost, baseline: Cost, *, of: str) -> Iterator[Row]:
    """Yield the comparison of two commands."""
    yield Row(what, "ms of processor", ours.cpu, baseline.cpu, of)
    yield Row(what, "ms of the clock", ours.wall, baseline.wall, of)


def percentile_rows(
    what: str, unit: str, values: Sequence[float], baseline: Sequence[float] = (), *, of: str = ""
) -> Iterator[Row]:
    """Yield the median and the 95th percentile."""
    for name, percent in (("median", 50), ("95 of 100", 95)):
        yield Row(
            f"{what}, {name}",
            unit,
            percentile(values, percent),
            percentile(baseline, percent) if baseline else None,
            of,
        )


def cost_of(command: Command, *, output: IO[bytes] | int = subprocess.DEVNULL, is_watched: bool = False) -> Cost:
    """Run a command; children that it waits for count. If it `is_watched`, its memory is measured.

    It may end with 1: nothing matched well, or not everything was done.
    """
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=output)  # noqa: S603 - a command of a benchmark
    highest = 0.0
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG if is_watched else 0)
        if ended:
            break
        highest = max(highest, sum(map(_held, _family(process.pid))))
        time.sleep(_LOOK_SECONDS)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1}:
        sys.exit(f"'{' '.join(command)}' ended with {process.returncode}")
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, wall * 1000, highest)


def _family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text(encoding="ascii").split()
        ]
    except OSError:  # it ended meanwhile
        return []
    return [pid, *(pid for child in children for pid in _family(child))]


def _held(pid: int) -> float:
    try:
        memory = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:  # it ended meanwhile
        return 0.0
    return int(memory.partition("\nPss:")[2].split(maxsplit=1)[0]) / 1000


def times(work: Callable[[Item], object], items: Sequence[Item]) -> list[float]:
    """Return the wall-clock milliseconds of each item."""
    taken = []
    for item in items:
        started = time.perf_counter()
        work(item)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile of the values."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def median(taken: Sequence[Cost]) -> Cost:
    """Return the median of each figure."""
    return Cost(*map(statistics.median, zip(*taken, strict=True)))


def size_of(directories: Sequence[Path]) -> str:
    """Format the number and size of the files of directories."""
    paths = (path for directory in directories for path in directory.rglob("*"))
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    return f"{len(files):,} files, {sum(path.stat().st_size for path in files) / 1e6:,.0f} MB"
