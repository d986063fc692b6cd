"""The table of words that Tesseract writes is read as far as it makes sense."""

from __future__ import annotations

import pytest

from directory_indexer.core.files import PAGE_UNITS, Box, Line, Word
from directory_indexer.ocr.tesseract import lines_of

HEADER = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"


def row(text: str, *, place: str = "1\t1\t1", box: str = "0\t0\t10\t20", confidence: str = "91.4") -> str:
    return f"5\t1\t{place}\t1\t{box}\t{confidence}\t{text}\n"


def read(*rows: str) -> list[Line]:
    return list(lines_of(HEADER + "".join(rows), 100, 200))


def test_words_come_in_lines_with_their_confidence_and_place() -> None:
    read_lines = read(
        "1\t1\t0\t0\t0\t0\t0\t0\t100\t200\t-1\t\n",
        row("Late"),
        row("again", box="50\t100\t50\t100", confidence="88.6"),
        row("tomorrow", place="1\t1\t2"),
    )

    assert read_lines == [
        Line((Word("Late", 91, Box(0, 0, 1000, 1000)), Word("again", 89, Box(5000, 5000, PAGE_UNITS, PAGE_UNITS)))),
        Line((Word("tomorrow", 91, Box(0, 0, 1000, 1000)),)),
    ]


def test_paragraphs_are_numbered_in_the_order_of_reading() -> None:
    places = ["1\t1\t1", "1\t2\t1", "7\t1\t1", "1\t1\t2"]
    assert [line.block for line in read(*(row("word", place=place) for place in places))] == [0, 1, 2, 0]


def test_what_the_engine_is_hardly_sure_of_is_left_out() -> None:
    assert read(row("noise", confidence="19.4"), row("~", confidence="-1")) == []
    assert [line.text for line in read(row("noise", confidence="3"), row("word", confidence="20"))] == ["word"]


def test_quotation_marks_and_tabs_in_a_text_stay_there() -> None:
    assert [line.text for line in read(row('"a\tb" said'))] == ['"a b" said']


@pytest.mark.parametrize(
    "nonsense",
    [
        "",
        "Segmentation fault\n",
        "5\t1\t1\n",
        row(""),
        row("\x0b \r"),
        row("word", confidence="nan"),
        row("word", confidence="inf"),
        row("word", confidence="-inf"),
        row("word", confidence="high"),
        row("word", box="a\t0\t1\t1"),
        row("word", box="0\t0\t1\t" + "9" * 5000),
        "\t" * 100_000 + "\n",
    ],
)
def test_rows_that_make_no_sense_are_left_out(nonsense: str) -> None:
    assert [line.text for line in read(nonsense, row("word"), nonsense)] == ["word"]


@pytest.mark.parametrize(
    "box", ["-5\t-5\t10\t10", "1000000000000000000000\t0\t5\t5", "90\t190\t100\t100", "50\t50\t-9\t-9"]
)
def test_places_lie_on_the_page(box: str) -> None:
    [line] = read(row("word", box=box))
    assert line.words[0].box is not None
    left, top, right, bottom = line.words[0].box
    assert 0 <= left <= right <= PAGE_UNITS
    assert 0 <= top <= bottom <= PAGE_UNITS


def test_a_confidence_beyond_all_bounds_is_certainty() -> None:
    assert read(row("word", confidence="1e30"))[0].words[0].confidence == 100


def test_a_page_without_pixels_has_places_all_the_same() -> None:
    [line] = lines_of(HEADER + row("word"), 0, 0)
    assert line.words[0].box == Box(0, 0, 0, 0)
