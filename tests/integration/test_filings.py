"""Tables of reports are found by title, units and year, which stand above them or in the name of the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import pymupdf
import pytest

from directory_indexer.chunking.chunks import embedding_text
from directory_indexer.core.paths import file_path
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from indexes import Index

NUMBERS = "in millions, except per share amounts"
STATEMENTS = (
    ("CONSOLIDATED STATEMENTS OF OPERATIONS", "Years ended December 31,", ("Net sales", "Cost of sales", "Net income")),
    ("CONSOLIDATED BALANCE SHEETS", "As of December 31,", ("Cash", "Goodwill", "Total assets", "Total equity")),
    ("CONSOLIDATED STATEMENTS OF CASH FLOWS", "Years ended December 31,", ("Depreciation", "Dividends paid")),
)


def report(company: str, year: int, *, n_lines: int = 15) -> bytes:
    """Print a report whose statements stand below their title, their units and their periods, a page each."""
    pdf = pymupdf.open()
    page = pdf.new_page()
    page.insert_text((60, 80), company, fontsize=20)
    page.insert_text((60, 120), "The company makes kites and sells them in shops of its own.")
    for title, periods, labels in STATEMENTS:
        page = pdf.new_page()
        page.insert_text((60, 60), company, fontsize=9)
        page.insert_text((180, 90), title, fontsize=10, fontname="hebo")
        page.insert_text((200, 104), f"({NUMBERS})", fontsize=9)
        page.insert_text((330, 130), periods, fontsize=9)
        rows = [f"{label} {number}" for number, label in product(range(n_lines), labels)][:38]
        _print_rows(page, rows, year, seed=len(company))
        page.insert_text((60, 740), "See accompanying notes to the statements.", fontsize=9)
    return bytes(pdf.tobytes())


def _print_rows(page: pymupdf.Page, labels: Sequence[str], year: int, *, seed: int = 7) -> None:
    for column in range(3):
        page.insert_text((350 + 60 * column, 145), str(year - column), fontsize=9)
    for index, label in enumerate(labels):
        page.insert_text((60, 165 + 14 * index), label, fontsize=9)
        for column in range(3):
            page.insert_text(
                (350 + 60 * column, 165 + 14 * index), f"{(index + year) * seed * 7919 % 9973 + column:,}", fontsize=9
            )


@pytest.fixture
def filings(index: Index) -> Index:
    for company, year in product(("Kiteworks", "Bustard"), (2021, 2022)):
        index.write_bytes(f"{company.upper()}_{year}_10K.pdf", report(f"{company} Industries", year))
    index.run()
    return index


def chunks_of(index: Index, name: str) -> dict[str, int | None]:
    """Return the texts that the passages of a file are embedded as, and their pages."""
    path = file_path(str(index.root / name))
    with index.docstore.snapshot() as snapshot:
        return {embedding_text(stored.chunk, path): stored.chunk.page for stored in snapshot.chunks.of_file(path)}


@pytest.mark.slow
def test_every_passage_of_a_statement_has_its_title_its_units_its_columns_and_the_year(filings: Index) -> None:
    chunks = chunks_of(filings, "KITEWORKS_2021_10K.pdf")
    for number, (title, periods, labels) in enumerate(STATEMENTS):
        of_table = [text for text in chunks if re.search(rf"^{labels[0]} \d+ \d", text, re.MULTILINE)]
        assert len(of_table) > 1
        for text in of_table:
            assert text.startswith("KITEWORKS 2021\n")
            assert all(name in text for name in (title, NUMBERS, periods, "2021 2020 2019"))
            assert not [other for other, *_ in STATEMENTS if other != title and other in text]
            assert chunks[text] == number + 2


@pytest.mark.slow  # test_grids and test_columns: every passage has the names of its table
def test_a_question_for_a_statement_leads_to_its_page(filings: Index) -> None:
    for question, name, page in (
        ("Kiteworks 2021 consolidated balance sheets goodwill", "KITEWORKS_2021_10K.pdf", 3),
        ("Bustard 2022 statements of cash flows dividends paid", "BUSTARD_2022_10K.pdf", 4),
        ("net sales of Bustard in 2021 in millions, statements of operations", "BUSTARD_2021_10K.pdf", 2),
    ):
        (hit, *_) = filings.search(question, mode=SearchMode.KEYWORD)
        assert (str(hit.path).removeprefix(f"{filings.root}/"), hit.page) == (name, page)


def test_years_in_the_names_of_other_files_are_not_embedded(index: Index) -> None:
    index.write("minutes_2021.md", "Dr Okafor signed.\n")
    index.run()

    assert list(chunks_of(index, "minutes_2021.md")) == ["minutes\nDr Okafor signed.\n"]


def test_a_title_that_goes_on_from_a_sentence_leaves_the_sentence_whole(index: Index) -> None:
    pdf = pymupdf.open()
    page = pdf.new_page()
    page.insert_textbox((60, 60, 300, 130), "The board has looked at all shops. " * 3 + "It lists below what they sold")
    _print_rows(page, [f"Shop {number}" for number in range(38)], 2022)
    index.write_bytes("shops.pdf", bytes(pdf.tobytes()))
    index.run()

    assert "It lists below what they sold" in " ".join(next(iter(chunks_of(index, "shops.pdf"))).split())
