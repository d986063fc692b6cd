from __future__ import annotations

import pytest

from directory_indexer.text.formatting import count, duration, percent, size, time_ago


@pytest.mark.parametrize(
    ("n_bytes", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KiB"),
        (10_485_760, "10 MiB"),
        (1_288_490_189, "1.2 GiB"),
        (1023 * 1024, "1.0 MiB"),
        (5e16, "45,475 TiB"),
    ],
)
def test_a_size_has_two_or_three_digits(n_bytes: float, said: str) -> None:
    assert size(n_bytes) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0.0 s"),
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (352_800, "4 d 2 h"),
    ],
)
def test_a_duration_is_said_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7300, "2 hours ago"),
        (86_400 * 3, "3 days ago"),
        (86_400 * 65, "2 months ago"),
        (86_400 * 800, "2 years ago"),
    ],
)
def test_a_time_is_said_in_its_largest_unit(seconds: int, said: str) -> None:
    assert time_ago(1e9 - seconds, now=1e9) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "-"), (0, 10, "0 %"), (1, 1000, "<1 %"), (999, 1000, "99 %"), (1000, 1000, "100 %")],
)
def test_only_what_is_complete_is_a_hundred_percent_and_only_nothing_is_zero(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said


def test_a_count_agrees_with_its_noun() -> None:
    assert [count(1, "file"), count(12_000, "file"), count(2, "directory", "directories")] == [
        "1 file",
        "12,000 files",
        "2 directories",
    ]
