"""What static vectors learn from texts that the model has embedded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.embedding.model_files import DIMENSIONS
from directory_indexer.embedding.static_table import (
    CODE_BYTES,
    StaticModel,
    TrainingData,
    pack_rows,
    packaged_rows,
    parse_static_model,
    parse_trained_rows,
    static_similarities,
    train_static_model,
)
from directory_indexer.embedding.wordpiece import token_ids

SUBJECTS = (("quartz", "zebra"), ("violin", "cement"), ("harbour", "yeast"))
"""Pairs of words that have nothing to do with each other, but in the lessons here."""

TEXTS = [f"{word} number {number}" for number in range(8) for pair in SUBJECTS for word in pair]


def lessons(*, sign: float = 1.0) -> TrainingData:
    """Teach that both words of each pair mean the same: roughly what the table makes of the first one."""
    first = StaticModel(np.ones(30522, np.float32), np.zeros(DIMENSIONS, np.float32), parse_trained_rows(b""))
    means = {word: first.vectors([pair[0]])[0] for pair in SUBJECTS for word in pair}
    return TrainingData(TEXTS, sign * np.array([means[text.split()[0]] for text in TEXTS], np.float32))


def nearness(model: StaticModel, one: str, other: str) -> float:
    a, b = model.vectors([one, other])
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_words_that_the_model_takes_for_the_same_come_near_each_other() -> None:
    before, after = train_static_model(TEXTS), train_static_model(TEXTS, lessons())
    for one, other in SUBJECTS:
        assert nearness(after, one, other) > nearness(before, one, other) + 0.5


def test_words_of_which_nothing_is_learned_keep_their_rows() -> None:
    model = train_static_model(TEXTS, lessons())
    [_, ginger, _] = token_ids("ginger", limit=1)
    [_, zebra, *_] = token_ids("zebra", limit=1)
    assert ginger not in model.own.tokens
    assert zebra in model.own.tokens


def test_from_vectors_that_contradict_the_table_nothing_is_learned() -> None:
    assert train_static_model(TEXTS, lessons(sign=-1)).own.tokens.size == 0


def test_a_stored_model_keeps_both_means_and_may_lack_the_second() -> None:
    model = train_static_model(TEXTS, lessons())
    stored = parse_static_model(model.weights.tobytes(), model.means(), bytes(model.own))
    assert np.array_equal(stored.mean, model.mean)
    assert stored.model_mean is not None
    assert np.array_equal(stored.model_mean, lessons().vectors.mean(axis=0))
    earlier = parse_static_model(model.weights.tobytes(), model.mean.tobytes(), bytes(model.own))
    assert earlier.model_mean is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_stored_mean_that_is_not_finite_is_damage(value: float) -> None:
    model = train_static_model(TEXTS, lessons())
    means = model.means()[:-4] + np.float32(value).tobytes()
    with pytest.raises(ValueError, match="not finite"):
        parse_static_model(model.weights.tobytes(), means, bytes(model.own))


def test_from_no_lessons_nothing_is_learned() -> None:
    model = train_static_model(TEXTS, TrainingData([], np.empty((0, DIMENSIONS), np.float32)))
    assert bytes(model.own) == b""
    assert np.array_equal(model.vectors(TEXTS), train_static_model(TEXTS).vectors(TEXTS))


def test_lessons_without_a_word_teach_nothing() -> None:
    model = train_static_model(["", "..."], TrainingData(["", "..."], np.ones((2, DIMENSIONS), np.float32)))
    assert np.isfinite(model.vectors(["", "anything"])).all()


def test_rows_are_read_as_they_were_written() -> None:
    own = train_static_model(TEXTS, lessons()).own
    again = parse_trained_rows(bytes(own))
    assert bytes(again) == bytes(own)
    assert np.array_equal(again.tokens, own.tokens)
    assert np.array_equal(again.scales, own.scales)
    assert np.array_equal(again.halves, own.halves)
    assert np.all(np.diff(own.tokens.astype(int)) > 0)


@given(st.integers(0, 1000))
def test_rows_of_an_index_stand_in_for_those_of_the_table(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    tokens = np.unique(numbers.integers(0, 30522, 20)).astype(np.uint16)
    scales, halves = pack_rows(-packaged_rows(tokens.astype(np.int32)))
    model = StaticModel(np.ones(30522, np.float32), np.zeros(DIMENSIONS, np.float32), parse_trained_rows(b""))
    other = replace(model, own=parse_trained_rows(tokens.tobytes() + scales.tobytes() + halves.tobytes()))
    [_, *ids, _] = token_ids("the harbour at dawn", limit=9)
    taught = other.vectors(["the harbour at dawn"])
    expected = np.array([-1.0 if one in tokens else 1.0 for one in ids]) @ packaged_rows(np.array(ids, np.int32))
    assert np.allclose(taught[0], expected / np.linalg.norm(expected), atol=1e-3)


@given(st.integers(0, 1000))
def test_a_code_is_as_near_as_its_signs(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    codes = numbers.integers(0, 256, (5, CODE_BYTES)).astype(np.uint8)
    vector = numbers.standard_normal(DIMENSIONS).astype(np.float32)
    signs = 2.0 * np.unpackbits(codes, axis=1) - 1
    expected = signs @ vector / np.linalg.norm(vector) / np.linalg.norm(signs, axis=1)
    assert np.allclose(static_similarities(codes, vector), expected, atol=1e-4)
    assert np.abs(expected).max() <= 1
