"""What is made of an answer of Document Intelligence: lines, paragraphs and tables."""

from __future__ import annotations

import json
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.core.files import PAGE_UNITS, Box
from directory_indexer.http_client import parse_object
from directory_indexer.ocr.azure import lines_of


def result(*lines: str, **more: Any) -> dict[str, Any]:
    """Describe a page of 1,000 times 1,000 pixels, each line 100 below the one before, as the service does."""
    words, placed, offset = [], [], 0
    for row, text in enumerate(lines):
        start = offset
        for column, word in enumerate(text.split()):
            left, top = 100 * column, 100 * row
            polygon = [left, top, left + 90, top, left + 90, top + 20, left, top + 20]
            span = {"offset": offset, "length": len(word)}
            words.append({"content": word, "polygon": polygon, "confidence": 0.5, "span": span})
            offset += len(word) + 1
        placed.append({"content": text, "spans": [{"offset": start, "length": len(text)}]})
    page = {"pageNumber": 1, "width": 1000, "height": 1000, "unit": "pixel", "words": words, "lines": placed}
    return {"pages": [page], **more}


def span(offset: int, length: int) -> list[dict[str, int]]:
    return [{"offset": offset, "length": length}]


def cell(row: int, column: int, text: str, **more: Any) -> dict[str, Any]:
    return {"rowIndex": row, "columnIndex": column, "content": text, **more}


def texts(answer: dict[str, Any]) -> list[str]:
    return [line.text for line in lines_of(answer)]


def test_words_have_their_places_and_how_sure_the_service_is() -> None:
    (line,) = lines_of(result("late zeppelin"))
    assert [(word.text, word.confidence, word.box) for word in line.words] == [
        ("late", 50, Box(0, 0, 900, 200)),
        ("zeppelin", 50, Box(1000, 0, 1900, 200)),
    ]


def test_paragraphs_are_blocks() -> None:
    paragraphs = [{"content": "a b", "spans": span(0, 3)}, {"content": "c", "spans": span(4, 1)}]
    lines = lines_of(result("a", "b", "c", paragraphs=paragraphs))
    assert [(line.text, line.block) for line in lines] == [("a", 0), ("b", 0), ("c", 1)]


HEADED = [
    cell(0, 0, "Region", kind="columnHeader", rowSpan=2),
    cell(0, 1, "Sales", kind="columnHeader", columnSpan=2),
    cell(1, 1, "2023", kind="columnHeader"),
    cell(1, 2, "2024", kind="columnHeader"),
    cell(2, 0, "North", rowSpan=2),
    cell(2, 1, "10"),
    cell(2, 2, "a | b"),
    cell(3, 1, ":selected:"),
]


def test_a_table_is_rows_in_which_nothing_is_missing_or_doubled() -> None:
    table = {"rowCount": 4, "columnCount": 3, "cells": HEADED, "spans": span(6, 30)}
    answer = result("above", "Region Sales 2023 2024", "North 10", "below", tables=[table])
    assert texts(answer) == [
        "above",
        "| Region | Sales 2023 | Sales 2024 |",
        "| North | 10 | a b |",
        "| North | ☒ |  |",
        "below",
    ]
    blocks = [line.block for line in lines_of(answer)]
    assert blocks == [0, 1, 1, 1, 2]


def test_a_row_of_a_table_is_as_high_as_a_line_and_as_sure_as_its_words() -> None:
    region = [{"pageNumber": 1, "polygon": [0, 0, 500, 0, 500, 90, 0, 90]}]
    cells = [cell(0, 0, "late zeppelin", boundingRegions=region, spans=span(0, 13))]
    table = {"rowCount": 1, "columnCount": 1, "cells": cells, "spans": span(0, 13)}
    (row,) = lines_of(result("late zeppelin", tables=[table]))
    assert row.text == "| late zeppelin |"
    assert {(word.confidence, word.box) for word in row.words} == {(50, Box(0, 0, 5000, 200))}


def test_a_table_that_no_page_has_is_left_as_it_was_read() -> None:
    for n_rows, n_columns in ((10**9, 10**9), (1, 61), (5_001, 1), (0, 5), (-1, -1)):
        table = {"rowCount": n_rows, "columnCount": n_columns, "cells": HEADED, "spans": span(0, 10)}
        assert texts(result("all is well", tables=[table])) == ["all is well"]


def test_what_a_cell_repeats_stays_in_proportion() -> None:
    cells = [cell(row, column, "x" * 300, rowSpan=99, columnSpan=60) for row in range(80) for column in range(60)]
    table = {"rowCount": 80, "columnCount": 60, "cells": cells, "spans": []}
    assert sum(map(len, texts({"pages": [{}], "tables": [table]}))) < 3_000_000
    few = [cell(0, 0, "x" * 300, rowSpan=80, columnSpan=60)]
    assert sum(map(len, texts({"pages": [{}], "tables": [{**table, "cells": few}]}))) < 40_000


def test_overlapping_stretches_do_not_multiply_words() -> None:
    answer = result(" ".join("abcdefghij" * 20))
    answer["pages"][0]["lines"] = [{"content": "x", "spans": span(0, 1 << 40)}] * 5_000
    assert sum(len(line.words) for line in lines_of(answer)) < 20_000


_NAMES = """pages words lines tables paragraphs cells spans span offset length content polygon confidence
width height rowCount columnCount rowIndex columnIndex kind""".split()
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=6),
    max_leaves=40,
)


@given(_JSON)
def test_no_answer_breaks_the_reader(answer: Any) -> None:
    lines = lines_of(answer if isinstance(answer, dict) else {"pages": answer, "tables": answer})
    assert all(0 <= word.confidence <= 100 for line in lines for word in line.words)
    boxes = [word.box for line in lines for word in line.words if word.box]
    assert all(0 <= value <= PAGE_UNITS for box in boxes for value in box)


def test_numbers_beyond_all_bounds_count_as_nothing() -> None:
    huge = 10**400
    answer = result("late")
    answer["pages"][0]["words"][0] |= {"confidence": huge, "polygon": [huge, -huge] * 4, "span": {"offset": huge}}
    assert [len(line.words) for line in lines_of(answer)] == [1]
    assert parse_object(json.dumps({"a": 1e400}).encode()) is None
    assert parse_object(b'{"a": ' + b"1" * (sys.get_int_max_str_digits() + 1) + b"}") is None


def test_halves_of_characters_do_not_come_through() -> None:
    answer = parse_object(json.dumps(result("a\ud800b")).encode())
    assert answer is not None
    assert texts(answer) == ["a?b"]
