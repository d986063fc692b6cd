"""What is read of PowerPoint presentations, and on which slide it stands."""

from __future__ import annotations

from office_files import pptx, relations, shape

from directory_indexer.extractors.document import Document, Section
from directory_indexer.extractors.registry import extract
from directory_indexer.paths import file_path


def read(content: bytes) -> Document:
    return extract(content, file_path("/root/talk.pptx"))


def test_slides_come_in_the_order_of_the_presentation_with_their_titles_first() -> None:
    slides = {
        "slide2": shape("text") + shape("Opening", placeholder="ctrTitle"),
        "slide9": "",
        "slide1": shape("Costs", placeholder="title") + shape("rent", "food", placeholder="body"),
    }
    document = read(pptx(slides))
    assert document.text == "Opening\n\ntext\n\nCosts\n\n- rent\n- food\n"
    assert document.sections == (Section(0, ("Opening",), 1), Section(15, ("Costs",), 3))
    assert document.page_starts == (0, 15, 15)
    assert (document.title, document.metadata.n_pages) == ("Opening", 3)


def test_a_slide_without_a_title_has_a_page_alone() -> None:
    document = read(pptx({"slide1": shape("One", placeholder="title"), "slide2": shape("text")}))
    assert document.sections == (Section(0, ("One",), 1), Section(5, (), 2))


def test_numbers_of_slides_are_left_out() -> None:
    assert read(pptx({"slide1": shape("text") + shape("17", placeholder="sldNum")})).text == "text\n"


def test_items_keep_their_depth() -> None:
    deep = (
        "<p:sp><p:nvPr><p:ph/></p:nvPr><a:p><a:r><a:t>one</a:t></a:r></a:p>"
        '<a:p><a:pPr lvl="1"/><a:r><a:t>two</a:t></a:r></a:p>'
        '<a:p><a:pPr lvl="-7"><a:buNone/></a:pPr><a:r><a:t>plain</a:t></a:r></a:p></p:sp>'
    )
    assert read(pptx({"slide1": deep})).text == "- one\n  - two\n\nplain\n"


def test_a_table_has_its_spans() -> None:
    def cell(text: str, *spans: str) -> str:
        written = " ".join(f"{name}='2'" for name in spans)
        return f"<a:tc {written}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    table = (
        "<p:graphicFrame><a:tbl>"
        f"<a:tr>{cell('Year', 'rowSpan')}{cell('Sales', 'gridSpan')}<a:tc hMerge='1'/></a:tr>"
        f"<a:tr><a:tc vMerge='1'/>{cell('North')}{cell('South')}</a:tr>"
        "</a:tbl></p:graphicFrame>"
    )
    assert read(pptx({"slide1": table})).text == "| Year | Sales | Sales |\n| Year | North | South |\n"


def test_notes_and_comments_stand_on_their_slide() -> None:
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"notesSlide": "../n/7.xml", "comments": "../c.xml"}),
        "ppt/n/7.xml": f"<p:notes>{shape('3', placeholder='sldNum')}{shape('say this', placeholder='body')}</p:notes>",
        "ppt/c.xml": '<p:cmLst><p:cm authorId="4"><p:text>really?</p:text></p:cm></p:cmLst>',
        "ppt/authors.xml": '<p:cmAuthorLst><p:cmAuthor id="4" name="Ann"/></p:cmAuthorLst>',
    }
    document = read(pptx({"slide1": shape("one"), "slide2": shape("two")}, parts))
    assert document.text == "one\n\nNotes:\nsay this\n\n> Ann: really?\n\ntwo\n"
    assert [section.page for section in document.sections] == [1, 2]


def test_answers_to_comments_are_read() -> None:
    said = "<p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody>"
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"comments": "../c.xml"}),
        "ppt/c.xml": f'<cmLst><cm authorId="x"><replyLst><reply authorId="y">{said.format("yes")}</reply></replyLst>'
        f"{said.format('right?')}</cm></cmLst>",
        "ppt/authors.xml": '<authorLst><author id="x" name="Ann"/><author id="y" name="Bob"/></authorLst>',
    }
    assert read(pptx({"slide1": shape("one")}, parts)).text == "one\n\n> Ann: right?\n\n> Bob: yes\n"


def test_a_slide_that_is_damaged_does_not_take_the_others_along() -> None:
    document = read(pptx({"slide1": shape("one") + "<broken", "slide2": shape("two")}))
    assert document.text == "one\n\ntwo\n"
