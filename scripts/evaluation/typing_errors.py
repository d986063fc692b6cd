"""Makes typing errors: one edit in one word of each question, the same ones for the same seed."""

from __future__ import annotations

import random
import re
import string
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.sets import Question

_WORD = re.compile(r"(?<![\w./'-])[^\W\d_][^\W\d_A-Z]{4,}(?![\w/'])")
"""Five letters or more that are neither a name in camelCase nor part of a path."""


def mistyped(questions: Sequence[Question], *, seed: int) -> tuple[Question, ...]:
    """Return the questions that have a word to mistype, each with an error behind the first letter of one."""
    generator = random.Random(seed)
    return tuple(
        replace(question, text=_with_error(question.text, words, generator))
        for question in questions
        if (words := list(_WORD.finditer(question.text)))
    )


def _with_error(text: str, words: Sequence[re.Match[str]], generator: random.Random) -> str:
    word = generator.choice(words)
    at = word.start() + generator.randrange(1, len(word[0]) - 1)
    letter = generator.choice(string.ascii_lowercase)
    before, here, following, after = text[:at], text[at], text[at + 1], text[at + 2 :]
    edits = (letter + following, following, letter + here + following, following + here)
    return before + generator.choice([edit for edit in edits if edit != here + following]) + after
