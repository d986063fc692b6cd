"""Ages and dates that narrow a search."""

from __future__ import annotations

import pytest

from directory_indexer.core.errors import UsageError
from directory_indexer.search.requests import parse_since


@pytest.mark.parametrize("age", ["7dogs", "7months7", "3 wise", "7", "d", "1e3d", "7D7", "-7d"])
def test_an_age_in_no_known_unit_is_refused(age: str) -> None:
    with pytest.raises(UsageError, match="neither an age nor a date"):
        parse_since(age, name="--since")
