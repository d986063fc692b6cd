"""Why a passage was found: which part of it matched, and what its score is made of."""

from typing import NamedTuple


class Excerpt(NamedTuple):
    """The part of a chunk that matched, with the (start, end) characters of the matching words in it.

    `best_line` is the definition that the query names, else the line with most of the query; None for the first.
    """

    text: str
    start_line: int
    end_line: int
    marks: tuple[tuple[int, int], ...] = ()
    best_line: int | None = None

    @property
    def line(self) -> int:
        """The line to point at."""
        return self.best_line or self.start_line


class Explanation(NamedTuple):
    """Why a hit stands where it does: its rank (from 1) and score in each list, and what moved it."""

    keyword_rank: int | None = None
    keyword_score: float | None = None
    semantic_rank: int | None = None
    semantic_score: float | None = None
    signals: tuple[tuple[str, float], ...] = ()
