"""What several queries find is one answer."""

from __future__ import annotations

import pytest

from directory_indexer.extractors.document import FileFacts
from directory_indexer.ids import ChunkId
from directory_indexer.paths import file_path
from directory_indexer.relevance.evidence import Excerpt
from directory_indexer.searching.answers import Hit, SearchRequest, SearchResult
from directory_indexer.searching.fusing import fused


def found(*hits: tuple[str, float], weak: bool = False) -> SearchResult:
    return SearchResult(
        SearchRequest("q"),
        tuple(
            Hit(
                path=file_path(f"/{name}"),
                facts=FileFacts("text"),
                score=score,
                chunk_id=ChunkId(name.encode().ljust(16)),
                ordinal=0,
                start_line=1,
                end_line=1,
                page=None,
                heading="",
                text=f"{score}",
                excerpt=Excerpt(f"{score}", 1, 1),
            )
            for name, score in hits
        ),
        degraded=("the same note",),
        is_weak=weak,
    )


def names(result: SearchResult) -> list[str]:
    return [hit.path.removeprefix("/") for hit in result.hits]


def test_what_several_queries_find_stands_before_what_one_finds() -> None:
    answer = fused([found(("a", 0.7), ("b", 0.6)), found(("c", 0.65), ("b", 0.5))], limit=10)
    assert names(answer) == ["b", "a", "c"]
    assert answer.hits[0].score == pytest.approx(1 - 0.4 * 0.5)
    assert answer.hits[0].excerpt.text == "0.6"
    assert answer.degraded == ("the same note",)


def test_the_best_of_every_query_has_a_place_unless_it_is_weak() -> None:
    many = found(*((f"m{n}", 0.9 - n / 100) for n in range(10)))
    assert "side" in names(fused([many, found(("side", 0.4))], limit=3))
    assert "side" not in names(fused([many, found(("side", 0.2), weak=True)], limit=3))
    assert len(fused([many, found(("side", 0.4))], limit=3).hits) == 3


def test_an_answer_is_weak_where_no_query_has_a_good_one() -> None:
    assert fused([found(("a", 0.2), weak=True), found(("b", 0.1), weak=True)], limit=3).is_weak
    assert not fused([found(("a", 0.2), weak=True), found(("b", 0.5))], limit=3).is_weak
    assert fused([found(), found()], limit=3).hits == ()
