"""Tables with ruling lines are Markdown tables where a document is converted, and rows of text where it is indexed."""

from __future__ import annotations

from collections.abc import Sequence

import pymupdf

from directory_indexer.formats.pdf.reader import extract_pdf
from directory_indexer.integrations.converting.converter import to_markdown

PARTS = (("Part", "Material", "Stock"), ("SS-2541-03-M", "stainless\nsteel", "12"), ("SS-2541-04-L", "brass", "7"))
PLACES = (("Hall", "Door code", "Keeper"), ("A-1", "self-\nclosing", "Ms Onza"), ("B-2", "glass | steel", "Mr Kob"))
DOWN, ACROSS = 34, 130


def draw(page: pymupdf.Page, rows: Sequence[Sequence[str]], top: int) -> None:
    """Draw a table with lines around its cells."""
    left, n_columns = 60, len(rows[0])
    bottom, right = top + DOWN * len(rows), left + ACROSS * n_columns
    for index in range(len(rows) + 1):
        page.draw_line((left, top + DOWN * index), (right, top + DOWN * index))
    for index in range(n_columns + 1):
        page.draw_line((left + ACROSS * index, top), (left + ACROSS * index, bottom))
    for index, row in enumerate(rows):
        for column, text in enumerate(row):
            page.insert_text((left + ACROSS * column + 4, top + DOWN * index + 13), text.split("\n"), fontsize=10)


def pdf_of(
    *tables: tuple[Sequence[Sequence[str]], int], text: str = "The table is taken from the yearly count."
) -> bytes:
    pdf = pymupdf.open()
    page = pdf.new_page()
    page.insert_text((60, 60), text, fontsize=11)
    for rows, top in tables:
        draw(page, rows, top)
    page.insert_text((60, 700), "the count ends here.", fontsize=11)
    return bytes(pdf.tobytes())


def converted(content: bytes) -> str:
    return to_markdown(extract_pdf(content, finds_tables=True)).partition("<!-- page 1 -->\n")[2]


def test_a_ruled_table_is_a_markdown_table() -> None:
    text = converted(pdf_of((PARTS, 100)))

    assert text.splitlines() == [
        "The table is taken from the yearly count.",
        "",
        "| Part | Material | Stock |",
        "| --- | --- | --- |",
        "| SS-2541-03-M | stainless steel | 12 |",
        "| SS-2541-04-L | brass | 7 |",
        "",
        "the count ends here.",
    ]


def test_two_tables_of_a_page_stay_two_and_their_hyphens_stay() -> None:
    text = converted(pdf_of((PARTS, 100), (PLACES, 320)))

    assert text.count("| --- | --- | --- |") == 2
    assert "| SS-2541-04-L | brass | 7 |\n\n| Hall | Door code | Keeper |\n" in text
    assert "| A-1 | self-closing | Ms Onza |\n| B-2 | glass steel | Mr Kob |\n\nthe count ends here." in text


def test_a_page_without_lines_has_no_table() -> None:
    assert "|" not in converted(pdf_of())


def test_a_frame_around_text_is_no_table() -> None:
    pdf = pymupdf.open()
    page = pdf.new_page()
    for top in (50, 200, 350):
        page.draw_rect((50, top, 500, top + 100))
        page.insert_text((60, top + 40), "Read this before you open the case.", fontsize=11)

    assert converted(bytes(pdf.tobytes())).count("|") == 0


def test_rows_of_the_indexed_text_are_sentences_without_bars() -> None:
    text = extract_pdf(pdf_of((PARTS, 100))).text

    assert "|" not in text
    assert "SS-2541-03-M" in text
    assert "SS-2541-04-L brass 7" in " ".join(text.split())


def test_a_table_over_two_pages_with_years_is_broken_by_no_heading() -> None:
    pdf = pymupdf.open()
    rows = [("Item", "2025", "2024"), *((f"Line {number}", str(number * 7), str(number * 5)) for number in range(9))]
    for _ in range(2):
        draw(pdf.new_page(), rows, 100)
    text = converted(bytes(pdf.tobytes()))

    assert "#" not in text
    assert text.count("| Item | 2025 | 2024 |\n| --- | --- | --- |\n| Line 0 | 0 | 0 |") == 2


def test_a_table_of_a_turned_page_is_read_as_it_is_seen() -> None:
    pdf = pymupdf.open()
    page = pdf.new_page()
    draw(page, PARTS, 100)
    page.set_rotation(90)

    assert "| Part | Material | Stock |" in converted(bytes(pdf.tobytes()))


def test_a_cell_over_several_columns_stands_in_the_first() -> None:
    pdf = pymupdf.open()
    page = pdf.new_page()
    for y, xs in ((100, (60, 450)), (130, (60, 450)), (160, (60, 450)), (190, (60, 450))):
        page.draw_line((xs[0], y), (xs[1], y))
    for x, top in ((60, 100), (190, 130), (320, 130), (450, 100)):
        page.draw_line((x, top), (x, 190))
    for x, y, text in ((70, 120, "All of the year"), (70, 150, "Hall"), (200, 150, "Code"), (330, 150, "Key")):
        page.insert_text((x, y), text)
    for x, text in ((70, "North"), (200, "4"), (330, "8")):
        page.insert_text((x, 180), text)

    assert converted(bytes(pdf.tobytes())).startswith(
        "| All of the year |  |  |\n| --- | --- | --- |\n| Hall | Code | Key |\n| North | 4 | 8 |\n"
    )


def test_a_page_with_very_many_lines_has_no_table() -> None:
    pdf = pymupdf.open(stream=pdf_of((PARTS, 100)))
    last = pdf[0].get_contents()[-1]
    pdf.update_stream(last, pdf.xref_stream(last) + b"\n0 0 m 9 0 l S" * 50_001)

    assert "|" not in converted(bytes(pdf.tobytes()))
