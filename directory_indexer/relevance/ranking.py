"""In which order passages are shown: the list of words and the list of meaning become one.

Everything here is pure: the same candidates give the same order, whichever list came first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from directory_indexer.records import ChunkId, Explanation, FilePath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from directory_indexer.relevance.matchplan import MatchPlan

DEPTH: Final = 100
"""How many candidates to take from each list; more of them changed no measured answer."""

_MEANING: Final = 0.6
_WEAK: Final = 0.25


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that one of the lists or both have found, and what ranking needs to know about it."""

    chunk_id: ChunkId
    path: FilePath
    kind: str
    title: str
    heading: str
    text: str
    keyword_score: float | None = None
    semantic_score: float | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage in its place. `n_more_in_file` counts the candidates of its file that are not shown."""

    chunk_id: ChunkId
    score: float
    explanation: Explanation
    n_more_in_file: int = 0


@dataclass(frozen=True, slots=True)
class Ranking:
    """All that is worth showing, best first; `is_weak` says that nothing good is among it."""

    hits: tuple[Ranked, ...]
    is_weak: bool


def rank(plan: MatchPlan, candidates: Sequence[Candidate], *, limit: int) -> Ranking:
    """Order candidates by how well they answer the query."""
    by_words = _ranked({one.chunk_id: one.keyword_score for one in candidates})
    by_meaning = _ranked({one.chunk_id: one.semantic_score for one in candidates})
    words, meaning = _normalised(candidates, "keyword_score"), _normalised(candidates, "semantic_score")
    weight = _MEANING if words and meaning else float(bool(meaning))
    scored = sorted(
        (
            (weight * meaning.get(one.chunk_id, 0.0) + (1 - weight) * words.get(one.chunk_id, 0.0), one)
            for one in candidates
        ),
        key=lambda pair: (-pair[0], pair[1].path, pair[1].chunk_id),
    )
    hits = tuple(
        Ranked(
            one.chunk_id,
            min(1.0, score),
            Explanation(
                by_words.get(one.chunk_id), one.keyword_score, by_meaning.get(one.chunk_id), one.semantic_score
            ),
        )
        for score, one in scored[:limit]
    )
    return Ranking(hits, is_weak=not hits or hits[0].score < _WEAK)


def _ranked(scores: dict[ChunkId, float | None]) -> dict[ChunkId, int]:
    found = sorted((-score, chunk_id) for chunk_id, score in scores.items() if score is not None)
    return {chunk_id: place for place, (_, chunk_id) in enumerate(found, start=1)}


def _normalised(candidates: Sequence[Candidate], name: str) -> dict[ChunkId, float]:
    scores = {one.chunk_id: getattr(one, name) for one in candidates if getattr(one, name) is not None}
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {chunk_id: (score - low) / (high - low) if high > low else 1.0 for chunk_id, score in scores.items()}
