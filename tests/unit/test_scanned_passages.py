"""The words of an excerpt are found on the page that was scanned, whatever the page repeats."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import pytest

from directory_indexer.core.files import Box, Line, PageKey, Recognition, Scan, Word
from directory_indexer.ranking.candidates import Excerpt
from directory_indexer.search.hits import locate_on_scan

if TYPE_CHECKING:
    from directory_indexer.core.files import ScannedPassage

SCAN = Scan(1, PageKey(b"key"), "engine 1", 0.9)


def on_page(text: str) -> Recognition:
    """Put the words of each line beside each other, 100 wide and 100 high."""
    lines = (
        tuple(
            Word(word, 90, Box(100 * at, 100 * row, 100 * at + 100, 100 * row + 100))
            for at, word in enumerate(line.split())
        )
        for row, line in enumerate(text.split("\n"))
    )
    return Recognition("engine 1", tuple(map(Line, lines)))


def passage(text: str, excerpt: str, *marked: str) -> ScannedPassage:
    marks = tuple((excerpt.index(word), excerpt.index(word) + len(word)) for word in marked)
    return locate_on_scan(SCAN, Excerpt(excerpt, 1, 1, marks), on_page(text))


def test_words_that_match_are_marked_and_all_of_it_is_framed() -> None:
    found = passage("Dear Jane\nThe zeppelin is late\nYours", "The zeppelin is\nlate", "zeppelin", "late")
    assert found.marked == (Box(100, 100, 200, 200), Box(300, 100, 400, 200))
    assert found.box == Box(0, 100, 400, 200)


def test_of_words_that_stand_twice_those_of_the_excerpt_are_marked() -> None:
    found = passage("a late train\nno zeppelin here\na late zeppelin", "a late zeppelin", "zeppelin")
    assert found.marked == (Box(200, 200, 300, 300),)


def test_what_is_masked_or_was_joined_is_not_marked_wrongly() -> None:
    found = passage(
        "the token is ghp_123456 for\nthe zep- pelin", "the token is ********** for\nthe zeppelin", "token", "*****"
    )
    assert found.marked == (Box(100, 0, 200, 100),)


def test_a_mark_within_a_word_marks_the_word() -> None:
    found = passage("the zeppelin-like thing", "the zeppelin-like thing", "zeppelin-like")
    assert found.marked == (Box(100, 0, 200, 100),)


@pytest.mark.parametrize(
    "found", [None, Recognition("engine 1", ()), Recognition("engine 1", (Line((Word("late", 9),)),))]
)
def test_without_places_there_are_no_boxes(found: Recognition | None) -> None:
    assert locate_on_scan(SCAN, Excerpt("late", 1, 1, ((0, 4),)), found) == ("engine 1", 0.9, None, ())


def test_a_page_that_repeats_two_words_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    n_compared = 0
    find_longest_match = SequenceMatcher.find_longest_match

    def counted(self: Any, *places: int) -> object:
        nonlocal n_compared
        start, end = places[:2]
        n_compared += sum(len(self.b2j.get(word, ())) for word in self.a[start:end])
        return find_longest_match(self, *places)

    monkeypatch.setattr(SequenceMatcher, "find_longest_match", counted)
    passage("a b " * 10_000, "a a b " * 100, "a")
    passage(" ".join(f"w{n % 500}" for n in range(10_000)), " ".join(f"w{n % 7}" for n in range(300)), "w1")
    assert n_compared < 1_000_000
