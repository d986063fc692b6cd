"""Running of a function over many items in processes that may crash, hang or exhaust memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from directory_indexer.core.lazy import lazily
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
