"""Records spans and lines of the log with OpenTelemetry, whose own threads send them in batches.

Its providers are not registered globally, or other libraries would record what this program keeps to itself: the SDK of
MCP records what a client asks for.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias, cast

from opentelemetry import context, trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from directory_indexer import __version__
from directory_indexer.telemetry.delivery import Exporters, shut_down
from directory_indexer.telemetry.spans import Fact, Kind, Span

CLOSE_SECONDS: Final = 3.0
"""How long a process may take at its end to hand over what is left."""

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
"""The names of facts that OpenTelemetry has a convention for; all others are called `dirindex.NAME`."""

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


class Recording:
    """Records spans and lines for all receivers; threads may share it."""

    def __init__(self, exporters: Sequence[Exporters], *, parent: str = "", joins_traces: bool = False) -> None:
        self._joins_traces = joins_traces
        resource = _resource()
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._lines = LoggerProvider(resource=resource, shutdown_on_exit=False)
        for one in exporters:
            if one.spans is not None:
                self._spans.add_span_processor(BatchSpanProcessor(cast("Any", one.spans)))
            if one.lines is not None:
                self._lines.add_log_record_processor(BatchLogRecordProcessor(cast("Any", one.lines)))
        self._tracer = self._spans.get_tracer(_NAME, __version__)
        self._logger = self._lines.get_logger(_NAME, __version__)
        if parent:
            context.attach(_context_of(parent))

    def begun(self, name: str, facts: Mapping[str, Fact]) -> Span:
        """Begin a span that is a part of the current one."""
        return _Noted(self._tracer.start_span(name, attributes=_attributes(facts)))

    @contextlib.contextmanager
    def current(self, name: str, facts: Mapping[str, Fact], *, kind: Kind, within: str) -> Iterator[Span]:
        """Begin a span that is the current one for a block, and ends with it."""
        around = _context_of(within) if within else None
        # Whoever chooses the trace also chooses whether it is recorded: a stranger could keep requests out of sight.
        is_linked = around is not None and kind is Kind.ANSWER and not self._joins_traces
        with self._tracer.start_as_current_span(
            name,
            context=None if is_linked else around,
            links=_links_to(around) if is_linked else (),
            kind=_KINDS[kind],
            attributes=_attributes(facts),
            record_exception=False,  # its message and its lines may hold paths and texts
            set_status_on_exception=False,
        ) as span:
            noted = _Noted(span)
            try:
                yield noted
            except Exception as error:
                noted.fail(error)
                raise

    def traceparent(self) -> str:
        """Give the W3C `traceparent` of the current span; empty if there is none."""
        carrier: dict[str, str] = {}
        _propagator.inject(carrier)
        return carrier.get(_TRACEPARENT, "")

    def line(self, level: int, event: str, facts: Mapping[str, object]) -> None:
        """Record a line of the log as part of the current span."""
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
        """Hand over what is left, for `CLOSE_SECONDS` at most."""
        shut_down((self._spans, self._lines), within=CLOSE_SECONDS)


class _Noted:
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


def _links_to(around: context.Context | None) -> list[trace.Link]:
    named = trace.get_current_span(around).get_span_context()
    return [trace.Link(named)] if named.is_valid else []


def _attributes(facts: Mapping[str, Fact]) -> dict[str, _Value]:
    return {_field_name(name): fact.value if isinstance(fact, StrEnum) else fact for name, fact in facts.items()}


def _field_name(name: str) -> str:
    return _FIELD_NAMES.get(name, f"{_NAME}.{name}")


def _resource() -> Resource:
    """Describe this program. No other detector is asked: one of them reports the command line, and the paths in it."""
    ours = Resource({"service.name": _NAME, "service.version": __version__, "telemetry.sdk.language": "python"})
    return ours.merge(OTELResourceDetector().detect())
