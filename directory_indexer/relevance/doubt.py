"""Recalibration of keyword-only quality by the semantic similarity of the passages.

A query that the corpus cannot answer shares common words with passages, but hardly their subject. A query of few words
says too little about its subject, and a passage with all of its words is certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from directory_indexer.relevance.candidates import EMBEDDED_MODEL, Candidate
from directory_indexer.relevance.judging import ScoredCandidate
from directory_indexer.relevance.languages import NAMES_OF_ALL
from directory_indexer.relevance.matchplan import MatchPlan

SimilarityFunction = Callable[[str, Sequence[str]], float | None]
"""Returns the similarity of a query and passages, from -1 to 1; None if it is unknown."""


def recalibrated_quality(
    quality: float, plan: MatchPlan, best: Sequence[ScoredCandidate], likeness: SimilarityFunction | None
) -> float:
    """Return the quality of the best passages, corrected by their similarity where it rests on words alone."""
    if likeness is None or not _is_uncertain(quality, plan, best):
        return quality
    passages = [scored.candidate for scored in best if _is_readable(scored.candidate)][:_PASSAGES]
    if not passages:
        return quality
    similarity = likeness(plan.query.meaning, [f"{passage.heading}\n{passage.text}" for passage in passages])
    if similarity is None:
        return quality
    return min(quality * math.exp(_STEEPNESS * (similarity - _neutral(passages))), _CERTAIN)


def _neutral(passages: Sequence[Candidate]) -> float:
    """Return the similarity that is neither evidence for an answer nor against it; it is lower in code."""
    return math.fsum(_NEUTRAL_IN_CODE if passage.is_code else _NEUTRAL for passage in passages) / len(passages)


def _is_uncertain(quality: float, plan: MatchPlan, best: Sequence[ScoredCandidate]) -> bool:
    return (
        _HOPELESS < quality < _CERTAIN
        and len(plan.terms) >= _FEW_TERMS
        and not plan.query.has_only_names
        and EMBEDDED_MODEL.reads(plan.query.language)
        and all(scored.candidate.cosine is None for scored in best)
        and max(scored.coverage for scored in best[:_PASSAGES]) < _ALL
    )


def _is_readable(candidate: Candidate) -> bool:
    return EMBEDDED_MODEL.reads(NAMES_OF_ALL.get(candidate.language, "english"))


# Chosen on the sets of docs/ranking.md; 3 and 5 in place of 4 change little.
_STEEPNESS: Final = 4
_NEUTRAL: Final = 0.52
_NEUTRAL_IN_CODE: Final = 0.45
_PASSAGES: Final = 10
_HOPELESS: Final = 0.07
_CERTAIN: Final = 0.9
_FEW_TERMS: Final = 3
_ALL: Final = 0.999
