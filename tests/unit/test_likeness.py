"""Likeness without numpy: it agrees with the static vectors, and parts what is about the same from what is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.embedding.likeness import mean_similarity
from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.embedding.static_table import StaticModel, normalise_vectors, parse_trained_rows
from directory_indexer.embedding.wordpiece import N_TOKENS

PASSAGES = [
    "The central bank raised interest rates by a quarter point to slow inflation.",
    "Boil the carrots with ginger and serve the soup hot.",
]
RARITY = np.log1p(np.maximum(np.arange(N_TOKENS) - 998, 0)).astype(np.float32)
TABLE = StaticModel(RARITY, np.zeros(DIMENSIONS, np.float32), parse_trained_rows(b""))


def test_what_is_about_the_same_is_alike_without_a_common_word() -> None:
    alike = [mean_similarity("monetary policy of governments", [passage]) or 0.0 for passage in PASSAGES]
    assert alike[0] > 0.2 > alike[1]


@given(st.lists(st.sampled_from(" ".join(PASSAGES).split()), min_size=1, max_size=40))
def test_it_agrees_with_static_vectors(words: list[str]) -> None:
    asked, *found = normalise_vectors(TABLE.vectors([" ".join(words), *PASSAGES]))
    expected = float(np.mean([asked @ one for one in found]))
    assert (mean_similarity(" ".join(words), PASSAGES) or 0.0) == pytest.approx(expected, abs=0.01)


def test_letters_with_accents_count_as_those_without() -> None:
    assert mean_similarity("résumé of a café", PASSAGES) == mean_similarity("resume of a cafe", PASSAGES)


@pytest.mark.parametrize("text", ["", "…", "ключи подписи"])
def test_nothing_is_told_of_what_the_table_has_no_word_of(text: str) -> None:
    assert mean_similarity(text, PASSAGES) is None
    assert mean_similarity("interest rates", [text]) is None


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_can_be_compared(question: str, passages: list[str]) -> None:
    alike = mean_similarity(question, passages)
    assert alike is None or -1.001 <= alike <= 1.001


def test_a_long_text_of_one_word_does_not_overflow() -> None:
    assert mean_similarity("inflation", ["inflation " * 100_000]) == pytest.approx(1.0)
