"""Reports are hostile: what is looked for in them takes time in proportion to their length."""

from __future__ import annotations

import pytest
from growth import require_linear

from directory_indexer.ranking.traces import parse_trace
from directory_indexer.search.issue_localisation import names_in, paths_in


@pytest.mark.parametrize("unit", ["a@", "a/", "a\\", "a.", "a::", "a#", "a->", "->a", "`a", "-", "@a/"])
def test_a_report_four_times_as_long_takes_about_four_times_as_long(unit: str) -> None:
    def read(length: int) -> None:
        names_in(unit * (length // len(unit)))
        paths_in(unit * (length // len(unit)))

    require_linear(read, 20_000)


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("a.py:1\nx\n", "\n", "b"),
        ("a.py:1\nb.py:2\na(", "0x", ")z"),
        ("", "a.java:1 ", ""),
        ("a.py:1\nb.py:2\n", "@", ""),
        ("a.py:1\n", "00:00:00", ""),
        ("", 'File "', ""),
        ("", "Caused by:\na.c:1\n", ""),
    ],
)
def test_reading_a_trace_takes_time_in_proportion_to_its_length(before: str, unit: str, after: str) -> None:
    require_linear(lambda length: parse_trace(before + unit * (length // len(unit)) + after), 100_000)
