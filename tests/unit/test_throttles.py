"""When embedding that nobody waits for steps aside, and for how long."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.last_query import QUERY_MARK_NAME, QueryListener, recorded_query
from directory_indexer.indexing import options as pacing
from directory_indexer.indexing.options import BackgroundThrottle, PoliteThrottle

if TYPE_CHECKING:
    from pathlib import Path


class Machine:
    """A machine whose battery and clock a test sets."""

    def __init__(self) -> None:
        self.percent: int | None = None
        self.seconds = 0.0

    def pace(self, database: Path, *, min_percent: int = 30) -> BackgroundThrottle:
        return BackgroundThrottle(
            database, min_percent=min_percent, battery=lambda: self.percent, clock=lambda: self.seconds
        )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(pacing, "lower_priority", lambda: None)  # what runs the tests would stay there
    return Machine()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.mark.parametrize(
    ("percent", "least", "pauses"),
    [(None, 30, False), (29, 30, True), (30, 30, False), (5, 0, False), (99, 100, True)],
)
def test_a_low_battery_is_a_reason_to_pause(
    machine: Machine, database: Path, percent: int | None, least: int, *, pauses: bool
) -> None:
    machine.percent = percent
    pace = machine.pace(database, min_percent=least)
    assert pace.must_pause() is pauses
    reason = f", paused: on battery at {percent} %" if pauses else ""
    assert pace.notice == f"in the background{reason}"


def test_it_goes_on_when_the_machine_is_plugged_in(machine: Machine, database: Path) -> None:
    machine.percent = 10
    pace = machine.pace(database)
    assert pace.must_pause()
    machine.percent = None
    assert pace.must_pause(), "the battery is not looked at again and again"
    machine.seconds += 60
    assert not pace.must_pause()


def test_a_question_is_a_reason_to_pause_for_a_short_while(machine: Machine, database: Path) -> None:
    pace = machine.pace(database)
    pace.begin()
    assert not pace.must_pause()
    with recorded_query(database):
        assert pace.must_pause()
    assert pace.must_pause(), "another one may follow"
    assert pace.notice == "in the background, paused: questions are answered"
    minute_ago = time.time() - 60
    os.utime(database.with_name(QUERY_MARK_NAME), (minute_ago, minute_ago))
    assert not pace.must_pause()


def test_an_index_that_is_always_asked_becomes_complete_all_the_same(machine: Machine, database: Path) -> None:
    pace = machine.pace(database)
    pace.begin()
    n_batches = 0
    for _ in range(600):
        machine.seconds += 0.1
        with recorded_query(database):
            n_batches += not pace.must_pause()
    assert n_batches == 5


def test_what_was_sent_is_embedded_every_second_between_the_questions_of_others(
    machine: Machine, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "lower_priority", lambda: pytest.fail("the process answers questions, too"))
    pace = PoliteThrottle(database, clock=lambda: machine.seconds)
    pace.begin()
    n_batches = 0
    for _ in range(60):
        machine.seconds += 0.25
        with recorded_query(database):
            n_batches += not pace.must_pause()
    assert n_batches == 11


def test_what_says_that_there_are_questions_is_there_only_while_somebody_listens(
    machine: Machine, database: Path
) -> None:
    with recorded_query(database):
        assert not list(database.parent.iterdir())
    pace = machine.pace(database)
    pace.begin()
    assert [one.name for one in database.parent.iterdir()] == [QUERY_MARK_NAME]
    pace.end()
    pace.end()
    assert not list(database.parent.iterdir())


def test_a_question_of_the_future_does_not_stop_it_for_hours(database: Path) -> None:
    listener = QueryListener(database)
    hour_ahead = time.time() + 3600
    os.utime(database.with_name(QUERY_MARK_NAME), (hour_ahead, hour_ahead))
    assert listener.seconds_since() == float("inf")
    listener.close()


def test_what_waits_for_the_run_waits_for_a_small_batch(machine: Machine, database: Path) -> None:
    assert machine.pace(database).batch_size(10_000) <= 8 * (os.cpu_count() or 1)
    assert machine.pace(database).batch_size(4) == 4
