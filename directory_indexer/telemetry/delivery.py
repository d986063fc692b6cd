"""Export of batches to a receiver whose failures never delay or fail anything else."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

_log = logging.getLogger("dirindex.telemetry")
_LIBRARIES: Final = ("opentelemetry", "azure", "urllib3", "requests")


class Exporters(NamedTuple):
    """The exporters of spans and log records to one receiver; None for a kind that it does not accept."""

    spans: Delivery | None
    lines: Delivery | None


class Delivery:
    """An exporter that logs once when its receiver becomes unreachable, and once when it is back."""

    def __init__(self, exporter: Any, *, receiver: str) -> None:
        self._exporter = exporter
        self._receiver = receiver
        self._n_lost = 0

    def export(self, batch: Sequence[Any]) -> Any:
        """Export a batch; a batch that cannot be exported is lost."""
        has_arrived = False
        try:
            result = self._exporter.export(batch)
            has_arrived = result.name == "SUCCESS"
            return result
        finally:
            self._note(len(batch), has_arrived=has_arrived)

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 0) -> bool:
        """Return at once: batching is done by the processors."""
        del timeout_millis
        return True

    def _note(self, n_records: int, *, has_arrived: bool) -> None:
        if has_arrived:
            if self._n_lost:
                _log.warning("telemetry reaches %s again; %d records were lost", self._receiver, self._n_lost)
            self._n_lost = 0
            return
        if not self._n_lost:
            _log.warning("telemetry does not reach %s; everything else goes on", self._receiver)
        self._n_lost += n_records


def quiet_libraries() -> None:
    """Silence the loggers of the libraries: they log every attempt, with a URL that may contain a password."""
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())


def shut_down(parts: Sequence[Any], *, within: float) -> None:
    """Shut down all providers in parallel, and return after at most `within` seconds."""
    deadline = time.monotonic() + within
    threads = [threading.Thread(target=provider.shutdown, name="telemetry", daemon=True) for provider in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))
