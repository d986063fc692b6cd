"""Office documents in a single XML file, whatever their names."""

from __future__ import annotations

import base64

import pytest
from office_files import docx, paragraph, relations, shape, zipped

from directory_indexer.core.errors import ExtractionError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.recognition import kind_of

XML = "<?xml version='1.0'?>"
WORD = "xmlns:w='http://schemas.microsoft.com/office/word/2003/wordml'"
EXCEL = "xmlns='urn:schemas-microsoft-com:office:spreadsheet'"
PACKAGE = "xmlns:pkg='http://schemas.microsoft.com/office/2006/xmlPackage'"


def read(content: str | bytes, name: str = "report.xml") -> Document:
    return extract(content.encode() if isinstance(content, str) else content, file_path(f"/root/{name}"))


def word_2003(body: str, head: str = "") -> str:
    program = "<?mso-application progid='Word.Document'?>"
    return f"{XML}{program}<w:wordDocument {WORD}>{head}<w:body>{body}</w:body></w:wordDocument>"


def test_a_document_of_word_2003_has_headings_lists_notes_and_comments() -> None:
    head = (
        "<o:DocumentProperties><o:Title>Plan</o:Title><o:Author>Ann</o:Author></o:DocumentProperties>"
        "<w:styles><w:style w:styleId='H'><w:name w:val='heading 1'/></w:style></w:styles>"
    )
    item = "<w:listPr><w:ilvl w:val='0'/><w:ilfo w:val='1'/><wx:t wx:val='·'/></w:listPr>"
    note = f"<w:r><w:footnote>{paragraph('a note')}</w:footnote></w:r>"
    comment = (
        f"<aml:annotation w:type='Word.Comment'><aml:content>{paragraph('a remark')}</aml:content></aml:annotation>"
    )
    added = (
        "<aml:annotation w:type='Word.Insertion'><aml:content><w:r><w:t>ad</w:t></w:r></aml:content></aml:annotation>"
    )
    removed = "<aml:annotation w:type='Word.Deletion'><w:r><w:delText>gone</w:delText></w:r></aml:annotation>"
    text = f"<w:p><w:r><w:t>was </w:t></w:r>{added}{removed}<w:r><w:t>ded</w:t></w:r>{note}{comment}</w:p>"
    document = read(word_2003(paragraph("Head", "<w:pStyle w:val='H'/>") + paragraph("one", item) + text, head))
    assert document.text == "Head\n\n- one\n\nwas added\n\na note\n\na remark\n"
    assert (document.kind, document.title, document.metadata.authors) == ("docx", "Plan", ("Ann",))
    assert document.sections[0].headings == ("Head",)


def test_a_workbook_of_excel_2003_shows_its_cells_by_their_formats_and_places() -> None:
    styles = (
        "<Styles><Style ss:ID='a'><NumberFormat ss:Format='00000'/></Style>"
        "<Style ss:ID='b'><NumberFormat ss:Format='Short Date'/></Style></Styles>"
    )

    def cell(kind: str, text: str, *, comment: str = "", **attributes: str) -> str:
        written = " ".join(f"ss:{name}='{value}'" for name, value in attributes.items())
        return f"<Cell {written}><Data ss:Type='{kind}'>{text}</Data>{comment}</Cell>"

    remark = "<Comment ss:Author='Ann'><ss:Data><B>Ann:</B>&#10;why</ss:Data></Comment>"
    first = cell("Number", "1234", StyleID="a") + cell("String", "two", Index="4", comment=remark)
    second = (
        cell("DateTime", "2026-01-05T00:00:00.000", StyleID="b")
        + cell("DateTime", "2026-01-05T08:30:00.000")
        + cell("Boolean", "1")
        + cell("DateTime", "soon")
    )
    sheet = f"<Worksheet ss:Name='S'><Table><Row ss:Index='3'>{first}</Row><Row>{second}</Row></Table></Worksheet>"
    document = read(f"{XML}<Workbook {EXCEL}>{styles}{sheet}</Workbook>", "book.xls")
    assert document.text == (
        "S\n\n| 01234 |  |  | two |\n| 2026-01-05 | 2026-01-05 08:30:00 | TRUE | soon |\n\n> D3 Ann: Ann: why\n"
    )
    assert [mark.cell for mark in document.cells] == ["S!A3", "S!A4"]


def test_a_raised_mark_is_no_part_of_a_word() -> None:
    data = "<Data ss:Type='String'>the quokka<Sup>1</Sup> of 10 m<Sup>2</Sup> eats H<Sub>2</Sub>O</Data>"
    sheet = f"<Worksheet ss:Name='S'><Table><Row><Cell>{data}</Cell></Row></Table></Worksheet>"
    assert read(f"{XML}<Workbook {EXCEL}>{sheet}</Workbook>", "book.xls").text == (
        "S\n\n| the quokka 1 of 10 m2 eats H2O |\n"
    )


def flat(parts: dict[str, str | bytes]) -> str:
    def written(content: str | bytes) -> str:
        if isinstance(content, bytes):
            return f"<pkg:binaryData>{base64.encodebytes(content).decode()}</pkg:binaryData>"
        return f"<pkg:xmlData>{content}</pkg:xmlData>"

    listed = "".join(f"<pkg:part pkg:name='/{name}'>{written(content)}</pkg:part>" for name, content in parts.items())
    return f"<?xml version='1.0' encoding='UTF-8'?><pkg:package {PACKAGE}>{listed}</pkg:package>"


def test_a_package_in_one_file_has_all_its_parts() -> None:
    inner = docx(paragraph("Größe"))
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"officeDocument": "word/document.xml"}),
        "word/document.xml": f"<w:document>{paragraph('Ümlaut')}<w:altChunk r:id='aFChunk'/></w:document>",
        "word/_rels/document.xml.rels": relations({"aFChunk": "inner.docx"}),
        "word/inner.docx": inner,
    }
    for encoding in ("utf-8", "utf-16"):
        assert read(flat(parts).encode(encoding)).text == "Ümlaut\n\nGröße\n"
    assert read(flat(parts)).kind == "docx"
    cut = flat(parts).encode().partition(b"</w:p>")[0]
    assert read(cut).text == "Ümlaut\n"


def test_parts_of_one_name_and_names_that_no_package_can_have_do_no_harm() -> None:
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"officeDocument": "word/document.xml"}),
        "word/document.xml": f"<w:document>{paragraph('first')}</w:document>",
    }
    again = f"<pkg:part pkg:name='/word/document.xml'><pkg:xmlData>{paragraph('again')}</pkg:xmlData></pkg:part>"
    long = again.replace("word/document.xml", "n" * 70_000)
    written = flat(parts).replace("</pkg:package>", f"{again}{long}</pkg:package>")
    assert read(written).text == "first\n"


def test_slides_in_one_file_are_slides() -> None:
    slides = "<p:presentation><p:sldIdLst><p:sldId r:id='slide'/></p:sldIdLst></p:presentation>"
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": slides,
        "ppt/_rels/presentation.xml.rels": relations({"slide": "a.xml"}),
        "ppt/a.xml": f"<p:sld><p:cSld><p:spTree>{shape('Opening', placeholder='title')}</p:spTree></p:cSld></p:sld>",
    }
    assert read(flat(parts)).kind == "pptx"
    assert read(flat(parts)).text == "Opening\n"


def test_what_is_damaged_is_told() -> None:
    with pytest.raises(ExtractionError, match="damaged XML"):
        read(f"{XML}<Workbook {EXCEL}><")
    with pytest.raises(ExtractionError):
        read(f"{XML}<pkg:package {PACKAGE}><pkg:part pkg:name='/word/document.xml'>")


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (f"<w:wordDocument {WORD}>", "docx"),
        (f"<!-- note --><Workbook {EXCEL}>", "xlsx"),
        ("<Workbook xmlns='urn:another'>", "xml"),
        ("<package xmlns='http://www.idpf.org/2007/opf'>", "xml"),
        ("<document xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0'>", "xml"),
        ("<office:document office:mimetype='application/vnd.oasis.opendocument.graphics'>", "odg"),
    ],
)
def test_the_root_of_an_xml_file_tells_whether_it_is_an_office_document(root: str, expected: str) -> None:
    assert kind_of(file_path("/root/a.xml"), b"<?xml version='1.0'?>" + root.encode()) == expected


def test_a_document_of_openoffice_1_has_headings_lists_and_notes() -> None:
    body = (
        "<text:h text:level='2'>Head</text:h><text:unordered-list><text:list-item><text:p>one</text:p></text:list-item>"
        "</text:unordered-list><text:p>said<text:footnote><text:footnote-citation>1</text:footnote-citation>"
        "<text:footnote-body><text:p>a note</text:p></text:footnote-body></text:footnote></text:p>"
        "<draw:text-box><text:p>boxed</text:p></draw:text-box>"
    )
    content = f"<office:document-content><office:body>{body}</office:body></office:document-content>"
    for parts in ({"mimetype": "application/vnd.sun.xml.writer", "content.xml": content}, {"content.xml": content}):
        document = read(zipped(parts), "old.sxw")
        assert document.text == "Head\n\n- one\n\nsaid[^1]\n\n[^1]: a note\n\nboxed\n"
        assert document.kind == "odt"


def test_a_document_of_hancom_office_has_its_sections_in_order_with_tables_and_notes() -> None:
    def written(text: str) -> str:
        return f"<hp:p><hp:run><hp:t>{text}</hp:t></hp:run></hp:p>"

    cells = "".join(f"<hp:tc><hp:subList>{written(text)}</hp:subList></hp:tc>" for text in ("a", "b"))
    table = f"<hp:p><hp:run><hp:tbl><hp:tr>{cells}</hp:tr></hp:tbl><hp:t>after</hp:t></hp:run></hp:p>"
    note = "<hp:p><hp:run><hp:t>tab<hp:tab/>bed</hp:t><hp:footNote>{}</hp:footNote></hp:run></hp:p>"
    parts = {
        "mimetype": "application/hwp+zip",
        "Contents/section10.xml": f"<hs:sec>{written('last')}</hs:sec>",
        "Contents/section2.xml": f"<hs:sec>{table}{note.format(written('noted'))}</hs:sec>",
        "Contents/content.hpf": "<opf:package><opf:metadata><opf:title>보고</opf:title>"
        "<opf:meta name='creator'>Kim</opf:meta></opf:metadata></opf:package>",
    }
    document = read(zipped(parts), "noname")
    assert document.text == "| a | b |\n\nafter\n\ntab\tbed\n\nnoted\n\nlast\n"
    assert (document.kind, document.title, document.metadata.authors) == ("hwpx", "보고", ("Kim",))
    with pytest.raises(ExtractionError, match="it has no sections"):
        read(zipped({"mimetype": "application/hwp+zip"}), "a.hwpx")
