"""Reading of pages, several at a time; a crash of an engine costs one page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol

from directory_indexer.core.errors import ProviderError
from directory_indexer.core.files import PageProblem
from directory_indexer.core.lazy import lazily
from directory_indexer.ocr.engine import LocalEngine, PageOutcome, PageRequest
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure, run_tasks

with lazily:
    from directory_indexer.ocr.pages import lower_priority, read_page


class PageReader(Protocol):
    """Reads pages, locally or remotely."""

    @property
    def recipe(self) -> str:
        """The engine, its version and its settings."""

    @property
    def usage(self) -> str:
        """Usage that a service has counted so far; "" for an engine on this machine."""

    def read(self, requests: Iterable[PageRequest], *, must_stop: Callable[[], bool]) -> Iterator[PageOutcome]:
        """Read pages, and yield the outcome of each on completion; `must_stop` ends it early.

        Raises:
            ProviderError: the engine cannot be used now.
            UnavailableError: no worker process can be started.
        """


class LocalReader:
    """Reads pages in worker processes, with limits of time and memory for each page."""

    def __init__(self, engine: LocalEngine, policy: ParsePolicy) -> None:
        self._engine = engine
        self._policy = policy._replace(added=())

    @property
    def recipe(self) -> str:
        """The engine, its version and its settings."""
        return self._engine.recipe

    @property
    def usage(self) -> str:
        """Empty: this machine counts no pages."""
        return ""

    def read(self, requests: Iterable[PageRequest], *, must_stop: Callable[[], bool]) -> Iterator[PageOutcome]:
        """Read pages, and yield the outcome of each on completion; `must_stop` ends it early.

        Raises:
            ProviderError: the engine reads no page, not even an empty one.
            UnavailableError: no worker process can be started.
        """
        function = partial(_in_worker, engine=self._engine, policy=self._policy)
        tasks = (Task((request,), (PAGE_LIMITS,)) for request in requests)
        n_workers, scratch = self._policy.n_workers, self._policy.scratch
        results = run_tasks(function, tasks, n_workers=n_workers, scratch=scratch, must_stop=must_stop)
        for request, result in results:
            if isinstance(result, PageOutcome) and result.key == request.key:
                yield require_working_engine(result)
            else:
                message = result.message if isinstance(result, WorkerFailure) else "the worker returned no outcome"
                is_final = isinstance(result, WorkerFailure) and result.is_proven
                yield PageOutcome(request.key, PageProblem(message, is_final=is_final))


def require_working_engine(outcome: PageOutcome) -> PageOutcome:
    """Return the outcome of a page, unless the engine is at fault.

    Raises:
        ProviderError: it is.
    """
    if outcome.fault:
        raise ProviderError(f"no page can be read, not even an empty one: {outcome.fault}", hint=_HINT)
    return outcome


def _in_worker(request: PageRequest, *, engine: LocalEngine, policy: ParsePolicy) -> PageOutcome:
    lower_priority()
    return read_page(request, engine=engine, policy=policy)


_HINT = "repair the engine, which dirindex doctor names; pages wait until then"
PAGE_LIMITS = Limits(seconds=300.0, memory_bytes=3 << 30, clock_seconds=600.0)
"""Five minutes are a hundred times what a page takes; one of 20 million pixels took 1.5 GB with the largest engine."""
