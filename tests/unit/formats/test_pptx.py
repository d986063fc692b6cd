"""Text of PowerPoint presentations, and the slides on which it stands."""

from __future__ import annotations

from office_files import pptx, relations, shape

from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.extraction import extract


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


def test_a_date_in_the_margin_of_slides_is_read_once() -> None:
    slides = {f"slide{n}": shape(f"text {n}") + shape("May 2011", placeholder="dt") for n in (1, 2)}
    assert read(pptx(slides)).text.split("\n\n") == ["text 1", "May 2011", "text 2\n"]


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
    body = "<p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody>"
    parts = {
        "ppt/slides/_rels/slide1.xml.rels": relations({"comments": "../c.xml"}),
        "ppt/c.xml": f'<cmLst><cm authorId="x"><replyLst><reply authorId="y">{body.format("yes")}</reply></replyLst>'
        f"{body.format('right?')}</cm></cmLst>",
        "ppt/authors.xml": '<authorLst><author id="x" name="Ann"/><author id="y" name="Bob"/></authorLst>',
    }
    assert read(pptx({"slide1": shape("one")}, parts)).text == "one\n\n> Ann: right?\n\n> Bob: yes\n"


def test_a_slide_that_is_damaged_does_not_take_the_others_along() -> None:
    document = read(pptx({"slide1": shape("one") + "<broken", "slide2": shape("two")}))
    assert document.text == "one\n\ntwo\n"


def placed(text: str, left: int, top: int, width: int = 40, height: int = 10) -> str:
    frame = f"<p:spPr><a:xfrm><a:off x='{left}' y='{top}'/><a:ext cx='{width}' cy='{height}'/></a:xfrm></p:spPr>"
    return shape(text).replace("<p:txBody>", f"{frame}<p:txBody>")


def test_shapes_come_by_their_places_and_not_as_they_were_drawn() -> None:
    slide = (
        placed("foot", 0, 90) + placed("right", 50, 20, height=60) + placed("left", 0, 20) + placed("left below", 0, 50)
    )
    assert read(pptx({"slide1": placed("head", 0, 0, 100) + slide})).text == (
        "head\n\nleft\n\nleft below\n\nright\n\nfoot\n"
    )


def test_of_four_shapes_the_order_of_drawing_decides_between_rows_and_columns() -> None:
    corners = {"a": (0, 0), "b": (50, 0), "c": (0, 50), "d": (50, 50)}
    for order in ("abcd", "acbd"):
        slide = "".join(placed(name, *corners[name]) for name in order)
        assert read(pptx({"slide1": slide})).text == "\n\n".join(order) + "\n"


def test_shapes_of_a_group_stay_together_and_one_without_a_place_follows_the_one_before() -> None:
    frame = "<p:grpSpPr><a:xfrm><a:off x='0' y='50'/><a:ext cx='40' cy='40'/></a:xfrm></p:grpSpPr>"
    group = f"<p:grpSp>{frame}{placed('third', 0, 900)}{shape('fourth')}{placed('second', 0, 800)}</p:grpSp>"
    assert read(pptx({"slide1": group + placed("first", 0, 0)})).text == "first\n\nsecond\n\nthird\n\nfourth\n"


def test_a_picture_says_what_is_said_of_it_unless_that_is_the_name_of_its_file() -> None:
    picture = "<p:pic><p:nvPicPr><p:cNvPr name='Picture 3' descr='{}'/></p:nvPicPr></p:pic>"
    slide = shape("text") + picture.format("a motmot") + picture.format("C:\\My pictures\\IMG 7.JPG")
    assert read(pptx({"slide1": slide})).text == "text\n\na motmot\n"


def test_a_raised_mark_is_no_part_of_a_word() -> None:
    runs = [("the quokka", ""), ("1", "30000"), (" eats H", "0"), ("2", "-25000"), ("O on 10 m", ""), ("2", "30%")]
    written = "".join(f'<a:r><a:rPr baseline="{baseline}"/><a:t>{text}</a:t></a:r>' for text, baseline in runs)
    slide = f"<p:sp><p:txBody><a:p>{written}<a:r><a:t>.</a:t></a:r></a:p></p:txBody></p:sp>"
    assert read(pptx({"slide1": slide})).text == "the quokka 1 eats H2O on 10 m2.\n"
