"""OCR by network services: several pages at a time, with attribution of failures to the page or to the service.

Pages are rendered in worker processes. A page is only given up if the service reads others. If that is unknown, the
service is sent an empty page, so that neither a wrong setting makes every page unreadable, nor one bad page ends a run.
Pages that the service refuses are read by the engine on this machine, if there is one.
"""

from __future__ import annotations

import contextvars
import struct
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Final

from directory_indexer.core.errors import ExtractionError, PageRefusedError, ProviderError
from directory_indexer.core.files import PageProblem, Recognition
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.pdf.raster import EncodedPage
from directory_indexer.http_client import FailureKind, RequestError, RetryTiming
from directory_indexer.ocr.engine import OcrUsage, PageEstimate, PageOutcome, PageRequest, RemoteEngine, RenderedPage
from directory_indexer.ocr.reader import PAGE_LIMITS, LocalReader
from directory_indexer.ocr.service import Access, OcrService, Transcript
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.tasks import Task, run_tasks
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.ocr.azure import AzureService
    from directory_indexer.ocr.gemini import GeminiService
    from directory_indexer.ocr.pages import render_for_service

_HINTS: Final = {
    FailureKind.UNREACHABLE: "check the network and the endpoint of the service; pages wait until it is reachable",
    FailureKind.THROTTLED: (
        "run dirindex index again later, or lower the concurrency of the service; finished pages are kept"
    ),
}

_POLL_SECONDS = 0.5


class RemoteOcr:
    """Reads pages with one model of a service; thread-safe."""

    def __init__(self, service: OcrService, *, concurrency: int) -> None:
        self.concurrency = concurrency
        self._service = service
        self._lock = threading.Lock()
        self._usage = OcrUsage()

    @property
    def recipe(self) -> str:
        """The service, its model and version, and the version of the prompt."""
        return self._service.recipe

    @property
    def place(self) -> str:
        """The service and its address, for messages."""
        return self._service.client.place

    @property
    def usage(self) -> OcrUsage:
        """The pages read so far."""
        return self._usage

    def estimate(self) -> PageEstimate:
        """Return the estimated cost of a page, without a request."""
        return self._service.estimate()

    def recognise(self, image: EncodedPage) -> Recognition:
        """Read a page.

        Raises:
            PageRefusedError: the service reads pages, and will never read this one.
            ProviderError: the service cannot be used now, for no page.
        """
        n_before = self._usage.n_pages
        try:
            with spans.span("read page", bytes_in=len(image.content)):
                transcript = self._service.read(image, until=self._service.client.retries.deadline())
        except RequestError as error:
            raise self._page_or_service_error(error, n_before) from error
        self._count(transcript)
        return Recognition(self.recipe, transcript.lines, image.dpi)

    def close(self) -> None:
        """Close the connections."""
        self._service.client.close()

    def _page_or_service_error(self, error: RequestError, n_before: int) -> PageRefusedError | ProviderError:
        message = f"{self._service.client.place} {error.message}"
        if error.kind in _HINTS:
            return ProviderError(message, hint=_HINTS[error.kind])
        n_needed = 0 if error.kind is FailureKind.REFUSED else n_before
        if self._usage.n_pages > n_needed or self._can_read_empty_page():
            return PageRefusedError(message)
        return ProviderError(f"{message}; an empty page fails as well", hint="run dirindex index again later")

    def _can_read_empty_page(self) -> bool:
        try:
            self._count(self._service.read(_EMPTY_PAGE, until=self._service.client.retries.deadline()))
        except RequestError:
            return False
        except PageRefusedError:
            return True
        return True

    def _count(self, transcript: Transcript) -> None:
        with self._lock:
            n_pages, n_input, n_output = self._usage
            self._usage = OcrUsage(
                n_pages + 1, n_input + transcript.n_input_tokens, n_output + transcript.n_output_tokens
            )


def build_remote_engine(name: str, access: Access, timing: RetryTiming | None = None) -> RemoteEngine:
    """Build an engine by the name of its service, without a request to it.

    Raises:
        ProviderError: the address or the key is invalid.
    """
    services: dict[str, Callable[[Access, RetryTiming], OcrService]] = {"gemini": GeminiService, "azure": AzureService}
    return RemoteOcr(services[name](access, timing or RetryTiming()), concurrency=access.concurrency)


def _white(size: int) -> EncodedPage:
    """Return a white PNG; every service accepts images of 50 pixels and more."""
    rows = zlib.compress((b"\0" + b"\xff" * size) * size)
    chunks = (b"IHDR" + struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0), b"IDAT" + rows, b"IEND")
    packed = (struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)
    return EncodedPage(b"\x89PNG\r\n\x1a\n" + b"".join(packed), "image/png", size, size)


_EMPTY_PAGE: Final = _white(128)


class ServiceReader:
    """Reads pages with a service, and refused ones with `fallback`."""

    def __init__(
        self,
        name: str,
        access: Access,
        policy: ParsePolicy,
        fallback: LocalReader | None,
        *,
        build: Callable[[str, Access, RetryTiming], RemoteEngine] = build_remote_engine,
    ) -> None:
        self._must_stop: Callable[[], bool] = lambda: False
        self._engine = build(name, access, RetryTiming(must_stop=lambda: self._must_stop()))  # noqa: PLW0108 - replaced for each reading
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
        failure: ProviderError | None = None
        try:
            failure = yield from self._read(requests, must_stop, refused)
        finally:
            self._engine.close()
        yield from self._read_refused(refused, must_stop)
        if failure is not None:
            raise failure

    def _read(
        self, requests: Iterable[PageRequest], must_stop: Callable[[], bool], refused: dict[PageRequest, str]
    ) -> Generator[PageOutcome, None, ProviderError | None]:
        """Yield outcomes until the service fails; return its error after all answers so far, which were paid for."""
        rendered = self._rendered(requests, must_stop)
        pending: dict[Future[Recognition], PageRequest] = {}
        failure: ProviderError | None = None
        with ThreadPoolExecutor(self._engine.concurrency, thread_name_prefix="ocr") as threads:
            is_more = True
            while is_more or pending:
                is_more = is_more and failure is None and not must_stop()
                while is_more and len(pending) < self._engine.concurrency:
                    request, page = next(rendered, (None, None))
                    if request is None:
                        is_more = False
                    elif isinstance(page, EncodedPage):
                        # The telemetry spans of a page belong to the run, in any thread.
                        context = contextvars.copy_context()
                        pending[threads.submit(context.run, self._engine.recognise, page)] = request
                    else:
                        yield PageOutcome(request.key, page)
                done, _ = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    request = pending.pop(future)
                    try:
                        yield PageOutcome(request.key, future.result())
                    except ExtractionError as error:
                        refused[request] = error.message
                    except ProviderError as error:
                        failure = failure or error
        return None if must_stop() else failure

    def _rendered(
        self, requests: Iterable[PageRequest], must_stop: Callable[[], bool]
    ) -> Iterator[tuple[PageRequest, EncodedPage | PageProblem | None]]:
        """Render pages in worker processes, a few ahead of those that are sent."""
        function = partial(_in_worker, policy=self._policy)
        tasks = (Task((request,), (PAGE_LIMITS,)) for request in requests)
        results = run_tasks(function, tasks, n_workers=1, scratch=self._policy.scratch, must_stop=must_stop)
        for request, result in results:
            if isinstance(result, RenderedPage) and result.key == request.key:
                yield request, result.page
            else:
                yield request, PageProblem("cannot be rendered")

    def _read_refused(self, refused: dict[PageRequest, str], must_stop: Callable[[], bool]) -> Iterator[PageOutcome]:
        reasons = {request.key: f"{self._name}: {reason}" for request, reason in refused.items()}
        if self._fallback is None:
            yield from (PageOutcome(key, PageProblem(reason, is_final=True), reason) for key, reason in reasons.items())
            return
        for outcome in self._fallback.read(refused, must_stop=must_stop):
            yield outcome._replace(refusal=reasons[outcome.key])


def _in_worker(request: PageRequest, *, policy: ParsePolicy) -> RenderedPage:
    # A lazily imported function cannot be pickled.
    return render_for_service(request, policy=policy)
