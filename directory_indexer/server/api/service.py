"""Operations for monitoring: health, readiness and metrics, and the documentation of the API."""

from __future__ import annotations

from collections.abc import Callable

import anyio.to_thread

from directory_indexer import __version__
from directory_indexer.errors import DirIndexError
from directory_indexer.server.api.operations import Content, Services
from directory_indexer.server.api.pages import pages
from directory_indexer.server.gate.metrics import CONTENT_TYPE
from directory_indexer.server.gate.problems import CLOSING, Problem, RefusedError
from directory_indexer.server.identity import NAME
from directory_indexer.server.model import ModelState
from directory_indexer.wire.service import Health, Readiness

_LOADING = Problem(503, "not_ready", "the model is being loaded; words answer already", retry_seconds=2)
_UNREADABLE = Problem(503, "not_ready", "the index cannot be opened; the log of the server says why", retry_seconds=5)


def health(_: Services, __: object) -> Health:
    """Return that the server is alive."""
    return Health("ok", NAME, __version__)


async def ready(services: Services, _: object) -> Readiness:
    """Return that the server is ready; the first call starts loading the model.

    Raises:
        RefusedError: the server is not ready yet, or is shutting down.
    """
    if services.is_ending():
        raise RefusedError(CLOSING)
    try:
        await anyio.to_thread.run_sync(services.open_stores)
    except DirIndexError as error:
        raise RefusedError(_UNREADABLE) from error
    services.model.start()
    if services.model.state is ModelState.LOADING:
        raise RefusedError(_LOADING)
    return Readiness("ready", services.model.state)


def metrics(services: Services, _: object) -> Content:
    """Return the metrics in the Prometheus text format."""
    return Content(services.metrics.text().encode(), CONTENT_TYPE)


def page(path: str) -> Callable[[Services, object], Content]:
    """Return the handler of a documentation page."""

    def run(services: Services, _: object) -> Content:
        return pages(services.operations)[path]

    return run
