"""Runs a function over many items in processes that may crash, hang or eat memory without taking anyone along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.parsing.crew import WorkerPool


Item = TypeVar("Item")
Result = TypeVar("Result")
OUT_OF_MEMORY = "needs more memory than it may use"


class Limits(NamedTuple):
    """What the work on one item may use.

    `seconds` are those of the processor, and the kernel keeps count of them, so that no call into C escapes. Where it
    cannot do that, and for what waits instead of working, there are `clock_seconds`.
    """

    seconds: float = 30.0
    memory_bytes: int = 1 << 30
    clock_seconds: float = 300.0


class Task(NamedTuple, Generic[Item]):
    """Items that one worker takes one after the other, each within its own limits."""

    items: tuple[Item, ...]
    limits: tuple[Limits, ...]
    was_tried: bool = False
    """Whether a worker was lost over its one item before."""


class WorkerFailure(NamedTuple):
    """What stands for a result that never came, because the worker was stopped or died.

    `is_proven` says that the item did it, and not somebody who ended the process.
    """

    message: str
    is_proven: bool = True


def run_tasks(
    function: Callable[[Item], Result],
    tasks: Iterable[Task[Item]],
    *,
    n_workers: int = 2,
    must_stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Item, Result | WorkerFailure]]:
    """Call `function` with every item, and yield what comes back in the order that it does.

    `function`, the items and the results must be picklable, and `function` should not raise. No more than a few tasks
    are taken ahead of what was yielded. Once `must_stop` is true, no more is yielded.

    Raises:
        UnavailableError: workers cannot be started, or die before they are ready.
    """
    tasks = iter(tasks)
    for first in tasks:
        # A run that changes nothing but notes starts no process, and does without the imports.

        with WorkerPool(function, n_workers=n_workers) as crew:
            yield from crew.work(chain([first], tasks), must_stop)
