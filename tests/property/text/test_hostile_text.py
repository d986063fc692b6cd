from __future__ import annotations

import json
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.api import parse_cursor
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.ranking.candidates import Excerpt
from directory_indexer.search.requests import Hit, SearchRequest, SearchResult
from directory_indexer.storage.documents.statistics import IndexSummary
from directory_indexer.text.formatting import PathStyle, printable
from directory_indexer.text.json_pages import search_json
from directory_indexer.text.results import View, search_lines, search_rows
from directory_indexer.text.terminal import styled

_CODES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")
_SUMMARY = IndexSummary(1, 1, 1, 1, is_running=False, completed_at=None)
# What no file name can hold: NUL, and surrogates that stand for no byte.
IMPOSSIBLE_IN_NAMES = dict.fromkeys([0, *range(0xD800, 0xDC80), *range(0xDD00, 0xE000)])
hostile = st.text(st.one_of(st.characters(), st.sampled_from("\x1b\x07\n\r\t\x9b\u202e\u2066\u2028\udcff\ud800[]:/%#")))
clean = hostile.map(lambda text: re.sub("[\ud800-\udfff]", "", text))


@st.composite
def results(draw: st.DrawFn) -> SearchResult:
    hits = tuple(_hit(draw) for _ in range(draw(st.integers(0, 3))))
    return SearchResult(SearchRequest(draw(clean)), hits, is_truncated=draw(st.booleans()))


def _hit(draw: st.DrawFn) -> Hit:
    text = draw(clean)
    places = st.integers(0, len(text))
    marks = draw(st.lists(st.tuples(places, places).map(lambda mark: (min(mark), max(mark))), max_size=4))
    return Hit(
        path=file_path("/n/" + draw(hostile).translate(IMPOSSIBLE_IN_NAMES)),
        facts=FileFacts(draw(clean), draw(clean)),
        score=draw(st.floats(0, 1)),
        chunk_id=ChunkId(bytes(16)),
        ordinal=draw(st.integers(0, 9)),
        start_line=1,
        end_line=9,
        page=draw(st.none() | st.integers(1, 9)),
        heading=draw(clean),
        text=text,
        excerpt=Excerpt(text, 1, 9, tuple(marks)),
    )


def is_harmless(text: str) -> bool:
    return all(unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"} for character in text)


@given(hostile)
def test_no_text_brings_a_control_character_to_a_terminal(text: str) -> None:
    assert is_harmless(printable(text).replace("\t", ""))


@given(results(), st.sampled_from(View), st.integers(20, 120))
def test_no_answer_sends_a_terminal_anything_but_styles_and_links(result: SearchResult, view: View, width: int) -> None:
    text = styled(search_lines(result, paths=PathStyle(), view=view, explain=True), width=width, environ={})
    assert is_harmless(_CODES.sub("", text).replace("\n", ""))


@given(results())
def test_every_hit_is_one_row_of_four_fields(result: SearchResult) -> None:
    rows = search_rows(result, paths=PathStyle()).split("\n")[:-1]
    assert [row.count("\t") for row in rows] == [3] * len(result.hits)


@given(results(), st.integers(100, 3000))
def test_a_page_is_ascii_within_its_limit_and_gives_paths_back_exactly(result: SearchResult, page_bytes: int) -> None:
    text = search_json(result, index=_SUMMARY, position=parse_cursor("", question=[]), page_bytes=page_bytes)
    page = json.loads(text)
    assert text.isascii()
    assert len(text) <= page_bytes or len(page["hits"]) <= 1
    assert [hit["path"] for hit in page["hits"]] == [hit.path for hit in result.hits][: len(page["hits"])]
    assert page["truncated"] == (result.is_truncated or len(page["hits"]) < len(result.hits))
