"""Text of books, and the chapters in which it stands."""

from __future__ import annotations

import struct

import pytest
from book_files import entry, epub, point
from office_files import zipped

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract


def read(content: bytes, name: str = "book.epub") -> Document:
    return extract(content, file_path(f"/root/{name}"))


def page_text(body: str) -> str:
    return read(epub({"one.xhtml": body})).text


def fb2(body: str, description: str = "", encoding: str = "utf-8") -> bytes:
    source = (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<FictionBook xmlns:l="l"><description>{description}'
        f'</description><body>{body}</body><binary id="x">cGljdHVyZQ==</binary></FictionBook>'
    )
    return source.encode(encoding)


def test_pages_come_in_the_order_of_reading() -> None:
    document = read(epub({"z.xhtml": "<h1>One</h1><p>first</p>", "a.xhtml": "<h1>Two</h1><p>second</p>"}))
    assert document.text == "One\n\nfirst\n\nTwo\n\nsecond\n"
    assert [section.headings for section in document.sections] == [("One",), ("Two",)]
    assert (document.kind, document.title) == ("epub", "The Book")


@pytest.mark.parametrize("form", ["contents", "index"])
def test_chapters_have_the_titles_and_the_depth_of_the_table_of_contents(form: str) -> None:
    pages = {"one.xhtml": "<p>begin</p>", "two%201.xhtml": "", "three.xhtml": "<h3>More</h3>"}
    parts = {"OPS/two 1.xhtml": "<h2>Inner</h2><p>text</p><h3>Deeper</h3>"}
    if form == "contents":
        inner = f"<ol>{entry('Inner', 'two%201.xhtml#top')}</ol>"
        content = epub(pages, parts, contents=f"<ol>{entry('Part', 'one.xhtml', inner)}</ol>")
    else:
        content = epub(pages, parts, index=point("Part", "one.xhtml", point("Inner", "two%201.xhtml#top")))
    document = read(content)
    assert document.text == "Part\n\nbegin\n\nInner\n\ntext\n\nDeeper\n\nMore\n"
    assert [section.headings for section in document.sections] == [
        ("Part",),
        ("Part", "Inner"),
        ("Part", "Inner", "Deeper"),
        ("Part", "Inner", "More"),
    ]


def test_paragraphs_stand_apart_however_the_source_is_broken_into_lines() -> None:
    assert page_text("<div>one<p>two\n  <b>three</b><br/>four</p>five</div><p>&eacute;&nbsp;&#233;") == (
        "one\n\ntwo three\nfour\n\nfive\n\né é\n"
    )


def test_items_of_lists_have_marks() -> None:
    body = (
        "<ul><li>one<ol start='3'><li><p>deep</p><p>more</p></li><li>deeper</li></ol></li><li></li></ul><p>after</p>"
        "<li>alone"
    )
    assert page_text(body) == "- one\n  3. deep\n\nmore\n\n  4. deeper\n\nafter\n\n- alone\n"


def test_a_row_of_a_table_is_a_line_and_cells_stand_wherever_they_reach() -> None:
    body = (
        "<table><caption>Sales</caption><thead><tr><th rowspan='2'>Region</th><th colspan=\"2\">net</th></tr>"
        "<tr><th>2023<th>2024</thead><tbody><tr><td><p>North</p><p>pole</p></td><td>1</td><td>2</td></tr></tbody></table>"
    )
    assert page_text(body) == "Sales\n\n| Region | net | net |\n| Region | 2023 | 2024 |\n| North pole | 1 | 2 |\n"


def test_what_no_reader_sees_is_left_out() -> None:
    body = (
        "<nav><ol><li>contents</li></ol></nav><svg><metadata>drawn</metadata></svg><script>code()</script><!-- said -->"
        "<p>text</p><svg/><p>more</p><video><p>never ended</p>"
    )
    assert page_text(body) == "text\n\nmore\n\nnever ended\n"


def test_what_is_written_as_it_stands_keeps_its_lines() -> None:
    assert page_text("<pre>a\n  b</pre><p>c\n d</p>") == "a\n  b\n\nc d\n"


def test_the_properties_are_those_of_the_book() -> None:
    properties = (
        "<dc:title>Moby</dc:title><dc:title>Dick</dc:title><dc:creator>Ann</dc:creator><dc:creator>Bob</dc:creator>"
        '<dc:language>en-GB</dc:language><dc:date opf:event="modification">2012-01-02</dc:date>'
        '<dc:date opf:event="publication">2011-05-06</dc:date><dc:subject>whales; sea</dc:subject>'
        "<dc:description>A hunt.</dc:description>"
    )
    document = read(epub({"one.xhtml": "<p>text</p>"}, properties=properties))
    metadata = document.metadata
    assert (document.title, metadata.authors, metadata.language) == ("Moby", ("Ann", "Bob"), "en")
    assert (metadata.created, metadata.modified) == ("2011-05-06", "2012-01-02")
    assert (metadata.subject, metadata.tags) == ("A hunt.", ("whales", "sea"))
    newer = '<dc:date>2011</dc:date><meta property="dcterms:modified">2012-01-02T10:00:00Z</meta>'
    metadata = read(epub({"one.xhtml": "<p>text</p>"}, properties=newer)).metadata
    assert (metadata.created, metadata.modified) == ("2011", "2012-01-02T10:00:00Z")


@pytest.mark.parametrize(
    ("method", "is_readable"),
    [
        ("http://www.idpf.org/2008/embedding", True),
        ("http://ns.adobe.com/pdf/enc#RC", True),
        ("http://www.w3.org/2001/04/xmlenc#aes256-cbc", False),
    ],
)
def test_a_protected_book_says_so_and_one_with_protected_fonts_is_read(method: str, *, is_readable: bool) -> None:
    protection = f'<encryption><EncryptedData><EncryptionMethod Algorithm="{method}"/></EncryptedData></encryption>'
    content = epub({"one.xhtml": "<p>text</p>"}, {"META-INF/encryption.xml": protection})
    if is_readable:
        assert read(content).text == "text\n"
        return
    with pytest.raises(SkipFileError) as caught:
        read(content)
    assert caught.value.reason == SkipReason.ENCRYPTED


def test_a_page_that_is_missing_or_no_page_does_not_take_the_others_along() -> None:
    content = epub({"one.xhtml": "<p>text</p>", "two.xhtml": "", "three.xhtml": ""}, {"OPS/two.xhtml": bytes(9_000)})
    assert read(content).text == "text\n"


def test_a_book_is_known_by_its_content_or_its_name() -> None:
    assert read(epub({"one.xhtml": "<p>text</p>"}), "noname").kind == "epub"
    repacked = {"book.opf": '<p><item id="a" href="a.html"/><itemref idref="a"/></p>', "a.html": "<p>text</p>"}
    assert read(zipped(repacked)).text == "text\n"


@pytest.mark.parametrize("parts", [{}, {"book.opf": "no XML"}, {"book.opf": '<p><item id="a" href="a.html"/></p>'}])
def test_a_damaged_book_fails_and_is_not_skipped(parts: dict[str, str]) -> None:
    with pytest.raises(ExtractionError) as caught:
        read(zipped({"mimetype": "application/epub+zip", **parts}))
    assert not isinstance(caught.value, SkipFileError)


@pytest.mark.parametrize(
    "piece", ["<table>", "<table><tr><td>", "<ul><li>", "<svg>", "<td>x", "</td></table>", "<h1>", "<pre>", "&", "<p "]
)
def test_no_page_takes_more_than_linear_time(piece: str) -> None:
    assert page_text("<p>one</p>" + piece * 50_000).startswith("one\n")


def test_a_fiction_book_has_its_sections_and_notes() -> None:
    body = (
        "<title><p>The</p><p>Book</p></title><section><title><p>One</p></title><p>text <strong>bold</strong></p>"
        "<section><title><p>Inner</p></title><poem><stanza><v>line</v><v>next</v></stanza><date>1900</date></poem>"
        "</section></section><section><p>more</p></section></body><body name='notes'><section><title><p>1</p></title>"
        "<p>a note</p></section>"
    )
    document = read(fb2(body), "book.fb2")
    assert document.text == "The Book\n\nOne\n\ntext bold\n\nInner\n\nline\n\nnext\n\n1900\n\nmore\n\n1\n\na note\n"
    assert [section.headings for section in document.sections] == [
        ("The Book",),
        ("The Book", "One"),
        ("The Book", "One", "Inner"),
        ("The Book", "1"),
    ]
    assert (document.kind, document.title) == ("fictionbook", "The Book")


def test_a_table_of_a_fiction_book_has_its_spans() -> None:
    table = "<table><tr><th colspan='2'>a <em>b</em></th></tr><tr><td>c</td><td>d</td></tr></table>"
    assert read(fb2(f"<section>{table}</section>"), "b.fb2").text == "| a b | a b |\n| c | d |\n"


def test_what_a_fiction_book_says_of_itself_is_read_in_its_encoding() -> None:
    description = (
        "<title-info><genre>war</genre><author><first-name>Лев</first-name><last-name>Толстой</last-name></author>"
        "<author><nickname>Ann</nickname></author><book-title>Война</book-title><annotation><p>Роман.</p></annotation>"
        "<keywords>мир, война</keywords><lang>ru</lang><date value='1999-01-02'>1999</date></title-info>"
        "<document-info><author><nickname>Typist</nickname></author><history><p>typed</p></history></document-info>"
    )
    document = read(fb2("<section><p>Жизнь</p></section>", description, "windows-1251"), "noname")
    metadata = document.metadata
    assert (document.text, document.title) == ("Роман.\n\nЖизнь\n", "Война")
    assert (metadata.authors, metadata.language, metadata.created) == (("Лев Толстой", "Ann"), "ru", "1999-01-02")
    assert metadata.tags == ("war", "мир", "война")


def test_a_broken_fiction_book_keeps_what_came_before_or_fails() -> None:
    assert read(b"<FictionBook><body><section><p>sound</p><p>cut", "b.fb2").text == "sound\n\ncut\n"
    with pytest.raises(ExtractionError) as caught:
        read(b"just words\n", "b.fb2")
    assert not isinstance(caught.value, SkipFileError)
    with pytest.raises(ExtractionError, match="entity"):
        read(b'<!DOCTYPE a [<!ENTITY x "xxxxx">]><FictionBook>&x;</FictionBook>', "b.fb2")


def test_drawings_are_read_in_pages_and_as_pages() -> None:
    text = "<text>of <tspan>the</tspan><tspan x='0'>hill</tspan></text><text>north</text>"
    drawing = f"<svg><style>text {{fill: red}}</style><title>Map</title>{text}</svg>"
    assert page_text(f"<p>before</p>{drawing}<p>after</p>") == "before\n\nMap\n\nof the hill\n\nnorth\n\nafter\n"
    types = {"a.svg": "image/svg+xml", "n.ncx": "application/x-dtbncx+xml", "b.xml": "application/x-dtbook+xml"}
    listed = "".join(f"<item id='{part[0]}' href='{part}' media-type='{kind}'/>" for part, kind in types.items())
    listed += (
        "<item id='c' href='c.pdf' media-type='application/pdf' fallback='d'/>"
        "<item id='d' href='d.xhtml' media-type='application/xhtml+xml'/>"
    )
    chapter = "<dtbook><level1><h1>Two</h1><p>text</p></level1></dtbook>"
    parts = {"a.svg": drawing, "b.xml": chapter, "d.xhtml": "<p>last</p>"}
    order = "".join(f"<itemref idref='{name}'/>" for name in "anbc")
    for spine in (order, ""):
        book = f"<package><manifest>{listed}</manifest><spine>{spine}</spine></package>"
        packed = zipped({"mimetype": "application/epub+zip", "book.opf": book, **parts})
        assert read(packed).text == "Map\n\nof the hill\n\nnorth\n\nTwo\n\ntext\n\nlast\n"


def mobi(text: str, facts: dict[int, str] | None = None, *, protection: int = 0) -> bytes:
    """Write a book of Mobipocket that is not compressed: a database of two records."""
    content = text.encode()
    written = b"".join(
        struct.pack(">LL", number, 8 + len(fact.encode())) + fact.encode() for number, fact in (facts or {}).items()
    )
    palm = struct.pack(">HHLHHHH", 1, 0, len(content), 1, 4096, protection, 0)
    header = struct.pack(">4sLLLL", b"MOBI", 232, 2, 65001, 1).ljust(112, b"\0") + struct.pack(">L", 0x40)
    first = (
        palm + header.ljust(232, b"\0") + b"EXTH" + struct.pack(">LL", 12 + len(written), len(facts or {})) + written
    )
    start = 78 + 2 * 8
    places = struct.pack(">LLLL", start, 0, start + len(first), 1)
    return b"book".ljust(60, b"\0") + b"BOOKMOBI" + b"\0" * 8 + struct.pack(">H", 2) + places + first + content


def test_a_book_of_mobipocket_has_its_headings_paragraphs_and_what_it_says_of_itself() -> None:
    text = "<html><body><h1>One</h1><p>The first,<br/>schön.</p><ul><li>item</li></ul></body></html>"
    document = read(mobi(text, {100: "Ann Example", 503: "The Bööк", 524: "de"}), "a.mobi")
    assert [line.strip("- •") for line in document.text.split("\n") if line] == ["One", "The first, schön.", "item"]
    assert document.sections[0].headings == ("One",)
    assert (document.kind, document.title) == ("mobi", "The Bööк")
    assert (document.metadata.authors, document.metadata.language) == (("Ann Example",), "de")


def test_a_book_of_mobipocket_that_is_protected_or_damaged_says_so() -> None:
    with pytest.raises(SkipFileError) as skipped:
        read(mobi("text", protection=2), "a.azw")
    assert skipped.value.reason == SkipReason.ENCRYPTED
    for size in (70, 80, 100, 150):
        with pytest.raises(ExtractionError):
            read(mobi("text")[:size], "a.mobi")


def test_a_raised_mark_is_no_part_of_a_word() -> None:
    page = (
        "<p>the quokka<sup>1</sup> of 10 m<sup>2</sup></p><p><sup>2</sup>See the <sup>14</sup>C report<sup>a</sup></p>"
    )
    assert page_text(page) == "the quokka 1 of 10 m2\n\n2 See the 14C report a\n"


def test_a_raised_mark_is_no_part_of_a_word_of_fiction() -> None:
    body = "<section><p>the quokka<sup>1</sup> of 10 m<sup>2</sup></p><p><sup>2</sup>See H<sub>2</sub>O</p></section>"
    assert read(fb2(body), "b.fb2").text == "the quokka 1 of 10 m2\n\n2 See H2O\n"


def test_a_page_in_a_frame_is_read() -> None:
    page = '<p>before</p><iframe srcdoc="<p>the &lt;b>quokka&lt;/b></p><!--"></iframe><p>after</p>'
    assert page_text(page) == "before\n\nthe quokka\n\nafter\n"
