"""Metrics of a server in the Prometheus text format.

Labels are path templates, methods and statuses: never a path, a query or a user-defined name. The format takes few
lines, and its library takes longer to import than everything else in the middleware.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from directory_indexer.server.gate.visits import Visit

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Gauges: TypeAlias = Mapping[str, tuple[str, Callable[[], float]]]
"""Gauges by name: a description and a function that returns the current value."""


class Metrics:
    """The request metrics of a server. Thread-safe."""

    def __init__(self) -> None:
        self.n_in_hand = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._refusals: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._seconds: dict[str, _Histogram] = {}
        self._lock = threading.Lock()
        self._gauges: Gauges = {"requests_in_hand": ("Requests that are being answered.", lambda: self.n_in_hand)}

    def add_gauges(self, gauges: Gauges) -> None:
        """Add gauges, which are read at each export."""
        self._gauges = {**self._gauges, **gauges}

    def count(self, context: Visit, *, method: str, seconds: float) -> None:
        """Count a finished request."""
        route = context.route.template
        with self._lock:
            self._requests[method, route, context.status] += 1
            self._refusals.update([context.refusal] if context.refusal else ())
            self._bytes["received"] += context.bytes_in
            self._bytes["sent"] += context.bytes_out
            self._seconds.setdefault(route, _Histogram()).add(seconds)

    def text(self) -> str:
        """Return all metrics in the text format."""
        with self._lock:
            return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        yield from _head("requests_total", "counter", "Requests that were answered.")
        for (method, route, status), number in sorted(self._requests.items()):
            yield f'dirindex_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}'
        yield from _head("refusals_total", "counter", "Requests that the gate refused, by what for.")
        for reason, number in sorted(self._refusals.items()):
            yield f'dirindex_refusals_total{{reason="{reason}"}} {number}'
        yield from _head("body_bytes_total", "counter", "Bytes of bodies.")
        for direction, number in sorted(self._bytes.items()):
            yield f'dirindex_body_bytes_total{{direction="{direction}"}} {number}'
        yield from _head("request_seconds", "histogram", "How long answers took.")
        for route, histogram in sorted(self._seconds.items()):
            yield from histogram.lines(f'route="{route}"')
        for name, (meaning, value) in self._gauges.items():
            yield from _head(name, "gauge", meaning)
            yield f"dirindex_{name} {value():g}"


class _Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(_EDGES) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        at = next((at for at, edge in enumerate(_EDGES) if seconds <= edge), len(_EDGES))
        self._counts[at] += 1
        self._sum += seconds

    def lines(self, labels: str) -> Iterator[str]:
        total = 0
        for edge, count in zip((*_EDGES, "+Inf"), self._counts, strict=True):
            total += count
            yield f'dirindex_request_seconds_bucket{{{labels},le="{edge}"}} {total}'
        yield f"dirindex_request_seconds_sum{{{labels}}} {self._sum:.6f}"
        yield f"dirindex_request_seconds_count{{{labels}}} {total}"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP dirindex_{name} {meaning}", f"# TYPE dirindex_{name} {kind}"
