"""Parts of a file are the bytes that were asked for, and never more of them than there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.server.rest.documents import (
    RangeNotSatisfiableError,
    allows_partial_response,
    matches_if_none_match,
    parse_byte_ranges,
)

SIZES = st.integers(0, 60)
NUMBERS = st.integers(0, 70)
PARTS = st.one_of(
    st.tuples(NUMBERS, NUMBERS).map(lambda pair: (min(pair), max(pair))),
    st.tuples(NUMBERS, st.none()),
    st.tuples(st.none(), NUMBERS),
)


def _header(parts: list[tuple[int | None, int | None]]) -> str:
    return "bytes=" + ", ".join(f"{'' if a is None else a}-{'' if b is None else b}" for a, b in parts)


def _meant(parts: list[tuple[int | None, int | None]], size: int) -> set[int]:
    """Name the bytes that are asked for, one by one."""
    meant: set[int] = set()
    for first, last in parts:
        if first is None:
            meant |= set(range(max(size - (last or 0), 0), size))
        else:
            meant |= set(range(first, size if last is None else min(last + 1, size)))
    return meant


@given(st.lists(PARTS, min_size=1, max_size=6), SIZES)
def test_spans_hold_each_byte_that_is_asked_for_once(parts: list[tuple[int | None, int | None]], size: int) -> None:
    meant = _meant(parts, size)
    if not meant:
        with pytest.raises(RangeNotSatisfiableError):
            parse_byte_ranges(_header(parts), size)
        return
    told = [at for span in parse_byte_ranges(_header(parts), size) for at in range(span.start, span.end)]
    assert len(told) == len(set(told))
    assert set(told) == meant


@given(st.text(alphabet="bytes=0123456789-, x", max_size=30), SIZES)
def test_no_header_names_bytes_that_there_are_not(header: str, size: int) -> None:
    try:
        spans = parse_byte_ranges(header, size)
    except RangeNotSatisfiableError:
        return
    assert all(0 <= span.start < span.end <= size for span in spans)


@pytest.mark.parametrize("header", ["", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "lines=0-1", "0-1"])
def test_what_is_no_range_asks_for_all(header: str) -> None:
    assert parse_byte_ranges(header, 10) == ()


def test_a_flood_of_ranges_asks_for_all() -> None:
    assert parse_byte_ranges("bytes=" + ",".join(f"{2 * n}-{2 * n}" for n in range(100)), 1000) == ()


def test_entity_tags_are_compared() -> None:
    assert matches_if_none_match("*", '"a"')
    assert matches_if_none_match('"b", W/"a"', '"a"')
    assert not matches_if_none_match('"b", a', '"a"')
    assert allows_partial_response("", '"a"')
    assert allows_partial_response('"a"', '"a"')
    assert not allows_partial_response('W/"a"', '"a"')
    assert not allows_partial_response("Wed, 21 Oct 2026 07:28:00 GMT", '"a"')
