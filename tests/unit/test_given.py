"""Values that a person types on the command line."""

from __future__ import annotations

import pytest

from directory_indexer.cli.commands import parse_seconds
from directory_indexer.core.errors import UsageError


@pytest.mark.parametrize("text", ["nan", "-1", "-inf", "", "ten", "9" * 400 + "x"])
def test_what_is_no_number_of_seconds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a number of seconds"):
        parse_seconds(text)


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("600", 600), ("1.5", 1.5), ("inf", float("inf"))])
def test_seconds_may_have_a_fraction(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds
