"""Static vectors: what they find, and that codes and tables keep what they are to keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.embedding.static_table import (
    CODE_BYTES,
    StaticModel,
    nearest_codes,
    pack_table,
    train_static_model,
)
from directory_indexer.embedding.wordpiece import N_TOKENS, token_ids

TEXTS = [
    "Rotate the signing keys every ninety days.",
    "Boil the carrots with ginger and serve the soup hot.",
    "The engine of the car needs new oil before winter.",
    "def parse_date(text): return datetime.strptime(text, '%Y-%m-%d')",
    "Überweisung der Miete an den Vermieter am Ersten, jeden Monat.",
    "The central bank raised interest rates by a quarter point.",
]


def nearest(model: StaticModel, query: str, *, limit: int = 1) -> list[str]:
    return [TEXTS[place] for place in nearest_codes(model.codes(TEXTS), model.vectors([query])[0], limit)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cooking vegetables", 1),
        ("vehicle maintenance", 2),
        ("monetary policy and inflation", 5),
        ("convert a string to a time stamp", 3),
        ("replace cryptographic secrets", 0),
    ],
)
def test_a_text_is_found_by_words_that_are_not_in_it(query: str, found: int) -> None:
    assert not set(query.split()) & set(TEXTS[found].split())
    assert nearest(train_static_model(TEXTS), query) == [TEXTS[found]]


def test_codes_have_a_bit_for_each_dimension() -> None:
    codes = train_static_model(TEXTS).codes(TEXTS)
    assert codes.shape == (len(TEXTS), CODE_BYTES)
    assert codes.dtype.name == "uint8"
    assert CODE_BYTES * 8 == DIMENSIONS


def test_a_word_that_every_text_has_weighs_nothing() -> None:
    model = train_static_model([f"{text} invoice" for text in TEXTS])
    [_, invoice, _] = token_ids("invoice", limit=1)
    assert model.weights[invoice] == pytest.approx(0, abs=1e-6)
    assert model.weights.max() > 0.9


def test_the_same_text_has_the_same_vector_beside_whatever_texts() -> None:
    model = train_static_model(TEXTS)
    alone = np.concatenate([model.vectors([text]) for text in TEXTS])
    assert np.allclose(model.vectors(TEXTS), alone, atol=1e-5)


@pytest.mark.parametrize("text", ["", " \n\t", "...!?", "\ud800", "\x00\x07", "\u200b"])
def test_a_text_without_words_is_as_usual_as_can_be(text: str) -> None:
    model = train_static_model(TEXTS)
    [vector] = model.vectors([text])
    assert np.isfinite(vector).all()


def test_nothing_is_learned_from_nothing() -> None:
    model = train_static_model([])
    assert model.codes([]).shape == (0, CODE_BYTES)
    assert np.isfinite(model.vectors(["anything"])).all()


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 1000))
def test_the_nearest_code_is_among_the_nearest(n_codes: int, limit: int, seed: int) -> None:
    """The bits of the question alone leave ten times as many as are wanted: the nearest is never lost."""
    numbers = np.random.default_rng(seed)
    vectors = numbers.standard_normal((n_codes, DIMENSIONS)).astype(np.float32)
    codes = np.packbits(vectors > 0, axis=1)
    for place in range(0, n_codes, 37):
        found = nearest_codes(codes, vectors[place], limit)
        assert found[0] == place
        assert len(found) == len(set(found)) == min(limit, n_codes)


def test_a_packed_table_is_near_to_what_was_packed() -> None:
    vectors = np.random.default_rng(1).standard_normal((N_TOKENS, DIMENSIONS)).astype(np.float32)
    vectors[7] = 0
    packed = pack_table(vectors)
    scales = np.frombuffer(packed, np.float32, N_TOKENS)
    halves = np.frombuffer(packed, np.uint8, offset=scales.nbytes).reshape(N_TOKENS, DIMENSIONS // 2)
    values = np.empty((N_TOKENS, DIMENSIONS), np.int8)
    values[:, 0::2], values[:, 1::2] = halves >> 4, halves & 0xF
    assert np.abs((values - 8) * scales[:, None] - vectors).max() <= scales.max() / 2 + 1e-6
    assert len(packed) < 8 << 20
