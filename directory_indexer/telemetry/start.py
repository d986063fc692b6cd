"""Start of telemetry, with the receivers in the configuration and in the environment variables of OpenTelemetry."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeVar

from directory_indexer.config.services import TelemetryConfig
from directory_indexer.config.value_types import SecretText
from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.telemetry.azure import azure_exporters
    from directory_indexer.telemetry.otlp import otlp_exporters
    from directory_indexer.telemetry.recorder import OpenTelemetryRecorder, quiet_libraries

_T = TypeVar("_T")
_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_TRACES_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_LOGS_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_AZURE: Final = "APPLICATIONINSIGHTS_CONNECTION_STRING"
_OFF: Final = "OTEL_SDK_DISABLED"
_URL: Final = re.compile(r"https?://[^\s/?#]+(?:[/?#]\S*)?")


class Receivers(NamedTuple):
    """The receivers: OTLP URLs of spans and of log records, and Application Insights."""

    spans_url: str = ""
    lines_url: str = ""
    application_insights: SecretText | None = None


def start(config: TelemetryConfig, environ: Mapping[str, str]) -> None:
    """Record spans and log records from now on, if there is a receiver.

    Raises:
        UsageError: a variable that names a receiver is wrong.
        UnavailableError: a library that the receiver needs is not installed.
    """
    receivers = receivers_of(config, environ)
    if receivers == Receivers():
        return
    exporters = []
    if receivers.spans_url or receivers.lines_url:
        exporters.append(_build(otlp_exporters, receivers.spans_url, receivers.lines_url, extra="telemetry"))
    if receivers.application_insights:
        exporters.append(_build(azure_exporters, receivers.application_insights.get_secret_value(), extra="azure"))
    quiet_libraries()
    parent = environ.get(spans.TRACEPARENT, "")
    recording = partial(OpenTelemetryRecorder, exporters, parent=parent, joins_traces=config.join_traces)
    spans.set_recorder(_build(recording, extra="telemetry"))


def start_leniently(config: TelemetryConfig, environ: Mapping[str, str]) -> None:
    """Record as `start` does, but ignore its errors where only environment variables name a receiver.

    A shell may have such variables for other programs; they must not make a command fail.

    Raises:
        UsageError: a variable is wrong, and the configuration names a receiver.
        UnavailableError: a library that the configured receiver needs is not installed.
    """
    is_configured = config.otlp_endpoint is not None or config.application_insights is not None
    with contextlib.suppress(*(() if is_configured else (UsageError, UnavailableError))):
        start(config, environ)


def receivers_of(config: TelemetryConfig, environ: Mapping[str, str]) -> Receivers:
    """Return the receivers; an environment variable takes precedence over the configuration.

    Raises:
        UsageError: an address is not a URL, or a variable names another protocol.
    """
    if environ.get(_OFF, "").strip().lower() == "true":
        return Receivers()
    base = environ.get(_ENDPOINT) or config.otlp_endpoint or ""
    spans_url, lines_url = (environ.get(name) for name in (_TRACES_ENDPOINT, _LOGS_ENDPOINT))
    azure = environ.get(_AZURE)
    receivers = Receivers(
        spans_url or _join_url(base, "v1/traces"),
        lines_url or _join_url(base, "v1/logs"),
        SecretText(azure) if azure else config.application_insights,
    )
    if receivers.spans_url or receivers.lines_url:
        _require_http(receivers, environ)
    return receivers


def _join_url(base: str, path: str) -> str:
    return f"{base.rstrip('/')}/{path}" if base else ""


def _require_http(receivers: Receivers, environ: Mapping[str, str]) -> None:
    for url in filter(None, (receivers.spans_url, receivers.lines_url)):
        if not _URL.fullmatch(url):
            raise UsageError("the address of the collector is not a URL", hint=f"{_ENDPOINT}=http://collector:4318")
    for name in _PROTOCOLS:
        if environ.get(name, "http/protobuf") != "http/protobuf":
            raise UsageError(
                f"{name} is '{environ[name]}', but dirindex only speaks http/protobuf",
                hint=f"unset it, and put the HTTP port, usually 4318, in {_ENDPOINT}",
            )


def _build(make: Callable[..., _T], *arguments: str, extra: str) -> _T:
    try:
        return make(*arguments)
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"telemetry is configured, but '{error.name}' is not installed",
            hint=f"pip install '.[{extra}]' in a checkout; or turn telemetry off with {_OFF}=true",
        ) from error
    except ValueError as error:  # its message may contain a key
        raise UsageError(
            f"the configuration of telemetry is wrong: {type(error).__name__}",
            hint=f"check {_AZURE} and the variables that begin with OTEL_",
        ) from error
