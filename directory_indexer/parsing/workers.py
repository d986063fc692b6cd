"""Runs a function over many items in processes that may crash, hang or eat memory without taking anyone along."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from directory_indexer.lazy import lazily
from directory_indexer.parsing.tasks import Item, Result, Task, WorkerFailure

with lazily:
    from directory_indexer.parsing.worker_pool import WorkerPool


def run_tasks(
    function: Callable[[Item], Result],
    tasks: Iterable[Task[Item]],
    *,
    n_workers: int = 2,
    scratch: Path | None = None,
    must_stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Item, Result | WorkerFailure]]:
    """Call `function` with every item, and yield what comes back in the order that it does.

    Where it returns a generator, the item comes back with all that this yields, and then with what it returns.
    `function`, the items and the results must be picklable, and `function` should not raise. What workers write to
    files goes to directories in `scratch`. No more than a few tasks are taken ahead of what was yielded. Once
    `must_stop` is true, no more is yielded.

    Raises:
        UnavailableError: workers cannot be started, or die before they are ready.
    """
    tasks = iter(tasks)
    for first in tasks:
        # A run that changes nothing but notes starts no process, and does without the imports.
        with WorkerPool(function, n_workers=n_workers, scratch=scratch) as pool:
            yield from pool.work(chain([first], tasks), must_stop)
