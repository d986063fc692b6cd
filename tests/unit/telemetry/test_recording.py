"""What becomes of spans and lines on their way to a receiver."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

import pytest
from telemetry_receivers import Kept, Result, keeping

from directory_indexer.search.on_demand_embedding import BackgroundTask
from directory_indexer.telemetry import recorder, spans
from directory_indexer.telemetry.recorder import MonitoredExporter

if TYPE_CHECKING:
    from collections.abc import Iterator


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def kept() -> Iterator[Kept]:
    with keeping() as kept:
        yield kept


def test_of_an_error_its_type_is_told_and_not_its_message(kept: Kept) -> None:
    with pytest.raises(ValueError, match="a path"), spans.span("work"):
        raise ValueError("a path")
    spans.close()
    (span,) = kept.records
    assert span.attributes == {"error.type": "ValueError"}
    assert not span.status.is_ok
    assert not span.events
    assert span.status.description is None


def test_what_another_thread_does_for_a_search_is_a_part_of_it(kept: Kept) -> None:
    def work() -> None:
        with spans.span("part"):
            pass

    with spans.span("whole"):
        BackgroundTask(work).result()
    spans.close()
    part, whole = kept.records
    assert part.parent.span_id == whole.context.span_id


@pytest.mark.parametrize("flags", ["01", "00"])
def test_a_client_neither_chooses_the_trace_of_its_request_nor_keeps_it_out_of_sight(kept: Kept, flags: str) -> None:
    with spans.answer_span("GET /docs", within=f"00-{TRACE}-{SPAN}-{flags}"):
        pass
    (span,) = kept.named("GET /docs")
    assert f"{span.context.trace_id:032x}" != TRACE
    assert span.parent is None
    assert [f"{link.context.trace_id:032x}" for link in span.links] == [TRACE]


def test_where_clients_are_trusted_a_request_is_a_part_of_what_they_do() -> None:
    with keeping(joins_traces=True) as kept:
        with spans.answer_span("GET /docs", within=f"00-{TRACE}-{SPAN}-01"):
            pass
        (span,) = kept.named("GET /docs")
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, SPAN)
    assert not span.links


@pytest.mark.parametrize("joins_traces", [True, False])
def test_a_trace_that_is_none_is_ignored(*, joins_traces: bool) -> None:
    with keeping(joins_traces=joins_traces) as kept:
        with spans.answer_span("GET /docs", within="heron"):
            pass
        (span,) = kept.named("GET /docs")
    assert (span.parent, list(span.links)) == (None, [])


def test_a_receiver_that_is_away_is_told_of_once_and_once_that_it_is_there_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    exporter = Kept()
    one = MonitoredExporter(exporter, receiver="a test")
    exporter.result = Result.FAILURE
    for _ in range(3):
        one.export(["a", "b"])
    exporter.result = Result.SUCCESS
    for _ in range(2):
        one.export(["c"])
    assert [record.getMessage() for record in caplog.records] == [
        "telemetry does not reach a test; everything else goes on",
        "telemetry reaches a test again; 6 records were lost",
    ]


def test_the_end_waits_no_longer_than_it_may() -> None:
    class Hanging:
        def __init__(self) -> None:
            self.was_asked = threading.Event()
            self.goes_on = threading.Event()

        def shutdown(self) -> None:
            self.was_asked.set()
            self.goes_on.wait()

    hanging = [Hanging(), Hanging()]
    recorder.shut_down(hanging, within=0.01)
    assert all(one.was_asked.wait(10) for one in hanging)
    for one in hanging:
        one.goes_on.set()


def test_off_a_span_is_nothing() -> None:
    with spans.span("work", n_hits=1) as span:
        span.note(n_hits=2)
    spans.start_span("work").end()
    assert spans.traceparent() == spans.trace_id() == ""
    assert spans.child_environment() == {}
    spans.close()


def test_libraries_log_nothing_of_their_attempts(caplog: pytest.LogCaptureFixture) -> None:
    recorder.quiet_libraries()
    logging.getLogger("opentelemetry.exporter").error("http://user:password@collector is away")
    assert not caplog.records
