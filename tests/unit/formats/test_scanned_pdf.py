"""Detection of scanned PDF pages, their OCR keys, and the use of recognised text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pymupdf
import pytest
from page_engines import FakeEngine, recognised
from scanned_pages import HEIGHT, PAPER, WIDTH, Picture, add_scan, add_text, blank, document, picture, scan

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.files import Box, Line, PageKey, PageProblem, Recognition, SkipReason, Word
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.pdf.reader import extract_pdf
from directory_indexer.formats.pdf.rendering import MAX_PIXELS, draw_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from directory_indexer.formats.document import Document

LETTER = "The zeppelin will be late\nby an hour at the least."
FAX = "05.01.2026 10:00 FAX +49 000 000000 EXAMPLE LTD S. 1/1"
LETTER_PICTURE = picture(LETTER)
BESIDE = "This is the text beside the picture,\nwhich is long enough for a page."


class Pages:
    """Results of earlier OCR runs."""

    def __init__(self, result: Mapping[PageKey, Recognition | PageProblem | None]) -> None:
        self._found = result

    def get(self, key: PageKey) -> Recognition | PageProblem | None:
        return self._found.get(key)


def scanned_pages(content: bytes) -> list[int]:
    return [page_scan.page for page_scan in extract_pdf(content).scans]


def keys(content: bytes) -> list[PageKey]:
    return [page_scan.key for page_scan in extract_pdf(content).scans]


def read(content: bytes) -> Document:
    """Read a document with all that is written on its pages."""
    engine = FakeEngine()
    result = {page_scan.key: recognised(content, page_scan, engine) for page_scan in extract_pdf(content).scans}
    return extract_pdf(content, "pdf", Budget(recognised=Pages(result)))


def pdf_with(*draw: Callable[[pymupdf.Page], object], text: str = "") -> bytes:
    """Make a PDF of one page on which something is drawn."""
    with pymupdf.open() as pdf:
        page = add_text(pdf, text)
        for page_scan in draw:
            page_scan(page)
        return bytes(pdf.tobytes())


def place_picture(image: Picture, *place: float) -> Callable[[pymupdf.Page], object]:
    return lambda page: page.insert_image(pymupdf.Rect(place) if place else page.rect, stream=image.png())


def invisible(page: pymupdf.Page) -> None:
    for number in range(4):
        page.insert_text((20, 40 + 60 * number), "what an earlier OCR has read here", fontsize=8, render_mode=3)


def in_strips(page: pymupdf.Page) -> None:
    whole = picture(LETTER)
    height = HEIGHT // 28
    for number in range(28):
        strip = whole.samples[number * height * WIDTH : (number + 1) * height * WIDTH]
        top = PAPER.height * number / 28
        place = pymupdf.Rect(0, top, PAPER.width, top + PAPER.height / 28)
        page.insert_image(place, stream=Picture(WIDTH, height, strip).png())


def vector_letters(page: pymupdf.Page) -> None:
    shape = page.new_shape()
    for number in range(300):
        x, y = 10 + number % 30 * 6, 20 + number // 30 * 20
        shape.draw_bezier((x, y), (x, y + 9), (x + 5, y + 9), (x + 5, y))
        shape.finish()
    shape.commit()


def few_lines(page: pymupdf.Page) -> None:
    for number in range(20):
        page.draw_line((10, 10 * number), (150, 10 * number))


def logos(page: pymupdf.Page) -> None:
    for number in range(30):
        x, y = 10 + 22 * (number % 8), 100 + 22 * (number // 8)
        page.insert_image(pymupdf.Rect(x, y, x + 20, y + 20), stream=blank(60, 60, 100 + number).png())


VERDICTS: dict[str, tuple[Callable[[], bytes], bool]] = {
    "text": (partial(pdf_with, text=BESIDE), False),
    "nothing": (partial(document, BESIDE, ""), False),
    "a scan": (partial(pdf_with, place_picture(LETTER_PICTURE)), True),
    "a scan with a layer of OCR": (partial(pdf_with, place_picture(LETTER_PICTURE), invisible), False),
    "a scan with the stamp of a scanner": (partial(pdf_with, place_picture(LETTER_PICTURE), text="Page 1 of 2"), True),
    "a scan with the line of a fax machine": (
        partial(pdf_with, place_picture(LETTER_PICTURE), lambda page: page.insert_text((4, 5), FAX, fontsize=3)),
        True,
    ),
    "a scan with a stamp on it": (
        partial(pdf_with, place_picture(LETTER_PICTURE), lambda page: page.insert_text((60, 90), FAX[:24], fontsize=3)),
        True,
    ),
    "a scan whose few words an earlier OCR has read": (
        partial(
            pdf_with,
            place_picture(LETTER_PICTURE),
            lambda page: page.insert_text((60, 90), FAX[:24], fontsize=3, render_mode=3),
        ),
        False,
    ),
    "nothing but a small picture": (
        partial(pdf_with, place_picture(LETTER_PICTURE, 20, 100, 20 + PAPER.width / 4, 100 + PAPER.height / 4)),
        True,
    ),
    "text and a large picture": (
        partial(pdf_with, place_picture(LETTER_PICTURE, 20, 100, 180, 270), text=BESIDE),
        True,
    ),
    "text on a background": (partial(pdf_with, place_picture(blank()), text=BESIDE + "\n" + BESIDE), False),
    "text and a small picture": (
        partial(pdf_with, place_picture(blank(200, 200), 20, 100, 100, 180), text=BESIDE),
        False,
    ),
    "text and many logos": (partial(pdf_with, logos, text=BESIDE), False),
    "a scan in strips": (partial(pdf_with, in_strips), True),
    "letters drawn as paths": (partial(pdf_with, vector_letters), True),
    "a few lines": (partial(pdf_with, few_lines, text=BESIDE), False),
    "text and letters drawn as paths": (partial(pdf_with, vector_letters, text=BESIDE), False),
}


@pytest.mark.parametrize("case", VERDICTS.values(), ids=VERDICTS)
def test_pages_that_are_pictures_are_told_from_others(case: tuple[Callable[[], bytes], bool]) -> None:
    make, is_scan = case
    assert scanned_pages(make()) == [1] * is_scan


def test_text_of_unknown_letters_is_read_anew() -> None:
    to_private = b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00> <ff> <E000> endbfrange"
    with pymupdf.open() as pdf:
        page = add_text(pdf, "zqxv jkqz vvxq " * 4)
        table = pdf.get_new_xref()
        pdf.update_object(table, "<<>>")
        pdf.update_stream(table, b"/CMapName /own def 1 begincmap %s endcmap" % to_private)
        pdf.xref_set_key(page.get_fonts()[0][0], "ToUnicode", f"{table} 0 R")
        content = pdf.tobytes()

    [page_scan] = extract_pdf(content).scans
    lines = (Line((Word("The", 90, Box(1000, 900, 2000, 1200)), Word("zeppelin", 90, Box(2100, 900, 4000, 1200)))),)
    result = extract_pdf(content, "pdf", Budget(recognised=Pages({page_scan.key: Recognition("fake", lines)})))

    assert extract_pdf(content).text == ""
    assert result.text == "The zeppelin"


def test_a_pdf_of_scans_is_no_failure_and_one_of_empty_pages_has_no_text() -> None:
    assert extract_pdf(scan(LETTER, LETTER + " Again.")).text == ""
    with pytest.raises(SkipFileError) as caught:
        extract_pdf(document("", ""))
    assert caught.value.reason is SkipReason.NO_TEXT


def test_what_was_read_stands_between_the_other_pages() -> None:
    result = read(document("First of all, some text.", picture(LETTER), "And at the end some more."))

    assert result.text.split("\n\n") == ["First of all, some text.", LETTER, "And at the end some more."]
    assert [result.text[start:][:5] for start in result.page_starts] == ["First", "The z", "And a"]
    assert [(page_scan.page, page_scan.engine, page_scan.confidence) for page_scan in result.scans] == [
        (2, "fake 1", 0.96)
    ]


def test_a_mixed_page_keeps_its_text_and_gets_that_of_the_picture() -> None:
    result = read(pdf_with(place_picture(picture(LETTER), 20, 100, 180, 270), text=BESIDE))
    assert result.text.split("\n\n") == [BESIDE, LETTER]


def test_text_that_was_read_twice_stands_once() -> None:
    content = pdf_with(place_picture(picture(LETTER), 20, 100, 180, 270), text=BESIDE)
    [page_scan] = extract_pdf(content).scans
    over_the_text = Recognition("fake", (Line((Word("This", 90, Box(1000, 900, 9000, 1200)),)),))
    result = extract_pdf(content, "pdf", Budget(recognised=Pages({page_scan.key: over_the_text})))
    assert result.text == BESIDE


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_page_that_was_scanned_turned_is_in_the_order_of_reading(turn: int) -> None:
    lines = "\n".join(f"This is line number {number} of this page" for number in range(8))
    result = read(scan(picture(lines, turn=turn)))
    assert result.text == lines


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_places_are_those_on_the_page_as_it_is(turn: int) -> None:
    content = scan(picture("one two\nthree four", turn=turn))
    [page_scan] = extract_pdf(content).scans
    result = recognised(content, page_scan, FakeEngine())

    assert isinstance(result, Recognition)
    assert result.turn == turn
    box = result.lines[0].words[0].box
    assert box is not None
    corner = {
        0: (box.left, box.top),
        90: (box.left, 10_000 - box.bottom),
        180: (10_000 - box.right, 10_000 - box.bottom),
        270: (10_000 - box.right, box.top),
    }
    assert corner[turn] == (0, 0)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_page_that_the_pdf_turns_is_read_as_it_is_shown(rotation: int) -> None:
    with pymupdf.open() as pdf:
        page = add_scan(pdf, picture(LETTER, turn=rotation))
        page.set_rotation(rotation)
        content = pdf.tobytes()
    [page_scan] = extract_pdf(content).scans
    result = recognised(content, page_scan, FakeEngine())
    assert isinstance(result, Recognition)
    assert (result.turn, "\n".join(line.text for line in result.lines)) == (0, LETTER)


def test_large_lines_are_headings() -> None:
    content = scan(LETTER)
    [page_scan] = extract_pdf(content).scans
    heights = [(0, 600), (1000, 1200), (1300, 1490), (1600, 1810), (1900, 2100)]
    lines = tuple(
        Line((Word(f"Line {number}", 90, Box(500, top, 9500, bottom)),), number)
        for number, (top, bottom) in enumerate(heights)
    )
    result = extract_pdf(content, "pdf", Budget(recognised=Pages({page_scan.key: Recognition("fake", lines)})))
    assert result.title == "Line 0"


def test_lines_without_places_keep_their_order() -> None:
    content = scan(LETTER)
    [page_scan] = extract_pdf(content).scans
    lines = tuple(Line((Word(f"Line {number}", 90),), number // 2) for number in range(6))
    result = extract_pdf(content, "pdf", Budget(recognised=Pages({page_scan.key: Recognition("fake", lines)})))
    assert result.text == "Line 0\nLine 1\n\nLine 2\nLine 3\n\nLine 4\nLine 5"


def test_a_page_is_known_wherever_it_stands() -> None:
    alone, [_, second] = keys(scan(LETTER)), keys(scan("Another page", LETTER))
    assert alone == [second]


def test_what_is_drawn_makes_another_page() -> None:
    texts = scan(LETTER, LETTER + ".", LETTER)
    first, second, third = keys(texts)
    assert first == third != second


def test_a_page_stays_known_when_another_one_gets_a_note() -> None:
    with pymupdf.open() as pdf:
        add_scan(pdf, LETTER)
        add_scan(pdf, "Another page").add_text_annot((20, 20), "Please check.")
        noted = keys(pdf.tobytes())
    assert noted == keys(scan(LETTER, "Another page"))


def test_a_page_that_is_turned_is_another_one() -> None:
    with pymupdf.open() as pdf:
        for rotation in (0, 90):
            add_scan(pdf, LETTER).set_rotation(rotation)
        assert len(set(keys(pdf.tobytes()))) == 2


def test_two_halves_of_one_scan_are_two_pages() -> None:
    left, right = picture("The left page."), picture("The right page.")
    rows = (page_scan.samples[row * WIDTH : (row + 1) * WIDTH] for row in range(HEIGHT) for page_scan in (left, right))
    spread = Picture(2 * WIDTH, HEIGHT, b"".join(rows))
    with pymupdf.open() as pdf:
        for number in range(2):
            page = add_scan(pdf, spread)
            page.set_cropbox(PAPER + (number * PAPER.width, 0) * 2)
        content = pdf.tobytes()
    assert read(content).text == "The left page.\n\nThe right page."


def test_what_shines_through_a_mask_makes_a_page() -> None:
    """Programs that pack scans well draw one colour through a mask that has the letters."""
    masks = [picture(text) for text in ("The first page", "The second page")]
    with pymupdf.open() as pdf:
        for mask in masks:
            page = pdf.new_page(width=PAPER.width, height=PAPER.height)
            page.insert_image(page.rect, stream=blank(grey=0).png(), mask=mask.png())
        first, second = keys(pdf.tobytes())
    assert first != second


@pytest.mark.parametrize("size", [(10_000_000, 10_000_000), (10_000_000, 1), (0.5, 0.5), (14_400, 14_400)])
def test_a_page_of_any_size_is_drawn_within_bounds(size: tuple[float, float]) -> None:
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=100, height=100)
        pdf.xref_set_key(page.xref, "MediaBox", "[0 0 {} {}]".format(*size))
        raster = draw_page(pdf.tobytes(), "pdf", 1, dpi=200).raster
    assert 0 < raster.width * raster.height == len(raster.samples) <= 2 * MAX_PIXELS
