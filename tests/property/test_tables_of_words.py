"""Whatever an engine writes, reading it raises nothing, and what comes out can be shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.core.files import PAGE_UNITS, Recognition
from directory_indexer.ocr.tesseract import lines_of

NUMBERS = st.one_of(
    st.integers(-5, 300).map(str), st.integers().map(str), st.sampled_from(["nan", "inf", "", "x", "٣"])
)
VALUES = st.lists(st.one_of(NUMBERS, st.text(max_size=8)), min_size=9, max_size=14)
ROWS = st.lists(VALUES.map(lambda values: "\t".join(["5", *values])), max_size=12).map("\n".join)


@given(st.one_of(ROWS, st.text(max_size=200)), st.integers(0, 5_000), st.integers(0, 5_000))
def test_any_table_is_read(written: str, width: int, height: int) -> None:
    lines = tuple(lines_of(written, width, height))

    for word in (word for line in lines for word in line.words):
        assert word.text == " ".join(word.text.split()) != ""
        assert 0 <= word.confidence <= 100
        assert word.box is not None
        left, top, right, bottom = word.box
        assert 0 <= left <= right <= PAGE_UNITS
        assert 0 <= top <= bottom <= PAGE_UNITS
    assert 0 <= Recognition("engine", lines).confidence <= 1
