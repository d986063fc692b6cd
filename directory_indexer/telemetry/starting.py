"""Finds the receivers of telemetry in the configuration and in the variables of OpenTelemetry."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeVar

from directory_indexer.config.kinds import SecretText
from directory_indexer.config.telemetry import TelemetryConfig
from directory_indexer.errors import UnavailableError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.telemetry.azure import azure_exporters
    from directory_indexer.telemetry.delivery import quiet_libraries
    from directory_indexer.telemetry.otlp import otlp_exporters
    from directory_indexer.telemetry.recording import Recording

_T = TypeVar("_T")
_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACES_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_LOGS_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_AZURE: Final = "APPLICATIONINSIGHTS_CONNECTION_STRING"
_OFF: Final = "OTEL_SDK_DISABLED"
_URL: Final = re.compile(r"https?://[^\s/?#]+(?:[/?#]\S*)?")


class Destinations(NamedTuple):
    """The receivers: URLs that take spans and lines of the log by OTLP, and Application Insights."""

    spans_url: str = ""
    lines_url: str = ""
    application_insights: SecretText | None = None


def start(config: TelemetryConfig, environ: Mapping[str, str]) -> None:
    """Record spans and lines from now on, if there is a receiver.

    Raises:
        UsageError: a variable that names a receiver is wrong.
        UnavailableError: what it takes is not installed.
    """
    wanted = destinations(config, environ)
    if wanted == Destinations():
        return
    exporters = []
    if wanted.spans_url or wanted.lines_url:
        exporters.append(_built(otlp_exporters, wanted.spans_url, wanted.lines_url, extra="telemetry"))
    if wanted.application_insights:
        exporters.append(_built(azure_exporters, wanted.application_insights.get_secret_value(), extra="azure"))
    quiet_libraries()
    parent = environ.get(spans.TRACEPARENT, "")
    recording = partial(Recording, exporters, parent=parent, joins_traces=config.join_traces)
    spans.record_with(_built(recording, extra="telemetry"))


def start_leniently(config: TelemetryConfig, environ: Mapping[str, str]) -> None:
    """Record as `start` does, but do without if only variables ask for it, and in vain.

    A shell may have such variables for other programs, and they must not stop a command.

    Raises:
        UsageError: a variable is wrong, and the configuration names a receiver.
        UnavailableError: what the configured receiver needs is not installed.
    """
    is_configured = config.otlp_endpoint is not None or config.application_insights is not None
    with contextlib.suppress(*(() if is_configured else (UsageError, UnavailableError))):
        start(config, environ)


def destinations(config: TelemetryConfig, environ: Mapping[str, str]) -> Destinations:
    """Find out which receivers there are; a variable takes precedence over the configuration.

    Raises:
        UsageError: an address is not a URL, or another protocol is asked for.
    """
    if environ.get(_OFF, "").strip().lower() == "true":
        return Destinations()
    base = environ.get(_ENDPOINT) or config.otlp_endpoint or ""
    for_spans, for_lines = (environ.get(name) for name in (_TRACES_ENDPOINT, _LOGS_ENDPOINT))
    azure = environ.get(_AZURE)
    found = Destinations(
        for_spans or _below(base, "v1/traces"),
        for_lines or _below(base, "v1/logs"),
        SecretText(azure) if azure else config.application_insights,
    )
    if found.spans_url or found.lines_url:
        _require_http(found, environ)
    return found


def _below(base: str, path: str) -> str:
    return f"{base.rstrip('/')}/{path}" if base else ""


def _require_http(found: Destinations, environ: Mapping[str, str]) -> None:
    for url in filter(None, (found.spans_url, found.lines_url)):
        if not _URL.fullmatch(url):
            raise UsageError("the address of the collector is not a URL", hint=f"{_ENDPOINT}=http://collector:4318")
    for name in _PROTOCOLS:
        if environ.get(name, "http/protobuf") != "http/protobuf":
            raise UsageError(
                f"{name} is '{environ[name]}', but dirindex only speaks http/protobuf",
                hint=f"unset it, and put the HTTP port, usually 4318, in {_ENDPOINT}",
            )


def _built(make: Callable[..., _T], *arguments: str, extra: str) -> _T:
    try:
        return make(*arguments)
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"telemetry is configured, but '{error.name}' is not installed",
            hint=f"pip install '.[{extra}]' in a checkout; or turn telemetry off with {_OFF}=true",
        ) from error
    except ValueError as error:  # its message may show a key
        raise UsageError(
            f"the configuration of telemetry is wrong: {type(error).__name__}",
            hint=f"check {_AZURE} and the variables that begin with OTEL_",
        ) from error
