"""Reports are hostile: what is looked for in them takes time in proportion to their length."""

from __future__ import annotations

import time

import pytest

from directory_indexer.search.locating import names_in, paths_in


@pytest.mark.parametrize("unit", ["a@", "a/", "a\\", "a.", "a::", "a#", "a->", "->a", "`a", "-", "@a/"])
def test_a_report_four_times_as_long_takes_about_four_times_as_long(unit: str) -> None:
    def seconds(length: int) -> float:
        started = time.process_time()
        names_in(unit * (length // len(unit)))
        paths_in(unit * (length // len(unit)))
        return time.process_time() - started

    least = min(seconds(5_000) for _ in range(3))
    assert seconds(20_000) < 10 * least + 0.5
