"""Text of Word documents, and the positions at which it stands."""

from __future__ import annotations

import io

import pytest
from office_files import docx, package, paragraph, relations, run, zipped

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.office.ooxml import open_ooxml

STYLES = """<w:styles>
  <w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
  <w:style w:styleId="Clause"><w:name w:val="Clause"/><w:basedOn w:val="berschrift1"/></w:style>
  <w:style w:styleId="Outlined"><w:name w:val="Own"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
  <w:style w:styleId="Toc"><w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
  <w:style w:styleId="A"><w:basedOn w:val="B"/></w:style>
  <w:style w:styleId="B"><w:basedOn w:val="A"/></w:style>
</w:styles>"""


def read(content: bytes) -> Document:
    return extract(content, file_path("/root/report.docx"))


def styled(text: str, style: str) -> str:
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')


RESTARTED = '<w:vMerge w:val="restart"/>'
WIDE = '<w:gridSpan w:val="2"/>'


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def test_headings_are_known_by_the_names_of_their_styles_and_what_those_are_based_on() -> None:
    body = (
        paragraph("before")
        + styled("One", "berschrift1")
        + paragraph("text")
        + styled("Two", "Outlined")
        + styled("Three", "Clause")
        + styled("no heading", "Toc")
        + styled("a circle of styles", "A")
        + paragraph("Four", '<w:outlineLvl w:val="2"/>')
    )
    document = read(docx(body, related={"styles": STYLES}))
    assert [(document.text[section.start :].split("\n")[0], section.headings) for section in document.sections] == [
        ("before", ()),
        ("One", ("One",)),
        ("Two", ("One", "Two")),
        ("Three", ("Three",)),
        ("Four", ("Three", "Four")),
    ]
    assert document.title == "One"


def test_paragraphs_stand_apart_and_breaks_within_them_are_lines() -> None:
    body = "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r></w:p>" + paragraph("four")
    assert read(docx(body)).text == "one\ntwo\tthree\n\nfour\n"


def test_what_was_inserted_is_there_and_what_was_deleted_is_not() -> None:
    body = (
        f"<w:p>{run('kept ')}<w:ins>{run('inserted ')}</w:ins>"
        f"<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:moveFrom>{run('moved away')}</w:moveFrom>"
        f"<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    assert read(docx(body)).text == "kept inserted\n"


def test_tab_stops_are_no_tabs() -> None:
    assert read(docx(paragraph("text", '<w:tabs><w:tab w:pos="1"/></w:tabs>'))).text == "text\n"


def test_a_row_of_a_table_is_a_line_and_cells_stand_wherever_they_reach() -> None:
    body = (
        "<w:tbl>"
        f"<w:tr>{cell('Region', RESTARTED)}{cell('Sales | net', WIDE)}</w:tr>"
        f"<w:tr>{cell('', '<w:vMerge/>')}{cell('2023')}{cell('2024')}</w:tr>"
        f"<w:tr>{cell('North')}{cell('1')}{cell('2')}</w:tr>"
        "</w:tbl>"
    )
    assert read(docx(body)).text == (
        "| Region | Sales net | Sales net |\n| Region | 2023 | 2024 |\n| North | 1 | 2 |\n"
    )


def test_a_table_of_one_column_is_a_frame_around_its_text() -> None:
    inner = f"<w:tbl><w:tr>{cell('a')}{cell('b')}</w:tr></w:tbl>"
    body = f"<w:tbl><w:tr><w:tc>{styled('Boxed', 'berschrift1')}{paragraph('text')}{inner}</w:tc></w:tr></w:tbl>"
    document = read(docx(body, related={"styles": STYLES}))
    assert document.text == "Boxed\n\ntext\n\n| a | b |\n"
    assert document.sections[0].headings == ("Boxed",)


def test_a_table_in_a_cell_is_text_of_that_cell() -> None:
    inner = f"<w:tbl><w:tr>{cell('a')}{cell('b')}</w:tr></w:tbl>"
    body = f"<w:tbl><w:tr><w:tc>{paragraph('in')}{inner}</w:tc>{cell('out')}</w:tr></w:tbl>"
    assert read(docx(body)).text == "| in a b | out |\n"


def test_a_text_box_is_read_once_behind_its_paragraph() -> None:
    box = f"<w:txbxContent>{paragraph('boxed')}</w:txbxContent>"
    body = (
        f"<w:p>{run('before')}<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        f"</mc:AlternateContent>{run(' after')}</w:p>"
    )
    assert read(docx(body)).text == "before after\n\nboxed\n"


def test_notes_and_comments_follow_the_paragraph_that_they_belong_to() -> None:
    body = (
        f'<w:p>{run("Claim")}<w:r><w:footnoteReference w:id="2"/><w:endnoteReference w:id="1"/></w:r>'
        f'<w:r><w:commentReference w:id="0"/></w:r></w:p>{paragraph("next")}'
    )
    related = {
        "footnotes": f'<w:footnotes><w:footnote w:type="separator" w:id="0">{paragraph("x")}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph("source")}</w:footnote></w:footnotes>',
        "endnotes": f'<w:endnotes><w:endnote w:id="1">{paragraph("later")}</w:endnote></w:endnotes>',
        "comments": f'<w:comments><w:comment w:id="0" w:author="Ann">{paragraph("is it?")}</w:comment>'
        f'<w:comment w:id="7" w:author="Bob">{paragraph("nowhere")}</w:comment></w:comments>',
    }
    assert read(docx(body, related=related)).text == (
        "Claim[^1][^e1]\n\n[^1]: source\n\n[^e1]: later\n\n> Ann: is it?\n\nnext\n\n> Bob: nowhere\n"
    )


def test_a_note_in_a_table_follows_the_table() -> None:
    marked = '<w:tc><w:p><w:r><w:t>a</w:t><w:footnoteReference w:id="2"/></w:r></w:p></w:tc>'
    related = {"footnotes": f'<w:footnotes><w:footnote w:id="2">{paragraph("source")}</w:footnote></w:footnotes>'}
    assert read(docx(f"<w:tbl><w:tr>{marked}{cell('b')}</w:tr></w:tbl>", related=related)).text == (
        "| a[^1] | b |\n\n[^1]: source\n"
    )


def test_headers_and_footers_come_last_and_each_text_once() -> None:
    related = {f"header:{n}": f"<w:hdr>{paragraph('Confidential')}</w:hdr>" for n in range(3)}
    document = read(docx(paragraph("text"), related={**related, "footer": f"<w:ftr>{paragraph('Page')}</w:ftr>"}))
    assert document.text == "text\n\nPage\n\nConfidential\n"


def test_items_of_lists_have_the_marks_that_are_printed() -> None:
    def item(text: str, depth: int = 0, numbering: int = 1) -> str:
        return paragraph(text, f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{numbering}"/></w:numPr>')

    levels = (
        '<w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>'
    )
    numbering = (
        f'<w:numbering><w:abstractNum w:abstractNumId="5">{levels}</w:abstractNum>'
        '<w:abstractNum w:abstractNumId="6"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num>'
        "</w:numbering>"
    )
    body = item("a") + item("b", 1) + item("c", 1) + item("d") + item("e", 1) + item("f", 0, 2) + item("g", 0, 0)
    assert read(docx(body, related={"numbering": numbering})).text == (
        "3. a\n  3.a) b\n  3.b) c\n4. d\n  4.a) e\n- f\n\ng\n"
    )


def test_charts_and_diagrams_are_read_by_their_words() -> None:
    chart = (
        "<c:chart><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title><c:ser><c:strCache><c:pt><c:v>North</c:v>"
        "</c:pt></c:strCache><c:numCache><c:pt><c:v>17</c:v></c:pt></c:numCache></c:ser></c:chart>"
    )
    assert read(docx(paragraph("text"), related={"chart": chart})).text == "text\n\nSales\nNorth\n"


def test_a_document_tells_who_wrote_it_and_when() -> None:
    core = (
        "<cp:coreProperties><dc:title> The\nplan </dc:title><dc:creator>Ann; Bob</dc:creator>"
        "<cp:keywords>tax, 2024</cp:keywords><dc:subject>Taxes</dc:subject><dc:language>en-US</dc:language>"
        "<dcterms:created>2024-05-01T10:00:00Z</dcterms:created>"
        "<dcterms:modified>1601-01-01T00:00:00Z</dcterms:modified>"
        "</cp:coreProperties>"
    )
    app = "<Properties><Pages>12</Pages></Properties>"
    content = docx(paragraph("text"), {"docProps/core.xml": core, "docProps/app.xml": app})
    document = read(content)
    assert document.title == "The plan"
    metadata = document.metadata
    assert (metadata.authors, metadata.tags, metadata.subject) == (("Ann", "Bob"), ("tax", "2024"), "Taxes")
    assert (metadata.created, metadata.modified) == ("2024-05-01T10:00:00Z", "")
    assert (metadata.language, metadata.n_pages) == ("en", 12)


def test_a_file_of_the_strict_form_is_read_by_local_names() -> None:
    root = "http://purl.oclc.org/ooxml"
    content = zipped(
        {
            "_rels/.rels": f'<Relationships><Relationship Id="1" Target="/other/main.xml"'
            f' Type="{root}/officeDocument/relationships/officeDocument"/></Relationships>',
            "[Content_Types].xml": '<Types><Default Extension="xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.document.main+xml"/></Types>',
            "other/main.xml": f'<d xmlns="{root}/wordprocessingml/main"><p><r><t>strict</t></r></p></d>',
        }
    )
    document = read(content)
    assert (document.text, document.kind) == ("strict\n", "docx")


def test_what_is_beyond_the_damage_is_lost_and_nothing_else() -> None:
    body = f"{paragraph('whole')}<w:tbl><w:tr>{cell('a')}<w:tc><w:p>{run('b')}<broken"
    assert read(docx(body)).text == "whole\n\n| a | b |\n"


def test_a_part_with_a_wrong_checksum_is_read() -> None:
    content = bytearray(docx(paragraph("sound")))
    entry = content.rindex(b"word/document.xml") - 46
    content[entry + 16 : entry + 20] = bytes(4)
    assert read(bytes(content)).text == "sound\n"


def test_a_package_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    body = "".join(paragraph(f"paragraph {number * number}") for number in range(2000))
    content = docx(body)
    text = read(content[: len(content) // 2]).text
    assert text.startswith("paragraph 0\n\nparagraph 1\n\nparagraph 4\n")
    assert len(text) > len(read(content).text) // 3


def test_relations_that_lead_nowhere_or_out_are_ignored() -> None:
    content = package(
        "word/document.xml",
        {
            "word/document.xml": f"<w:document>{paragraph('text')}</w:document>",
            "word/_rels/document.xml.rels": relations({"styles": "../../../../etc/passwd", "comments": "document.xml"}),
        },
    )
    assert read(content).text == "text\n"


def test_a_package_without_relations_is_read_by_the_usual_names() -> None:
    assert read(zipped({"word/document.xml": f"<w:document>{paragraph('text')}</w:document>"})).text == "text\n"


def test_a_missing_main_part_is_a_failure() -> None:
    with pytest.raises(ExtractionError, match="main part is missing") as caught:
        read(zipped({"[Content_Types].xml": "<Types/>"}))
    assert not isinstance(caught.value, SkipFileError)


def formula(content: str) -> str:
    return f"<w:p><m:oMath>{content}</m:oMath></w:p>"


def letters(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def test_a_formula_has_signs_for_fractions_roots_and_brackets() -> None:
    sum_in_brackets = f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e>{letters('a+b')}</m:e></m:d>"
    below = f"<m:rad><m:e>{letters('2c')}</m:e></m:rad>"
    fraction = f"<m:f><m:num>{sum_in_brackets}</m:num><m:den>{below}</m:den></m:f>"
    half = f"<m:f><m:num>{letters('1')}</m:num><m:den>{letters('2')}</m:den></m:f>"
    assert read(docx(formula(fraction + half))).text == "([a+b])/(√(2c))1/2\n"


def test_a_form_has_its_choice_and_a_watermark_its_words_once() -> None:
    choices = "<w:ddList>{}<w:listEntry w:val='amber'/><w:listEntry w:val='viridian'/></w:ddList>"
    chosen = choices.format("<w:result w:val='1'/>") + choices.format("")
    mark = "<w:pict><v:shape alt='drawn'><v:textpath string='DRAFT'/></v:shape></w:pict>"
    document = read(docx(f"<w:p>{run('Colours: ')}{chosen}{mark}{mark}</w:p>"))
    assert document.text == "Colours: viridianamber\n\ndrawn\n\nDRAFT\n"


def test_files_that_a_document_takes_in_are_read_where_they_stand_once_and_to_a_bounded_depth() -> None:
    page = "<html><body><h1>Taken</h1><p>one\n<b>page</b></p><table><tr><td>a</td><td>b</td></tr></table></body></html>"
    chunk = "<w:altChunk r:id='aFChunk'/>"
    names = {"word/_rels/document.xml.rels": relations({"aFChunk": "part.htm", "aFChunk:x": "../gone.rtf"})}
    body = paragraph("before") + chunk + chunk + "<w:altChunk r:id='aFChunk:x'/>" + paragraph("after")
    document = read(docx(body, {**names, "word/part.htm": page}))
    assert document.text.split("\n\n") == ["before", "Taken", "one page", "| a | b |", "after\n"]
    assert [section.headings for section in document.sections] == [(), ("Taken",)]
    names = {"word/_rels/document.xml.rels": relations({"aFChunk": "part.docx"})}
    nested = docx(paragraph("inmost"))
    for depth in range(6):
        nested = docx(paragraph(f"level {depth}") + chunk, {**names, "word/part.docx": nested})
    assert read(nested).text.split("\n\n") == ["level 5", "level 4", "level 3", "level 2", "level 1\n"]


def test_the_address_of_a_field_stands_below_its_paragraph() -> None:
    mark, code = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>', "<w:r><w:instrText>{}</w:instrText></w:r>"
    field = mark.format("begin") + code.format(' HYPERLINK "https://example.') + code.format('org/whimbrel" \\t "new" ')
    field += mark.format("separate") + run("the whimbrel page") + mark.format("end")
    simple = f"""<w:fldSimple w:instr=' HYPERLINK "mailto:ann@example.org"'>{run("Ann")}</w:fldSimple>"""
    number = mark.format("begin") + code.format(" PAGE ") + mark.format("separate") + run("7") + mark.format("end")
    document = read(
        docx(f"<w:p>{run('See ')}{field}{run(' today')}</w:p><w:p>{simple}{number}</w:p>{paragraph('End')}")
    )

    assert document.text.split() == (
        "See the whimbrel page today <https://example.org/whimbrel> Ann7 <mailto:ann@example.org> End".split()
    )


def test_the_address_of_a_link_stands_below_its_paragraph() -> None:
    link = f"See <w:hyperlink r:id='l1'>{run('the page')}</w:hyperlink><w:hyperlink r:id='gone' w:anchor='x'/>"
    external = "<Relationship Id='l1' Type='x/hyperlink' Target='https://example.org/whimbrel' TargetMode='External'/>"
    names = {"word/_rels/document.xml.rels": f"<Relationships>{external}</Relationships>"}
    document = read(docx(f"<w:p>{link}{run(' today')}</w:p>", names))
    assert document.text.split("\n\n") == ["the page today", "<https://example.org/whimbrel>\n"]


def test_a_raised_mark_is_no_part_of_a_word() -> None:
    raised = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    at = '<w:rPr><w:position w:val="{}"/></w:rPr>'
    anchor = '<w:rPr><w:rStyle w:val="Anchor"/></w:rPr>'
    styles = (
        '<w:styles><w:style w:styleId="Anchor"><w:name w:val="note"/><w:basedOn w:val="Raised"/></w:style>'
        f'<w:style w:styleId="Raised">{raised}</w:style></w:styles>'
    )

    def formatted(text: str, properties: str) -> str:
        return f"<w:r>{properties}<w:t>{text}</w:t></w:r>"

    body = (
        f"<w:p>{run('the quokka')}{formatted('1', raised)}{run(' of 10 m')}{formatted('2', raised)}{run(' sleeps')}"
        f"{formatted('2', anchor)}{run('.')}</w:p>"
        f"<w:p>{formatted('2', raised)}{run('See')}{formatted('2', raised.replace('super', 'sub'))}"
        f"{run(' the numbat')}{formatted('3', at.format(6))}{run(' and')}{formatted('3', at.format(-6))}</w:p>"
    )
    assert read(docx(body, related={"styles": styles})).text == (
        "the quokka 1 of 10 m2 sleeps 2.\n\n2 See2 the numbat 3 and3\n"
    )


def test_a_raised_mark_within_a_note_is_no_part_of_a_word() -> None:
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>4</w:t></w:r>'
    own_mark = '<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteRef/></w:r>'
    note = f"<w:p>{own_mark}{run('The quokka')}{raised}{run(' of 10 m')}{raised}{run(' sleeps.')}</w:p>"
    document = read(
        docx(
            f'<w:p>{run("Claim")}<w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
            related={"footnotes": f'<w:footnotes><w:footnote w:id="2">{note}</w:footnote></w:footnotes>'},
        )
    )
    assert document.text == "Claim[^1]\n\n[^1]: The quokka 4 of 10 m4 sleeps.\n"


def test_a_greek_letter_of_the_font_of_symbols_is_that_letter() -> None:
    symbols = [("Symbol", "F06D"), ("Symbol", "F057"), ("Wingdings", "F0FE"), ("Symbol", "F0E2")]
    written = "".join(f'<w:r><w:sym w:font="{font}" w:char="{place}"/></w:r>' for font, place in symbols)
    assert read(docx(f"<w:p>{run('10 ')}{written}{run('m')}</w:p>")).text == "10 \u03bc\u03a9m\n"


def test_of_a_damaged_document_the_text_is_read_and_the_damage_is_a_problem() -> None:
    whole = docx("".join(paragraph(f"Line {number} of {number * 7919 % 1000}") for number in range(2000)))
    assert not [*open_ooxml(io.BytesIO(whole), "docx", Budget()).members]
    for damaged in (whole[: len(whole) * 2 // 3], whole[:-10], docx(f"{paragraph('Line 1')}</w:open>")):
        contents = open_ooxml(io.BytesIO(damaged), "docx", Budget())
        assert contents.document
        assert contents.document.text.startswith("Line ")
        (member,) = contents.members
        assert "the text that could be read is indexed" in str(member.problem)
