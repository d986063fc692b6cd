"""Office files of before 2007: their text, and the recognition of their formats."""

from __future__ import annotations

import pytest
from office_files import docx, paragraph, xlsx
from ole_files import ole, slides_streams, summary, word_stream, workbook_stream

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import CellMark, Document, Section
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.recognition import kind_of
from directory_indexer.formats.table import FORMATS

MAY_FIRST_2024 = 133590240000000000


def read(content: bytes, name: str = "file") -> Document:
    return extract(content, file_path(f"/root/{name}"))


@pytest.mark.parametrize("name", ["file", "file.doc", "file.ppt", "file.xls", "file.docx", "file.txt"])
@pytest.mark.parametrize(
    ("streams", "kind", "text"),
    [
        (word_stream("Größe\rof a document\r"), "doc", "Größe\n\nof a document\n"),
        (slides_streams("One", "Größe"), "ppt", "One\n\nGröße\n"),
        ({"Workbook": workbook_stream("Plan", {(0, 0): "Größe"})}, "xls", "Plan\n\n| Größe |\n"),
    ],
)
def test_the_streams_tell_what_a_file_is_whatever_it_is_called(
    name: str, streams: dict[str, bytes], kind: str, text: str
) -> None:
    document = read(ole(streams), name)
    assert (document.kind, document.text) == (kind, text)


def test_a_raised_mark_is_no_part_of_a_word() -> None:
    assert read(ole(word_stream("the quokka1 sleeps\r", superscript=(10, 11))), "a.doc").text == "the quokka 1 sleeps\n"
    assert read(ole(word_stream("on 10 m2 of it\r", superscript=(7, 8))), "a.doc").text == "on 10 m2 of it\n"


def test_a_document_has_the_items_of_nested_lists() -> None:
    text = read(ole(word_stream("fruit\rpear\rwild pear\rnuts\r", levels=(0, 1, 2, 0))), "a.doc").text
    assert text == "- fruit\n  - pear\n    - wild pear\n- nuts\n"


def test_a_presentation_has_its_slides_as_pages() -> None:
    document = read(ole(slides_streams("One", "Two")))
    assert document.sections == (Section(0, ("One",), 1), Section(5, ("Two",), 2))
    assert document.metadata.n_pages == 2


def test_text_that_stands_on_a_slide_alone_is_found() -> None:
    document = read(ole(slides_streams("One", "Two", box="First line\rSecond line\r*")))
    assert document.text == "One\n\nFirst line\nSecond line\n\nTwo\n\nFirst line\nSecond line\n"


def test_a_footer_of_slides_is_written_once() -> None:
    document = read(ole(slides_streams("One", "Two", footer="Heron Ltd", footers=("Heron Ltd", "Draft of May"))))
    assert document.text == "One\n\nHeron Ltd\n\nTwo\n\nDraft of May\n"


def test_all_texts_on_pages_of_notes_are_found_those_on_each_page_once() -> None:
    document = read(ole(slides_streams("One", "Two", notes=("first", "second"))))
    assert document.text == "One\n\nNotes:\nfirst\nDraft\n\nTwo\n\nNotes:\nsecond\n"


def test_the_state_that_a_presentation_names_counts() -> None:
    old, new = (slides_streams(text)["PowerPoint Document"] for text in ("Old", "New"))
    user = slides_streams("Old")["Current User"]
    document = read(ole({"PowerPoint Document": old + new, "Current User": user}))
    assert document.text == "Old\n"


def test_a_presentation_that_does_not_say_where_its_newest_state_is_has_its_last_document() -> None:
    streams = slides_streams("One", "Two")
    assert read(ole({**streams, "Current User": b""})).text == "One\n\nTwo\n"


def test_a_workbook_has_its_rows_as_lines_with_their_places() -> None:
    cells: dict[tuple[int, int], str | float] = {(2, 1): "Rent", (2, 3): 800.0, (3, 1): 0.1 + 0.2}
    document = read(ole({"Workbook": workbook_stream("Plan", cells)}))
    assert document.text == "Plan\n\n| Rent |  | 800 |\n| 0.3 |\n"
    assert document.cells == (CellMark(6, "Plan!B3"), CellMark(24, "Plan!B4"))


def test_a_document_tells_who_wrote_it_and_when() -> None:
    document = read(
        ole({**word_stream("text\r"), "\x05SummaryInformation": summary("Größe", "Ann; Bob", MAY_FIRST_2024)})
    )
    assert document.title == "Größe"
    assert (document.metadata.authors, document.metadata.created) == (("Ann", "Bob"), "2024-05-01T08:00:00Z")


@pytest.mark.parametrize(
    "streams",
    [
        {"EncryptedPackage": b"x", "EncryptionInfo": b"x"},
        {"Workbook": workbook_stream("Plan", {(0, 0): "x"}, password=True)},
    ],
)
def test_what_needs_a_password_is_said_to(streams: dict[str, bytes]) -> None:
    with pytest.raises(SkipFileError) as caught:
        read(ole(streams), "plan.xlsx")
    assert caught.value.reason == SkipReason.ENCRYPTED


def test_other_ole_files_are_named() -> None:
    with pytest.raises(SkipFileError, match="Visio drawing") as caught:
        read(ole({"VisioDocument": b"x"}), "plan.vsd")
    assert caught.value.reason == SkipReason.BINARY


@pytest.mark.parametrize(
    "content",
    [
        ole({"Workbook": workbook_stream("Plan", {(0, 0): "x"})})[:700],
        ole({"Workbook": b"\x09\x08\xff\xff"}),
        ole({"WordDocument": bytes(range(256)) * 20}),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000),
    ],
)
def test_damage_is_a_failure_in_few_words(content: bytes) -> None:
    with pytest.raises(ExtractionError) as caught:
        read(content)
    assert not isinstance(caught.value, SkipFileError)
    assert len(caught.value.message) < 250


def test_newer_files_that_are_called_as_older_ones_are_read_as_what_they_are() -> None:
    assert read(docx(paragraph("text")), "file.doc").kind == "docx"
    assert read(xlsx({"S": '<row><c t="str"><v>x</v></c></row>'}), "file.xls").kind == "xlsx"


def test_native_readers_work_in_worker_processes_alone() -> None:
    kinds = {kind_of(file_path("/root/a.doc"), ole({})), kind_of(file_path("/root/a"), ole({})), "ppt", "xlsb"}
    assert kinds == {"doc", "xls", "ppt", "xlsb"}
    assert all(FORMATS[kind].is_isolated for kind in kinds)
