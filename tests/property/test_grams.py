"""Languages without spaces: words are cut as the index cuts them, and counted in a passage as it has them."""

from __future__ import annotations

import contextlib
import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.ranking.analyzer import (
    FTS_TOKENIZE,
    fold_spelling,
    gram_size,
    is_gram,
    join_grams,
    query_words,
    select_grams,
    split_into_words,
    split_unspaced,
)

THAI = "กขคงนมสวัีุ่้์าเแำ"
LETTERS = st.text(alphabet=THAI + "日本語のガイド한국어ខ្មែរမြန်မာລາວທີ່ ab\n", max_size=60)


@given(LETTERS)
def test_words_are_those_of_the_index(text: str) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE VIRTUAL TABLE fts USING fts5(text, tokenize="{FTS_TOKENIZE}")')
        connection.execute("CREATE VIRTUAL TABLE vocab USING fts5vocab(fts, 'row')")
        connection.execute("INSERT INTO fts VALUES (?)", (fold_spelling(text),))
        indexed = {term for (term,) in connection.execute("SELECT term FROM vocab")}
    assert set(split_into_words(text)) == indexed
    assert set(query_words(text)) <= indexed


@given(LETTERS, LETTERS)
def test_pieces_are_counted_in_runs_as_in_words(text: str, question: str) -> None:
    runs, rest = split_unspaced(text)
    found = split_into_words(text)
    assert len(split_into_words(rest)) + len(runs) - runs.count("\n") == len(found)
    for gram in filter(is_gram, query_words(question)):
        if len(gram) < gram_size(gram):  # the index has the last letters of a run alone, and the run has them anywhere
            continue
        n_times = found.count(gram)
        # Of a letter that is repeated, pieces overlap with themselves; these are counted once.
        assert runs.count(gram) <= n_times
        assert bool(runs.count(gram)) == bool(n_times)


@given(st.text(alphabet=THAI, min_size=3, max_size=30))
def test_pieces_that_follow_each_other_are_the_run_that_they_were_cut_from(run: str) -> None:
    [spelled] = split_unspaced(run)[0].split("\n")
    assert join_grams(query_words(run)) == spelled


@given(st.lists(st.text(alphabet=THAI, min_size=3, max_size=3), min_size=1, max_size=300), st.integers(1, 9))
def test_pieces_are_chosen_from_all_over_a_question(grams: list[str], step: int) -> None:
    chosen = select_grams(grams, {gram: at for at, gram in enumerate(grams)}, step=step)
    assert len(chosen) == -(-len(grams) // step)
    for at, gram in enumerate(chosen):
        assert gram in grams[at * step : (at + 1) * step]


def test_of_neighbours_the_rarest_that_the_index_has_is_chosen() -> None:
    assert select_grams(["กขค", "ขคง", "คงน"], {"กขค": 7, "คงน": 2}, step=3) == ["คงน"]
    assert select_grams(["กขค", "ขคง"], {}, step=2) == ["กขค"]
