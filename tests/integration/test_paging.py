"""Pages of one answer: together they are the answer."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from directory_indexer.records import SearchMode

if TYPE_CHECKING:
    from indexes import Index


@pytest.mark.parametrize("mode", SearchMode)
def test_a_longer_answer_begins_with_the_shorter_one(index: Index, mode: SearchMode) -> None:
    generator = random.Random(7)  # noqa: S311 - texts, not secrets
    words = [f"word{number}" for number in range(60)]
    for number in range(160):
        text = "harbour " * generator.randint(1, 5) + " ".join(generator.choices(words, k=generator.randint(5, 60)))
        index.write(f"{number % 7}/{number}.md", text)
    index.run()
    answers = [index.search("harbour word3 word7 town", mode=mode, limit=limit) for limit in (10, 50, 60, 110)]
    whole = [hit.chunk_id for hit in answers[-1]]
    assert len(whole) == 110
    for shorter in answers:
        assert [hit.chunk_id for hit in shorter] == whole[: len(shorter)]
    scores = [hit.score for hit in answers[-1]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", SearchMode)
def test_copies_take_no_place_from_other_passages(index: Index, mode: SearchMode) -> None:
    for number in range(70):
        index.write(f"copies/{number}.md", "harbour harbour harbour")
    for number in range(12):
        index.write(f"others/{number}.md", f"harbour {'of a town far away ' * 3} number{number}")
    index.run()
    found = index.names("harbour", mode=mode, limit=10)
    assert len([name for name in found if name.startswith("others/")]) == 9
