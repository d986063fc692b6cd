"""What an answer shows within its budget: ten hits before whole excerpts, and more room for better places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.api import parse_cursor
from directory_indexer.api.hits import SearchAnswer
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts, Metadata
from directory_indexer.ranking.candidates import Excerpt
from directory_indexer.ranking.excerpts import narrow_excerpt
from directory_indexer.search.requests import Hit, SearchRequest, SearchResult
from directory_indexer.server.mcp import Budgets, count_json_tokens, record_to_object
from directory_indexer.server.mcp.answer_text import format_search_answer
from directory_indexer.server.mcp.search_answer import AnswerPage, search_answer_within_budget
from directory_indexer.storage.documents.statistics import IndexSummary

_FILLER = "Nothing of that is told in this sentence. "
_TEXT = _FILLER * 12 + "Whales sleep upright.\n" + _FILLER * 6
_WHALES = (len(_FILLER) * 12, len(_FILLER) * 12 + len("Whales"))


def hits(n: int, *, text: str = _TEXT, n_files: int = 50) -> tuple[Hit, ...]:
    return tuple(
        Hit(
            path=file_path(f"/home/ann/papers/{number % n_files:04}.txt"),
            facts=FileFacts("text", "On sleep"),
            score=0.9 - number / 100,
            chunk_id=ChunkId(number.to_bytes(16, "big")),
            ordinal=number,
            start_line=1,
            end_line=2,
            page=None,
            heading="",
            text=text,
            excerpt=Excerpt(text, 1, 1 + text.count("\n"), (_WHALES,) if text == _TEXT else ()),
            metadata=Metadata(authors=("Ann Baker",)),
        )
        for number in range(n)
    )


def answer_to(found: tuple[Hit, ...], *, max_tokens: int = Budgets.SEARCH) -> SearchAnswer:
    request = SearchRequest("whales")
    return search_answer_within_budget(
        SearchResult(request, found), AnswerPage(parse_cursor("", question=()), max_tokens, IndexSummary())
    )


@pytest.mark.parametrize(
    "text", [_TEXT, "ลมหายใจของวาฬ" * 40, "睡" * 800, '"\\\n' * 260], ids=["en", "th", "zh", "escapes"]
)
def test_ten_hits_are_shown_by_default_however_long_their_excerpts_are(text: str) -> None:
    answer = answer_to(hits(10, text=text))
    assert len(answer.hits) == 10
    assert count_json_tokens(record_to_object(answer)) <= Budgets.SEARCH
    assert count_json_tokens(format_search_answer(answer)) <= Budgets.SEARCH
    assert answer.left_out is None


def test_better_places_have_more_room_and_what_is_cut_keeps_its_words() -> None:
    shown = answer_to(hits(10)).hits
    lengths = [len(hit.excerpt) for hit in shown]
    assert sum(lengths[:5]) > 1.4 * sum(lengths[5:])
    assert lengths[0] > 2 * lengths[-1]
    for hit in shown:
        assert hit.shortened
        assert "Whales sleep upright" in hit.excerpt
        assert [hit.excerpt[start:end] for start, end in hit.marks] == ["Whales"]


def test_what_fits_is_not_shortened() -> None:
    shown = answer_to(hits(10), max_tokens=Budgets.MOST).hits
    assert [hit.excerpt for hit in shown] == [_TEXT] * 10
    assert not any(hit.shortened for hit in shown)


def test_who_asks_for_many_gets_ten_and_the_way_to_the_others() -> None:
    answer = answer_to(hits(30))
    assert (len(answer.hits), answer.left_out) == (10, 20)
    assert answer.next_cursor


def test_what_a_document_says_about_itself_is_told_with_its_first_passage() -> None:
    shown = answer_to(hits(6, n_files=2), max_tokens=Budgets.MOST).hits
    assert [hit.title for hit in shown] == ["On sleep", "On sleep", None, None, None, None]
    assert [bool(hit.metadata) for hit in shown] == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("heading", "title"),
    [("On sleep > Whales", None), ("On sleep", None), ("On sleepers", "On sleep"), ("", "On sleep")],
)
def test_a_title_is_told_where_the_heading_does_not_begin_with_it(heading: str, title: str | None) -> None:
    [hit] = hits(1)
    [shown] = answer_to((hit._replace(heading=heading),)).hits
    assert shown.title == title


@given(
    lines=st.lists(st.text(alphabet="abc déЖ睡.\t", max_size=60), min_size=1, max_size=8),
    at=st.data(),
    max_chars=st.integers(1, 200),
)
def test_a_narrower_excerpt_is_a_part_of_the_whole_one_with_its_lines_and_marks(
    lines: list[str], at: st.DataObject, max_chars: int
) -> None:
    text = "\n".join(lines)
    starts = at.draw(st.lists(st.integers(0, len(text)), max_size=4, unique=True).map(sorted))
    marks = tuple((start, min(start + 1, len(text))) for start in starts if start < len(text))
    found = narrow_excerpt(Excerpt(text, 5, 5 + len(lines) - 1, marks), max_chars)
    assert found.text in text
    assert len(found.text) <= max(max_chars, 3)
    assert found.text in "\n".join(lines[found.start_line - 5 : found.end_line - 5 + 1])
    words = {text[start:end].casefold() for start, end in marks}
    assert {found.text[start:end].casefold() for start, end in found.marks} <= words
