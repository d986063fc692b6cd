"""The worker processes of one job, each of which may crash, hang or eat memory without taking anyone along.

A worker lives no longer than the process that started it: it watches that process, and the kernel ends a task that
outlives its time limit when nobody is left to do so.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_handles
from typing import TYPE_CHECKING, Any, Generic

from pebble import ProcessExpired, ProcessPool

from directory_indexer.errors import UnavailableError
from directory_indexer.parsing.workers import Item, Lost, Result, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from directory_indexer.parsing.workers import WorkerLimits

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_TASKS_PER_WORKER = 2
_MAX_BROKEN_POOLS = 3
_WAIT_SECONDS = 0.5
_GRACE_SECONDS = 10


class Crew(Generic[Item, Result]):
    """The workers of one job and the tasks that they have in hand.

    Raises:
        UnavailableError: workers cannot be started.
    """

    def __init__(self, function: Callable[[Item], Result], limits: WorkerLimits, *, n_workers: int) -> None:
        self._function = function
        self._limits = limits
        self._n_workers = n_workers
        self._n_broken = 0
        self._pool = self._start()
        self._running: dict[Future[list[Result]], Task[Item]] = {}
        self._again: deque[Task[Item]] = deque()

    def __enter__(self) -> Crew[Item, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def work(self, tasks: Iterator[Task[Item]], must_stop: Callable[[], bool]) -> Iterator[tuple[Item, Result | Lost]]:
        """Yield what comes back in the order that it does, until `must_stop` is true.

        Raises:
            UnavailableError: workers die without having been given anything to do.
        """
        while not must_stop():
            self._hand_out(tasks)
            if not self._running:
                return
            done, _ = wait(self._running, timeout=_WAIT_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                yield from self._take_back(future)

    def _hand_out(self, tasks: Iterator[Task[Item]]) -> None:
        while len(self._running) < self._n_workers * _TASKS_PER_WORKER:
            task = self._again.popleft() if self._again else next(tasks, None)
            if task is None:
                return
            self._running[self._schedule(task)] = task

    def _schedule(self, task: Task[Item]) -> Future[list[Result]]:
        if not self._pool.active:
            self._restart()
        future: Future[list[Result]] = self._pool.schedule(
            _run, args=(self._function, task.items, task.seconds), timeout=task.seconds
        )
        return future

    def _take_back(self, future: Future[list[Result]]) -> Iterator[tuple[Item, Result | Lost]]:
        task = self._running.pop(future)
        error = future.exception()
        if error is None:
            self._n_broken = 0
            yield from zip(task.items, future.result(), strict=True)
        elif isinstance(error, BrokenProcessPool):
            self._again.append(task)
        elif len(task.items) > 1:
            # One of them is the culprit; alone, each answers for itself.
            self._again.extend(Task((item,), self._limits.seconds) for item in task.items)
        else:
            yield task.items[0], Lost(_cause(error, task.seconds))

    def _restart(self) -> None:
        self._n_broken += 1
        if self._n_broken > _MAX_BROKEN_POOLS:
            raise UnavailableError(
                "worker processes do not stay alive", hint="free some memory, or lower `indexing.concurrency`"
            )
        self._stop()
        self._pool = self._start()

    def _start(self) -> ProcessPool:
        pool = ProcessPool(
            max_workers=self._n_workers,
            max_tasks=self._limits.n_tasks,
            initializer=_prepare_worker,
            initargs=(self._limits.memory_bytes,),
            context=multiprocessing.get_context("spawn"),
        )
        try:
            with _interrupts_blocked():
                _ = pool.active  # starts it
        except BrokenProcessPool as error:
            raise UnavailableError(
                f"no worker process can be started: {error.__cause__}",
                hint="allow more open files (ulimit -n) or processes, or lower indexing.concurrency",
            ) from error
        return pool

    def _stop(self) -> None:
        self._pool.stop()
        self._pool.join()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Keep Ctrl+C from processes and threads that start meanwhile: it is for this process to end them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cause(error: BaseException, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"took longer than {seconds:g} seconds"
    if isinstance(error, ProcessExpired):
        return f"ended the process that read it ({_exit_name(error.exitcode)})"
    return f"could not be handed over ({type(error).__name__})"


def _exit_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


def _prepare_worker(memory_bytes: int) -> None:
    _silence()
    _limit_memory(memory_bytes)
    # Pebble lets Python handle the signal, which a call into C would put off until the kill that follows seconds later.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _silence() -> None:
    # The parent may speak a protocol on its standard output, of which a worker has a copy.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.close(null)


def _limit_memory(memory_bytes: int) -> None:
    if resource is not None:
        for limit, wanted in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CORE, 0)):
            _, hard = resource.getrlimit(limit)
            soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            with contextlib.suppress(ValueError, OSError):  # macOS knows the limit of memory but refuses to set it
                resource.setrlimit(limit, (soft, hard))


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        wait_for_handles([parent.sentinel])
        os._exit(1)


def _run(function: Callable[[Any], Result], items: tuple[Any, ...], seconds: float) -> list[Result]:
    _alarm(math.ceil(seconds) + _GRACE_SECONDS)
    results = [function(item) for item in items]
    _alarm(0)
    return results


def _alarm(seconds: int) -> None:
    # Without a handler the kernel ends the process, even in the midst of a call into C.
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
