"""Who is told what goes on here: the keys of `telemetry`."""

from typing import NamedTuple

from directory_indexer.config.keys import ENDPOINT, key
from directory_indexer.config.kinds import Secret, SecretText


class TelemetryConfig(NamedTuple):
    """Who is told of requests, runs and their phases: how many, how long, and never what about."""

    otlp_endpoint: str | None = key(
        ENDPOINT, "URL of an OpenTelemetry collector that takes OTLP over HTTP, as http://collector:4318; null: none"
    )
    application_insights: SecretText | None = key(
        Secret(or_null=True), "connection string of Application Insights in Azure Monitor; null: none"
    )
