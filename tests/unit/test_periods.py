"""Dates are understood as people write them, and shown as they are understood: by the clock of this machine."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from directory_indexer.api import format_timestamp
from directory_indexer.formats.document import Metadata
from directory_indexer.ranking.query import parse_query
from directory_indexer.ranking.query_syntax import parse_period
from directory_indexer.search.requests import metadata_conditions, parse_since
from directory_indexer.storage.documents.metadata import date_of_metadata
from directory_indexer.text.formatting import day

if TYPE_CHECKING:
    from collections.abc import Iterator

ZONE = ZoneInfo("America/Los_Angeles")
NOW = datetime(2026, 3, 11, 15, 30, tzinfo=ZONE).timestamp()
"""A Wednesday, three days after the clocks were put forward."""


@pytest.fixture(autouse=True)
def _clock_of_los_angeles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def _local(*parts: int) -> float:
    return datetime(*parts, tzinfo=ZONE).timestamp()  # type: ignore[arg-type,misc]  # a year, a month, a day …


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("today", (2026, 3, 11), (2026, 3, 12)),
        ("Yesterday", (2026, 3, 10), (2026, 3, 11)),
        ("now", (2026, 3, 11, 15, 30), (2026, 3, 11, 15, 30)),
        ("this week", (2026, 3, 9), (2026, 3, 16)),
        ("last week", (2026, 3, 2), (2026, 3, 9)),
        ("last-week", (2026, 3, 2), (2026, 3, 9)),
        ("past month", (2026, 2, 1), (2026, 3, 1)),
        ("this_month", (2026, 3, 1), (2026, 4, 1)),
        ("previous year", (2025, 1, 1), (2026, 1, 1)),
        ("36h", (2026, 3, 10, 3, 30), (2026, 3, 10, 3, 30)),
        ("1 day ago", (2026, 3, 10, 15, 30), (2026, 3, 10, 15, 30)),
        ("last 2 days", (2026, 3, 9, 15, 30), (2026, 3, 9, 15, 30)),
        ("2-days-ago", (2026, 3, 9, 15, 30), (2026, 3, 9, 15, 30)),
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        ("2026-3", (2026, 3, 1), (2026, 4, 1)),
        ("2026-12", (2026, 12, 1), (2027, 1, 1)),
        ("2026-1-31", (2026, 1, 31), (2026, 2, 1)),
        ("2026/1/31", (2026, 1, 31), (2026, 2, 1)),
        ("31.01.2026", (2026, 1, 31), (2026, 2, 1)),
        ("31. 1. 2026", (2026, 1, 31), (2026, 2, 1)),
        ("1.2026", (2026, 1, 1), (2026, 2, 1)),
        ("2026-03-08", (2026, 3, 8), (2026, 3, 9)),
        ("2026-01-31T23:30", (2026, 1, 31, 23, 30), (2026, 1, 31, 23, 30)),
        ("2026-01-31 23:30:00", (2026, 1, 31, 23, 30), (2026, 1, 31, 23, 30)),
        ("2026-01-31T08:00:00Z", (2026, 1, 31), (2026, 1, 31)),
        ("2026-01-31t09:00:00+01:00", (2026, 1, 31), (2026, 1, 31)),
    ],
)
def test_a_period_is_that_of_the_clock_on_the_wall(text: str, start: tuple[int, ...], end: tuple[int, ...]) -> None:
    period = parse_period(text, now=NOW)
    assert period is not None
    assert (period.start, period.end) == (_local(*start), _local(*end))


@pytest.mark.parametrize(
    "text", ["", "7dogs", "last resort", "2026-13", "2026-02-30", "31.13.2026", "0", "week", "10000", "2026-1/2", "-7d"]
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_period(text, now=NOW) is None


def test_the_day_shown_of_a_moment_is_the_day_that_holds_it() -> None:
    moment = _local(2026, 1, 31, 23, 30)
    period = parse_period(day(moment), now=NOW)
    assert period
    assert period.start <= moment < period.end
    assert day(moment) == "2026-01-31"
    assert format_timestamp(moment) == "2026-01-31T23:30:00-08:00"
    assert parse_since(format_timestamp(moment) or "", name="since") == moment


def test_a_document_that_gives_a_day_is_dated_on_that_day() -> None:
    dated = date_of_metadata(Metadata(created="2026-01-31"))
    assert dated
    assert day(dated) == "2026-01-31"
    assert day(date_of_metadata(Metadata(created="2026-02-01T05:00:00Z")) or 0) == "2026-01-31"


@pytest.mark.parametrize(
    ("query", "since"),
    [
        ("otter since:2026-1-31", "2026-1-31"),
        ("otter since:31.01.2026", "31.01.2026"),
        ("otter since:2026-01-31T00:00:00Z", "2026-01-31T00:00:00Z"),
        ("otter since:today", "today"),
        ("otter since:last week", "last week"),
        ("since:last 30 days otter", "last 30 days"),
        ("otter since:2 weeks ago", "2 weeks ago"),
        ('otter since:"last month"', "last month"),
    ],
)
def test_a_query_takes_what_options_take(query: str, since: str) -> None:
    parsed = parse_query(query)
    assert parsed.required.since == (since,)
    assert [word.text for word in parsed.words] == ["otter"]
    assert parse_since(since, name="--since") is not None


@pytest.mark.parametrize(
    ("written", "beginning"),
    [
        ("31.01.2026", "2026-01-31"),
        ("2026-1", "2026-01"),
        ("2026/1/2", "2026-01-02"),
        ("2026-01-31T10", "2026-01-31T10"),
    ],
)
def test_the_beginning_of_a_date_is_looked_for_as_documents_write_it(written: str, beginning: str) -> None:
    assert metadata_conditions({"created": [written]}, names={"created": "created"}) == (("created", beginning),)
    assert parse_query(f"otter created:{written}").required.metadata == (("created", beginning),)
