import numpy as np
import pytest

from directory_indexer.ocr.page_reading import DecodedChar, decode, words_of

SIGNS = ("", "a", "b", " ")


def probabilities(*steps: tuple[int, float]) -> np.ndarray:
    table = np.zeros((len(steps), len(SIGNS)), np.float32)
    for step, (sign, probability) in enumerate(steps):
        table[step, sign] = probability
    return table


def test_a_sign_that_goes_on_is_one_and_after_a_blank_it_is_another() -> None:
    characters = decode(probabilities((1, 0.9), (1, 0.8), (0, 0.9), (1, 0.7), (2, 0.6)), SIGNS)
    assert [(one.text, one.step) for one in characters] == [("a", 0), ("a", 3), ("b", 4)]
    assert [one.confidence for one in characters] == pytest.approx([0.9, 0.7, 0.6])


def test_blanks_alone_are_nothing() -> None:
    assert decode(probabilities((0, 0.9), (0, 0.9)), SIGNS) == []
    assert words_of([], n_steps=2) == []


def test_words_are_parted_at_spaces_and_stand_where_their_signs_do() -> None:
    characters = [
        DecodedChar("a", 1, 0.8),
        DecodedChar("b", 2, 0.6),
        DecodedChar(" ", 5, 0.9),
        DecodedChar("a", 8, 1.0),
    ]
    first, second = words_of(characters, n_steps=10)
    assert (first.text, second.text) == ("ab", "a")
    assert (first.confidence, second.confidence) == pytest.approx((0.7, 1.0))
    assert 0 <= first.start <= 0.1
    assert 0.3 <= first.end <= second.start <= 0.8
    assert 0.9 <= second.end <= 1


def test_spaces_at_the_ends_and_twice_make_no_words() -> None:
    characters = [
        DecodedChar(" ", 0, 1.0),
        DecodedChar("a", 2, 1.0),
        DecodedChar(" ", 3, 1.0),
        DecodedChar(" ", 5, 1.0),
        DecodedChar("b", 7, 1.0),
        DecodedChar(" ", 9, 1.0),
    ]
    assert [word.text for word in words_of(characters, n_steps=10)] == ["a", "b"]
