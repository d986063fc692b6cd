"""Reading of pages by a network service: they are rendered in worker processes and sent several at a time.

Pages that the service refuses are read by the engine on this machine, if there is one.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

from directory_indexer.errors import ExtractionError, ProviderError
from directory_indexer.extractors.pdf.raster import EncodedPage
from directory_indexer.lazy import lazily
from directory_indexer.ocr.building import build_remote_engine
from directory_indexer.ocr.engine import RemoteEngine
from directory_indexer.ocr.patience import Waiting
from directory_indexer.ocr.reader import PAGE_LIMITS, LocalReader
from directory_indexer.ocr.requests import DrawnPage, PageOutcome, PageRequest
from directory_indexer.ocr.service import Access
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.tasks import Task
from directory_indexer.parsing.workers import run_tasks
from directory_indexer.scans import PageProblem, Recognition

with lazily:
    from directory_indexer.ocr.pages import draw_for_service

_LOOK_SECONDS = 0.5


class ServiceReader:
    """Reads pages with a service, and refused ones with `fallback`."""

    def __init__(
        self,
        name: str,
        access: Access,
        policy: ParsePolicy,
        fallback: LocalReader | None,
        *,
        build: Callable[[str, Access, Waiting], RemoteEngine] = build_remote_engine,
    ) -> None:
        self._must_stop: Callable[[], bool] = lambda: False
        self._engine = build(name, access, Waiting(must_stop=lambda: self._must_stop()))  # noqa: PLW0108 - replaced for each reading
        self._name = name
        self._policy = policy._replace(added=())
        self._fallback = fallback

    @property
    def recipe(self) -> str:
        """The service, its model and version."""
        return self._engine.recipe

    @property
    def usage(self) -> str:
        """Usage that the service has counted so far."""
        n_pages, *tokens = self._engine.usage
        counted = f", {tokens[0]:,} tokens sent and {tokens[1]:,} received" if any(tokens) else ""
        return f"{self._name} counted {n_pages:,} {'page' if n_pages == 1 else 'pages'}{counted}" if n_pages else ""

    def read(self, requests: Iterable[PageRequest], *, must_stop: Callable[[], bool]) -> Iterator[PageOutcome]:
        """Read pages, and yield the outcome of each on completion; `must_stop` ends it early.

        Raises:
            ProviderError: the service cannot be used now.
            UnavailableError: no worker process can be started.
        """
        self._must_stop = must_stop
        refused: dict[PageRequest, str] = {}
        trouble: ProviderError | None = None
        try:
            trouble = yield from self._read(requests, must_stop, refused)
        finally:
            self._engine.close()
        yield from self._read_refused(refused, must_stop)
        if trouble is not None:
            raise trouble

    def _read(
        self, requests: Iterable[PageRequest], must_stop: Callable[[], bool], refused: dict[PageRequest, str]
    ) -> Generator[PageOutcome, None, ProviderError | None]:
        """Yield outcomes until the service fails; return its error after all answers so far, which were paid for."""
        drawn = self._drawn(requests, must_stop)
        in_hand: dict[Future[Recognition], PageRequest] = {}
        trouble: ProviderError | None = None
        with ThreadPoolExecutor(self._engine.concurrency, thread_name_prefix="ocr") as threads:
            is_more = True
            while is_more or in_hand:
                is_more = is_more and trouble is None and not must_stop()
                while is_more and len(in_hand) < self._engine.concurrency:
                    request, page = next(drawn, (None, None))
                    if request is None:
                        is_more = False
                    elif isinstance(page, EncodedPage):
                        # The telemetry spans of a page belong to the run, in any thread.
                        context = contextvars.copy_context()
                        in_hand[threads.submit(context.run, self._engine.recognise, page)] = request
                    else:
                        yield PageOutcome(request.key, page)
                done, _ = wait(in_hand, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    request = in_hand.pop(future)
                    try:
                        yield PageOutcome(request.key, future.result())
                    except ExtractionError as error:
                        refused[request] = error.message
                    except ProviderError as error:
                        trouble = trouble or error
        return None if must_stop() else trouble

    def _drawn(
        self, requests: Iterable[PageRequest], must_stop: Callable[[], bool]
    ) -> Iterator[tuple[PageRequest, EncodedPage | PageProblem | None]]:
        """Render pages in worker processes, a few ahead of those that are sent."""
        function = partial(_in_worker, policy=self._policy)
        tasks = (Task((request,), (PAGE_LIMITS,)) for request in requests)
        results = run_tasks(function, tasks, n_workers=1, scratch=self._policy.scratch, must_stop=must_stop)
        for request, result in results:
            if isinstance(result, DrawnPage) and result.key == request.key:
                yield request, result.page
            else:
                yield request, PageProblem("cannot be drawn")

    def _read_refused(self, refused: dict[PageRequest, str], must_stop: Callable[[], bool]) -> Iterator[PageOutcome]:
        reasons = {request.key: f"{self._name}: {reason}" for request, reason in refused.items()}
        if self._fallback is None:
            yield from (PageOutcome(key, PageProblem(reason, is_final=True), reason) for key, reason in reasons.items())
            return
        for outcome in self._fallback.read(refused, must_stop=must_stop):
            yield outcome._replace(refusal=reasons[outcome.key])


def _in_worker(request: PageRequest, *, policy: ParsePolicy) -> DrawnPage:
    # A lazily imported function cannot be pickled.
    return draw_for_service(request, policy=policy)
