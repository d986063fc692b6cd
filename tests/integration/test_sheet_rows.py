"""A hit in a workbook names the row and the cell that people see there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from office_files import cells, xlsx

from directory_indexer.api.hits import passage_of
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indexes import Index


_HEAD = cells(1, A="Item", B="Room", C="State")


def place_of(index: Index, query: str, **sheets: str) -> tuple[int | None, str | None]:
    (index.root / "stock.xlsx").write_bytes(xlsx(sheets))
    index.run()
    [hit, *_] = index.searcher.search(index.request(query, mode=SearchMode.KEYWORD)).hits
    passage = passage_of(hit)
    return passage.row, passage.cell


def stock(numbers: Iterable[int]) -> str:
    rows = (cells(number, A=f"device{number}", B=f"room{number}", C="in order") for number in numbers)
    return _HEAD + "".join(rows)


@pytest.mark.parametrize("number", [2, 77, 200, 399])
def test_a_row_has_the_number_that_it_has_in_its_sheet(index: Index, number: int) -> None:
    assert place_of(index, f"device{number}", Stock=stock(range(2, 400))) == (number, f"A{number}")


def test_the_cell_is_the_first_one_that_matches(index: Index) -> None:
    assert place_of(index, "room333", Stock=stock(range(2, 400))) == (333, "B333")


@pytest.mark.parametrize(("query", "place"), [("device3", (3, "A3")), ("parrot", (2, "D2")), ("cage", (9, "E9"))])
def test_sheets_that_are_one_passage_name_rows_and_cells(index: Index, query: str, place: tuple[int, str]) -> None:
    birds = cells(2, C="Bird", D="parrot") + cells(9, D="kept in", E="cage")
    assert place_of(index, query, Stock=stock(range(2, 5)), Birds=birds) == place


def test_rows_behind_blank_ones_keep_their_numbers(index: Index) -> None:
    assert place_of(index, "device1050", Stock=stock((*range(2, 100), *range(1000, 1200)))) == (1050, "A1050")


def test_rows_between_blank_ones_keep_their_numbers(index: Index) -> None:
    assert place_of(index, "room203", Stock=stock(range(3, 400, 2))) == (203, "B203")


def test_where_empty_cells_were_left_out_only_the_row_is_named(index: Index) -> None:
    assert place_of(index, "parrot", Stock=cells(4, A="Bird", AZ="parrot")) == (4, None)
