from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.api import parse_cursor
from directory_indexer.core.errors import UsageError
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.ranking.candidates import Excerpt
from directory_indexer.search.requests import Hit, SearchRequest, SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterable


def hits(names: Iterable[int]) -> tuple[Hit, ...]:
    return tuple(
        Hit(file_path("/a"), FileFacts(), 0.5, ChunkId(bytes([name] * 16)), 0, 1, 1, None, "", "", Excerpt("", 1, 1))
        for name in names
    )


def test_a_cursor_leads_on_in_the_same_question_and_names_what_was_shown() -> None:
    start = parse_cursor("", question=["a"])
    cursor = start.cursor_after(hits([1, 2]), state="1")
    following = parse_cursor(cursor, question=["a"])
    found = SearchResult(SearchRequest("a"), hits([3, 2, 4, 1, 5]), state="1")
    rest = following.rest(found, limit=2)
    assert rest.hits == hits([3, 4])
    assert (rest.is_truncated, rest.note_texts) == (True, ())
    assert following.limit(2) == 4
    with pytest.raises(UsageError, match="another query"):
        parse_cursor(cursor, question=["b"])


def test_an_answer_says_that_the_index_has_changed_since_the_page_before() -> None:
    cursor = parse_cursor("", question=["a"]).cursor_after(hits([1]), state="1")
    found = SearchResult(SearchRequest("a"), hits([2]), state="2")
    (note,) = parse_cursor(cursor, question=["a"]).rest(found, limit=2).note_texts
    assert "the index has changed" in note
    assert parse_cursor("", question=["a"]).rest(found, limit=2).note_texts == ()


@given(st.text(min_size=1, max_size=200))
def test_a_forged_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        parse_cursor(cursor, question=["a"])


def test_no_cursor_means_the_beginning() -> None:
    assert parse_cursor("", question=[])[1:] == ((), None)
