"""Reports are hostile: what is looked for in them takes time in proportion to their length."""

from __future__ import annotations

import pytest
from growth import require_linear

from directory_indexer.search.locating import names_in, paths_in


@pytest.mark.parametrize("unit", ["a@", "a/", "a\\", "a.", "a::", "a#", "a->", "->a", "`a", "-", "@a/"])
def test_a_report_four_times_as_long_takes_about_four_times_as_long(unit: str) -> None:
    def read(length: int) -> None:
        names_in(unit * (length // len(unit)))
        paths_in(unit * (length // len(unit)))

    require_linear(read, 20_000)
