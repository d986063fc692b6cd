"""Exporters for Application Insights, a part of Azure Monitor.

By default its exporter reports its own health to Microsoft and fetches settings from there, at addresses that nobody
has configured, and stores what it could not send on disk. All three are turned off here.
"""

from __future__ import annotations

import os
from typing import Final

for _name in (
    "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL",
    "APPLICATIONINSIGHTS_SDKSTATS_DISABLED",
    "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED",
):
    os.environ[_name] = "true"

from azure.monitor.opentelemetry.exporter import (  # noqa: E402 - it reads the variables when it is imported
    AzureMonitorLogExporter,
    AzureMonitorTraceExporter,
)

from directory_indexer.telemetry.recorder import Exporters, MonitoredExporter  # noqa: E402

_RECEIVER: Final = "Application Insights"
_MAX_RETRIES: Final = 2


def azure_exporters(connection_string: str) -> Exporters:
    """Return the exporters to the instance that a connection string names."""
    spans, lines = (
        make(connection_string=connection_string, disable_offline_storage=True, retry_total=_MAX_RETRIES)
        for make in (AzureMonitorTraceExporter, AzureMonitorLogExporter)
    )
    return Exporters(MonitoredExporter(spans, receiver=_RECEIVER), MonitoredExporter(lines, receiver=_RECEIVER))
