"""Where words are in very many chunks, the rarer ones choose the candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from directory_indexer.relevance.matchplan import plan_match
from directory_indexer.relevance.query import parse_query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

N_CHUNKS = 1_000_000


class Words:
    """The vocabulary of an index with so many chunks for each word."""

    n_chunks = N_CHUNKS
    languages: tuple[str, ...] = ()

    def __init__(self, counted: Mapping[str, int]) -> None:
        self._counts = dict(counted)

    def counts(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: self._counts[term] for term in terms if term in self._counts}

    def starting_with(self, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        return [(word, n) for word, n in sorted(self._counts.items()) if word.startswith(prefix)][:limit]

    def ending_with(self, suffix: str, *, limit: int) -> list[tuple[str, int]]:
        return [(word, n) for word, n in sorted(self._counts.items()) if word.endswith(suffix)][:limit]


def narrow(query: str, **counts: int) -> str | None:
    return plan_match(parse_query(query), Words(counts)).narrow


def test_a_word_in_most_chunks_is_weighed_but_not_looked_for() -> None:
    assert narrow("zebra kernel", zebra=5000, kernel=400_000) == '("zebra") AND ("zebra" OR "kernel")'


def test_words_that_are_in_few_chunks_are_all_looked_for() -> None:
    assert narrow("zebra kernel", zebra=400, kernel=399) is None


def test_enough_is_looked_for_to_fill_an_answer_of_any_length() -> None:
    assert narrow("zebra kernel file", zebra=3, kernel=300_000, file=400_000) == (
        '("zebra" OR "kernel") AND ("zebra" OR "kernel" OR "file")'
    )


def test_a_word_alone_is_looked_for_however_common_it_is() -> None:
    assert narrow("kernel", kernel=900_000) is None


def test_what_must_be_in_a_hit_is_not_left_out() -> None:
    assert narrow('"zebra crossing" kernel', zebra=5000, crossing=5000, kernel=400_000) is None
    assert narrow("zebra kernel -lion", zebra=5000, kernel=400_000, lion=10) is None


class GermanWords(Words):
    languages = ("de", "en")


def test_endings_of_the_languages_of_the_documents_count_where_the_query_leaves_its_language_open() -> None:
    counted = {"rechnung": 3, "rechnungen": 5}
    (english,) = plan_match(parse_query("rechnungen"), Words(counted)).terms
    (german,) = plan_match(parse_query("rechnungen"), GermanWords(counted)).terms
    assert english.forms == {"rechnungen"}
    assert german.forms == {"rechnung", "rechnungen"}


def test_endings_of_one_language_count_where_the_query_is_written_in_it() -> None:
    plan = plan_match(parse_query("où sont les rechnungen"), GermanWords({"rechnung": 3, "rechnungen": 5}))
    assert {form for term in plan.terms for form in term.forms} >= {"rechnungen"}
    assert "rechnung" not in {form for term in plan.terms for form in term.forms}
