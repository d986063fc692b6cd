"""Two lists of results become one order, with scores that say how good the best is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from directory_indexer.records import ChunkId, FilePath
from directory_indexer.relevance.matchplan import plan_match
from directory_indexer.relevance.query import parse_query
from directory_indexer.relevance.ranking import Candidate, rank

if TYPE_CHECKING:
    from collections.abc import Sequence


class Words:
    """A vocabulary of a thousand chunks in which every word is rare."""

    n_chunks = 1000

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(terms, 3)

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        return [(prefix, 3)][:limit]

    def ending_with(self, suffix: str, *, limit: int) -> list[tuple[str, int]]:
        return [(suffix, 3)][:limit]


PLAN = plan_match(parse_query("how do we rotate the signing keys"), Words())


def candidate(
    name: str, text: str, *, path: str = "", words: float | None = None, meaning: float | None = None
) -> Candidate:
    return Candidate(ChunkId(name), FilePath(path or f"/{name}.md"), "markdown", "", "", text, words, meaning)


def test_what_both_lists_have_on_top_comes_first() -> None:
    both = candidate("both", "rotate the signing keys", words=9.0, meaning=0.7)
    others = [candidate("a", "keys of a piano", words=8.0), candidate("b", "credentials", meaning=0.6)]
    ranking = rank(PLAN, [*others, both], limit=3)
    assert ranking.hits[0].chunk_id == "both"
    assert not ranking.is_weak
    assert 0.8 < ranking.hits[0].score <= 1


def test_the_order_does_not_depend_on_the_order_of_candidates() -> None:
    candidates = [candidate(str(n), f"text {n} keys", words=n % 5, meaning=n % 7 / 10) for n in range(30)]
    assert rank(PLAN, candidates, limit=30) == rank(PLAN, candidates[::-1], limit=30)


def test_passages_that_have_nothing_to_do_with_the_query_are_weak() -> None:
    ranking = rank(PLAN, [candidate("a", "carrots", meaning=0.18), candidate("b", "soup", meaning=0.1)], limit=5)
    assert ranking.is_weak
    assert all(hit.score < 0.1 for hit in ranking.hits)


def test_nothing_at_all_is_weak() -> None:
    assert rank(PLAN, [], limit=5).is_weak


def test_copies_of_a_passage_are_shown_once() -> None:
    copies = [candidate(str(n), "rotate  the signing keys", meaning=0.7) for n in range(4)]
    assert [hit.chunk_id for hit in rank(PLAN, copies, limit=5).hits] == ["0"]


def test_one_file_does_not_crowd_out_the_others() -> None:
    many = [candidate(f"m{n}", f"rotate keys {n}", path="/many.md", meaning=0.7 - n / 100) for n in range(8)]
    other = candidate("other", "credentials", meaning=0.5)
    ranking = rank(PLAN, [*many, other], limit=4)
    assert [hit.chunk_id for hit in ranking.hits] == ["m0", "m1", "m2", "other"]
    assert ranking.hits[0].n_more_in_file == 5


def test_one_file_fills_the_answer_when_there_is_no_other() -> None:
    many = [candidate(f"m{n}", f"rotate keys {n}", path="/many.md", meaning=0.7 - n / 100) for n in range(8)]
    assert len(rank(PLAN, many, limit=6).hits) == 6


def test_words_decide_in_a_language_that_the_model_hardly_knows() -> None:
    plan = plan_match(parse_query("wie werden die Schlüssel für die Unterschriften gewechselt"), Words())
    by_words = candidate("words", "die Schlüssel werden gewechselt", words=9.0, meaning=0.2)
    by_meaning = candidate("meaning", "die Suppe", words=1.0, meaning=0.7)
    assert rank(plan, [by_words, by_meaning], limit=2).hits[0].chunk_id == "words"
