"""Why a passage was found: which part of it matched, and what its score is made of."""

from typing import NamedTuple


class Excerpt(NamedTuple):
    """The part of a chunk that matched, with the (start, end) characters of the matching words in it."""

    text: str
    start_line: int
    end_line: int
    marks: tuple[tuple[int, int], ...] = ()


class Explanation(NamedTuple):
    """Why a hit stands where it does: its rank (from 1) and score in each list, and what moved it."""

    keyword_rank: int | None = None
    keyword_score: float | None = None
    semantic_rank: int | None = None
    semantic_score: float | None = None
    signals: tuple[tuple[str, float], ...] = ()
