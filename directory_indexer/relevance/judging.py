"""How well each passage answers by itself: words, meaning and place become signals, and these a score."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from directory_indexer.paths import display
from directory_indexer.relevance.asides import set_back
from directory_indexer.relevance.candidates import USUAL_SCALE, Candidate, CosineScale, Model, place_of
from directory_indexer.relevance.exactness import TypedText, weights_of
from directory_indexer.relevance.languages import NAMES_OF_ALL, has_latin_letters, is_another_language
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.textmatch import NAMED_LEVEL, Matcher, TextMatch


class Judged(NamedTuple):
    """A candidate with what speaks for it: signals that add up to its score, and how well it answers, from 0 to 1.

    It is `set_back` so far because it stands beside the code, however well it answers, and its file is `named` by so
    much of the question. `coverage` is how much of what the question tells it has. If it `is_readable`, its quality
    rests on its cosine, too.
    """

    candidate: Candidate
    signals: tuple[tuple[str, float], ...]
    score: float
    quality: float
    set_back: float = 0.0
    named: float = 0.0
    coverage: float = 0.0
    is_readable: bool = False


def judged(plan: MatchPlan, candidates: Sequence[Candidate], model: Model) -> list[Judged]:
    """Judge every candidate by itself, best first."""
    matcher = Matcher(plan)
    places = _places_below(candidates)
    matches = [
        matcher.match(one.text, names=f"{one.heading}\n{one.title}\n{place}")
        for one, place in zip(candidates, places, strict=True)
    ]
    usual_length = _mean([match.n_words for match in matches])
    frequencies = [matcher.frequency(match, usual_length=usual_length) for match in matches]
    evidence = [
        matcher.evidence(match, frequency=frequency) for match, frequency in zip(matches, frequencies, strict=True)
    ]
    coverage = [matcher.coverage(match) for match in matches]
    exact, levels = _exactness(plan, candidates, matches)
    told = _weight_of_words(plan, matcher)
    surprise = _SURPRISE * math.log(max(_USUAL_CHUNKS / max(plan.n_chunks, _FEW_CHUNKS), 1.0))
    # Where only meaning was asked for, nothing else may move a passage.
    asked = float(any(one.keyword_score is not None for one in candidates))
    names = asked * plan.query.has_only_names
    readable = _readable(plan.query.language, candidates, model)
    cosines = _cosines(plan.query.language, candidates, model)
    usual = _weight_of_meaning(plan.query.language, candidates, model)
    # Where only meaning was asked for, there is no other order than that of the cosines, whatever they are worth.
    weights = _weights_of_meaning(usual, candidates, model) if asked else [usual or _COSINE] * len(candidates)
    behind = set_back(plan.query, matcher, candidates, places)
    # By words alone they would count twice.
    beside_meaning = float(any(one.cosine is not None for one in candidates))
    named = {one.path: asked * matcher.share_of_query(f"{_stem(one.path)}\n{one.title}") for one in candidates}
    found = []
    for at, one in enumerate(candidates):
        signals = (
            ("keyword", asked * told * frequencies[at]),
            ("semantic", weights[at] * cosines[at] + (usual - weights[at]) * USUAL_SCALE.unrelated),
            ("exact", asked * exact[at]),
            ("names", beside_meaning * (asked - names) * _NAMES * matcher.names(matches[at])),
            ("file_name", asked * _FILE_NAME * matcher.share_of_name(_stem(one.path))),
            ("beside_code", -asked * behind[at]),
        )
        quality = (
            _quality(
                evidence[at],
                _certain(cosines[at], matches[at]) + surprise,
                nothing=_NOTHING if asked else _NOTHING_BY_MEANING,
            )
            if readable[at]
            else _by_words(evidence[at], usual_length)
        )
        if levels[at] >= NAMED_LEVEL and asked:
            quality = max(quality, _by_words(evidence[at], usual_length), _HELD)
        score = math.fsum([value for _, value in signals])
        found.append(
            Judged(
                one,
                signals,
                score,
                quality,
                asked * behind[at],
                named=named[one.path],
                coverage=coverage[at],
                is_readable=readable[at],
            )
        )
    return sorted(found, key=lambda one: (-one.score, place_of(one.candidate)))


def _exactness(
    plan: MatchPlan, candidates: Sequence[Candidate], matches: Sequence[TextMatch]
) -> tuple[list[float], list[float]]:
    """Return what it is worth that each passage holds what was typed, and how much of it that is."""
    typed = TypedText(plan)
    levels = [
        typed.level(one.text, f"{one.heading}\n{one.title}\n{display(one.path)}", share=match.typed)
        for one, match in zip(candidates, matches, strict=True)
    ]
    return weights_of(levels, plan.n_chunks), levels


def _cosines(language: str, candidates: Sequence[Candidate], model: Model) -> list[float]:
    """Give the cosines on the scale of the packaged model; what has no vector counts as the average."""
    lowered = {code: _lowered(code, language, model) for code in {one.language for one in candidates}}
    usual = [
        None if one.cosine is None else model.usual(one.cosine, lowered=lowered[one.language]) for one in candidates
    ]
    known = [cosine for cosine in usual if cosine is not None]
    if not known:
        return [0.0] * len(candidates)
    average, low, high = _mean(known), min(known), max(known)
    cosines = [average if cosine is None else cosine for cosine in usual]
    if model.scale is not None or high == low:
        return cosines
    between = CosineScale(low, high)
    return [between.usual(cosine) for cosine in cosines]


def _lowered(code: str, language: str, model: Model) -> float:
    """Tell how much less near a passage is than it would be in the language of the query."""
    if model.scale is None or not is_another_language(code, than=language):
        return 0.0
    are_latin = has_latin_letters(language) and has_latin_letters(NAMES_OF_ALL[code])
    return model.scale.between_languages if are_latin else model.scale.between_scripts


def _readable(language: str, candidates: Sequence[Candidate], model: Model) -> list[bool]:
    """Tell of which passages the cosine says something: where the model knows no letters, it compares blanks."""
    if all(one.cosine is None for one in candidates) or not model.reads(language):
        return [False] * len(candidates)
    scripts = {code: model.reads(NAMES_OF_ALL.get(code, _TAKEN_FOR)) for code in {one.language for one in candidates}}
    return [scripts[one.language] for one in candidates]


def _weight_of_words(plan: MatchPlan, matcher: Matcher) -> float:
    """Tell what the words weigh: six rare words that were found are better evidence than one.

    How rare a word is shows only among many chunks, so the words of a small index are taken for rarer than they look.
    """
    rarest, rare = math.log(1 + 2 * plan.n_chunks), math.log(1 + 2 * _MANY_CHUNKS)
    return math.sqrt(matcher.information * max(rare / max(rarest, 1.0), 1.0) / _USUAL_INFORMATION)


def _weights_of_meaning(usual: float, candidates: Sequence[Candidate], model: Model) -> list[float]:
    """Tell what the cosines weigh beside words: less than usual for passages in a language the model hardly knows."""
    languages = {one.language for one in candidates} & NAMES_OF_ALL.keys()
    weights = {code: min(usual, _weight_of_meaning(NAMES_OF_ALL[code], candidates, model)) for code in languages}
    return [weights.get(one.language, usual) for one in candidates]


def _weight_of_meaning(language: str, candidates: Sequence[Candidate], model: Model) -> float:
    """Tell what a cosine weighs in a language: the same in all prose, and the more in code, the shorter functions are.

    They have few of the words that people ask in; short prose has those that count.
    """
    if not model.reads(language):
        return 0.0
    if model.languages is not None and language not in model.languages:
        return _FOREIGN_COSINE
    lengths = [len(one.text) for one in candidates if one.is_code]
    if not lengths:
        return _COSINE
    in_code = max(_COSINE_IN_CODE * math.log(_BLURRED / max(_median(lengths), _SHORT)), _COSINE)
    return _COSINE + (in_code - _COSINE) * len(lengths) / len(candidates)


def _quality(evidence: float, cosine: float, *, nothing: float) -> float:
    """Tell, between 0 and 1, how well a passage answers by meaning and words; an unrelated one reaches `nothing`."""
    return min(max((cosine + _WORDS * evidence - nothing) / (1 - nothing), 0.0), 1.0)


def _certain(cosine: float, match: TextMatch) -> float:
    """Return the cosine of a passage, less of it where a few words without one of the query are near by chance."""
    is_telling = any(match.counts) or any(match.named) or match.n_words >= _TELLING_LENGTH
    if is_telling or cosine <= USUAL_SCALE.unrelated:
        return cosine
    return USUAL_SCALE.unrelated + (cosine - USUAL_SCALE.unrelated) * match.n_words / _TELLING_LENGTH


def _by_words(evidence: float, usual_length: float) -> float:
    """Tell how well a passage answers by words alone, of which longer passages have more by accident."""
    by_accident = math.pow(max(usual_length, _SHORTEST) / _USUAL_LENGTH, _BY_LENGTH)
    return min(evidence / _FULL / by_accident, 1.0)


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


# All weights were chosen on the sets of docs/ranking.md; changed by a third, each moves few of them by more than 0.01.
_USUAL_INFORMATION: Final = 60.0
_MANY_CHUNKS: Final = 1000
_COSINE: Final = 0.6
_COSINE_IN_CODE: Final = 0.75
_BLURRED: Final = 1900
_SHORT: Final = 150
_FOREIGN_COSINE: Final = 0.2
_HELD: Final = 0.5
"""How good an answer is at least that holds what was typed."""

_NAMES: Final = 0.2
_FILE_NAME: Final = 0.1

_TAKEN_FOR: Final = "english"
"""The language of passages whose own is not known."""

_WORDS: Final = 0.8
_NOTHING: Final = 0.32
_NOTHING_BY_MEANING: Final = 0.28
"""By meaning alone, fewer passages have words of the question by chance."""

_FULL: Final = 0.4
_TELLING_LENGTH: Final = 5
_USUAL_LENGTH: Final = 60
_SHORTEST: Final = 20
_BY_LENGTH: Final = 0.2
_SURPRISE: Final = 0.04
_USUAL_CHUNKS: Final = 2000
_FEW_CHUNKS: Final = 20
