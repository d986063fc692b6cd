"""Recorder of spans and log records with OpenTelemetry, whose own threads send them in batches.

The providers are not registered globally; otherwise other libraries would record what this program keeps private, such
as the MCP SDK the requests of clients.

Failures of a receiver never delay or fail anything else.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias, cast

from opentelemetry import context, trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from directory_indexer import __version__
from directory_indexer.telemetry.spans import Fact, Kind, Span

CLOSE_SECONDS: Final = 3.0
"""The longest delay of the end of a process for exporting the remaining records."""

_NAME: Final = "dirindex"
_TRACEPARENT: Final = "traceparent"
_FIELD_NAMES: Final = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "bytes_in": "http.request.body.size",
    "bytes_out": "http.response.body.size",
    "error": "error.type",
}
"""Facts with a semantic convention of OpenTelemetry; all others become `dirindex.NAME`."""

_SERVER_ERROR: Final = 500
_SEVERITIES: Final = {
    logging.DEBUG: SeverityNumber.DEBUG,
    logging.INFO: SeverityNumber.INFO,
    logging.WARNING: SeverityNumber.WARN,
    logging.ERROR: SeverityNumber.ERROR,
    logging.CRITICAL: SeverityNumber.FATAL,
}
_KINDS: Final = {Kind.WORK: trace.SpanKind.INTERNAL, Kind.ANSWER: trace.SpanKind.SERVER}
_propagator = TraceContextTextMapPropagator()
_Value: TypeAlias = bool | int | float | str

_log = logging.getLogger("dirindex.telemetry")
_LIBRARIES: Final = ("opentelemetry", "azure", "urllib3", "requests")


class OpenTelemetryRecorder:
    """A recorder of spans and log records for all receivers. Thread-safe."""

    def __init__(self, exporters: Sequence[Exporters], *, parent: str = "", joins_traces: bool = False) -> None:
        self._joins_traces = joins_traces
        resource = _resource()
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._lines = LoggerProvider(resource=resource, shutdown_on_exit=False)
        for exporter in exporters:
            if exporter.spans is not None:
                self._spans.add_span_processor(BatchSpanProcessor(cast("Any", exporter.spans)))
            if exporter.lines is not None:
                self._lines.add_log_record_processor(BatchLogRecordProcessor(cast("Any", exporter.lines)))
        self._tracer = self._spans.get_tracer(_NAME, __version__)
        self._logger = self._lines.get_logger(_NAME, __version__)
        if parent:
            context.attach(_context_of(parent))

    def start_span(self, name: str, facts: Mapping[str, Fact]) -> Span:
        """Start a child of the current span."""
        return _RecordedSpan(self._tracer.start_span(name, attributes=_attributes(facts)))

    @contextlib.contextmanager
    def current(self, name: str, facts: Mapping[str, Fact], *, kind: Kind, within: str) -> Iterator[Span]:
        """Start a span that is current within a `with` block, and ends with it."""
        parent = _context_of(within) if within else None
        # Whoever chooses the trace also chooses its sampling: an untrusted client could hide its requests.
        is_linked = parent is not None and kind is Kind.ANSWER and not self._joins_traces
        with self._tracer.start_as_current_span(
            name,
            context=None if is_linked else parent,
            links=_links_to_parent(parent) if is_linked else (),
            kind=_KINDS[kind],
            attributes=_attributes(facts),
            record_exception=False,  # its message and its traceback may contain paths and texts
            set_status_on_exception=False,
        ) as span:
            recorded_span = _RecordedSpan(span)
            try:
                yield recorded_span
            except Exception as error:
                recorded_span.fail(error)
                raise

    def traceparent(self) -> str:
        """Return the W3C `traceparent` of the current span; empty if there is none."""
        carrier: dict[str, str] = {}
        _propagator.inject(carrier)
        return carrier.get(_TRACEPARENT, "")

    def line(self, level: int, event: str, facts: Mapping[str, object]) -> None:
        """Record a log record as part of the current span."""
        severity = _SEVERITIES.get(level, SeverityNumber.UNSPECIFIED)
        self._logger.emit(
            LogRecord(
                timestamp=time.time_ns(),
                severity_number=severity,
                severity_text=severity.name,
                body=event,
                attributes={_field_name(name): cast("_Value", value) for name, value in facts.items()},
            )
        )

    def close(self) -> None:
        """Export the remaining records, for at most `CLOSE_SECONDS`."""
        shut_down((self._spans, self._lines), within=CLOSE_SECONDS)


class MonitoredExporter:
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


class Exporters(NamedTuple):
    """The exporters of spans and log records to one receiver; None for a kind that it does not accept."""

    spans: MonitoredExporter | None
    lines: MonitoredExporter | None


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


class _RecordedSpan:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, **facts: Fact) -> None:
        self._span.set_attributes(_attributes(facts))
        if isinstance(status := facts.get("status"), int) and status >= _SERVER_ERROR:
            self._span.set_status(trace.StatusCode.ERROR)

    def fail(self, error: Exception) -> None:
        self._span.set_attributes({_FIELD_NAMES["error"]: type(error).__qualname__})
        self._span.set_status(trace.StatusCode.ERROR)

    def end(self) -> None:
        self._span.end()


def _context_of(traceparent: str) -> context.Context:
    return _propagator.extract({_TRACEPARENT: traceparent})


def _links_to_parent(parent: context.Context | None) -> list[trace.Link]:
    span_context = trace.get_current_span(parent).get_span_context()
    return [trace.Link(span_context)] if span_context.is_valid else []


def _attributes(facts: Mapping[str, Fact]) -> dict[str, _Value]:
    return {_field_name(name): fact.value if isinstance(fact, StrEnum) else fact for name, fact in facts.items()}


def _field_name(name: str) -> str:
    return _FIELD_NAMES.get(name, f"{_NAME}.{name}")


def _resource() -> Resource:
    """Return the resource of this program; other detectors are not used: one of them reports the command line."""
    ours = Resource({"service.name": _NAME, "service.version": __version__, "telemetry.sdk.language": "python"})
    return ours.merge(OTELResourceDetector().detect())
