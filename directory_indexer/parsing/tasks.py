"""Tasks for worker processes that may crash, hang or exhaust memory; failures take the place of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

from directory_indexer.core.lazy import lazily

with lazily:
    from pathlib import Path

    from directory_indexer.parsing.worker_pool import WorkerPool


Item = TypeVar("Item")
Result = TypeVar("Result")
OUT_OF_MEMORY = "needs more memory than it may use"


class Limits(NamedTuple):
    """Resource limits for one item.

    `seconds` of processor time are enforced by the kernel, so that no call into C escapes them. `clock_seconds` apply
    where the kernel cannot, and to waiting.
    """

    seconds: float = 30.0
    memory_bytes: int = 1 << 30
    clock_seconds: float = 300.0


class Task(NamedTuple, Generic[Item]):
    """Items that one worker processes in order, each within its own limits."""

    items: tuple[Item, ...]
    limits: tuple[Limits, ...]
    was_tried: bool = False
    """Whether its single item crashed a worker before."""


class WorkerFailure(NamedTuple):
    """The result of an item whose worker was stopped or died.

    `is_proven` if the item caused it, not someone who ended the process.
    """

    message: str
    is_proven: bool = True


def run_tasks(
    function: Callable[[Item], Result],
    tasks: Iterable[Task[Item]],
    *,
    n_workers: int = 2,
    scratch: Path | None = None,
    must_stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Item, Result | WorkerFailure]]:
    """Call `function` with every item, and yield results in order of completion.

    If it returns a generator, the item is yielded with each of its values, and then with its return value. `function`,
    the items and the results must be picklable, and `function` should not raise. Temporary files of workers are in
    directories below `scratch`. Only a few tasks are taken ahead of the yielded results. Once `must_stop` is true, no
    more is yielded.

    Raises:
        UnavailableError: workers cannot be started, or die before they are ready.
    """
    tasks = iter(tasks)
    for first in tasks:
        # Without tasks, no process is started and nothing is imported.
        with WorkerPool(function, n_workers=n_workers, scratch=scratch) as pool:
            yield from pool.work(chain([first], tasks), must_stop)
