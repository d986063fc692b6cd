"""Explanation of a hit: the part that matched, and the composition of its score."""

from typing import NamedTuple


class Excerpt(NamedTuple):
    """The part of a chunk that matched, with the (start, end) offsets of the matching words in it.

    `best_line` is the definition that the query names, else the line that matches most of the query; None for the
    first.
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
    """The rank (from 1) and score of a hit in each list, and the signals that make up its score."""

    keyword_rank: int | None = None
    keyword_score: float | None = None
    semantic_rank: int | None = None
    semantic_score: float | None = None
    signals: tuple[tuple[str, float], ...] = ()
