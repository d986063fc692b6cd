"""What several queries find is one answer."""

from __future__ import annotations

import pytest

from directory_indexer.chunking.chunks import Chunk
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.notes import Note
from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import FileFacts
from directory_indexer.ranking.candidates import NO_EXPLANATION
from directory_indexer.ranking.ordering import Ranked
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.query import parse_query
from directory_indexer.search.hits import QueryAnswer, RankedPassage, fuse_query_answers
from directory_indexer.storage.documents.chunks import IndexedChunk


def passage(name: str, score: float) -> RankedPassage:
    chunk_id = ChunkId(name.encode().ljust(16))
    chunk = Chunk(0, name, 1, 0, len(name), start_line=1, end_line=1)
    stored = IndexedChunk(1, chunk_id, 1, file_path(f"/{name}"), 0, FileFacts("text"), chunk)
    plan = MatchPlan(parse_query(f"scored {score}"), None)
    return RankedPassage(stored, Ranked(chunk_id, score, NO_EXPLANATION), plan)


def found(*hits: tuple[str, float], weak: bool = False) -> QueryAnswer:
    return QueryAnswer(tuple(passage(*hit) for hit in hits), notes=(Note("the same note"),), is_weak=weak)


def names(answer: QueryAnswer) -> list[str]:
    return [one.chunk.path.removeprefix("/") for one in answer.passages]


def test_what_several_queries_find_stands_before_what_one_finds() -> None:
    answer = fuse_query_answers([found(("a", 0.7), ("b", 0.6)), found(("c", 0.65), ("b", 0.5))], limit=10)
    assert names(answer) == ["b", "a", "c"]
    assert answer.passages[0].ranked.score == pytest.approx(1 - 0.4 * 0.5)
    assert answer.passages[0].plan.query.text == "scored 0.6"
    assert answer.notes == (Note("the same note"),)


def test_the_best_of_every_query_has_a_place_unless_it_is_weak() -> None:
    many = found(*((f"m{n}", 0.9 - n / 100) for n in range(10)))
    assert "side" in names(fuse_query_answers([many, found(("side", 0.4))], limit=3))
    assert "side" not in names(fuse_query_answers([many, found(("side", 0.2), weak=True)], limit=3))
    assert len(fuse_query_answers([many, found(("side", 0.4))], limit=3).passages) == 3


def test_an_answer_is_weak_where_no_query_has_a_good_one() -> None:
    assert fuse_query_answers([found(("a", 0.2), weak=True), found(("b", 0.1), weak=True)], limit=3).is_weak
    assert not fuse_query_answers([found(("a", 0.2), weak=True), found(("b", 0.5))], limit=3).is_weak
    assert fuse_query_answers([found(), found()], limit=3).passages == ()
