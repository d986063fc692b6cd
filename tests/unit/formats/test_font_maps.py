"""Text in fonts whose character map lacks letters, or has ligatures, is read."""

from __future__ import annotations

import unicodedata

import pymupdf
import pytest

from directory_indexer.formats.pdf.reader import extract_pdf

FONT = (
    "<</Type/Font/Subtype/Type0/BaseFont/Amiri/Encoding/Identity-H/ToUnicode {} 0 R/DescendantFonts"
    "[<</Type/Font/Subtype/CIDFontType2/BaseFont/Amiri/DW 600/CIDSystemInfo"
    "<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor<</Type/FontDescriptor/FontName/Amiri/Flags 4"
    "/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>>>]>>"
)
PAIRS = "<0005> <fe9f>\n<0007> <fedd>\n<0009> <fee0>\n<000b> <fe98>\n<000d> <fee4>\n<000f> <fec9>\n"


def printed(glyphs: list[int], character_map: str, after_gap: list[int] | None = None) -> bytes:
    """Write a page on which a word in Latin letters stands above glyphs of a font, from left to right.

    There is a gap before those `after_gap`.
    """
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        font_map, font, text = (pdf.get_new_xref() for _ in range(3))
        for xref in (font_map, text):
            pdf.update_object(xref, "<<>>")
        pdf.update_stream(font_map, character_map.encode())
        pdf.update_object(font, FONT.format(font_map))
        codes, codes_after_gap = ("".join(f"{glyph:04x}" for glyph in part) for part in (glyphs, after_gap or []))
        shown = f"[<{codes}> -300 <{codes_after_gap}>] TJ"
        words = "BT /Latin 12 Tf 50 700 Td (Agenda) Tj ET", f"BT /Arabic 12 Tf 50 600 Td {shown} ET"
        pdf.update_stream(text, "\n".join(words).encode())
        latin = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
        pdf.xref_set_key(page.xref, "Resources", f"<</Font<</Latin {latin}/Arabic {font} 0 R>>>>")
        pdf.xref_set_key(page.xref, "Contents", f"{text} 0 R")
        return bytes(pdf.tobytes())


def test_forms_of_letters_that_a_font_does_not_name_are_read() -> None:
    character_map = (
        "1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n"
        f"1 beginbfrange\n<0001> <0002> <fe8d>\nendbfrange\n6 beginbfchar\n{PAIRS}endbfchar\nendcmap\n"
    )
    document = extract_pdf(printed([0xF, 2, 0xD, 0xB, 5, 3, 8, 1], character_map))
    assert document.text.split() == ["Agenda", "الاجتماع"]


@pytest.mark.parametrize(
    "character_map",
    [
        "",
        "9 beginbfrange <0001> <ffff> <fe8d> <0003> endbfrange",
        "beginbfchar <0001> endbfchar beginbfrange <0009> <0001> <fe8d> endbfrange endcmap",
        "beginbfrange <fff0> <ffff> <fffe> <0000> <ffff> <0627> endbfrange endcmap",
        "beginbfrange" * 1000,
    ],
)
def test_a_map_that_is_wrong_is_no_error(character_map: str) -> None:
    assert "Agenda" in extract_pdf(printed([1, 2, 9, 0xFFFF], character_map)).text


@pytest.mark.parametrize("letters", ["\u0644\u0627", "\u0644\u0622", "\u0644\u0623", "\u0644\u0625", "\ufedf\ufe8e"])
@pytest.mark.parametrize("is_form", [True, False])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_lam_with_alef_stands_in_the_order_of_reading(letters: str, *, is_form: bool, is_numbered: bool) -> None:
    typed = unicodedata.normalize("NFKC", letters)
    forms = {unicodedata.normalize("NFKC", chr(code)): chr(code) for code in range(0xFEF5, 0xFEFC, 2)}
    ligature = (forms[typed] if is_form else letters).encode("utf-16-be").hex()
    character_map = (
        "1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n6 beginbfchar\n<0001> <feb3>\n"
        f"<0002> <{ligature}>\n<0003> <fee1>\n<0004> <0020>\n<0005> <0034>\n<0006> <0037>\nendbfchar\nendcmap\n"
    )
    word = [3, 2, 1]
    document = extract_pdf(printed([*word, 4, 5, 6, 4, *word] if is_numbered else word, character_map))
    whole = f"\u0633{typed}\u0645"
    assert document.text.split() == ["Agenda", *([whole, "47", whole] if is_numbered else [whole])]


def test_a_word_that_ends_with_a_ligature_is_parted_from_the_next() -> None:
    character_map = (
        "1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n"
        "5 beginbfchar\n<0001> <006f>\n<0002> <fb00>\n<0003> <0062>\n<0004> <0065>\n<0005> <0079>\nendbfchar\nendcmap\n"
    )
    assert extract_pdf(printed([1, 2], character_map, [3, 5])).text.split() == ["Agenda", "off", "by"]
    assert extract_pdf(printed([3, 1, 2, 1, 4], character_map)).text.split() == ["Agenda", "boffoe"]
