"""Text of OpenDocument files, and the positions at which it stands."""

from __future__ import annotations

import io

import pytest
from odf_files import cell, flat, frame, heading, packed, paragraph, properties, row, table
from office_files import zipped

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.office.odf import open_odf

NUMBERED = """<text:list-style style:name="L1">
  <text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
  <text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:display-levels="2"/>
</text:list-style>"""


def read(content: bytes, name: str = "report.odt") -> Document:
    return extract(content, file_path(f"/root/{name}"))


def items(*texts: str, attributes: str = "") -> str:
    written = "".join(f"<text:list-item>{text}</text:list-item>" for text in texts)
    return f"<text:list {attributes}>{written}</text:list>"


def test_headings_have_their_levels_and_the_title_is_one() -> None:
    titled = '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    body = paragraph("The plan", "P1") + heading(1, "One") + paragraph("text") + heading(2, "Two") + heading(1, "Three")
    document = read(packed("odt", body, automatic=titled))
    assert document.text == "The plan\n\nOne\n\ntext\n\nTwo\n\nThree\n"
    assert [section.headings for section in document.sections] == [("The plan",), ("One",), ("One", "Two"), ("Three",)]
    assert (document.kind, document.title) == ("odt", "The plan")


def test_headings_are_numbered_where_the_outline_says_so() -> None:
    outline = """<office:styles><text:outline-style>
      <text:outline-level-style text:level="1" style:num-format="I"/>
      <text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>
    </text:outline-style></office:styles>"""
    body = heading(1, "One") + heading(2, "Two") + heading(2, "Three") + heading(1, "Four") + heading(2, "Five")
    text = read(packed("odt", body, styles=outline)).text
    assert text.split("\n\n") == ["I One", "I.1 Two", "I.2 Three", "II Four", "II.1 Five\n"]


def test_circles_of_styles_are_no_headings() -> None:
    circle = "".join(
        f'<style:style style:name="{style}" style:family="paragraph" style:parent-style-name="{parent}"/>'
        for style, parent in ("AB", "BA")
    )
    assert read(packed("odt", paragraph("text", "A"), automatic=circle)).sections == ()


def test_white_space_of_the_xml_is_none_and_its_elements_are() -> None:
    body = "<text:p>one\n   two<text:s text:c='3'/>three<text:tab/>four<text:line-break/>five</text:p>"
    assert read(packed("odt", body)).text == "one two   three\tfour\nfive\n"


def test_items_of_lists_have_marks_and_only_their_first_paragraphs() -> None:
    inner = items(paragraph("deep"), paragraph("deeper"))
    body = items(paragraph("one") + paragraph("more"), paragraph("two") + inner, attributes='text:style-name="L1"')
    text = read(packed("odt", body + paragraph("after"), automatic=NUMBERED)).text
    assert text == "1. one\n\nmore\n\n2. two\n  2.a) deep\n  2.b) deeper\n\nafter\n"


def test_a_list_goes_on_where_it_says_so_and_starts_where_it_says_so() -> None:
    style = 'text:style-name="L1"'
    body = (
        items(paragraph("a"), paragraph("b"), attributes=style)
        + items(paragraph("c"), attributes=f'{style} text:continue-numbering="true"')
        + items(paragraph("d"), attributes=style)
        + f'<text:list {style}><text:list-item text:start-value="7">{paragraph("e")}</text:list-item></text:list>'
    )
    assert read(packed("odt", body, automatic=NUMBERED)).text == "1. a\n2. b\n3. c\n1. d\n7. e\n"


def test_lists_without_a_style_have_bullets() -> None:
    assert read(packed("odt", items(paragraph("one"), paragraph("two")))).text == "- one\n- two\n"


def test_a_table_has_its_spans_and_nothing_of_cells_that_are_covered() -> None:
    body = table(
        row(cell("Region", 'table:number-rows-spanned="2"'), cell("Sales | net", 'table:number-columns-spanned="2"')),
        row("<table:covered-table-cell><text:p>hidden</text:p></table:covered-table-cell>", cell("2023"), cell("2024")),
        row(cell("North"), cell("1", 'table:number-columns-repeated="2"')),
    )
    assert read(packed("odt", body)).text == (
        "| Region | Sales net | Sales net |\n| Region | 2023 | 2024 |\n| North | 1 | 1 |\n"
    )


def test_notes_and_comments_follow_the_paragraph_that_they_belong_to() -> None:
    def note(role: str, text: str) -> str:
        return (
            f'<text:note text:note-class="{role}"><text:note-citation>9</text:note-citation>'
            f"<text:note-body>{paragraph(text)}</text:note-body></text:note>"
        )

    comment = (
        f"<office:annotation><dc:creator>Ann</dc:creator><dc:date>2024-05-01T10:00:00</dc:date>"
        f"{paragraph('really?')}</office:annotation>"
    )
    body = paragraph(f"Claim{note('footnote', 'source')}{note('endnote', 'later')}{comment} stands") + paragraph("next")
    assert read(packed("odt", body)).text == (
        "Claim[^1][^e1] stands\n\n[^1]: source\n\n[^e1]: later\n\n> Ann: really?\n\nnext\n"
    )


def test_what_was_deleted_is_left_out_and_what_was_inserted_is_there() -> None:
    changes = (
        f"<text:tracked-changes><text:changed-region><text:deletion>{paragraph('deleted')}</text:deletion>"
        "</text:changed-region></text:tracked-changes>"
    )
    body = changes + paragraph('kept <text:change-start text:change-id="1"/>inserted<text:change-end/>')
    assert read(packed("odt", body)).text == "kept inserted\n"


def test_a_text_box_follows_its_paragraph_with_the_description_of_its_picture() -> None:
    box = "<draw:frame><svg:title>a map</svg:title><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame>"
    body = items(paragraph(f"before{box} after"))
    assert read(packed("odt", body)).text == "- before after\n\na map\n\nboxed\n"


def test_headers_and_footers_come_last_each_once() -> None:
    pages = "".join(
        f"<style:master-page><style:header>{paragraph('Secret')}</style:header>"
        f"<style:footer>{paragraph(foot)}</style:footer></style:master-page>"
        for foot in ("left", "right")
    )
    styles = f"<office:master-styles>{pages}</office:master-styles>"
    assert read(packed("odt", paragraph("text"), styles=styles)).text == "text\n\nSecret\n\nleft\n\nright\n"


def test_of_headers_and_footers_what_every_page_fills_in_is_left_out() -> None:
    number = "<text:page-number>1</text:page-number>"
    regions = (
        f"<style:region-left>{paragraph('<text:sheet-name>???</text:sheet-name> (<text:title>???</text:title>)')}"
        f"</style:region-left><style:region-right>{paragraph('Harbour')}</style:region-right>"
    )
    styles = (
        f"<office:master-styles><style:master-page><style:header>{regions}</style:header>"
        f"<style:footer>{paragraph(f'Page {number}')}{paragraph(f'Budget of the harbour {number}')}</style:footer>"
        f"<style:footer-left style:display='false'>{paragraph('Unused')}</style:footer-left></style:master-page>"
        "</office:master-styles>"
    )
    content = packed("ods", table(row(cell("a"))), styles=styles)
    text = read(content, "a.ods").text
    assert text.endswith("\n\nHarbour\n\nBudget of the harbour\n")
    assert "?" not in text


def test_a_chart_in_a_sheet_has_its_titles_and_labels() -> None:
    chart = "<a><chart><title><p>Sales</p></title><axis><title><p>Euros</p></title></axis></chart></a>"
    holder = "<table:shapes><draw:frame><draw:object xlink:href='./Object 1'/></draw:frame></table:shapes>"
    content = packed("ods", table(holder, row(cell("a"))), {"Object 1/content.xml": chart})
    assert read(content, "a.ods").text.endswith("Sales\nEuros\n")


def test_a_contents_page_is_read_but_not_what_it_is_made_by() -> None:
    body = (
        "<text:table-of-content><text:table-of-content-source><text:index-title-template>Template"
        f"</text:index-title-template></text:table-of-content-source><text:index-body>{paragraph('One 1')}"
        "</text:index-body></text:table-of-content>"
    )
    assert read(packed("odt", body)).text == "One 1\n"


def test_the_properties_are_those_of_the_author() -> None:
    meta = properties(
        dc_title="Plan",
        meta_initial_creator="Ann",
        dc_creator="Bob",
        meta_creation_date="2024-05-01T10:00:00.123456789",
        dc_date="2024-06-01T10:00:00",
        dc_language="de-DE",
        dc_subject="Money",
        meta_keyword="rent",
    ).replace("</office:meta>", "<meta:keyword>food, fun</meta:keyword></office:meta>")
    document = read(packed("odt", paragraph("text"), {"meta.xml": meta}))
    metadata = document.metadata
    assert (document.title, metadata.authors, metadata.language) == ("Plan", ("Ann",), "de")
    assert (metadata.created, metadata.modified) == ("2024-05-01T10:00:00", "2024-06-01T10:00:00")
    assert (metadata.subject, metadata.tags, metadata.n_pages) == ("Money", ("rent", "food", "fun"), 3)


def test_a_sheet_is_a_heading_and_a_row_is_a_line_that_is_known_by_its_first_cell() -> None:
    sheets = table(
        row(cell("Item"), cell("Cost")),
        row(cell("", 'table:number-columns-repeated="2"'), attributes='table:number-rows-repeated="14"'),
        row(cell(""), cell("1. Mai", 'office:value-type="date" office:date-value="2024-05-01"'), cell("8,50")),
        name="Budget",
    ) + table(row(cell("x", 'table:number-columns-repeated="3"'), cell("y")), name="Ann's")
    document = read(packed("ods", sheets), "plan.ods")
    assert document.text == "Budget\n\n| Item | Cost |\n| 1. Mai (2024-05-01) | 8,50 |\n\nAnn's\n\n| x |  |  | y |\n"
    assert [mark.cell for mark in document.cells] == ["Budget!A1", "Budget!B16", "'Ann''s'!A1"]
    assert [section.headings for section in document.sections] == [("Budget",), ("Ann's",)]


def test_a_value_that_is_not_shown_is_read() -> None:
    sheet = table(row(cell("", 'office:value-type="float" office:value="7"'), cell("", 'office:value="8"')))
    assert read(packed("ods", sheet)).text == "T\n\n| 7 |\n"


def test_comments_and_shapes_of_a_sheet_are_read() -> None:
    comment = f"<office:annotation><dc:creator>Ann</dc:creator>{paragraph('too much')}</office:annotation>"
    commented = f"<table:table-cell>{comment}{paragraph('x')}</table:table-cell>"
    sheet = table(f"<table:shapes>{frame('a box')}</table:shapes>", row(cell("a")), row(cell(""), commented))
    assert read(packed("ods", sheet)).text.split("\n") == [
        "T",
        "",
        "| a box a |",
        "| x |",
        "",
        "> B2 Ann: too much",
        "",
    ]


def test_copies_of_sheets_of_other_files_are_left_out() -> None:
    copy = table(row(cell("copied")), name="'file:///b.ods'#Sheet1")
    assert read(packed("ods", table(row(cell("own"))) + copy)).text == "T\n\n| own |\n"


def test_repeats_are_never_expanded() -> None:
    billion = 'table:number-columns-repeated="1000000000"'
    rows = row(cell("x", billion), cell("y"), attributes='table:number-rows-repeated="1000000000"') * 3
    for kind in ("ods", "odt"):
        assert len(read(packed(kind, table(rows))).text) < 3_000


def test_blanks_are_few_however_many_are_declared() -> None:
    assert len(read(packed("odt", paragraph("a<text:s text:c='999999'/>b"))).text) < 100


def test_slides_are_pages_with_their_titles_first_and_notes_and_comments_last() -> None:
    notes = (
        f"<presentation:notes>{frame('say this', role='notes')}{frame('7', role='page-number')}</presentation:notes>"
    )
    comment = f"<office:annotation><dc:creator>Ann</dc:creator>{paragraph('why?')}</office:annotation>"
    rent = items(paragraph("rent"))
    listed = f"<draw:frame presentation:class='outline'><draw:text-box>{rent}</draw:text-box></draw:frame>"
    slides = (
        f"<draw:page>{comment}{listed}{frame('Costs', role='title')}{notes}</draw:page>"
        f"<draw:page><draw:g>{frame('text')}</draw:g></draw:page>"
    )
    document = read(packed("odp", slides), "talk.odp")
    assert document.text == "Costs\n\n- rent\n\nNotes:\nsay this\n\n> Ann: why?\n\ntext\n"
    assert document.sections == (Section(0, ("Costs",), 1), Section(document.text.index("text"), (), 2))
    assert (document.kind, document.metadata.n_pages) == ("odp", 2)


def test_what_every_slide_shows_is_read_once_but_not_its_examples() -> None:
    shapes = frame("Click here", role="title") + frame("ACME", role="footer") + frame("draft")
    styles = f"<office:master-styles><style:master-page>{shapes}</style:master-page></office:master-styles>"
    content = packed("odp", f"<draw:page>{frame('text')}</draw:page>", styles=styles)
    assert read(content).text == "text\n\nACME\n\ndraft\n"


def test_a_drawing_has_its_shapes() -> None:
    body = f"<draw:page><draw:custom-shape>{paragraph('start')}</draw:custom-shape><draw:rect/></draw:page>"
    document = read(packed("odg", body))
    assert (document.kind, document.text) == ("odg", "start\n")


def test_words_of_a_chart_are_read_without_its_numbers() -> None:
    chart = (
        "<a><chart><title><p>Sales</p></title></chart><t><table-cell value-type='float'><p>17</p></table-cell></t></a>"
    )
    holder = "<draw:frame><draw:object xlink:href='./Object 1'/></draw:frame>"
    content = packed("odt", paragraph(f"see{holder}"), {"Object 1/content.xml": chart})
    assert read(content).text == "see\n\nSales\n"


def test_a_flat_file_is_read_as_a_packed_one() -> None:
    before = (
        "<office:meta><dc:title>Plan</dc:title></office:meta><office:master-styles><style:master-page>"
        f"<style:footer>{paragraph('foot')}</style:footer></style:master-page></office:master-styles>"
    )
    document = read(flat("odt", heading(1, "One") + paragraph("text"), before), "report.fodt")
    assert (document.kind, document.title, document.text) == ("odt", "Plan", "One\n\ntext\n\nfoot\n")
    assert read(flat("ods", table(row(cell("a")))), "plan.fods").cells[0].cell == "T!A1"


def test_a_package_that_people_packed_themselves_is_known_by_its_name() -> None:
    content = zipped({"content.xml": flat("odt", paragraph("text")), "META-INF/manifest.xml": "<manifest/>"})
    assert read(content).text == "text\n"


def test_the_content_decides_and_not_the_name() -> None:
    assert read(packed("ods", table(row(cell("a")))), "report.odt").kind == "ods"
    assert read(packed("odt", paragraph("text")), "noname").kind == "odt"
    assert read(b"just words\n", "report.odt").kind == "text"


def test_a_file_that_needs_a_password_says_so() -> None:
    manifest = '<manifest><file-entry full-path="content.xml"><encryption-data/></file-entry></manifest>'
    with pytest.raises(SkipFileError) as caught:
        read(packed("odt", "", {"META-INF/manifest.xml": manifest}))
    assert caught.value.reason == SkipReason.ENCRYPTED


@pytest.mark.parametrize(
    "content",
    [
        zipped({"mimetype": "application/vnd.oasis.opendocument.text"}),
        zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a><b/></a>"}),
        zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "no XML"}),
        packed("odt", paragraph("text"))[:100],
    ],
    ids=["no content", "other content", "no XML", "cut off"],
)
def test_what_is_damaged_fails_and_is_not_skipped(content: bytes) -> None:
    with pytest.raises(ExtractionError) as caught:
        read(content)
    assert not isinstance(caught.value, SkipFileError)


def test_a_broken_end_keeps_what_came_before() -> None:
    assert read(packed("odt", paragraph("sound") + "<broken")).text == "sound\n"


def test_entities_are_refused() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x "xxxxx">]><office:document office:mimetype="opendocument">&x;</office:document>'
    with pytest.raises(ExtractionError, match="entity"):
        read(bomb.encode(), "report.fodt")


def test_nesting_is_bounded() -> None:
    deep = "<text:list><text:list-item>" * 5_000
    assert read(packed("odt", paragraph("sound") + deep)).text == "sound\n"


def test_files_that_are_embedded_are_members() -> None:
    content = packed("odt", paragraph("text"), {"Object 7": b"a note", "Object 1/content.xml": "<a/>"})
    members = list(open_odf(io.BytesIO(content), "odt", Budget()).members)
    assert [(member.name, member.content) for member in members] == [("Object 7", b"a note")]


@pytest.mark.parametrize("kind", ["odt", "ods", "odp"])
def test_a_raised_mark_is_no_part_of_a_word(kind: str) -> None:
    def style(name: str, position: str, parent: str = "") -> str:
        properties = f'<style:text-properties style:text-position="{position}"/>' if position else ""
        return f'<style:style style:name="{name}" style:parent-style-name="{parent}">{properties}</style:style>'

    def marked(text: str, style: str) -> str:
        return f'<text:span text:style-name="{style}">{text}</text:span>'

    positions = {"T1": "super 58%", "T2": "sub 58%", "T3": "33% 58%", "T4": "-33% 58%"}
    styles = "".join(style(*item) for item in positions.items()) + style("T5", "", "T1") + style("T6", "0% 100%", "T1")
    written = "the quokka" + marked("1", "T1") + " of 10 m" + marked("2", "T1") + " H" + marked("2", "T2") + "O, CAT"
    written += marked("2", "T2") + " the numbat" + marked("3", "T3") + " and" + marked("4", "T4") + " all"
    written += marked("5", "T5") + " of them" + marked("6", "T6")
    bodies = {
        "odt": paragraph(written),
        "ods": table(row(cell(written))),
        "odp": f"<draw:page><draw:frame><draw:text-box>{paragraph(written)}</draw:text-box></draw:frame></draw:page>",
    }
    document = read(packed(kind, bodies[kind], automatic=styles))
    assert "the quokka 1 of 10 m2 H2O, CAT2 the numbat 3 and4 all 5 of them6" in document.text
