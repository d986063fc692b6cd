"""Table of the operations for monitoring and documentation."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api import (
    service,
)
from directory_indexer.server.api.arguments import (
    NoArguments,
)
from directory_indexer.server.api.operations import (
    Method,
    Operation,
    at_once,
    quickly,
)
from directory_indexer.server.api.pages import DOCS_PATH, OPENAPI_PATH
from directory_indexer.server.gate.metrics import CONTENT_TYPE
from directory_indexer.wire.service import Health, Readiness

SERVICE = (
    Operation(
        "health",
        Method.GET,
        "/health",
        None,
        "Health",
        "Say that the server is there.",
        NoArguments,
        Health,
        at_once(service.health),
        is_probe=True,
    ),
    Operation(
        "live",
        Method.GET,
        "/livez",
        None,
        "Liveness",
        "Say that the server is there; for probes that start it again if not.",
        NoArguments,
        Health,
        at_once(service.health),
        is_probe=True,
    ),
    Operation(
        "ready",
        Method.GET,
        "/readyz",
        None,
        "Readiness",
        "Say whether questions are answered as they should be. The first who asks has the model loaded.",
        NoArguments,
        Readiness,
        service.ready,
        failures={503: "Not yet, or not any more; see Retry-After."},
        is_probe=True,
    ),
    Operation(
        "metrics",
        Method.GET,
        "/metrics",
        Right.METRICS,
        "Metrics",
        "What requests came to, as Prometheus reads it.",
        NoArguments,
        None,
        at_once(service.metrics),
        media_type=CONTENT_TYPE,
    ),
    Operation(
        "openapi",
        Method.GET,
        OPENAPI_PATH,
        None,
        "OpenAPI",
        "This API for programs.",
        NoArguments,
        None,
        quickly(service.page(OPENAPI_PATH)),
    ),
    Operation(
        "docs",
        Method.GET,
        DOCS_PATH,
        None,
        "Documentation",
        "This API for people.",
        NoArguments,
        None,
        quickly(service.page(DOCS_PATH)),
        media_type="text/html; charset=utf-8",
    ),
)
