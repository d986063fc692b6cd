"""Whether a passage holds what was typed, as it was typed: the evidence that it is the one somebody looks for.

Who types a word, a name or a line knows that it stands somewhere, and a passage that holds it is the answer, however
near others are in meaning. What such evidence is worth follows its information: that one passage of ten thousand holds
something says nearly all, that half of them do says nothing.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from directory_indexer.relevance.grams import is_gram
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.textmatch import NAMED_LEVEL


class TypedText:
    """The text of a query, ready to be looked for in passages."""

    def __init__(self, plan: MatchPlan) -> None:
        words = [word for word in plan.typed if "*" not in word.text]
        self._needles = [needle for word in words if (needle := _bare(_folded(word.text)))]
        self._words = list(map(_pattern, self._needles))
        self._row = _pattern(_folded(plan.query.meaning)) if plan.row else None
        self._knows_all_words = bool(words) and len(words) == len(plan.typed)

    @property
    def has_signs(self) -> bool:
        """Whether the words of the index leave out something of what was typed."""
        return any(not re.fullmatch(r"\w+", word) for word in self._needles)

    def level(self, text: str, names: str, *, share: float) -> float:
        """Return how much of what was typed a passage holds as it stands.

        1 stands for all words, less than 1 for the `share` of what they tell, 2 for all words with their signs, 3 for
        the whole of it in a row. `names` is what stands above the passage, in which its words count less.
        """
        # A passage that lacks some of the words cannot have all of them in a row.
        if share < 1 and (not self._row or (self._knows_all_words and share < NAMED_LEVEL)):
            return share
        held = f"{_folded(text)}\n{_folded(names)}"
        if self._row and self._row.search(held):
            return _ALL
        if share < 1:
            return share
        is_literal = all(word.search(held) for word in self._words)
        return (2 if self._row else _ALL) if is_literal else 1


def weights_of(levels: Sequence[float], n_chunks: int) -> list[float]:
    """Return what the levels of passages are worth: each step adds the information that so few passages reach it.

    More of what was typed is never worth less, and what one passage of all has is worth most.
    """
    most = math.log(max(n_chunks, len(levels)) + 1)
    ordered = sorted(levels)

    def information(level: float) -> float:
        return 1 - math.log(len(ordered) - bisect_left(ordered, level)) / most

    return [
        math.fsum(
            worth * min(level, 1.0) ** _CERTAINTY * information(min(level, step))
            for step, worth in enumerate(_WORTH, start=1)
            if level > step - 1
        )
        for level in levels
    ]


def _folded(text: str) -> str:
    """Return a text in lower case, with one blank for all white space."""
    lowered = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(lowered.split())


def _bare(word: str) -> str:
    """Return a word without the signs of a sentence and the quotation marks around it."""
    return word.rstrip(".,;:!?'\"").lstrip("'\"")


def _pattern(needle: str) -> re.Pattern[str]:
    """Return what finds a text where it does not begin or end within a word."""
    before = r"(?<!\w)" if re.match(r"\w", needle) and not is_gram(needle[0]) else ""
    behind = r"(?!\w)" if re.search(r"\w\Z", needle) and not is_gram(needle[-1]) else ""
    return re.compile(before + re.escape(needle) + behind)


_ALL: Final = 3
_CERTAINTY: Final = 8
"""Other passages have a part of what was typed by accident, so that only nearly all of it is evidence."""

_WORTH: Final = (1.2, 0.6, 1.2)
"""What each level adds for a passage that is the only one to reach it; docs/ranking.md has what other values give."""
