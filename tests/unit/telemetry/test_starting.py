"""Who is told what goes on, and what becomes of mistakes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from directory_indexer.config.services import TelemetryConfig
from directory_indexer.config.value_types import SecretText
from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.telemetry import spans
from directory_indexer.telemetry.start import Receivers, receivers_of, start, start_leniently

NOBODY = TelemetryConfig(None, None)
BASE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def test_nobody_is_told_unless_somebody_is_named() -> None:
    start(NOBODY, {})
    assert spans.recorder() is None


@pytest.mark.parametrize(
    ("config", "environ", "expected"),
    [
        (NOBODY, {BASE: "http://a:4318/"}, ("http://a:4318/v1/traces", "http://a:4318/v1/logs", None)),
        (
            TelemetryConfig("http://b:4318", None),
            {BASE: "http://a:4318"},
            ("http://a:4318/v1/traces", "http://a:4318/v1/logs", None),
        ),
        (TelemetryConfig("http://b:4318", None), {}, ("http://b:4318/v1/traces", "http://b:4318/v1/logs", None)),
        (NOBODY, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a/x"}, ("http://a/x", "", None)),
        (NOBODY, {"APPLICATIONINSIGHTS_CONNECTION_STRING": "key"}, ("", "", SecretText("key"))),
        (TelemetryConfig(None, SecretText("own")), {}, ("", "", SecretText("own"))),
        (NOBODY, {BASE: "http://a:4318", "OTEL_SDK_DISABLED": "True"}, ("", "", None)),
        (NOBODY, {BASE: ""}, ("", "", None)),
    ],
)
def test_variables_are_stronger_than_the_configuration(
    config: TelemetryConfig, environ: dict[str, str], expected: Any
) -> None:
    assert receivers_of(config, environ) == Receivers(*expected)


@pytest.mark.parametrize(
    "environ",
    [
        {BASE: "collector:4318"},
        {BASE: "http://a:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        {BASE: "http://a:4317", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
    ],
)
def test_what_cannot_be_meant_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        receivers_of(NOBODY, environ)


@pytest.mark.parametrize(
    ("environ", "library", "module", "extra"),
    [
        ({BASE: "http://127.0.0.1:9"}, "opentelemetry.exporter.otlp.proto.http", "otlp", "telemetry"),
        ({"APPLICATIONINSIGHTS_CONNECTION_STRING": "key"}, "azure.monitor.opentelemetry.exporter", "azure", "azure"),
    ],
)
def test_what_is_not_installed_is_named_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], library: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"directory_indexer.telemetry.{module}", raising=False)
    with pytest.raises(UnavailableError, match="is not installed") as caught:
        start(NOBODY, environ)
    assert f"pip install '.[{extra}]'" in str(caught.value.hint)
    assert spans.recorder() is None


@pytest.mark.parametrize(
    "environ",
    [
        {BASE: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        {BASE: "http://127.0.0.1:9"},
    ],
)
def test_variables_for_other_programs_do_not_stop_a_command(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    monkeypatch.delitem(sys.modules, "directory_indexer.telemetry.otlp", raising=False)
    start_leniently(NOBODY, environ)
    assert spans.recorder() is None
    with pytest.raises((UsageError, UnavailableError)):
        start_leniently(TelemetryConfig("http://127.0.0.1:9", None), environ)


def test_a_queue_that_is_too_short_is_a_mistake_of_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
    with pytest.raises(UsageError, match="ValueError"):
        start(NOBODY, {BASE: "http://127.0.0.1:9"})
    assert spans.recorder() is None


def test_a_connection_string_that_is_none_is_refused_and_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        start(NOBODY, {"APPLICATIONINSIGHTS_CONNECTION_STRING": "InstrumentationKey=secret-words"})
    assert "secret-words" not in f"{caught.value.message} {caught.value.hint}"
    assert spans.recorder() is None
