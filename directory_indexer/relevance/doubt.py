"""Judges what was found by words alone, where that leaves its quality in doubt, by what the texts are about.

A question that the collection cannot answer shares common words with passages, but hardly their subject. A question of
few words says too little about its subject, and a passage with all of the words is beyond doubt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from directory_indexer.relevance.candidates import EMBEDDED_MODEL, Candidate
from directory_indexer.relevance.judging import Judged
from directory_indexer.relevance.languages import NAMES_OF_ALL
from directory_indexer.relevance.matchplan import MatchPlan

Likeness = Callable[[str, Sequence[str]], float | None]
"""Tells how alike a question and passages are, from -1 to 1; None if that is unknown."""


def beyond_doubt(quality: float, plan: MatchPlan, best: Sequence[Judged], likeness: Likeness | None) -> float:
    """Correct the quality of the best passages, which so far rests on words alone."""
    if likeness is None or not _is_doubtful(quality, plan, best):
        return quality
    passages = [one for one in (judged.candidate for judged in best) if _reads(one)][:_PASSAGES]
    if not passages:
        return quality
    alike = likeness(plan.query.meaning, [f"{one.heading}\n{one.text}" for one in passages])
    return quality if alike is None else min(quality * math.exp(_STEEPNESS * (alike - _neutral(passages))), _CERTAIN)


def _neutral(passages: Sequence[Candidate]) -> float:
    """Give the likeness that speaks neither for an answer nor against it: less in code, which has other words."""
    return math.fsum(_NEUTRAL_IN_CODE if one.is_code else _NEUTRAL for one in passages) / len(passages)


def _is_doubtful(quality: float, plan: MatchPlan, best: Sequence[Judged]) -> bool:
    return (
        _HOPELESS < quality < _CERTAIN
        and len(plan.terms) >= _FEW_TERMS
        and not plan.query.has_only_names
        and EMBEDDED_MODEL.reads(plan.query.language)
        and all(one.candidate.cosine is None for one in best)
        and max(one.coverage for one in best[:_PASSAGES]) < _ALL
    )


def _reads(candidate: Candidate) -> bool:
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
