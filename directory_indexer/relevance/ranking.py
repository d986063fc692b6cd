"""In which order passages are shown: the list of words and the list of meaning become one.

Everything here is pure: the same candidates give the same order, whichever list came first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from directory_indexer.records import ChunkId, Explanation, FilePath
from directory_indexer.relevance.textmatch import Matcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from directory_indexer.relevance.matchplan import MatchPlan

DEPTH: Final = 100
"""How many candidates to take from each list; more of them changed no measured answer."""

_MEANING: Final = 0.6
"""What the list of meaning weighs beside that of words: the best constant over eight English sets."""

_MEANING_ELSEWHERE: Final = 0.2
"""The same for other languages, which the embedded model hardly knows."""

_MODEL_LANGUAGE: Final = "english"

_UNRELATED: Final = 0.2
_ALIKE: Final = 0.7
"""Cosines of the embedded model: texts that have nothing to do with each other, and a passage that answers."""

_WORDS_ALONE: Final = 0.8
"""How good a passage is that has all the words, when nothing is known of its meaning."""

_WEAK: Final = 0.3
"""Sixty claims of biomedicine, asked of a web tool's manual, stay below it; twenty fair questions do not."""
_MOST_OF_A_FILE: Final = 3


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
    """Order candidates by how well they answer the query, and score them by how well the best of them does.

    Lists are compared by their scores from their worst to their best (min-max), and added. That says nothing about
    how good the best is; cosine and the share of the words that a passage has do.
    """
    if not candidates:
        return Ranking((), is_weak=True)
    by_words = _places({one.chunk_id: one.keyword_score for one in candidates})
    by_meaning = _places({one.chunk_id: one.semantic_score for one in candidates})
    ordered = _ordered(plan, _without_copies(candidates))
    matcher = Matcher(plan)
    quality = max(_quality(one, matcher, plan) for _, one in ordered[:_MOST_OF_A_FILE])
    shown, hidden = _gathered(ordered, limit=limit)
    hits = tuple(
        Ranked(
            one.chunk_id,
            min(1.0, fused * quality / ordered[0][0]) if ordered[0][0] else 0.0,
            Explanation(
                by_words.get(one.chunk_id),
                one.keyword_score,
                by_meaning.get(one.chunk_id),
                one.semantic_score,
                (("fused", fused), ("quality of the best", quality)),
            ),
            hidden.pop(one.path, 0),
        )
        for fused, one in shown
    )
    return Ranking(hits, is_weak=quality < _WEAK)


def _ordered(plan: MatchPlan, candidates: Sequence[Candidate]) -> list[tuple[float, Candidate]]:
    words = _normalised({one.chunk_id: one.keyword_score for one in candidates})
    meaning = _normalised({one.chunk_id: one.semantic_score for one in candidates})
    usual = _MEANING if plan.query.language == _MODEL_LANGUAGE else _MEANING_ELSEWHERE
    weight = usual if words and meaning else float(bool(meaning))
    fused = [
        (weight * meaning.get(one.chunk_id, 0.0) + (1 - weight) * words.get(one.chunk_id, 0.0), one)
        for one in candidates
    ]
    return sorted(fused, key=lambda pair: (-pair[0], pair[1].path, pair[1].chunk_id))


def _quality(one: Candidate, matcher: Matcher, plan: MatchPlan) -> float:
    """Tell, between 0 and 1, how well a passage answers: by meaning or by its words, whichever says more."""
    cosine = one.semantic_score or 0.0
    by_meaning = min(max((cosine - _UNRELATED) / (_ALIKE - _UNRELATED), 0.0), 1.0)
    coverage = matcher.match(one.text, names=f"{one.heading}\n{one.title}\n{one.path}").coverage if plan.terms else 0.0
    return 1 - (1 - by_meaning) * (1 - _WORDS_ALONE * coverage**2)


def _without_copies(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep one of several passages with the same words, that of the first path."""
    first: dict[str, Candidate] = {}
    for one in sorted(candidates, key=lambda one: (one.path, one.chunk_id)):
        first.setdefault(" ".join(one.text.split()), one)
    return list(first.values())


def _gathered(
    ordered: Sequence[tuple[float, Candidate]], *, limit: int
) -> tuple[list[tuple[float, Candidate]], Counter[FilePath]]:
    """Let no file take more than a few places while others wait, and count what is not shown of each file."""
    taken: Counter[FilePath] = Counter()
    first: list[tuple[float, Candidate]] = []
    rest: list[tuple[float, Candidate]] = []
    for pair in ordered:
        taken[pair[1].path] += 1
        (first if taken[pair[1].path] <= _MOST_OF_A_FILE else rest).append(pair)
    chosen = [*first, *rest][:limit]
    for _, one in chosen:
        taken[one.path] -= 1
    return sorted(chosen, key=lambda pair: (-pair[0], pair[1].path, pair[1].chunk_id)), taken


def _places(scores: dict[ChunkId, float | None]) -> dict[ChunkId, int]:
    found = sorted((-score, chunk_id) for chunk_id, score in scores.items() if score is not None)
    return {chunk_id: place for place, (_, chunk_id) in enumerate(found, start=1)}


def _normalised(scores: dict[ChunkId, float | None]) -> dict[ChunkId, float]:
    known = {chunk_id: score for chunk_id, score in scores.items() if score is not None}
    if not known:
        return {}
    low, high = min(known.values()), max(known.values())
    return {chunk_id: (score - low) / (high - low) if high > low else 1.0 for chunk_id, score in known.items()}
