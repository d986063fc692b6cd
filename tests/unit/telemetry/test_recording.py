"""What becomes of spans and lines on their way to a receiver."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

from directory_indexer.searching.background import BackgroundTask
from directory_indexer.telemetry import delivery, spans
from directory_indexer.telemetry.delivery import Delivery, Exporters
from directory_indexer.telemetry.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator


class Result(Enum):
    SUCCESS = 0
    FAILURE = 1


class Kept:
    """An exporter that keeps everything, unless it is told to fail."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.result = Result.SUCCESS

    def export(self, batch: Sequence[Any]) -> Result:
        self.records += batch if self.result is Result.SUCCESS else []
        return self.result

    def shutdown(self) -> None:
        """Keep what is there."""


@pytest.fixture
def kept() -> Iterator[Kept]:
    kept = Kept()
    spans.record_with(Recording([Exporters(Delivery(kept, receiver="a test"), None)]))
    yield kept
    spans.close()


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


def test_a_receiver_that_is_away_is_told_of_once_and_once_that_it_is_there_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    exporter = Kept()
    one = Delivery(exporter, receiver="a test")
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
    delivery.shut_down(hanging, within=0.01)
    assert all(one.was_asked.wait(10) for one in hanging)
    for one in hanging:
        one.goes_on.set()


def test_off_a_span_is_nothing() -> None:
    with spans.span("work", n_hits=1) as span:
        span.note(n_hits=2)
    spans.begun("work").end()
    assert spans.traceparent() == spans.trace_id() == ""
    assert spans.for_child() == {}
    spans.close()


def test_libraries_log_nothing_of_their_attempts(caplog: pytest.LogCaptureFixture) -> None:
    delivery.quiet_libraries()
    logging.getLogger("opentelemetry.exporter").error("http://user:password@collector is away")
    assert not caplog.records
