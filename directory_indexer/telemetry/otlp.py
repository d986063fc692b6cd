"""Exporters for a collector that accepts OTLP over HTTP."""

from __future__ import annotations

import os
from typing import Final

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

from directory_indexer.telemetry.recorder import Exporters, MonitoredExporter

_RECEIVER: Final = "the collector"
_COMPRESSION: Final = "OTEL_EXPORTER_OTLP_COMPRESSION"


def otlp_exporters(spans_url: str, lines_url: str) -> Exporters:
    """Return the exporters to a collector; headers, certificates and timeouts come from OpenTelemetry's variables."""
    compression = None if _COMPRESSION in os.environ else Compression.Gzip
    return Exporters(
        MonitoredExporter(OTLPSpanExporter(spans_url, compression=compression), receiver=_RECEIVER)
        if spans_url
        else None,
        MonitoredExporter(OTLPLogExporter(lines_url, compression=compression), receiver=_RECEIVER)
        if lines_url
        else None,
    )
