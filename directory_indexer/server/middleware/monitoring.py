"""Log of a server, as text lines for people or as JSON for programs, and metrics in the Prometheus text format.

The JSON log contains no query, no path and no text of a file: of records of this program, it has the message template
without its arguments; of records of libraries, the place in the code; of exceptions, the type and the lines of the
traceback. Telemetry gets the same.

Labels of metrics are path templates, methods and statuses: never a path, a query or a user-defined name. The format
takes few lines, and its library takes longer to import than everything else in the middleware.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from types import TracebackType
from typing import Final, TypeAlias

from directory_indexer.server.lifecycle import LineFormatter, format_log_lines
from directory_indexer.server.middleware.request_context import RequestContext, request_id
from directory_indexer.telemetry import spans
from directory_indexer.telemetry.spans import Recorder

REQUEST_LOGGER: Final = logging.getLogger("dirindex.serve.requests")
_OWN_LOGGER = "dirindex"
_FACTS_ATTRIBUTE = "facts"


class LogFormat(StrEnum):
    """The format of the log."""

    TEXT = "text"
    JSON = "json"


def start_logging(log_format: LogFormat, *, verbose: bool) -> None:
    """Log to standard error; requests are logged in JSON, or in text if `verbose`."""
    level = logging.INFO if verbose else logging.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(log_format))
    handler.setLevel(logging.INFO if log_format is LogFormat.JSON else level)
    handlers: list[logging.Handler] = [handler]
    if recorder := spans.recorder():
        handlers.append(_TelemetryHandler(recorder))
    logging.basicConfig(level=level, handlers=handlers)
    if log_format is LogFormat.JSON or recorder:
        REQUEST_LOGGER.setLevel(logging.INFO)


def formatter(log_format: LogFormat) -> logging.Formatter:
    """Return the formatter of a log format."""
    return _JsonFormatter() if log_format is LogFormat.JSON else _TextFormatter()


def log_request(context: RequestContext, *, method: str, seconds: float) -> None:
    """Log the outcome of a request."""
    facts = {
        "method": method,
        "route": context.route.path_template,
        "status": context.status,
        "ms": round(seconds * 1000, 2),
        "bytes_in": context.bytes_in,
        "bytes_out": context.bytes_out,
        "key": context.key.name if context.key else "",
        **({"refusal": context.refusal} if context.refusal else {}),
    }
    REQUEST_LOGGER.info("request", extra={_FACTS_ATTRIBUTE: facts})


class _TextFormatter(LineFormatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, _FACTS_ATTRIBUTE, {})
        message = " ".join([record.getMessage(), *(f"{name}={value}" for name, value in facts.items())])
        request = f" [{request_id.get()}]" if request_id.get() else ""
        return format_log_lines(f"dirindex serve{request}", message, self.traceback_of(record))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "event": _event_name(record),
            **_facts(record),
        }
        if trace_id := spans.trace_id():
            line["trace_id"] = trace_id
        return json.dumps(line, separators=(",", ":"))


class _TelemetryHandler(logging.Handler):
    """Forwards log records to telemetry."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def emit(self, record: logging.LogRecord) -> None:
        self._recorder.line(record.levelno, _event_name(record), _facts(record))


def _event_name(record: logging.LogRecord) -> str:
    is_own = record.name.partition(".")[0] == _OWN_LOGGER
    return str(record.msg) if is_own else f"{record.name} at {record.module}:{record.lineno}"


def _facts(record: logging.LogRecord) -> dict[str, object]:
    facts: dict[str, object] = {"request_id": request_id.get()} if request_id.get() else {}
    facts |= getattr(record, _FACTS_ATTRIBUTE, {})
    if record.exc_info and record.exc_info[0]:
        facts |= {"exception": record.exc_info[0].__qualname__, "raised_at": _traceback_lines(record.exc_info[2])}
    return facts


def _traceback_lines(frames: TracebackType | None) -> list[str]:
    return [f"{frame.f_globals.get('__name__')}:{line}" for frame, line in traceback.walk_tb(frames)]


METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HISTOGRAM_EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

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

    def count_request(self, context: RequestContext, *, method: str, seconds: float) -> None:
        """Count a finished request."""
        route = context.route.path_template
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
        yield from _metric_header("requests_total", "counter", "Requests that were answered.")
        for (method, route, status), number in sorted(self._requests.items()):
            yield f'dirindex_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}'
        yield from _metric_header("refusals_total", "counter", "Requests that the gate refused, by what for.")
        for reason, number in sorted(self._refusals.items()):
            yield f'dirindex_refusals_total{{reason="{reason}"}} {number}'
        yield from _metric_header("body_bytes_total", "counter", "Bytes of bodies.")
        for direction, number in sorted(self._bytes.items()):
            yield f'dirindex_body_bytes_total{{direction="{direction}"}} {number}'
        yield from _metric_header("request_seconds", "histogram", "How long answers took.")
        for route, histogram in sorted(self._seconds.items()):
            yield from histogram.lines(f'route="{route}"')
        for name, (meaning, value) in self._gauges.items():
            yield from _metric_header(name, "gauge", meaning)
            yield f"dirindex_{name} {value():g}"


class _Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(_HISTOGRAM_EDGES) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        at = next((at for at, edge in enumerate(_HISTOGRAM_EDGES) if seconds <= edge), len(_HISTOGRAM_EDGES))
        self._counts[at] += 1
        self._sum += seconds

    def lines(self, labels: str) -> Iterator[str]:
        total = 0
        for edge, count in zip((*_HISTOGRAM_EDGES, "+Inf"), self._counts, strict=True):
            total += count
            yield f'dirindex_request_seconds_bucket{{{labels},le="{edge}"}} {total}'
        yield f"dirindex_request_seconds_sum{{{labels}}} {self._sum:.6f}"
        yield f"dirindex_request_seconds_count{{{labels}}} {total}"


def _metric_header(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP dirindex_{name} {meaning}", f"# TYPE dirindex_{name} {kind}"
