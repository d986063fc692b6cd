"""Text of twenty real files of public projects, downloaded by `scripts/formats fetch`.

The variable DIRINDEX_CORPUS names their directory; without it these tests are skipped.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest
from outcomes import Outcomes, outcomes_of

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract

CORPUS: Final = os.environ.get("DIRINDEX_CORPUS", "")
pytestmark = pytest.mark.skipif(not CORPUS, reason="DIRINDEX_CORPUS names no directory of `scripts/formats fetch`")

MODULES: Final = "apache+tika/tika-parsers/tika-parsers-standard/tika-parsers-standard-modules"
INNER: Final = "src/test/resources/test-documents"
OFFICE: Final = f"{MODULES}/tika-parser-microsoft-module/{INNER}"
PACKED: Final = f"{MODULES}/tika-parser-pkg-module/{INNER}"
BOOKS: Final = f"{MODULES}/tika-parser-miscoffice-module/{INNER}"
SCANS: Final = "ocrmypdf+OCRmyPDF/tests/resources"


def read(name: str) -> Document:
    path = Path(CORPUS, name)
    return extract(path.read_bytes(), file_path(path))


def headings(document: Document) -> list[tuple[str, ...]]:
    return [section.headings for section in document.sections if section.headings]


def parsed(name: str) -> Outcomes:
    return outcomes_of(Path(CORPUS, name))


def test_a_text_has_its_notes_boxes_lists_tables_headers_and_footers() -> None:
    document = read(f"{OFFICE}/testWORD_various.docx")
    for part in (
        "Footnote appears here[^1]",
        "[^1]: This is a footnote.",
        "Here is a text box",
        "- Bullet 2",
        "2) Number bullet 2",
        "| Row 1 Col 1 | Row 1 Col 2 | Row 1 Col 3 |",
        "ゾルゲと尾崎、淡々と最期",
        "This is the footer text.",
        "This is the header text.",
    ):
        assert document.text.count(part) == 1
    assert document.metadata.authors == ("Michael McCandless",)
    assert document.metadata.subject == "Subject is here"


def test_archives_in_a_text_are_opened_to_the_fourth_level() -> None:
    outcomes = parsed("apache+tika/release-tools/uat/test-files/test_recursive_embedded.docx")
    assert outcomes.texts["!/embed1.zip!/embed1/embed1a.txt"].strip() == "embed_1a"
    deep = "!/embed1.zip!/embed1/embed2.zip!/embed2/embed3.zip!/embed3/embed3.txt"
    assert "When in the Course of human events" in outcomes.texts[deep]
    assert outcomes.texts[""].strip() == "embed_0"
    assert outcomes.failures == {}


def test_paragraphs_and_tables_keep_their_order() -> None:
    text = read("python-openxml+python-docx/tests/test_files/blk-inner-content.docx").text
    assert text.index("P1") < text.index("T2") < text.index("P3")


def test_footnotes_stand_with_what_they_are_about() -> None:
    text = read("apache+poi/test-data/document/footnotes.docx").text
    assert text == "Eto ochen prostoy[^1] text so snoskoy\n\n[^1]: snoska\n"


def test_each_footer_is_there_once() -> None:
    document = read("apache+poi/test-data/document/FancyFoot.docx")
    assert document.text.count("This is a fancy alphabet footer, with page number and everything") == 1
    assert headings(document) == [("HEADING TEXT",)]


def test_slides_have_their_tables_and_lists() -> None:
    document = read(f"{OFFICE}/testPPT_various.pptx")
    assert "| Row 2 Col 1 | Row 2 Col 2 | Row 2 Col 3 |" in document.text
    assert "Bullet 3" in document.text
    assert "[1] This is a footnote." in document.text
    assert document.metadata.n_pages == 1
    assert document.metadata.subject == "Subject is here"


def test_slides_of_before_2007_have_the_same_text() -> None:
    old, new = (set(read(f"{OFFICE}/testPPT_various.{suffix}").text.split()) for suffix in ("ppt", "pptx"))
    assert new - old - {"|"} == set()


def test_a_row_of_16_384_cells_is_read_whole() -> None:
    document = read("apache+poi/test-data/spreadsheet/53105.xlsx")
    assert document.text.split().count("1") >= 16_383
    assert document.sections[0].headings == ("Sheet1",)


def test_a_workbook_has_its_sheets_as_headings_and_its_numbers() -> None:
    document = read("apache+poi/test-data/spreadsheet/45540_classic_Header.xlsx")
    assert [path[0] for path in headings(document)][:2] == ["Profile of Class", "Hires by Function"]
    assert "Employment Profile | Percent | Number" in document.text
    assert document.metadata.authors == ("Paul M. Steven",)


def test_a_bomb_of_entities_is_refused() -> None:
    with pytest.raises(ExtractionError, match="declares an XML entity"):
        read("apache+poi/test-data/spreadsheet/poc-xmlbomb.xlsx")


def test_strings_that_multiply_are_refused() -> None:
    with pytest.raises(SkipFileError) as refused:
        read("apache+poi/test-data/spreadsheet/poc-shared-strings.xlsx")
    assert refused.value.reason == SkipReason.TOO_LARGE


def test_a_message_in_a_message_and_a_pdf_are_members() -> None:
    outcomes = parsed(f"{OFFICE}/testMSG_att_msg.msg")
    assert "Test email with 1 msg attachment, 1 pdf" in outcomes.texts[""]
    assert "Blah blah blah" in outcomes.texts["!/Test Attachment.eml"]
    assert set(outcomes.texts) == {"", "!/Test Attachment.eml", "!/smbprn.00009008.KdcPjl.pdf"}


def test_every_message_of_a_store_of_outlook_is_a_member() -> None:
    pytest.importorskip("pypff")
    outcomes = parsed("apache+tika/tika-app/src/test/resources/test-data/testPST.pst")
    messages = [name for name in outcomes.texts if name.endswith(".eml")]
    assert len(messages) == 7
    [message_text] = [text for name, text in outcomes.texts.items() if name.endswith("/Re Feature Generators.eml")]
    assert "Jörn Kottmann" in message_text


def test_cells_of_rich_text_are_rows() -> None:
    assert "| a | b |\n| c | d |\n| ä | ë |" in read(f"{OFFICE}/testRTFTableCellSeparation.rtf").text


def test_a_book_has_its_chapters() -> None:
    document = read(f"{BOOKS}/testEPUB.epub")
    assert document.title == "An ePub for Tika"
    assert document.metadata.authors == ("Bart Hanssens",)
    assert ("Chapter 2", "Subchapter 2.1") in headings(document)
    assert "This is the text for chapter One" in document.text


def test_members_that_are_packed_in_an_unknown_way_fail_one_by_one() -> None:
    outcomes = parsed(f"{PACKED}/moby.zip")
    assert outcomes.failures
    assert all(name.startswith("!/") for name in outcomes.failures)


def test_archives_in_archives_are_read_within_bounds() -> None:
    outcomes = parsed(f"{PACKED}/TIKA-216.tgz")
    assert "blah" in outcomes.texts["!/blah.tgz!/blah1.txt"]
    assert sum(map(len, outcomes.texts.values())) < 25_000_000


@pytest.mark.parametrize(
    "name",
    [f"{SCANS}/linn.pdf", "apache+tika/tika-server/tika-server-standard/src/test/resources/test-documents/testOCR.pdf"],
)
def test_a_scan_says_that_it_has_no_text(name: str) -> None:
    assert parsed(name).skipped == {"": SkipReason.NO_TEXT}


def test_a_text_layer_of_a_scan_is_read() -> None:
    document = read(f"{SCANS}/graph_ocred.pdf")
    assert "Oppose" in document.text
    assert document.title == "Example graph"
