"""A hit in a workbook names the row that people see there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from office_files import cells, xlsx

from directory_indexer.api.hits import passage_of
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indexes import Index


def row_of(index: Index, query: str, numbers: Iterable[int]) -> int | None:
    rows = [cells(number, A=f"device{number}", B=f"room {number}", C="in order") for number in numbers]
    (index.root / "stock.xlsx").write_bytes(xlsx({"Stock": cells(1, A="Item", B="Room", C="State") + "".join(rows)}))
    index.run()
    [hit, *_] = index.searcher.search(index.request(query, mode=SearchMode.KEYWORD)).hits
    return passage_of(hit).row


@pytest.mark.parametrize("number", [30, 77, 200])
def test_a_row_has_the_number_that_it_has_in_its_sheet(index: Index, number: int) -> None:
    assert row_of(index, f"device{number}", range(2, 400)) == number


def test_rows_behind_blank_ones_keep_their_numbers(index: Index) -> None:
    assert row_of(index, "device1050", (*range(2, 100), *range(1000, 1200))) == 1050


def test_where_blank_rows_make_it_uncertain_no_row_is_named(index: Index) -> None:
    assert row_of(index, "device203", range(3, 400, 2)) is None
