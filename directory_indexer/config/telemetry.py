"""Receivers of telemetry: the keys of `telemetry`."""

from typing import NamedTuple

from directory_indexer.config.keys import ENDPOINT, key
from directory_indexer.config.kinds import Flag, Secret, SecretText


class TelemetryConfig(NamedTuple):
    """Who is told how many requests, runs and phases there are and how long they take, never what they are about."""

    otlp_endpoint: str | None = key(
        ENDPOINT, "URL of an OpenTelemetry collector that takes OTLP over HTTP, as http://collector:4318; null: none"
    )
    application_insights: SecretText | None = key(
        Secret(or_null=True), "connection string of Application Insights in Azure Monitor; null: none"
    )
    join_traces: bool = key(
        Flag(),
        "make a request part of the trace that its client names in traceparent, instead of only linking to it",
        default=False,
    )
