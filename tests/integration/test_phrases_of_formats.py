"""Phrases that stand in files of many formats are found as they are quoted, however the files were made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from phrases import WholeFiles, has_phrase, paths_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from indexes import Index


FILES = Path(__file__).parent.parent / "data" / "formats"

MAIL = {
    "alternatives/alt_plain_stub.eml": ["real content about a bilby"],
    "alternatives/html_stub_newsletter.eml": ["aviary reopens on the first of April"],
    "alternatives/x_gm_html_plain_same.eml": ["Vervet 17 kg"],
    "mail/smime_opaque.eml": ["opaque signed body platypus"],
    "mail/letter.eml.p7m": ["opaque signed body platypus"],
    "mail/dsn.eml": ["no such user emuwren", "original fairywren"],
    "mail/page.mhtml": ["Blink saved page “cockatoo” nest", "inside iframe galah"],
    "mail/flowed.eml": ["the wombat sleeps well"],
}

ESCAPES = {
    "escapes/data.jsonl": ["Überraschung für Žofie"],
    "escapes/chat.json": ["Wie groß ist der Überlauf", "日本語の質問"],
    "escapes/slack.json": ["Präsentation für Zürich"],
    "escapes/facebook.json": ["Grüße aus Düsseldorf"],
    "escapes/geo.geojson": ["Świętokrzyskie Góry"],
    "escapes/escaped.json": ['second line of the "quoted" cockatiel'],
    "escapes/yaml.yml": ["Übersicht der Sittiche", "folded sentence about lories"],
    "escapes/app.properties": ["Grüß Gott"],
    "escapes/ent.xml": ["Straße & Allee", "Größe"],
    "escapes/feeds.opml": ["Bird & bee Übersicht"],
    "escapes/note.enex": ["Take the green tent and map"],
    "escapes/cap.ttml": ["The potto sleeps all day"],
    "markup/paper.tex": ["Möglichkeiten", "François und Jürgen", "naïve approach"],
    "markup/refs.bib": ["Müller", "étale maps"],
}
MARKUP = {
    "markup/obsidian_link.md": ["met Anna in the Berlin office to talk"],
    "markup/link.md": ["Read the guide before feeding the ibis", "See the plan for more about storks"],
    "markup/emph.md": ["quick brown fox", "unbelievable", "with a link here"],
    "markup/footnote.md": ["The howler is loud", "Heard over five kilometres"],
    "markup/html_in.md": ["the red titi button"],
    "markup/notes.org": ["near the north wall"],
    "markup/org2.org": ["Read the guide before feeding the young ibis"],
    "markup/typ.typ": ["walrus swims quickly home"],
    "markup/doc.adoc": ["see the other page", "green three minutes"],
    "markup/rst.rst": ["Use the link text and bold word for macaws"],
    "markup/wiki.wiki": ["The bold bird shown name eats seeds daily"],
    "markup/tex2.tex": ["important findings about the blue macaw"],
    "markup/movie.ass": ["The lantern is out"],
    "markup/lyrics.lrc": ["bush baby sings tonight"],
    "markup/folded.ics": ["Grundstücksbörse im Herbst"],
    "markup/hyph.txt": ["international trade agreements"],
}

PAGES = {
    "pages/two_mains.html": ["current tab lynx"],
    "pages/main_small.html": ["wolverines stands outside"],
    "pages/main_nav_form.html": ["Opening hours of the primate house"],
    "pages/frameset.html": ["noframes text cedar"],
    "pages/cdata.xhtml": ["inside cdata yew"],
    "pages/script_json.html": ["structured larkspur text"],
    "pages/head_desc.html": ["Orchid page", "bromeliads"],
    "pages/details.html": ["hidden detail pine", "typed larch", "choice birch", "alt text willow", "svg label maple"],
    "pages/alt.html": ["Map of the baboon hill"],
}

WORKBOOKS = {
    "workbooks/leading_zero.xlsx": ["01234", "INV-0078"],
    "workbooks/ssn_format.xlsx": ["123-45-6789"],
    "workbooks/thousands.xlsx": ["1,234,567.50", "9,876,543.21"],
    "workbooks/dates_shown.xlsx": ["2026-01-05", "05.01.2026", "5. Januar 2026"],
    "workbooks/percent.xlsx": ["12.5%", "50.0%"],
    "workbooks/x000d.xlsx": ["line two snipe", "Albatross"],
    "workbooks/header_validation.xlsx": ["cell dipper", "Confidential rosefinch"],
    "workbooks/formula_nocache.xlsx": ["plain cell avocet", "bustard"],
    "workbooks/shown.ods": ["05.01.26", "2026-01-05", "01234", "cell nuthatch", "note treecreeper"],
}

OFFICE = {
    "office/altchunk_html.docx": ["imported html chunk pelican"],
    "office/altchunk_mht.docx": ["web editor export gannet über"],
    "office/altchunk_docx.docx": ["inner document puffin text"],
    "office/alttext.docx": ["heron standing in reeds"],
    "office/pic_alt_and_caption.docx": ["visitors of the lemur house"],
    "office/alttext.pptx": ["motmot on a branch"],
    "office/dropdown.docx": ["viridian"],
    "office/omml.docx": ["a+b"],
    "office/vml_only.docx": ["vml box sanderling", "watermark curlew"],
    "office/zorder.pptx": ["first line at top second line middle third line at bottom"],
    "office/hyperlink_field.docx": ["see the whimbrel page today field result godwit", "whimbrel-target"],
}

SINGLE_FILES = {
    "single_files/flat_opc.xml": ["document with a turnstone"],
    "single_files/word2003.xml": ["Word 2003 XML lapwing file"],
    "single_files/word2003_named.doc": ["Word 2003 XML lapwing file"],
    "single_files/spreadsheetml.xls": ["greenfinch 21"],
    "single_files/spreadsheetml.xml": ["greenfinch 21"],
    "single_files/mht_named.doc": ["web editor export grebe über"],
    "single_files/flat_named.xml": ["With span split"],
    "single_files/old.sxw": ["OpenOffice one writer drongo"],
    "single_files/old.sxc": ["OpenOffice one calc oriole"],
    "single_files/hwpx.hwpx": ["한글", "문서", "본문"],
}

ARCHIVES = {
    "archives/truncated.zip": ["outer cavy"],
    "archives/cp866.zip": ["cp866 member text capybara"],
    "archives/cp932.zip": ["cp932 member text agouti"],
}

BOOKS = {
    "books/svg_page.epub": ["svg spine page polecat", "inline svg ermine", "normal sable"],
    "books/nospine.epub": ["not in the spine fisher"],
}

GLYPHS = {
    "glyphs/unmapped_font.pdf": ["Report of the saki", "Feeding plan for uakaris"],
    "glyphs/hyphen_as_shy.pdf": ["SS-2541-03-M", "self-made feeder", "2026-01-05", "long-term partner"],
    "glyphs/shifted_tounicode.pdf": ["Private use text of a broken font map"],
    "glyphs/rtl_visual.pdf": ["הפגישה נדחתה ליום חמישי", "تأجيل الاجتماع", "מספר ההזמנה 4711 אושר"],
    "glyphs/letterspaced.pdf": ["SPACED MONITOR TITLE"],
    "glyphs/spaced_heading.pdf": ["ANNUAL REVIEW OF FINCHES"],
    "glyphs/superscript.pdf": ["was published in water and", "CO2 emission lists"],
    "glyphs/drop_cap.pdf": ["The story of the adder"],
    "glyphs/fakebold.pdf": ["Overview of reptiles"],
    "glyphs/hyphen.pdf": ["discussed international agreements", "cooperation of all", "self-taught members"],
}

RUNNING = {
    "running/docno_page.pdf": ["SOP-KITE-0042"],
    "running/docno_dash.pdf": ["Hoopoe handling procedure"],
    "running/head_page.pdf": ["Annals of Tapir Studies"],
    "running/date_page.pdf": ["customer Bustard Ltd"],
}

ASIDES = {
    "asides/note_annot.pdf": ["sticky note about axolotl", "highlight remark olm", "typewriter text caecilian"],
    "asides/note_only.pdf": ["only a note on a blank page magpie"],
    "asides/attach_annot.pdf": ["annotation attachment about an iguana"],
    "asides/xfa.pdf": ["xfa value of the thrush", "Nightingale"],
    "asides/alt_figure.pdf": ["Diagram of a viper den"],
    "asides/alt_in_stream.pdf": ["Diagram of a viper den"],
}

COLUMNS = {
    "columns/two_col_interleaved.pdf": ["one matter only and keeps on doing", "another matter entirely and it also"],
    "columns/two_para_cols_gutter.pdf": [
        "keeper describes how parrots are fed with seeds",
        "done in winter when temperatures fall below zero",
    ],
    "columns/three_col_rows.pdf": ["alpha column sentence number one says alpha column sentence number two says"],
}


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, phrase) for name, phrases in table.items() for phrase in phrases]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("formats")
    shutil.copytree(FILES, place / "files")
    index = WholeFiles(place / "files", place / "data")
    index.run()
    yield index
    index.close()


@pytest.mark.parametrize(("name", "phrase"), cases(MAIL))
def test_what_a_message_says_in_any_of_its_parts_is_found(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


@pytest.mark.parametrize(("name", "phrase"), cases(ESCAPES))
def test_what_is_written_in_escapes_is_found_by_its_characters(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


@pytest.mark.parametrize(("name", "phrase"), cases(MARKUP))
def test_markup_in_a_sentence_parts_no_phrase(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


def test_what_is_found_without_its_markup_is_found_with_it(index: Index) -> None:
    assert has_phrase(index, "markup/link.md", "[the guide](https://example.org/a-very-long-link/path) before feeding")
    assert has_phrase(index, "markup/html_in.md", "<kbd>Ctrl</kbd> and the <span")


@pytest.mark.parametrize(("name", "phrase"), cases(PAGES))
def test_what_a_page_shows_is_found(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


@pytest.mark.parametrize(("name", "phrase"), cases(WORKBOOKS))
def test_cells_are_found_as_they_are_shown(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


def test_no_number_of_a_character_is_in_the_text_of_a_workbook(index: Index) -> None:
    assert "_x00" not in text_of(index, "workbooks/x000d.xlsx")


@pytest.mark.parametrize(("name", "phrase"), cases(OFFICE))
def test_what_documents_and_slides_show_in_any_form_is_found(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


def test_the_parts_of_a_fraction_do_not_run_together(index: Index) -> None:
    assert "(a+b)/(2c)" in text_of(index, "office/omml.docx")


@pytest.mark.parametrize(("name", "phrase"), cases(SINGLE_FILES))
def test_documents_are_known_by_what_is_in_them_whatever_they_are_called(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)
    assert "<" not in text_of(index, name)


@pytest.mark.parametrize(("name", "phrase"), cases(ARCHIVES))
def test_a_broken_archive_gives_what_it_has(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


def test_members_have_the_names_that_they_were_given(index: Index) -> None:
    assert any(path.endswith("!/Отчёт/Смета.txt") for path in paths_of(index, "archives/cp866.zip"))
    assert any(path.endswith("!/新しいフォルダ/会議ソ資料.txt") for path in paths_of(index, "archives/cp932.zip"))


@pytest.mark.parametrize(("name", "phrase"), cases(BOOKS))
def test_pages_of_a_book_are_found_in_any_form(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


@pytest.mark.parametrize(("name", "phrase"), cases(GLYPHS))
def test_words_are_read_from_glyphs_as_they_look(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


def test_letters_that_are_drawn_twice_to_be_bold_are_read_once(index: Index) -> None:
    assert text_of(index, "glyphs/fakebold.pdf").count("Overview of reptiles") == 1


@pytest.mark.parametrize(("name", "phrase"), cases(RUNNING))
def test_what_stands_beside_the_numbers_of_pages_is_found(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


@pytest.mark.parametrize(("name", "phrase"), cases(ASIDES))
def test_what_is_written_beside_the_text_of_pages_is_found(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)


@pytest.mark.parametrize(("name", "phrase"), cases(COLUMNS))
def test_columns_that_are_drawn_line_by_line_are_read_one_after_the_other(index: Index, name: str, phrase: str) -> None:
    assert has_phrase(index, name, phrase)
