"""What the index has is never replaced, and what replaces a typing error is as near as it is said to be."""

from __future__ import annotations

import os
import re
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.embedding.likeness import are_different_words
from directory_indexer.ranking.analyzer import FTS_COLUMNS, FTS_TOKENIZE
from directory_indexer.ranking.query import parse_query
from directory_indexer.ranking.spelling import (
    Correction,
    correct_spelling,
    edit_distance,
    max_errors,
    words_one_edit_away,
)
from directory_indexer.search.file_names import patterns_of_names
from directory_indexer.storage.documents.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

LETTERS = "bdgkmu"
"""No ending of English is made of these, so no word is a form of another."""


class Vocabulary(Words):
    """The words of a full-text index in which each of these is in so many chunks."""

    languages: tuple[str, ...] = ()

    def __init__(self, counted: Mapping[str, int]) -> None:
        connection = sqlite3.connect(":memory:")
        columns = ", ".join(FTS_COLUMNS)
        connection.execute(f'CREATE VIRTUAL TABLE chunks_fts USING fts5({columns}, tokenize="{FTS_TOKENIZE}")')
        connection.execute("CREATE VIRTUAL TABLE chunks_vocab USING fts5vocab(chunks_fts, row)")
        texts = [(word,) for word, n_chunks in counted.items() for _ in range(n_chunks)]
        connection.executemany("INSERT INTO chunks_fts (text) VALUES (?)", texts)
        super().__init__(connection, {})

    @property
    def n_chunks(self) -> int:
        return 1000


correct = partial(correct_spelling, are_different=are_different_words)


def corrected(query: str, *known: str, **counted: int) -> tuple[Correction, ...]:
    return correct(parse_query(query), Vocabulary(dict.fromkeys(known, 1) | counted)).corrections


def words(shortest: int, longest: int) -> st.SearchStrategy[str]:
    return st.text(LETTERS, min_size=shortest, max_size=longest)


def alignment(one: str, other: str) -> int:
    """Count edits as the textbook does: optimal string alignment."""
    costs = {(-1, -1): 0}
    costs |= {(at, -1): at + 1 for at in range(len(one))} | {(-1, at): at + 1 for at in range(len(other))}
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            ways = [costs[i - 1, j] + 1, costs[i, j - 1] + 1, costs[i - 1, j - 1] + (left != right)]
            if i and j and one[i - 1 : i + 1] == right + other[j - 1]:
                ways.append(costs[i - 2, j - 2] + 1)
            costs[i, j] = min(ways)
    return costs[len(one) - 1, len(other) - 1]


@given(words(0, 8), words(0, 8), st.integers(0, 3))
def test_a_distance_is_that_of_optimal_string_alignment(one: str, other: str, most: int) -> None:
    expected = alignment(one, other)
    assert edit_distance(one, other, most=most) == (expected if expected <= most else None)


@given(words(1, 8))
def test_one_edit_is_one_edit(word: str) -> None:
    assert {alignment(word, near) for near in words_one_edit_away(word, LETTERS)} <= {1}


@given(st.sets(words(4, 9), min_size=1, max_size=60), st.data())
def test_a_word_of_the_index_is_never_replaced(known: set[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(sorted(known)))
    query = parse_query(f"where is {word}")
    assert correct(query, Vocabulary(dict.fromkeys(known, 1))) == (query, ())


@given(st.sets(words(4, 10), min_size=1, max_size=60), words(5, 10))
def test_what_replaces_a_word_is_in_the_index_and_near(known: set[str], word: str) -> None:
    for typed, searched in corrected(word, *known):
        assert typed == word
        assert searched in known
        assert alignment(word, searched) <= (1 if len(word) < 8 else 2)


@given(st.sets(words(4, 10), max_size=60), words(5, 10), st.data())
def test_a_word_one_error_away_is_found_if_it_begins_alike(known: set[str], word: str, data: st.DataObject) -> None:
    near = data.draw(st.sampled_from(sorted(one for one in words_one_edit_away(word, LETTERS) if one[0] == word[0])))
    ((_, searched),) = corrected(word, *(known - {word}), near)
    assert alignment(word, searched) == 1


def test_of_words_as_near_the_one_with_letters_swapped_counts_then_the_most_frequent() -> None:
    assert corrected("recieve", receive=1, relieve=9) == (("recieve", "receive"),)
    assert corrected("harbur", harbour=2, harburg=9) == (("harbur", "harburg"),)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("tabl", "table"),  # too short to tell
        ("harming", "warming"),  # another first letter
        ("reach", "each"),  # a letter less, in five
        ('"recieve"', "receive"),
        ("-recieve found", "receive"),
        ("heading:recieve", "receive"),
        ("reciev*", "receive"),
        ("recieve2", "receive"),
        ("recieve_all", "receive"),
        ("recieveAll", "receive"),
        ("RECIEVE", "receive"),
        ("receives", "receive"),  # another form
        ("الموسيقا", "الموسيقي"),  # another form
        ("müller", "mueller"),  # another spelling
    ],
)
def test_what_may_be_meant_is_left_as_it_is(typed: str, known: str) -> None:
    assert corrected(typed, known, "found") == ()


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("ihgest", "ingest"),
        ("nigest", "ingest"),
        ("ngestion", "ingestion"),
        ("imgestoin", "ingestion"),
        ("aingest", "ingest"),
        ("настрока", "настройка"),
        ("ρυφμιση", "ρυθμιση"),
        ("المسويقي", "الموسيقي"),
        ("l'ordinatuer", "ordinateur"),
    ],
)
def test_errors_of_all_kinds_and_alphabets_are_corrected(typed: str, known: str) -> None:
    ((_, searched),) = corrected(typed, known)
    assert searched == known


@pytest.mark.parametrize(
    ("typed", "known"),
    [("Frist", "kundigungsfrist"), ("gratef", "grateful"), ("41a1615", "ff41a16151"), ("815", "0815")],
)
def test_a_part_of_a_word_is_looked_for_inside_it_before_it_is_taken_for_an_error(typed: str, known: str) -> None:
    query, corrections = correct(parse_query(typed), Vocabulary({known: 1, "first": 9}))
    assert [word.text for word in query.words] == [f"*{typed.lower()}*"]
    assert [one.note for one in corrections] == [f"no text has the word {typed}; searched for words that contain it"]
    assert query.meaning == typed


def test_of_four_letters_only_one_of_two_equal_ones_is_missed() -> None:
    query, corrections = correct(parse_query("eror"), Vocabulary({"error": 1, "serverorigin": 1}))
    assert corrections == (("eror", "error"),)
    assert query.meaning == "error"


def test_what_is_embedded_is_corrected_and_the_rest_stays() -> None:
    words_of_index = dict.fromkeys(("receive", "invoices", "how"), 1)
    query, corrections = correct(parse_query('How do I recieve, say, "old invocies"?'), Vocabulary(words_of_index))
    assert query.meaning == "How do I receive, say, old invocies ?"
    assert corrections == (("recieve", "receive"),)
    assert [word.text for word in query.words] == ["How", "do", "I", "receive,", "say,", "old invocies"]


def test_a_word_that_is_also_quoted_is_left_as_it_is() -> None:
    assert corrected('recieve "recieve all"', "receive", "all") == ()


def test_a_query_in_unknown_words_is_not_rewritten_as_a_whole() -> None:
    known = ("alpha", "bravo", "charlie", "delta", "foxtrot")
    assert len(corrected("alpho bravu charlia delto foxtrut", *known)) == 3


@pytest.mark.parametrize(
    ("typed", "known"), [("sweep", "sleep"), ("crate", "create"), ("trial", "trail"), ("number", "nummer")]
)
def test_a_word_that_the_model_knows_is_not_taken_for_another(typed: str, known: str) -> None:
    assert corrected(typed, known) == ()
    assert corrected(typed, **{known: 9, f"{typed[:-1]}q": 1}) == ()


@pytest.mark.parametrize(
    ("typed", "known"), [("harbor", "harbour"), ("color", "colour"), ("viktor", "victor"), ("slepe", "sleep")]
)
def test_another_spelling_and_an_error_are_corrected(typed: str, known: str) -> None:
    assert corrected(typed, known) == ((typed, known),)


def test_a_compound_is_searched_by_its_halves_where_a_language_has_compounds() -> None:
    vocabulary = Vocabulary({"kontrolltermin beim zahnarzt": 1, "vermittelt": 1, "lebensdauer": 1})
    query = parse_query("Arzttermin")
    assert not correct(query, vocabulary).corrections
    vocabulary.languages = ("de",)
    assert correct(query, vocabulary).corrections == (("Arzttermin", "*arzt* *termin*"),)
    assert not correct(parse_query("Arztterminal"), vocabulary).corrections  # no word ends with its second half
    assert not correct(parse_query("Was kostet ein Arzttermin"), vocabulary).corrections
    assert not correct(parse_query("Lebensmittel"), vocabulary).corrections  # no text has both near each other
    assert correct(parse_query("Zahnkontrolltermin"), vocabulary).corrections == (
        ("Zahnkontrolltermin", "*zahn* *kontrolltermin*"),  # of which one is a word
    )


def test_two_words_of_a_compound_are_both_searched_as_its_parts() -> None:
    vocabulary = Vocabulary({"fahrplanauszug": 1, "plan": 3})
    found = correct(parse_query("Auszug Plan"), vocabulary)
    assert [(word.text, word.compounds) for word in found.query.words] == [
        ("*auszug*", ()),
        ("Plan", ("fahrplanauszug",)),
    ]
    assert found.corrections == (("Auszug", "*Auszug*"),)


@pytest.mark.parametrize(("typed", "known"), [("Bahnkarte", "bahncard"), ("Kathastroffe", "katastrophe")])
def test_letters_that_sound_alike_are_one_error(typed: str, known: str) -> None:
    assert corrected(typed, known) == ((typed, known),)


@given(words(5, 12), st.data())
def test_every_name_with_few_errors_has_a_part_that_is_searched_for(typed: str, data: st.DataObject) -> None:
    most = max_errors(typed)
    near = typed
    for _ in range(most):
        at = data.draw(st.integers(0, len(near)))
        before, behind, letter = near[:at], near[at:], data.draw(st.sampled_from(LETTERS))
        near = data.draw(
            st.sampled_from(
                [
                    before + letter + behind,
                    before + behind[1:],
                    before + letter + behind[1:],
                    before + behind[1::-1] + behind[2:],
                ]
            )
        )
    if edit_distance(typed, near, most=most) is not None:
        name = f"{os.sep}{near}.py{os.sep}"
        assert any(re.search(pattern, name) for pattern in patterns_of_names(typed, ".py", most))
