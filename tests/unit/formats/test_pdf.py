from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pymupdf
import pytest

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.document import Document, Metadata, Section
from directory_indexer.formats.pdf import reader as extractor
from directory_indexer.formats.pdf.pages import clean
from directory_indexer.formats.pdf.reader import extract_pdf

if TYPE_CHECKING:
    from collections.abc import Sequence

PROSE = "The quick brown fox jumps over the lazy dog and trots home to its den."
LEFT, RIGHT = 60, 320


@dataclass
class Paper:
    """A PDF in the making: text is placed on the last page, line below line."""

    pdf: Any = field(default_factory=pymupdf.open)
    y: float = 0.0

    def page(self) -> Paper:
        self.pdf.new_page(width=600, height=800)
        self.y = 120.0
        return self

    def lines(self, *lines: str, x: float = LEFT, size: float = 10, is_bold: bool = False) -> Paper:
        for line in lines:
            self.at(x, self.y, line, size=size, is_bold=is_bold)
            self.y += 1.2 * size
        return self

    def gap(self) -> Paper:
        self.y += 24
        return self

    def at(self, x: float, y: float, text: str, *, size: float = 10, is_bold: bool = False) -> Paper:
        self.pdf[-1].insert_text((x, y), text, fontsize=size, fontname="hebo" if is_bold else "helv")
        return self

    def end_of(self, x: float, text: str, *, size: float = 10) -> float:
        return x + float(pymupdf.get_text_length(text, fontsize=size))

    def outlined(self, *entries: tuple[int, str, int]) -> Paper:
        self.pdf.set_toc([list(entry) for entry in entries])
        return self

    def titled(self, title: str) -> Paper:
        self.pdf.set_metadata({"title": title})
        return self

    def bytes(self, **options: Any) -> bytes:
        content: bytes = self.pdf.tobytes(**options)
        return content

    def document(self) -> Document:
        return extract_pdf(self.bytes())


def book(n_pages: int, *, header: str = "", footer: str = "") -> Paper:
    paper = Paper()
    for number in range(1, n_pages + 1):
        paper.page().at(LEFT, 40, header.format(number))
        paper.at(300, 780, footer.format(number))
        paper.lines(f"Page {number} is about {number * 'x'}.", PROSE, PROSE)
    return paper


def headings_of(document: Document) -> list[tuple[str, ...]]:
    paths = [section.headings for section in document.sections if section.headings]
    return [path for index, path in enumerate(paths) if not index or path != paths[index - 1]]


def section_at(document: Document, text: str) -> Section:
    position = document.text.index(text)
    return [section for section in document.sections if section.start <= position][-1]


def test_lines_of_a_paragraph_are_lines_of_the_text() -> None:
    document = Paper().page().lines("First line of it", "second line of it").document()

    text = "First line of it\nsecond line of it"
    assert document == Document(text, "pdf", "", (Section(0, (), 1),), metadata=Metadata(n_pages=1))


def test_paragraphs_are_set_apart_by_an_empty_line() -> None:
    document = Paper().page().lines("The first one ends.").gap().lines("The second one starts.").document()

    assert document.text == "The first one ends.\n\nThe second one starts."


def test_a_sentence_that_runs_over_the_end_of_a_page_is_one() -> None:
    document = Paper().page().lines("It started here and went").page().lines("on to the next page.").document()

    assert document.text == "It started here and went\non to the next page."
    assert document.sections == (Section(0, (), 1), Section(25, (), 2))


def test_a_page_that_starts_a_sentence_starts_a_paragraph() -> None:
    document = Paper().page().lines("It ended here.").page().lines("Another starts.").document()

    assert document.text == "It ended here.\n\nAnother starts."


def test_a_word_broken_at_the_end_of_a_line_becomes_whole() -> None:
    document = Paper().page().lines("This is an extra-", "ordinary, thing").document()

    assert document.text == "This is an extraordinary,\nthing"


def test_a_word_broken_at_the_end_of_a_page_becomes_whole_and_its_page_starts_after_it() -> None:
    document = Paper().page().lines("This is an extra-").page().lines("ordinary thing").document()

    assert document.text == "This is an extraordinary\nthing"
    assert section_at(document, "thing") == Section(25, (), 2)


def test_a_compound_that_the_document_writes_with_a_hyphen_keeps_it() -> None:
    document = Paper().page().lines("A well-known fact is well-", "known to all").document()

    assert document.text == "A well-known fact is well-known\nto all"


def test_a_hyphen_that_stands_for_the_rest_of_a_compound_stays() -> None:
    paper = (
        Paper()
        .page()
        .lines("They met at the Wasser-", "und Stromwerke, in pre-", "and postwar times, on the", "Donau-", "dampfer.")
    )
    assert "Wasser-\nund Stromwerke, in pre-\nand postwar times" in paper.document().text
    assert "Donaudampfer." in paper.document().text


def test_a_hyphen_before_a_capital_or_a_number_stays() -> None:
    lines = ("The plan of Anglo-", "Saxon kings had pages 10-", "12 missing")

    assert Paper().page().lines(*lines).document().text == "\n".join(lines)


def test_a_chain_of_broken_words_becomes_whole_row_by_row() -> None:
    document = Paper().page().lines("a super-", "califragil-", "istic word").document()

    assert document.text.replace("\n", " ").split() == ["a", "supercalifragilistic", "word"]


def test_two_columns_are_read_one_after_the_other() -> None:
    paper = Paper().page().lines("left one runs", "left two ends.")
    paper.y = 120
    document = paper.lines("right one runs", "right two ends.", x=RIGHT).document()

    assert document.text == "left one runs\nleft two ends.\n\nright one runs\nright two ends."


def test_a_sentence_that_runs_over_the_end_of_a_column_is_one() -> None:
    paper = Paper().page().lines("The left column ends in")
    paper.y = 60
    document = paper.lines("Berlin and goes on", x=RIGHT).document()

    assert document.text == "The left column ends in\nBerlin and goes on"


def test_what_was_drawn_late_is_read_where_it_stands() -> None:
    paper = Paper().page()
    paper.y = 400
    paper.lines("The end of the page.")
    paper.y = 200
    document = paper.lines("The start of the page.").document()

    assert document.text == "The start of the page.\n\nThe end of the page."


def test_a_space_that_is_drawn_again_tears_no_word() -> None:
    words = ("recorded", "payments", "terms", "should", "modify", "financial", "debts", "prior")
    paper = Paper().page()
    x = paper.at(LEFT, 100, "All").end_of(LEFT, "All")
    for word in words:
        paper.at(x, 100, f" {word[0]}").at(x, 100, " ")
        paper.at(rest := paper.end_of(x, f" {word[0]}"), 100, word[1:])
        x = paper.end_of(rest, word[1:])

    assert paper.document().text == " ".join(("All", *words))


def test_cells_of_one_row_stand_in_one_line() -> None:
    document = Paper().page().at(60, 100, "1.1").at(80, 100, "Introduction").document()

    assert document.text == "1.1 Introduction"


def test_a_list_of_options_and_what_they_do_keeps_its_rows() -> None:
    paper = Paper().page()
    for number in range(6):
        paper.at(60, 100 + 14 * number, f"level {number}").at(
            300, 100 + 14 * number, f"removes objects of kind {number}"
        )

    assert all(f"level {number} removes objects of kind {number}" in paper.document().text for number in range(6))


def test_page_numbers_are_left_out() -> None:
    document = book(6, footer="{}").document()

    assert [line for line in document.text.splitlines() if line.isdecimal()] == []


@pytest.mark.parametrize("footer", ["- {} -", "Page {} of 6", "Seite {}", "{} / 6"])
def test_a_footer_that_is_a_page_number_is_left_out(footer: str) -> None:
    document = book(6, footer=footer).document()

    assert document.text == book(6).document().text


@pytest.mark.parametrize("footer", ["The Report | {}", "{} The Report", "SOP-1 Rev. C   Page {} of 6", "File 42 {}/6"])
def test_of_what_stands_beside_page_numbers_the_first_stays(footer: str) -> None:
    document = book(6, footer=footer).document()

    assert " ".join(footer.format(1).split()) in document.text
    assert len(document.text) - len(book(6).document().text) <= len(footer)


def test_what_varies_beside_page_numbers_stays() -> None:
    paper = Paper()
    for number in range(1, 7):
        paper.page().at(300, 780, f"Letter to {'ABCDEF'[number - 1]}. Smith {number}").lines(PROSE)

    assert all(f"Letter to {name}. Smith" in paper.document().text for name in "ABCDEF")


def test_a_running_row_with_a_page_number_parts_no_sentence() -> None:
    paper = Paper()
    for number in range(1, 9):
        paper.page().at(60, 40, f"{number} Annals of Foxes" if number % 2 == 0 else f"Anna Example {number}")
        paper.lines(f"on to {'abcdefgh'[number - 1]}, and ended.", "It started here and went").at(
            300, 780, f"{number}/8"
        )
    text = paper.document().text

    assert all(f"It started here and went\non to {letter}, and ended." in text for letter in "bcdefgh")
    assert all(text.count(running) == 1 for running in ("Annals of Foxes", "Anna Example"))


def test_of_a_running_header_only_the_first_stays() -> None:
    document = book(6, header="The History of Foxes").document()

    assert document.text.count("The History of Foxes") == 1
    assert document.text.startswith("The History of Foxes")


def test_a_header_that_is_not_repeated_stays() -> None:
    paper = book(2, header="Confidential draft")

    assert paper.document().text.count("Confidential draft") == 2


def test_a_line_that_every_page_has_in_its_midst_stays() -> None:
    paper = Paper()
    for _ in range(5):
        paper.page().lines(PROSE)
        paper.y = 400
        paper.lines("Refrain of the song.").gap().lines(PROSE)

    assert paper.document().text.count("Refrain of the song.") == 5


def test_the_same_words_at_the_start_of_pages_stay_if_the_text_goes_on_below() -> None:
    paper = Paper()
    for number in range(1, 7):
        paper.page().lines("Usage of the command:", *(f"{number}{row} of the list" for row in range(50)))

    assert paper.document().text.count("Usage of the command:") == 6


def test_a_heading_whose_number_is_that_of_the_page_stays() -> None:
    paper = Paper()
    for number in range(1, 6):
        paper.page().at(LEFT, 60, f"{number} Chapter of a kind", size=18).lines(PROSE, PROSE, PROSE)

    assert paper.document().text.count("Chapter of a kind") == 5


def test_headings_of_the_outline_are_found_on_their_pages() -> None:
    paper = Paper().page().lines(PROSE, PROSE).gap().lines("1 Foxes", size=11).gap().lines(PROSE)
    paper.page().lines(PROSE).gap().lines("1.1 Of their dens").gap().lines("Dens are dug.")
    document = paper.outlined((1, "Foxes", 1), (2, "Of their Dens", 2)).document()

    assert section_at(document, PROSE).headings == ()
    assert section_at(document, "1 Foxes") == Section(document.text.index("1 Foxes"), ("Foxes",), 1)
    assert section_at(document, "Dens are dug.") == Section(
        document.text.index("1.1 Of"), ("Foxes", "Of their Dens"), 2
    )


def test_a_heading_is_told_from_a_link_to_it() -> None:
    paper = Paper().page().lines("Foxes").gap().lines("Hounds").gap().lines("1 Foxes", size=12).gap().lines(PROSE)
    document = paper.outlined((1, "Foxes", 1)).document()

    assert section_at(document, PROSE).start == document.text.index("1 Foxes")


def test_a_heading_of_several_lines_is_found() -> None:
    paper = Paper().page().lines(PROSE).gap().lines("A Heading That Is So Long", "That It Needs Two Lines").gap()
    document = paper.lines(PROSE).outlined((1, "A heading that is so long that it needs two lines", 1)).document()

    assert section_at(document, "A Heading").start == document.text.index("A Heading")


def test_an_outline_entry_whose_words_are_not_on_the_page_starts_with_it() -> None:
    document = book(3).outlined((1, "Prologue", 1), (1, "Nowhere to be seen", 2)).document()

    assert section_at(document, "Page 2") == Section(document.text.index("Page 2"), ("Nowhere to be seen",), 2)


def test_outline_entries_of_one_page_keep_their_order() -> None:
    paper = Paper().page().lines("Results").gap().lines("Summary").gap().lines("Results").gap().lines(PROSE)
    document = paper.outlined((1, "Summary", 1), (1, "Results", 1)).document()

    assert [section.headings for section in document.sections] == [(), ("Summary",), ("Results",)]


def test_without_an_outline_larger_and_bold_lines_are_headings() -> None:
    paper = Paper().page().lines("1 Foxes", size=16).gap().lines(PROSE, PROSE, PROSE)
    paper.gap().lines("Dens", is_bold=True).gap().lines(PROSE, PROSE, PROSE)
    paper.gap().lines("2 Hounds", size=16).gap().lines(PROSE, PROSE, PROSE)
    document = paper.titled("Beasts").document()

    assert headings_of(document) == [("1 Foxes",), ("1 Foxes", "Dens"), ("2 Hounds",)]


def test_a_heading_of_two_lines_is_one_and_its_broken_word_is_whole() -> None:
    paper = Paper().page().lines("The Life of Foxes and Unre-", "lated Animals", size=16).gap()
    document = paper.lines(*[PROSE] * 8).titled("Beasts").document()

    assert headings_of(document) == [("The Life of Foxes and Unrelated Animals",)]


def test_bold_words_in_a_paragraph_are_no_heading() -> None:
    paper = Paper().page().lines("Definition.", is_bold=True).lines(PROSE, PROSE).gap().lines(PROSE)

    assert headings_of(paper.document()) == []


def test_a_table_of_contents_is_no_list_of_headings() -> None:
    paper = Paper().page().lines("Foxes . . . . . . . . . 3", is_bold=True).gap().lines("Hounds 12", is_bold=True).gap()
    paper.lines("Beasts . . . . . . . . . 20", size=14).gap()
    document = paper.lines(*[PROSE] * 8).document()

    assert (headings_of(document), document.title) == ([], "")
    assert document.text.startswith("Foxes … 3")


def test_typography_that_makes_everything_a_heading_makes_none() -> None:
    paper = Paper().page()
    for size in (10, 12, 14, 16, 18, 20):
        paper.lines(f"A line of {size} points, no more", size=size).gap()

    assert headings_of(paper.document()) == []


def test_the_title_is_what_the_file_says() -> None:
    assert Paper().page().lines(PROSE).titled("On Foxes").document().title == "On Foxes"


@pytest.mark.parametrize("title", ["", "paper.dvi", "Microsoft Word - draft3.doc", "untitled", "/home/a/b.eps"])
def test_a_title_that_says_nothing_gives_way_to_the_largest_words_of_the_first_page(title: str) -> None:
    paper = Paper().page().lines("A Treatise on", "Foxes", size=24).gap().lines(PROSE, PROSE)

    assert paper.titled(title).document().title == "A Treatise on Foxes"


def test_the_title_is_no_heading_of_what_follows() -> None:
    paper = Paper().page().lines("A Treatise on Foxes", size=24).gap().lines(*[PROSE] * 6)

    assert headings_of(paper.document()) == []


@pytest.mark.parametrize(
    ("printed", "written"),
    [
        ("\ufb01nd the o\ufb03ce", "find the office"),
        ("SS\u00ad2541, self\u00admade", "SS-2541, self-made"),
        ("bro\u00ad", "bro\u00ad"),
        ("\0 one\x0c two \ue000\ufffd", "one two"),
        ("f\u00a8ur die M\u00b4argenes und \u02c6\u0131le", "für die Márgenes und île"),
        ("5\u00b4 wide, \u00a8q", "5\u00b4 wide, \u00a8q"),
        ("\u6797 \u68ee and more", "\u6797\u68ee and more"),
        ("Foxes . . . . . . 12", "Foxes … 12"),
        ("and so on...", "and so on..."),
    ],
)
def test_rows_are_spelled_as_people_write(printed: str, written: str) -> None:
    assert clean(printed) == written


def test_ideographs_are_joined_without_a_gap() -> None:
    pdf = pymupdf.open()
    page = pdf.new_page()
    for index, text in enumerate(("狐狸住在森林里它们在夜", "间出来觅食。")):
        page.insert_text((60, 100 + 14 * index), text, fontname="china-s")

    assert extract_pdf(pdf.tobytes()).text == "狐狸住在森林里它们在夜间出来觅食。"


def test_a_font_name_with_quotes_does_not_lose_the_page() -> None:
    written = json.dumps({"blocks": [{"lines": [line("Text")]}]}, separators=(",", ":"))

    (block,) = extractor._parse_blocks(written.replace("Arial", 'a"b\\x'))  # noqa: SLF001 - MuPDF writes it so

    assert block["lines"][0]["text"] == "Text"


def line(text: str) -> dict[str, Any]:
    font = {"name": "Arial", "family": "serif", "weight": "normal", "style": "normal", "size": 100}
    return {"bbox": {"x": 0, "y": 0, "w": 500, "h": 120}, "font": font, "x": 0, "y": 100, "text": text}


def test_a_file_that_needs_a_password_is_skipped() -> None:
    content = Paper().page().lines(PROSE).bytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="x")

    with pytest.raises(SkipFileError, match="password") as caught:
        extract_pdf(content)

    assert caught.value.reason == SkipReason.ENCRYPTED


def test_a_file_that_opens_with_the_empty_password_is_read() -> None:
    content = Paper().page().lines(PROSE).bytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="", owner_pw="x")

    assert extract_pdf(content).text == PROSE


def test_a_scan_is_skipped_with_its_number_of_pages() -> None:
    pdf = pymupdf.open()
    for _ in range(3):
        pixels = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 20, 20))
        pdf.new_page().insert_image(pymupdf.Rect(0, 0, 200, 200), pixmap=pixels)

    with pytest.raises(SkipFileError, match="no text layer; 3 pages") as caught:
        extract_pdf(pdf.tobytes())

    assert caught.value.reason == SkipReason.NO_TEXT


def test_of_a_truncated_file_what_is_there_is_read() -> None:
    content = book(20).bytes()

    document = extract_pdf(content[: len(content) * 3 // 4])

    assert "Page 3 is about xxx." in document.text


@pytest.mark.parametrize("content", [b"%PDF-1.7\nnothing else", b"%PDF-1.7\n%%EOF", b"no PDF at all"])
def test_a_file_with_nothing_to_recover_fails_with_the_reason(content: bytes) -> None:
    with pytest.raises(ExtractionError, match=r"damaged PDF: \w") as caught:
        extract_pdf(content)

    assert not isinstance(caught.value, SkipFileError)


def test_a_damaged_file_without_text_is_no_scan() -> None:
    content = Paper().page().lines(PROSE).bytes(deflate=True)
    stream = content.index(b"stream\r\n") if b"stream\r\n" in content else content.index(b"stream\n")

    with pytest.raises(ExtractionError, match="no text can be recovered"):
        extract_pdf(content[: stream + 8] + b"\xff" * 40)


@pytest.mark.parametrize(("limit", "value"), [("MAX_PAGES", 4), ("MAX_CHARS", 100)])
def test_a_file_beyond_the_limits_is_skipped_as_too_large(
    limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractor, limit, value)

    with pytest.raises(SkipFileError) as caught:
        extract_pdf(book(5).bytes())

    assert caught.value.reason == SkipReason.TOO_LARGE


def test_mupdf_prints_nothing() -> None:
    paper = Paper().page().lines(PROSE)
    (stream,) = paper.pdf[0].get_contents()
    paper.pdf.update_stream(stream, paper.pdf.xref_stream(stream) + b" /Missing Do unknown ] )")
    # PyMuPDF prints to what was standard output when it was imported.
    module = "directory_indexer.formats.pdf.reader"
    command = f"import sys; from {module} import extract_pdf; extract_pdf(sys.stdin.buffer.read())"

    run = subprocess.run([sys.executable, "-c", command], input=paper.bytes(), capture_output=True, check=True)

    assert (run.stdout, run.stderr) == (b"", b"")


def starts(sections: Sequence[Section]) -> list[int]:
    return [section.start for section in sections]


def test_sections_are_sorted_start_at_the_start_and_have_a_place_each() -> None:
    document = book(8, header="The {} of Foxes", footer="{}").outlined((1, "Foxes", 2), (2, "Page 5", 5)).document()

    assert starts(document.sections) == sorted(set(starts(document.sections)))
    assert document.sections[0].start == 0
    assert {section.page for section in document.sections} == set(range(1, 9))


MAIN, RAISED, AS_LARGE, LOWERED, SMALL = (11, 0), (7, 4), (9.5, 4), (7, -2), (7, 0)
"""The size of a span, and its distance from the baseline."""


def spans_at(paper: Paper, y: float, *spans: str | tuple[str, tuple[float, float]]) -> Paper:
    x = float(LEFT)
    for span in spans:
        text, (size, rise) = (span, MAIN) if isinstance(span, str) else span
        paper.at(x, y - rise, text, size=size)
        x += pymupdf.get_text_length(text, fontsize=size)
    return paper


@pytest.mark.parametrize(
    ("spans", "text"),
    [
        (["the QUOKKA", ("1", RAISED), " sleeps in the shade."], "the QUOKKA 1 sleeps in the shade."),
        (["the na\u00efve", ("12", RAISED), " quokka sleeps"], "the na\u00efve quokka sleeps 12"),
        ([("3", RAISED), "See the report."], "3 See the report."),
        (["the quokka", ("1", AS_LARGE), " sleeps"], "the quokka sleeps 1"),
        (["the quokka", ("1", (11, 4)), " sleeps"], "the quokka sleeps 1"),
        (["the quokka", ("1)", RAISED), " sleeps"], "the quokka sleeps 1)"),
        (["by A. Quokka", ("1,2*", RAISED), " and Wu", ("1a", RAISED)], "by A. Quokka and Wu 1,2* 1a"),
        (["the Quokka", ("TM", RAISED), " sleeps"], "the Quokka sleeps TM"),
        (["Section", (" overview of the report2", SMALL)], "Section overview of the report2"),
        (["10", ("3", RAISED), " km", ("2", AS_LARGE), " of the island"], "103 km2 of the island"),
        (["dated by ", ("14", RAISED), "C alone"], "dated by 14C alone"),
        (
            ["of Quokka", ("2", RAISED), " in Rn", ("2", RAISED), " at 5 Pa", ("2", RAISED)],
            "of Quokka in Rn2 at 5 Pa2 2",
        ),
        (["on the 1", ("st", RAISED), " to the 22", ("nd", AS_LARGE)], "on the 1st to the 22nd"),
        (["CO", ("2", LOWERED), " and H", ("2", LOWERED), "O with Quokka", ("2", RAISED)], "CO2 and H2O with Quokka 2"),
    ],
)
def test_a_raised_mark_is_no_part_of_a_word(spans: list[str | tuple[str, tuple[float, float]]], text: str) -> None:
    assert spans_at(Paper().page(), 100, *spans).document().text == text


def test_a_raised_letter_is_no_part_of_a_word_if_a_note_begins_with_it() -> None:
    paper = spans_at(
        Paper().page(), 100, "Ann Quokka", ("a", RAISED), " met Bob Numbat", ("a,b", RAISED), " at XIX", ("e", RAISED)
    )
    spans_at(paper, 140, ("a", RAISED), "Department of Marsupials")
    spans_at(paper, 160, ("b", RAISED), " Institute of Zoos")
    assert paper.document().text == (
        "Ann Quokka met Bob Numbat at XIXe a a,b\n\na Department of Marsupials\nb Institute of Zoos"
    )


def test_a_form_whose_values_are_no_stream_loses_no_text() -> None:
    paper = Paper().page().lines(PROSE)
    values, form = paper.pdf.get_new_xref(), paper.pdf.get_new_xref()
    paper.pdf.update_object(values, "<</A 1>>")
    paper.pdf.update_object(form, f"<</Fields[]/XFA[(datasets) {values} 0 R]>>")
    paper.pdf.xref_set_key(paper.pdf.pdf_catalog(), "AcroForm", f"{form} 0 R")
    assert extract_pdf(paper.pdf.tobytes()).text == PROSE
