"""Measurements: processor time beside that of the clock, in rounds that take turns, and their medians."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PYTHON = sys.executable
Item = TypeVar("Item")

DIRINDEX = str(Path(sys.executable).with_name("dirindex"))

_LOOK_SECONDS = 0.05

Command: TypeAlias = Sequence[str]
Prepared: TypeAlias = Callable[[], Command]
"""Makes ready what a command needs each time that it runs, which costs it nothing; gives the command."""


@dataclass(frozen=True)
class Options:
    """The options of all benchmarks.

    `place` keeps trees and indexes, `linux` is an unpacked source package, `model` is the file of another model.
    """

    place: Path
    rounds: int
    n_chunks: int
    n_chunks_large: int
    n_files: int
    n_files_large: int
    linux: Path | None
    model: Path | None


@dataclass(frozen=True)
class Row:
    """One figure of ours beside that of the baseline, which was taken in the same run.

    `size` is set on figures that show how cost grows: how many chunks there were.
    """

    what: str
    unit: str
    ours: float
    baseline: float | None = None
    of: str = ""
    size: int | None = None

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of the baseline."""
        return self.ours / self.baseline if self.baseline else None

    def as_json(self) -> dict[str, object]:
        """Return all of it for a file."""
        return {**asdict(self), "ratio": self.ratio}

    def __str__(self) -> str:
        what = self.what if self.size is None else f"{self.what}, {self.size:,} chunks"
        line = f"{what:56} {self.ours:10.1f} {self.unit:22}"
        if self.ratio is None:
            return line.rstrip()
        return f"{line} {self.baseline:10.1f} {self.of:34} {self.ratio:7.2f}"


@dataclass(frozen=True)
class Cost:
    """The time that a command took, in milliseconds."""

    cpu: float
    wall: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.cpu - other.cpu, self.wall - other.wall)


@dataclass(frozen=True)
class Memory:
    """The peak memory of a command and its children, in megabytes; of what several share each has its part (PSS).

    `anonymous` leaves out what the kernel can read again from files, such as programs and databases.
    """

    all: float = 0.0
    anonymous: float = 0.0


def costs(commands: Mapping[str, Command | Prepared], *, rounds: int) -> dict[str, Cost]:
    """Run each command in each round, and once before for the caches; give the medians."""
    taken: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            cost = cost_of(command() if callable(command) else command)
            if number:
                taken[name].append(cost)
    return {name: median(costs) for name, costs in taken.items()}


def rows_of(what: str, ours: Cost, baseline: Cost, *, of: str) -> Iterator[Row]:
    """Compare two commands."""
    yield Row(what, "ms of processor", ours.cpu, baseline.cpu, of)
    yield Row(what, "ms of the clock", ours.wall, baseline.wall, of)


def cost_of(command: Command, *, output: IO[bytes] | int = subprocess.DEVNULL, may_fail: bool = False) -> Cost:
    """Run a command; its children count as far as it waits for them."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=output)  # noqa: S603 - a command of a benchmark
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and not may_fail:
        sys.exit(f"'{' '.join(command)}' ended with {process.returncode}")
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, wall * 1000)


def memory_of(command: Command) -> Memory:
    """Run a command; look often at what it and its children hold together."""
    return cost_and_memory(command)[1]


def cost_and_memory(command: Command) -> tuple[Cost, Memory]:
    """Run a command once for both, which is a little dearer than without looking at what it holds."""
    highest, started = Memory(), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - a command of a benchmark
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        held = [_held(pid) for pid in _family(process.pid)]
        highest = Memory(
            all=max(highest.all, sum(memory.get("Pss", 0) for memory in held)),
            anonymous=max(highest.anonymous, sum(memory.get("Pss_Anon", 0) for memory in held)),
        )
        time.sleep(_LOOK_SECONDS)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"'{' '.join(command)}' ended with {process.returncode}")
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, wall * 1000), highest


def _family(pid: int) -> list[int]:
    """Return a process and all that it started."""
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text(encoding="ascii").split()
        ]
    except OSError:  # it ended meanwhile
        return []
    return [pid, *(pid for child in children for pid in _family(child))]


def _held(pid: int) -> dict[str, float]:
    """Return megabytes by the names that the kernel has for them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    except OSError:  # it ended meanwhile
        return {}
    return {name: int(rest.split()[0]) / 1000 for name, _, rest in (line.partition(":") for line in lines)}


def times(work: Callable[[Item], object], items: Sequence[Item]) -> list[float]:
    """Return how many milliseconds of the clock it takes to work on each item."""
    taken = []
    for item in items:
        started = time.perf_counter()
        work(item)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that so many percent of the values do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def median(taken: Sequence[Cost]) -> Cost:
    """Return the median of each."""
    return Cost(statistics.median(cost.cpu for cost in taken), statistics.median(cost.wall for cost in taken))
