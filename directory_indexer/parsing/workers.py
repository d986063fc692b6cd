"""Runs a function over many items in processes that may crash, hang or eat memory without taking anyone along."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How many workers there may be, and what each may use; address space is limited where the system can do that.

    A worker is replaced after `n_tasks`, so that what a library never gives back does not grow with the job. Another
    takes half a second to start and as much to warm up.
    """

    n_workers: int = 2
    n_tasks: int = 100
    memory_bytes: int = 2 << 30
    seconds: float = 30.0
    seconds_per_mb: float = 10.0

    def seconds_for(self, n_bytes: int) -> float:
        """Give the time that a task over so many bytes may take."""
        return self.seconds + self.seconds_per_mb * n_bytes / 1_000_000


class Task(NamedTuple, Generic[Item]):
    """Items that one worker takes one after the other, and how long it may take for all of them."""

    items: tuple[Item, ...]
    seconds: float


class Lost(NamedTuple):
    """What stands for a result that never came, because the worker was stopped or died."""

    message: str


def run_tasks(
    function: Callable[[Item], Result],
    tasks: Iterable[Task[Item]],
    *,
    limits: WorkerLimits,
    must_stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Item, Result | Lost]]:
    """Call `function` with every item, and yield what comes back in the order that it does.

    `function` and the items must be picklable, and `function` should not raise. No more than a few tasks are taken
    ahead of what was yielded. Once `must_stop` is true, no more is yielded.

    Raises:
        UnavailableError: workers cannot be started, or die without having been given anything to do.
    """
    tasks = iter(tasks)
    first = list(islice(tasks, limits.n_workers))
    if first:
        # It needs 40 ms of imports, which a run that changes little should not pay.
        from directory_indexer.parsing.crew import Crew  # noqa: PLC0415

        with Crew(function, limits, n_workers=len(first)) as crew:
            yield from crew.work(chain(first, tasks), must_stop)
