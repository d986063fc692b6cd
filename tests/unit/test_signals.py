"""A run is asked to stop when its time is up or a signal comes, and stops at once at the second signal."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from directory_indexer.cli.signals import StopSwitch
from directory_indexer.storage.documents.runs import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def own_handlers() -> Iterator[None]:
    """Put the handlers of the test run back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_time_is_up_after_the_seconds_given_and_never_where_none_are() -> None:
    assert StopSwitch(max_seconds=0).reason() is Outcome.OUT_OF_TIME
    assert StopSwitch(max_seconds=1000).reason() is None
    assert StopSwitch(max_seconds=None).reason() is None


@pytest.mark.parametrize("number", SIGNALS)
def test_a_first_signal_asks_the_run_to_stop_and_a_second_one_ends_it(number: signal.Signals) -> None:
    switch = StopSwitch(max_seconds=1000)
    signal.raise_signal(number)
    assert switch.reason() is Outcome.INTERRUPTED
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
