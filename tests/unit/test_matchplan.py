"""Where words are in very many chunks, the rarer ones choose the candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from directory_indexer.ranking.analyzer import WordsWithPart
from directory_indexer.ranking.plan import plan_match
from directory_indexer.ranking.query import parse_query

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

    def containing(self, part: str, *, ends: bool, limit: int) -> WordsWithPart:
        held = [
            (word, n) for word, n in sorted(self._counts.items()) if (word.endswith(part) if ends else part in word)
        ]
        return WordsWithPart(held[:limit])


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


def test_what_must_be_in_a_hit_and_what_must_not_is_said_of_the_rarest_words_too() -> None:
    assert narrow("zebra kernel -lion", zebra=5000, kernel=400_000, lion=10) == (
        '(("zebra") AND ("zebra" OR "kernel")) NOT ("lion")'
    )
    quoted = narrow('"zebra crossing" kernel', zebra=5000, crossing=6000, kernel=400_000)
    assert quoted is not None
    assert quoted.startswith('("zebra crossing") AND (')


def test_rare_words_are_looked_for_by_themselves_where_a_common_one_is_needed_to_fill_an_answer() -> None:
    counts = {"zebra": 3, "kernel": 300_000, "file": 400_000}
    plan = plan_match(parse_query("zebra kernel file"), Words(counts))
    assert plan.rare == '("zebra") AND ("zebra" OR "kernel" OR "file")'
    assert plan_match(parse_query("kernel file"), Words(counts)).rare is None


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


def terms_of(query: str) -> dict[str, tuple[str, ...]]:
    plan = plan_match(parse_query(query), Words(dict.fromkeys(query.casefold().replace('"', " ").split(), 9)))
    return {term.typed: plan.required for term in plan.terms}


def test_an_arabic_word_is_found_with_and_without_what_is_joined_to_it() -> None:
    vocabulary = Words({"الدفاع": 3, "والدفاع": 2, "للدفاع": 2, "دفاع": 1, "دفتر": 5, "الدفتر": 4})
    for asked in ("دفاع", "الدفاع", "بالدفاع"):
        (term,) = plan_match(parse_query(asked), vocabulary).terms
        assert term.forms - {asked} == {"الدفاع", "والدفاع", "للدفاع", "دفاع"} - {asked}


def test_of_arabic_words_that_begin_alike_only_forms_of_the_word_are_looked_for() -> None:
    vocabulary = Words({"الكتاب": 3, "الكتب": 2, "الكتله": 90})
    assert plan_match(parse_query("الكتاب"), vocabulary).expression == '("الكتاب")'


def test_what_is_quoted_among_a_few_terms_must_be_there() -> None:
    assert set(terms_of('"connection pool" timeout postgres').values()) == {('"connection pool"',)}
    assert set(terms_of('"what is the matter"').values()) == {('"what is the matter"',)}


def test_what_a_sentence_quotes_need_not_be_there() -> None:
    found = terms_of('does anybody know what the author of "connection pool" means by it')
    assert set(found.values()) == {()}
    assert {"connection", "pool", "connection pool"} <= found.keys()


def test_a_word_that_a_long_question_repeats_tells_more() -> None:
    counted = {"garbage": 9, "collection": 9, "memory": 9}
    once, thrice = (
        dict(zip((term.typed for term in plan.terms), plan.weights, strict=True))
        for plan in (
            plan_match(parse_query(query), Words(counted))
            for query in ("garbage collection memory", "garbage collection: memory of garbage, garbage of memory")
        )
    )
    assert once["garbage"] == once["collection"] == thrice["collection"]
    assert thrice["collection"] < thrice["memory"] < thrice["garbage"] < 3 * once["garbage"]


def test_a_question_of_nothing_but_function_words_is_a_question_all_the_same() -> None:
    assert [term.typed for term in plan_match(parse_query("to be or not to be"), Words({"be": 5})).terms] == [
        "to",
        "be",
        "or",
        "not",
    ]


def test_an_abbreviation_is_no_function_word() -> None:
    typed = {term.typed for term in plan_match(parse_query("who leads the WHO"), Words({"who": 5})).terms}
    assert typed == {"who", "leads"}
    assert [term.typed for term in plan_match(parse_query("WHO LEADS"), Words({"who": 5})).terms] == ["leads"]


@pytest.mark.parametrize(
    ("period", "year"),
    [("FY2019", "2019"), ("fy19", "2019"), ("CY98", "1998"), ("Q3FY2021", "2021"), ("H12019", "2019")],
)
def test_a_business_period_is_also_its_year(period: str, year: str) -> None:
    [term] = plan_match(parse_query(period), Words({year: 5})).terms
    assert term.forms == {period.lower(), year}


@pytest.mark.parametrize("name", ["log4j", "FY201", "FY20190", "10K", "Q52019"])
def test_other_names_with_digits_are_no_period(name: str) -> None:
    assert all("2019" not in term.forms for term in plan_match(parse_query(name), Words({"2019": 5})).terms)


@pytest.mark.parametrize(
    ("question", "rare"),
    [
        ("I want articles written by Zebra or Udo Kiwi", {"zebra", "kiwi"}),
        ("I want all articles on the language el1, as it was known", {"el1"}),
        ("Where does Zebra keep its articles on interesting languages?", set()),  # its subject is something else
        ("articles by Zebra, Udo, Anna or Bert", set()),  # one of many names, by chance
        ("Articles By Zebra And Kiwi In Full", set()),  # every word is capitalised
        ("I want articles written by Kernel or Zebra", set()),  # one of two
        ("Which articles are on el1?", set()),  # a question about its subject
        ("the answer was 1987 in most of the articles", set()),
    ],
)
def test_rare_names_of_a_request_are_evidence_if_it_is_about_them(question: str, rare: set[str]) -> None:
    counts = {"zebra": 1, "kiwi": 2, "kernel": 3, "el1": 1, "1987": 1, "articles": 40}
    assert plan_match(parse_query(question), Words(counts)).rare_names == rare
