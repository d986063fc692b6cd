"""Text of rich text files, and the positions at which it stands."""

from __future__ import annotations

import io

import pytest
from office_files import docx, paragraph
from ole_files import ole

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget, Member
from directory_indexer.formats.document import Document
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.office.rtf import open_rtf
from directory_indexer.formats.office.rtf_parser import MAX_DEPTH

FONTS = r"{\fonttbl{\f0 Arial;}{\f1\fcharset204 Arial Cyr;}{\f2\fcharset128 MS Gothic;}}"


def read(body: str | bytes, name: str = "letter.rtf") -> Document:
    content = body if isinstance(body, bytes) else rb"{\rtf1\ansi\ansicpg1252\deff0 " + body.encode("latin-1") + b"}"
    return extract(content, file_path(f"/root/{name}"))


def text(body: str) -> str:
    return read(body).text


def test_paragraphs_stand_apart_and_breaks_within_them_are_lines() -> None:
    assert text("one\\line two\\tab three\\par\nfo\nur\\par") == "one\ntwo\tthree\n\nfour\n"


def test_headings_are_known_by_their_outline_and_by_the_names_of_their_styles() -> None:
    styles = r"{\stylesheet{\s0 Normal;}{\s1\sbasedon0 heading 2;}{\s7\outlinelevel0 Kapitel;}{\*\cs10 heading 1;}}"
    document = read(
        rf"{styles}\pard\s7 One\par\pard\plain text\par\pard\s1 Two\par\pard\outlinelevel2 Three\par"
        r"\pard\outlinelevel9 more\par\pard\s10 last\par"
    )
    assert document.text == "One\n\ntext\n\nTwo\n\nThree\n\nmore\n\nlast\n"
    assert [section.headings for section in document.sections] == [("One",), ("One", "Two"), ("One", "Two", "Three")]


def test_items_of_lists_have_their_marks() -> None:
    body = (
        r"\pard\ilvl0{\listtext\pard\plain 1.\tab}one\par{\pntext\f3\'b7\tab}two\par"
        r"\pard\ilvl1{\listtext\f4 o\tab}deep\par\pard after\par"
    )
    assert text(body) == "1. one\n- two\n  - deep\n\nafter\n"


def test_a_row_of_a_table_is_a_line_and_cells_stand_wherever_they_reach() -> None:
    body = (
        r"\trowd\clvmgf\cellx1\clmgf\cellx2\clmrg\cellx3\pard\intbl Region\cell Sales | net\cell\cell\row"
        r"\trowd\clvmrg\cellx1\cellx2\cellx3\pard\intbl\cell 2023\cell 2024\cell\row"
        r"\trowd\cellx1\cellx2\cellx3\pard\intbl North\par pole\cell 1\cell 2\cell\row"
        r"\pard after\par"
    )
    assert text(body) == (
        "| Region | Sales net | Sales net |\n| Region | 2023 | 2024 |\n| North pole | 1 | 2 |\n\nafter\n"
    )


def test_a_row_that_nobody_ended_is_read() -> None:
    assert text(r"\trowd\cellx1\cellx2\pard\intbl a\cell b\cell") == "| a | b |\n"


def test_a_table_in_a_cell_is_text_of_that_cell() -> None:
    body = (
        r"\trowd\cellx1\cellx2\pard\intbl\itap2 a\nestcell b\nestcell{\*\nesttableprops\trowd\cellx1\nestrow}"
        r"{\nonesttables\par}\pard\intbl c\cell out\cell\row"
    )
    assert text(body) == "| a b c | out |\n"


def test_notes_and_comments_follow_the_paragraph_that_they_belong_to() -> None:
    body = (
        r"Claim{\super\chftn}{\footnote\pard\plain{\super\chftn} source}{\footnote\ftnalt later}"
        r"{\*\atnid A}{\*\atnauthor Ann}{\*\annotation{\*\atndate 1}really?} stands\par next\par"
    )
    assert text(body) == ("Claim[^1][^e1] stands\n\n[^1]: source\n\n[^e1]: later\n\n> Ann: really?\n\nnext\n")


def test_headers_and_footers_come_last_each_once() -> None:
    assert text(r"{\header Secret\par}{\footer foot\par}text\par{\headerf Secret\par}") == "text\n\nSecret\n\nfoot\n"


def test_a_text_box_is_read_once_behind_its_paragraph() -> None:
    box = (
        r"{\shp{\*\shpinst\shpleft1{\sp{\sn name}{\sv value}}{\shptxt\pard boxed\par}}"
        r"{\shprslt{\*\do\dptxbx{\dptxbxtext boxed\par}}}}"
    )
    assert text(rf"before{box} after\par") == "before after\n\nboxed\n"


def test_the_result_of_a_field_is_read_and_not_its_code() -> None:
    assert text(r'see {\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt here}}{\xe{\v entry}}') == "see here\n"


def test_what_is_hidden_or_deleted_is_left_out_and_what_was_inserted_is_there() -> None:
    assert text(r"kept {\v hidden}{\deleted deleted}{\revised inserted}{\v on\v0  off}\v x\plain  plain") == (
        "kept inserted off plain\n"
    )


def test_destinations_that_nobody_knows_are_left_out_and_words_are_not() -> None:
    assert text(r"a{\*\unheard of {nested} \{ \} }b\unheard c{\b\*\cs7 d}") == "abcd\n"


def test_pictures_cost_nothing() -> None:
    assert text(r"a{\pict\wmetafile8 0a0b0c}{\*\shppict{\pict\bin3 }}}}}b") == "ab\n"


def test_a_raised_mark_is_no_part_of_a_word() -> None:
    body = (
        r"the quokka{\super 1,}{\super 2} of 10 m{\super 2} eats H{\sub 2}O\par "
        r"a wallaby{\up6 2} and{\dn6 2} a numbat\super 3\nosupersub  sleep\super a\plain  on the 1{\super st}\par "
        r"{\super 2}See\super0 {\footnote{\super 4}Four}"
    )
    assert text(body).split("\n\n") == [
        "the quokka 1,2 of 10 m2 eats H2O",
        "a wallaby 2 and2 a numbat 3 sleep a on the 1st",
        "2 See[^1]",
        "[^1]: 4 Four\n",
    ]


def test_characters_are_those_of_the_font() -> None:
    body = FONTS + r"\'e9{\f1\'cf\'f0\'e8}{\f2\'83\'5c\'83\}}{\mac \'8e}"
    assert text(body) == "éПриソャ".replace("ャ", "") + read(FONTS + r"{\f2\'83\}}").text.strip() + "é\n"


def test_the_code_page_of_the_document_counts_where_no_font_says_another() -> None:
    assert read(b"{\\rtf1\\ansi\\ansicpg1251 \\'cf\xf0\\'e8}").text == "При\n"
    assert read(rb"{\rtf1\ansi\ansicpg99999 \'e9}").text == "é\n"


def test_unicode_escapes_replace_what_stands_for_them() -> None:
    assert (
        text(r"\u1055?\u1088\'f0\u-4051 {\uc0\u233}{\uc2\u233 ab}\u233{x}!")
        == "Пр\uf02d".replace("\uf02d", "") + "ééé" + "x!\n"
    )


def test_a_character_beyond_the_first_plane_is_two_escapes() -> None:
    assert text(r"\u-10179?\u-8704? \u-8704?x") == "😀 x\n"


def test_signs_that_have_names_are_read() -> None:
    assert text(r"\ldblquote a\rdblquote\emdash b\~c\_d\-e \{\}\\") == "“a”—b c-de {}\\\n"


def test_the_properties_are_those_of_the_author() -> None:
    document = read(
        r"{\info{\title Plan}{\author Ann; Bob}{\operator Eve}{\subject Money}{\keywords rent, food}"
        r"{\creatim\yr2024\mo5\dy1\hr10\min7}{\revtim\yr2024\mo13\dy1}\nofpages3}text"
    )
    metadata = document.metadata
    assert (document.text, document.title, metadata.authors) == ("text\n", "Plan", ("Ann", "Bob"))
    assert (metadata.created, metadata.modified) == ("2024-05-01T10:07", "")
    assert (metadata.subject, metadata.tags, metadata.n_pages) == ("Money", ("rent", "food"), 3)


def test_properties_that_are_written_twice_are_those_in_unicode() -> None:
    assert read(r"{\info{\upr{\title ?}{\*\ud{\title \u1055?}}}}text").title == "П"


def test_rich_text_is_known_by_its_beginning_whatever_it_is_called() -> None:
    assert read(rb"{\rtf1 text}", "letter.doc").kind == "rtf"
    assert read(rb"{\rtf1 text}", "noname").kind == "rtf"
    assert read(b"just words\n").kind == "text"


@pytest.mark.parametrize(
    "tail", [rb"\par more", rb"{\b more", rb"{\pict 00", rb"\'e", b"\\", rb"{\pict\bin999999999 x"]
)
def test_what_was_cut_off_is_read_as_far_as_it_goes(tail: bytes) -> None:
    assert read(rb"{\rtf1 one\par two" + tail).text.startswith("one\n\ntwo")


def test_what_comes_behind_the_end_is_left_out() -> None:
    assert read(rb"{\rtf1 one} two").text == "one\n"


def test_nesting_is_bounded() -> None:
    assert text("one" + "{" * 1_000_000) == "one\n"
    with pytest.raises(ExtractionError, match=str(MAX_DEPTH)) as caught:
        text("{" * 1_000_000)
    assert not isinstance(caught.value, SkipFileError)


@pytest.mark.parametrize(
    "piece", ["{\\pict ", "\\'8", "{\\*\\x}", "\\u1?", "\\cell", "\\trowd\\cellx1\\row", "{\\upr", "\\*"]
)
def test_no_content_takes_more_than_linear_time(piece: str) -> None:
    assert text("one\\par " + piece * 100_000).startswith("one\n")


def embedded(program: str, content: bytes, *, kind: int = 2) -> str:
    """Write an OLE object as word processors do, in lines of digits."""
    name = program.encode() + b"\0"
    header = bytes((1, 5, 0, 0, kind, 0, 0, 0)) + len(name).to_bytes(4, "little") + name + bytes(8)
    digits = (header + len(content).to_bytes(4, "little") + content).hex()
    lines = "\n".join(digits[start : start + 64] for start in range(0, len(digits), 64))
    return rf"{{\object\objemb{{\*\objclass {program}}}{{\*\objdata {lines}}}{{\result picture\par}}}}"


def packed(name: bytes, content: bytes) -> bytes:
    path = b"C:\\" + name + b"\0"
    size = len(content).to_bytes(4, "little")
    return b"\2\0" + name + b"\0" + path + b"\0\0\3\0" + len(path).to_bytes(4, "little") + path + size + content


def members(body: str) -> list[Member]:
    content = rb"{\rtf1\ansi " + body.encode("latin-1") + b"}"
    return list(open_rtf(io.BytesIO(content), "rtf", Budget()).members)


def test_embedded_files_are_members() -> None:
    report = docx(paragraph("Chimneys are swept in May"))
    body = embedded("Package", packed(b"soup.md", b"Boil the carrots."))
    body += embedded("Word.Document.12", ole({"Package": report})) + embedded("AcroExch.Document", b"%PDF-1.4 walrus")

    assert text(body) == "picture\n\npicture\n\npicture\n"
    soup, document, page = members(body)
    assert (soup.name, soup.content) == ("soup.md", b"Boil the carrots.")
    assert document.content.rstrip(b"\0") == report.rstrip(b"\0")
    assert (page.name, page.content) == ("object 3", b"%PDF-1.4 walrus")


@pytest.mark.parametrize(
    "body",
    [
        embedded("Package", packed(b"soup.md", b"Boil the carrots."), kind=1),
        embedded("StaticMetafile", b"\1\0\t\0"),
        r"{\object{\*\objdata }}",
        r"{\object{\*\objdata 0105000002000000ffffffff}}",
        r"{\object{\*\objdata 01050000020000000x}}",
    ],
    ids=["link", "picture", "empty", "lengths beyond its end", "no digits"],
)
def test_objects_that_are_no_files_are_left_out(body: str) -> None:
    assert members(body) == []


def test_a_damaged_object_costs_no_other() -> None:
    damaged = embedded("Word.Document.8", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20))
    first, second = members(damaged + embedded("AcroExch.Document", b"%PDF-1.4 walrus"))
    assert first.problem is not None
    assert second.content == b"%PDF-1.4 walrus"
