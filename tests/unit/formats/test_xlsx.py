"""Text of Excel workbooks, and the cells in which it stands."""

from __future__ import annotations

import pytest
from office_files import cells, relations, xlsx

from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import CellMark, Document
from directory_indexer.formats.extraction import extract

STYLES = """<styleSheet><numFmts>
  <numFmt numFmtId="170" formatCode='d" of "mmm\\-yy'/><numFmt numFmtId="171" formatCode='0.0" days"'/>
  <numFmt numFmtId="172" formatCode="[Red][h]:mm"/><numFmt numFmtId="173" formatCode="mmmm"/>
</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>
  <xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="20"/><xf numFmtId="10"/>
  <xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="172"/><xf numFmtId="173"/>
</cellXfs></styleSheet>"""


def read(content: bytes) -> Document:
    return extract(content, file_path("/root/plan.xlsx"))


def test_a_row_is_a_line_that_is_known_by_its_first_cell() -> None:
    document = read(xlsx({"Budget": cells(1, A="Item", B="Cost") + cells(17, B="Rent | flat", D="800")}))
    assert document.text == "Budget\n\n| Item | Cost |\n| Rent flat | | 800 |\n".replace("| |", "|  |")
    assert document.cells == (CellMark(8, "Budget!A1"), CellMark(24, "Budget!B17"))
    assert [section.headings for section in document.sections] == [("Budget",)]


def test_sheets_are_headings_and_their_names_are_quoted_where_people_quote_them() -> None:
    document = read(xlsx({"Ann's costs": cells(1, A="x"), "Zwei": cells(2, AB="y")}))
    assert document.text == "Ann's costs\n\n| x |\n\nZwei\n\n| y |\n"
    assert [mark.cell for mark in document.cells] == ["'Ann''s costs'!A1", "Zwei!AB2"]
    assert [section.headings for section in document.sections] == [("Ann's costs",), ("Zwei",)]


def test_hidden_sheets_are_read() -> None:
    content = xlsx(
        {"Open": cells(1, A="x")},
        {
            "xl/workbook.xml": '<workbook><sheets><sheet name="Secret" '
            'state="veryHidden" r:id="worksheet:1"/></sheets></workbook>'
        },
    )
    assert read(content).text == "Secret\n\n| x |\n"


def test_texts_are_read_wherever_they_are_kept_without_readings() -> None:
    strings = "<sst><si><t>shared</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>reading</t></rPh></si></sst>"
    row = (
        '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>99</v></c>'
        '<c t="inlineStr"><is><t>inline</t></is></c>'
        '<c t="b"><v>1</v></c><c t="e"><v>#DIV/0!</v></c><c t="str"><f>A1</f><v>computed</v></c><c><f>1+1</f></c></row>'
    )
    document = read(xlsx({"S": row}, {"xl/sharedStrings.xml": strings}))
    assert document.text == "S\n\n| shared | rich |  | inline | TRUE | #DIV/0! | computed | =1+1 |\n"
    assert document.cells[0].cell == "S!A1"


def test_a_raised_mark_is_no_part_of_a_word() -> None:
    def run(text: str, alignment: str = "baseline") -> str:
        return f'<r><rPr><vertAlign val="{alignment}"/></rPr><t>{text}</t></r>'

    shared = f"<sst><si>{run('the quokka')}{run('1', 'superscript')}</si><si><t>2</t></si></sst>"
    written = run("1", "superscript") + run("See 10 m") + run("2", "superscript") + run(" CAT") + run("2", "subscript")
    row = f'<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="inlineStr"><is>{written}</is></c><c><v>3</v></c></row>'
    document = read(xlsx({"S": row}, {"xl/sharedStrings.xml": shared}))
    assert document.text == "S\n\n| the quokka 1 | 2 | 1 See 10 m2 CAT2 | 3 |\n"


@pytest.mark.parametrize(
    ("style", "written", "displayed"),
    [
        (0, "1234567", "1234567"),
        (0, "0.30000000000000004", "0.3"),
        (0, "1234567890123450", "1234567890123450"),
        (0, "-1.23456789012345E+15", "-1234567890123450"),
        (0, "1E+20", "1e+20"),
        (0, "no number", "no number"),
        (1, "45413", "2024-05-01"),
        (1, "1", "1900-01-01"),
        (1, "59", "1900-02-28"),
        (1, "61", "1900-03-01"),
        (1, "-1", "-1"),
        (1, "1e300", "1e+300"),
        (2, "45413.5", "2024-05-01 12:00"),
        (2, "45413.000011574", "2024-05-01 00:00:01"),
        (3, "0.75", "18:00"),
        (3, "0", "00:00"),
        (4, "0.155", "15.50%"),
        (5, "45413", "1 of May-24 (2024-05-01)"),
        (6, "3", "3.0 days"),
        (7, "1.5", "36:00:00"),
        (8, "45413", "May (2024-05-01)"),
        (99, "3", "3"),
    ],
)
def test_numbers_are_shown_as_their_format_says(style: int, written: str, displayed: str) -> None:
    row = f'<row r="1"><c r="A1" s="{style}"><v>{written}</v></c></row>'
    assert read(xlsx({"S": row}, {"xl/styles.xml": STYLES})).text == f"S\n\n| {displayed} |\n"


def test_the_days_of_old_macintoshes_begin_in_1904() -> None:
    row = '<row><c s="1"><v>1</v></c></row>'
    content = xlsx({"S": row}, {"xl/styles.xml": STYLES}, properties='<workbookPr date1904="1"/>')
    assert "1904-01-02" in read(content).text


def test_comments_and_text_boxes_follow_the_rows() -> None:
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations({"comments": "../c.xml", "drawing": "../d.xml"}),
        "xl/c.xml": "<comments><authors><author>Ann</author></authors><commentList>"
        '<comment ref="B3" authorId="0"><text><r><t>too</t></r><r><t> much</t></r></text></comment>'
        "</commentList></comments>",
        "xl/d.xml": "<xdr:wsDr><xdr:sp><a:p><a:r><a:t>a box</a:t></a:r></a:p></xdr:sp></xdr:wsDr>",
    }
    assert read(xlsx({"S": cells(1, A="x")}, parts)).text == "S\n\n| x |\n\n> B3 Ann: too much\n\na box\n"


def test_the_copy_of_a_thread_for_older_programs_is_left_out() -> None:
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations({"comments": "../c.xml", "threadedComment": "../t.xml"}),
        "xl/_rels/workbook.xml.rels": relations({"worksheet:1": "worksheets/sheet1.xml", "person": "p.xml"}),
        "xl/p.xml": '<personList><person displayName="Ann" id="{1}"/></personList>',
        "xl/t.xml": '<ThreadedComments><threadedComment ref="A1" personId="{1}"><text>new</text></threadedComment>'
        "</ThreadedComments>",
        "xl/c.xml": "<comments><authors><author>tc={7}</author></authors><commentList>"
        '<comment ref="A1" authorId="0"><text><t>[Threaded comment] new</t></text></comment></commentList></comments>',
    }
    assert read(xlsx({"S": cells(1, A="x")}, parts)).text == "S\n\n| x |\n\n> A1 Ann: new\n"


def test_rows_and_cells_without_a_place_follow_the_last_one() -> None:
    rows = '<row r="4"><c><v>1</v></c></row><row><c r="C5"><v>2</v></c><c><v>3</v></c></row>'
    document = read(xlsx({"S": rows}))
    assert document.text == "S\n\n| 1 |\n| 2 | 3 |\n"
    assert [mark.cell for mark in document.cells] == ["S!A4", "S!C5"]
