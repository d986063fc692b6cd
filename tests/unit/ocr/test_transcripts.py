"""What is made of a transcript that a language model wrote."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.ocr.gemini import lines_of


def test_paragraphs_and_tables_are_blocks_and_rules_are_left_out() -> None:
    text = "Title\nof two lines\n\n\nProse.\n| a | b |\n|---|:-:|\n|1|x \\| y|\nBelow."
    assert [(line.text, line.block) for line in lines_of(text)] == [
        ("Title", 0),
        ("of two lines", 0),
        ("Prose.", 1),
        ("| a | b |", 2),
        ("| 1 | x y |", 2),
        ("Below.", 3),
    ]


def test_the_fence_around_an_answer_is_taken_off_and_one_within_it_is_not() -> None:
    for fenced in ("```\nlate\n```", "```markdown\nlate\n```\n", "  ```md\nlate\n```  "):
        assert [line.text for line in lines_of(fenced)] == ["late"]
    within = "a\n```\nb\n```\nc"
    assert [line.text for line in lines_of(within)] == within.split("\n")


def test_an_empty_page_has_no_lines() -> None:
    for text in ("", " \n ", "(no text)", "```\n(no text)\n```", "```\n```"):
        assert lines_of(text) == ()


def test_words_say_no_place_and_a_fixed_confidence() -> None:
    assert {(word.confidence, word.box) for line in lines_of("a b\nc") for word in line.words} == {(90, None)}


@given(st.text(alphabet="ab|-: `\n\\", max_size=60))
def test_no_letter_is_lost(text: str) -> None:
    kept = [character for line in lines_of(text) for character in line.text if character in "ab"]
    assert kept == [character for character in text if character in "ab"] or "```" in text
