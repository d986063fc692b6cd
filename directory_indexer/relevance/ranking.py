"""In which order passages are shown: words, meaning and place of each candidate become one score.

Everything here is pure: the same candidates give the same order, whichever list they come from. What was tried and
what it gave stands in docs/ranking.md.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import Final, NamedTuple

from directory_indexer.ids import ChunkId
from directory_indexer.paths import FilePath
from directory_indexer.relevance.evidence import Explanation
from directory_indexer.relevance.languages import has_latin_letters
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.textmatch import Matcher

DEPTH: Final = 40
"""How many candidates to take from each list; 50 and 100 of them changed no measured answer by more than 0.003."""


class Model(NamedTuple):
    """What is known about the model that the cosines come from.

    `languages` are those that it understands, or None for all; `is_measured` says that its cosines mean what those of
    the embedded model mean: 0.2 for texts that have nothing to do with each other, 0.7 for a passage that answers.
    """

    languages: frozenset[str] | None
    is_measured: bool


EMBEDDED_MODEL: Final = Model(frozenset({"english"}), is_measured=True)
OTHER_MODEL: Final = Model(None, is_measured=False)


class Candidate(NamedTuple):
    """A passage that one of the lists or both have found, and what ranking needs to know about it.

    The scores are those of the lists; `cosine` is there for every passage whose vector is. Passages of a later `band`
    come after all of an earlier one, and are judged among themselves.
    """

    chunk_id: ChunkId
    path: FilePath
    ordinal: int
    is_code: bool
    title: str
    heading: str
    text: str
    keyword_score: float | None = None
    semantic_score: float | None = None
    cosine: float | None = None
    band: int = 0


class Ranked(NamedTuple):
    """A passage in its place. `n_more_in_file` counts the candidates of its file that are not shown."""

    chunk_id: ChunkId
    score: float
    explanation: Explanation
    n_more_in_file: int = 0


class Ranking(NamedTuple):
    """All that is worth showing, best first; `is_weak` says that nothing good is among it."""

    hits: tuple[Ranked, ...]
    is_weak: bool


def rank(plan: MatchPlan, candidates: Sequence[Candidate], *, limit: int, model: Model) -> Ranking:
    """Order candidates by how well they answer the query, and score them by how well the best of them does.

    The order of the first hits does not depend on `limit`, so that a longer answer continues a shorter one.
    """
    found = _without_copies(candidates)
    if not found:
        return Ranking((), is_weak=True)
    by_words = _places({one.chunk_id: one.keyword_score for one in candidates})
    by_meaning = _places({one.chunk_id: one.semantic_score for one in candidates})
    bands = [_judged(plan, list(band), model) for _, band in groupby(found, key=lambda one: one.band)]
    quality = max(one.quality for one in bands[0][:_TOP])
    ordered = [one for judged in bands for one in _one_file_after_another(judged)]
    hidden = Counter(one.candidate.path for _, one in ordered[limit:])
    best = ordered[0][0]
    hits = tuple(
        Ranked(
            one.candidate.chunk_id,
            quality * max(shown, 0.0) / best if best > 0 else 0.0,
            Explanation(
                by_words.get(one.candidate.chunk_id),
                one.candidate.keyword_score,
                by_meaning.get(one.candidate.chunk_id),
                one.candidate.semantic_score,
                (*one.signals, ("same_file", score - one.score), ("top_quality", quality)),
            ),
            hidden.pop(one.candidate.path, 0),
        )
        for shown, (score, one) in zip(accumulate((score for score, _ in ordered), min), ordered[:limit], strict=False)
    )
    return Ranking(hits, is_weak=quality < _WEAK)


class _Judged(NamedTuple):
    candidate: Candidate
    signals: tuple[tuple[str, float], ...]
    score: float
    quality: float


def _judged(plan: MatchPlan, candidates: Sequence[Candidate], model: Model) -> list[_Judged]:
    """Judge every candidate by itself, best first."""
    matcher = Matcher(plan)
    places = _places_below(candidates)
    matches = [
        matcher.match(one.text, names=f"{one.heading}\n{one.title}\n{place}")
        for one, place in zip(candidates, places, strict=True)
    ]
    usual_length = _mean([match.n_words for match in matches])
    frequencies = [matcher.frequency(match, usual_length=usual_length) for match in matches]
    coverages = [matcher.coverage(match) for match in matches]
    told = _weight_of_words(plan, matcher)
    surprise = _SURPRISE * math.log(max(_USUAL_CHUNKS / max(plan.n_chunks, _FEW_CHUNKS), 1.0))
    # Where only meaning was asked for, nothing else may move a passage.
    asked = float(any(one.keyword_score is not None for one in candidates))
    names = asked * plan.query.has_only_names
    by_meaning = any(one.cosine is not None for one in candidates)
    cosines = _cosines(candidates, model)
    weight = _weight_of_meaning(plan.query.language, candidates, model)
    aside = _aside(matcher, candidates, places)
    judged = []
    for one, frequency, coverage, cosine, is_aside in zip(
        candidates, frequencies, coverages, cosines, aside, strict=True
    ):
        signals = (
            ("keyword", asked * told * frequency),
            ("semantic", weight * cosine),
            ("all_names", names * (coverage > _ALL)),
            ("file_name", asked * _FILE_NAME * matcher.share_of_name(_stem(one.path))),
            ("test_or_example", -asked * _ASIDE * is_aside),
        )
        quality = _quality(frequency, coverage, cosine + surprise if by_meaning else None)
        judged.append(_Judged(one, signals, math.fsum([value for _, value in signals]), quality))
    return sorted(judged, key=lambda one: (-one.score, _place(one.candidate)))


def _cosines(candidates: Sequence[Candidate], model: Model) -> list[float]:
    """Give the cosines on the scale of the embedded model; what has no vector counts as the average."""
    known = [one.cosine for one in candidates if one.cosine is not None]
    if not known:
        return [0.0] * len(candidates)
    average, low, high = _mean(known), min(known), max(known)
    cosines = [average if one.cosine is None else one.cosine for one in candidates]
    if model.is_measured or high == low:
        return cosines
    return [_UNRELATED + (_ALIKE - _UNRELATED) * (cosine - low) / (high - low) for cosine in cosines]


def _weight_of_words(plan: MatchPlan, matcher: Matcher) -> float:
    """Tell what the words weigh: six rare words that were found are better evidence than one.

    How rare a word is shows only among many chunks, so the words of a small index are taken for rarer than they look.
    """
    rarest, rare = math.log(1 + 2 * plan.n_chunks), math.log(1 + 2 * _MANY_CHUNKS)
    return math.sqrt(matcher.information * max(rare / max(rarest, 1.0), 1.0) / _USUAL_INFORMATION)


def _weight_of_meaning(language: str, candidates: Sequence[Candidate], model: Model) -> float:
    """Tell what a cosine weighs beside words: more for short passages, whose words are few."""
    if model.languages is not None and language not in model.languages:
        return _LATIN_COSINE if has_latin_letters(language) else _FOREIGN_COSINE
    length = _median([len(one.text) for one in candidates])
    return _COSINE * math.log(_BLURRED / min(max(length, _SHORT), _LONG))


def _aside(matcher: Matcher, candidates: Sequence[Candidate], places: Sequence[str]) -> list[bool]:
    """Find what stands beside the code: tests and examples that the query does not name, and prose among much code."""
    mostly_code = sum(one.is_code for one in candidates) >= _MOSTLY * len(candidates)
    return [
        _is_aside(place, matcher) if one.is_code else mostly_code for one, place in zip(candidates, places, strict=True)
    ]


def _is_aside(path: str, matcher: Matcher) -> bool:
    marks = [found.group() for found in _ASIDE_MARK.finditer(path)]
    return bool(marks) and not matcher.terms_in(" ".join(marks))


def _quality(frequency: float, coverage: float, cosine: float | None) -> float:
    """Tell, between 0 and 1, how well a passage answers: by meaning and words, or by words alone."""
    quality = frequency / _FULL if cosine is None else (cosine + _COVERED * coverage - _NOTHING) / (1 - _NOTHING)
    return min(max(quality, 0.0), 1.0)


def _one_file_after_another(judged: Sequence[_Judged]) -> list[tuple[float, _Judged]]:
    """Let every further passage of a file stand back, the more so the more files there are to choose from."""
    step = _FURTHER * len({one.candidate.path for one in judged}) / len(judged)
    n_before: Counter[FilePath] = Counter()
    scored = []
    for one in judged:
        path = one.candidate.path
        scored.append((one.score - step * min(n_before[path], _MOST_BACK), one))
        n_before[path] += 1
    return sorted(scored, key=lambda pair: (-pair[0], _place(pair[1].candidate)))


def _without_copies(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep the first of several passages with the same words."""
    first: dict[str, Candidate] = {}
    for one in sorted(candidates, key=lambda one: (one.band, _place(one))):
        first.setdefault(" ".join(one.text.split()), one)
    return list(first.values())


def _places(scores: dict[ChunkId, float | None]) -> dict[ChunkId, int]:
    found = sorted((-score, chunk_id) for chunk_id, score in scores.items() if score is not None)
    return {chunk_id: place for place, (_, chunk_id) in enumerate(found, start=1)}


def _place(one: Candidate) -> tuple[str, int]:
    return one.path, one.ordinal


def _places_below(candidates: Sequence[Candidate]) -> list[str]:
    """Give the paths without the directories that all candidates lie in, which tell nothing about any of them."""
    # Not `os.path.commonpath`, which refuses paths on several drives.
    names = [one.path.split(os.sep) for one in candidates]
    n_above = len(os.path.commonprefix([directories[:-1] for directories in names]))
    return ["/".join(below[n_above:]) for below in names]


# Importing `statistics` costs every search 6 ms.
def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _median(values: Sequence[int]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return (ordered[half] + ordered[~half]) / 2


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


# All weights were chosen on the sets of docs/ranking.md; each may change by a third without moving a set by 0.01.
_USUAL_INFORMATION: Final = 60.0
_MANY_CHUNKS: Final = 1000
_COSINE: Final = 0.75
_BLURRED: Final = 1900
_SHORT: Final = 150
_LONG: Final = 1200
_LATIN_COSINE: Final = 0.2
_FOREIGN_COSINE: Final = 0.05
_FILE_NAME: Final = 0.1
_ASIDE: Final = 0.2
_MOSTLY: Final = 0.6
_ALL: Final = 0.999
_FURTHER: Final = 0.6
_MOST_BACK: Final = 3
_TOP: Final = 3

_UNRELATED: Final = 0.2
_ALIKE: Final = 0.7
"""Cosines of the embedded model: texts that have nothing to do with each other, and a passage that answers."""

_COVERED: Final = 0.4
_NOTHING: Final = 0.29
_FULL: Final = 0.63
_SURPRISE: Final = 0.04
_USUAL_CHUNKS: Final = 2000
_FEW_CHUNKS: Final = 20
_WEAK: Final = 0.3
"""What separates questions to a corpus from questions to another: see docs/ranking.md for alarms and misses.

The best of few chunks is less near by chance than the best of many, so it may be less near and still mean something."""

_ASIDE_MARK: Final = re.compile(
    r"""
    (?:^|(?<=/)) (?:tests?|testing|__tests__|specs?|fixtures?|mocks?|testdata|bench(?:marks?)?
                  |_?examples?|samples?|demos?|docs?|website|legacy|compat|deprecated|vendor|third_party) (?=/)
    | (?:^|(?<=/)) (?:test(?=_)|conftest)
    | (?<=[._-]) (?:tests?|specs?|bench(?:mark)?) (?=\.)
    | (?<=[a-z0-9]) (?:Tests?|Spec|Benchmark) (?=\.\w+$)
    """,
    re.VERBOSE,
)
"""Names of directories and files that hold what goes with the code, in the conventions of many languages."""
