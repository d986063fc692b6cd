"""Rows of long tables stand under the names of their columns."""

from __future__ import annotations

from directory_indexer.formats.draft import Draft
from directory_indexer.formats.html import extract_html
from directory_indexer.formats.pdf.flow import PlacedRow
from directory_indexer.formats.pdf.pages import Row
from directory_indexer.formats.pdf.tables import HeadedTable, headed_tables

ITEMS = [f"| Item number {number} | {number * 17} | {number * 23} |" for number in range(40)]


def placed(*texts: str, page: int = 1) -> list[PlacedRow]:
    start, rows = 0, []
    for text in texts:
        rows.append(PlacedRow(start, page, Row(text, 0, 0, 0, 0, 100, is_bold=False, block=0)))
        start += len(text) + 1
    return rows


def columns_of(*texts: str) -> list[str]:
    return [table.columns for table in headed_tables(placed(*texts))]


def test_the_rows_of_a_long_table_stand_under_its_columns_and_what_follows_does_not() -> None:
    draft = Draft()
    draft.heading(1, "Stock")
    draft.rows(["| Article | Shop | Store |", *ITEMS])
    draft.paragraph("Counted by hand.")
    document = draft.document("docx")

    assert [section.headings for section in document.sections] == [
        ("Stock",),
        ("Stock", "Article, Shop, Store"),
        ("Stock",),
    ]
    assert document.text[document.sections[1].start :].startswith("| Item number 0")
    assert document.text[document.sections[2].start :] == "Counted by hand.\n"


def test_a_short_table_stands_as_it_is() -> None:
    draft = Draft()
    draft.rows(["| Article | Shop |", "| Nails | 4 |"])
    assert draft.document("docx").sections == ()


def test_sections_stand_in_order_wherever_a_table_does() -> None:
    draft = Draft()
    draft.heading(1, "Stock")
    draft.paragraph("Nothing is missing. " * 40)
    draft.rows(["| Article | Shop | Store |"])
    draft.paragraph("Counted by hand.")
    draft.rows(["| Article | Shop | Store |", *ITEMS])
    document = draft.document("docx")

    assert [section.headings for section in document.sections] == [("Stock",), ("Stock", "Article, Shop, Store")]
    assert document.text[document.sections[1].start :].startswith("| Item number 0")


def test_a_table_without_names_has_no_columns() -> None:
    draft = Draft()
    draft.rows(["| 1 | 2 | 3 |", *ITEMS])
    assert draft.document("docx").sections == ()


def test_the_caption_of_a_long_table_stays_with_its_rows() -> None:
    draft = Draft()
    draft.heading(1, "Growth")
    draft.paragraph("Table 3: Trees felled by year")
    draft.rows(["| Tree | Felled | Left |", *ITEMS])
    draft.paragraph("Prose.")
    paths = [section.headings for section in draft.document("docx").sections]
    assert paths == [("Growth",), ("Growth", "Table 3: Trees felled by year", "Tree, Felled, Left"), ("Growth",)]


def test_a_paragraph_above_a_table_is_no_caption() -> None:
    draft = Draft()
    draft.paragraph("Trees were felled in every year, as the table shows.")
    draft.rows(["| Tree | Felled | Left |", *ITEMS])
    assert [section.headings for section in draft.document("docx").sections] == [(), ("Tree, Felled, Left",)]


def html_table(head: str = "<tr><th>Tree<th>Felled</tr>", rows: int = 40) -> str:
    return (
        f"<table>{head}" + "".join(f"<tr><td>Oak number {row}<td>{row * 17}</tr>" for row in range(rows)) + "</table>"
    )


def paths_of_page(*parts: str) -> list[tuple[str, ...]]:
    return [section.headings for section in extract_html("\n".join(parts), "html").sections]


def test_the_rows_of_a_long_table_of_a_page_stand_under_its_caption_and_columns() -> None:
    captioned = html_table("<caption>Trees <b>felled</b></caption>\n<tr><th>Tree<th>Felled</tr>")
    assert paths_of_page("<h2>Growth</h2>", captioned, "<p>Prose.</p>") == [
        ("Growth",),
        ("Growth", "Trees felled", "Tree, Felled"),
        ("Growth",),
    ]
    assert paths_of_page(html_table(), html_table("<tr><td>Bush<td>Left")) == [
        (),
        ("Tree, Felled",),
        (),
        ("Bush, Left",),
        (),
    ]


def test_short_tables_and_those_that_lay_out_a_page_have_no_columns() -> None:
    assert paths_of_page(html_table(rows=3)) == [()]
    layout = "<table><tr><td>Menu<td>Home</tr><tr><td>" + "<h2>News</h2><p>Prose.</p>" * 60 + "</table>"
    assert set(paths_of_page(layout)) == {(), ("News",)}
    assert paths_of_page("<table><tr><td>a<td>b</tr><tr><td>", html_table(), "</table>") == [()]
    assert paths_of_page("</table><caption><tr><td>", "</tr>", "<table>" * 3, "text") == [()]


def test_each_sheet_has_columns_of_its_own() -> None:
    draft = Draft()
    for name in ("Shop", "Store"):
        draft.heading(1, name)
        for number, line in enumerate([f"| {name} article | Count |", *ITEMS], 1):
            draft.row(line, f"{name}!A{number}")
    paths = [section.headings for section in draft.document("xlsx").sections]
    assert paths == [("Shop",), ("Shop", "Shop article, Count"), ("Store",), ("Store", "Store article, Count")]


ROWS = [f"Expenses of department {number} $ 1,{number:03} $ 2,{number:03}" for number in range(20)]


def test_a_printed_table_is_headed_by_its_caption_and_periods() -> None:
    rows = placed("Prose.", "Balance Sheets", "($ in millions)", "As of June 30, 2023 2022", *ROWS, "Notes follow.")
    (table,) = headed_tables(rows)
    assert table == HeadedTable(
        rows[4].start,
        rows[3].start,
        rows[4].start,
        rows[23].start + len(ROWS[-1]),
        "Balance Sheets ($ in millions) As of June 30, 2023 2022",
    )


def test_two_tables_on_a_page_have_columns_of_their_own() -> None:
    assert columns_of("2023 2022", *ROWS, "Years ended May 31, 2021 2020", *ROWS) == [
        "2023 2022",
        "Years ended May 31, 2021 2020",
    ]


def test_a_table_ends_with_its_page() -> None:
    rows = [*placed("2023 2022", *ROWS), *placed(*ROWS, page=2)]
    (table,) = headed_tables(rows)
    assert table.end == rows[20].start + len(ROWS[-1])


def test_prose_with_years_heads_nothing() -> None:
    assert columns_of("It grew from 2019 to 2020", *["Nobody knows the reason for that"] * 30) == []
    assert columns_of("Sales were 400 in 2019 and 2020", *ROWS) == []
    assert columns_of("It was so in 2019.", *ROWS) == []
