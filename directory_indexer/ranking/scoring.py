"""Scoring of each passage by itself: words, meaning and position become signals, and these a score.

Tests, examples, generated files and prose among code are penalised. Only differences between passages count: where all
of them are tests, or none is code, nothing changes.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from directory_indexer.core.paths import display
from directory_indexer.ranking.candidates import REFERENCE_SCALE, Candidate, CosineScale, Model, tie_breaker
from directory_indexer.ranking.exactness import NAMED_LEVEL, TypedText, weights_of_levels, weights_of_passages
from directory_indexer.ranking.features import Matcher, TextMatch
from directory_indexer.ranking.languages import NAMES_OF_ALL, differs_in_language, has_latin_letters
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.query import Query
from directory_indexer.ranking.query_syntax import has_role


class ScoredCandidate(NamedTuple):
    """A candidate with the signals that add up to its score, and the quality of its answer, from 0 to 1.

    `penalty` is its penalty for accompanying code, `named` the share of the query that its file name or title has, and
    `coverage` the share of the query's information that the passage has. If it `is_readable`, its quality rests on its
    cosine, too. `rare` are the typed words in it that hardly any other passage has. If it
    `has_rare_name`, it has a name of the query that hardly any other passage has.
    """

    candidate: Candidate
    signals: tuple[tuple[str, float], ...]
    score: float
    quality: float
    penalty: float = 0.0
    named: float = 0.0
    coverage: float = 0.0
    is_readable: bool = False
    rare: frozenset[str] = frozenset()
    has_rare_name: bool = False


def score_candidates(plan: MatchPlan, candidates: Sequence[Candidate], model: Model) -> list[ScoredCandidate]:
    """Score every candidate by itself, best first."""
    matcher = Matcher(plan)
    paths = _relative_paths(candidates)
    matches = [
        matcher.match(candidate.text, names=f"{candidate.heading}\n{candidate.title}\n{path}", beside=candidate.beside)
        for candidate, path in zip(candidates, paths, strict=True)
    ]
    usual_length = _mean([match.n_words for match in matches])
    usual_weighted = _mean([match.weighted_length for match in matches])
    frequencies = [matcher.frequency(match, usual_length=usual_weighted) for match in matches]
    evidence = [
        matcher.evidence(match, frequency=frequency) for match, frequency in zip(matches, frequencies, strict=True)
    ]
    exact, levels = _exactness(plan, candidates, matches)
    keyword_weight = _keyword_weight(plan, matcher)
    surprise = _SURPRISE * math.log(max(_USUAL_CHUNKS / max(plan.n_chunks, _MIN_CHUNKS), 1.0))
    # In a purely semantic search, nothing else may move a passage.
    has_keywords = float(any(candidate.keyword_score is not None for candidate in candidates))
    are_names = has_keywords * plan.query.has_only_names
    readable = _readable_by_model(plan.query.language, candidates, model)
    cosines = _calibrated_cosines(plan.query.language, candidates, model)
    usual_weight = _semantic_weight(plan.query.language, candidates, model)
    # A purely semantic search orders by cosine, whatever the cosines are worth.
    weights = (
        _semantic_weights(usual_weight, candidates, model)
        if has_keywords
        else [usual_weight or _COSINE] * len(candidates)
    )
    penalties = code_penalties(plan.query, matcher, candidates, paths)
    # In a search by words alone they would count twice.
    has_cosines = float(any(candidate.cosine is not None for candidate in candidates))
    names = {
        candidate.path: candidate.title
        for candidate, match in zip(candidates, matches, strict=True)
        if any(match.named)
    }
    named = {
        path: has_keywords * matcher.share_of_query(f"{_file_stem(path)}\n{title}") for path, title in names.items()
    }
    file_names = {
        path: (_FILE_NAME + has_cosines * _FILE_NAME_BESIDE_COSINES) * matcher.share_of_name(_file_stem(path))
        for path in named
    }
    scored = []
    for at, candidate in enumerate(candidates):
        signals = (
            ("keyword", has_keywords * keyword_weight * frequencies[at]),
            ("semantic", weights[at] * cosines[at] + (usual_weight - weights[at]) * REFERENCE_SCALE.unrelated),
            ("exact", has_keywords * exact[at]),
            ("names", has_cosines * (has_keywords - are_names) * _NAMES * matcher.names(matches[at])),
            ("file_name", has_keywords * file_names.get(candidate.path, 0.0)),
            ("beside_code", -has_keywords * penalties[at]),
        )
        quality = (
            _quality(
                evidence[at],
                _confident_cosine(cosines[at], matches[at]) + surprise,
                nothing=_NO_EVIDENCE if has_keywords else _NOTHING_BY_MEANING,
            )
            if readable[at]
            else _keyword_quality(evidence[at], usual_length)
        )
        has_all = levels[at] >= NAMED_LEVEL or (bool(plan.typed) and matches[at].coverage >= FULL_COVERAGE)
        if has_keywords and (has_all or _may_rest_on_words(plan.query, candidate, matches[at], model)):
            quality = max(quality, _keyword_quality(evidence[at], usual_length), has_all * _MIN_QUALITY_IF_EXACT)
        score = math.fsum([value for _, value in signals])
        scored.append(
            ScoredCandidate(
                candidate,
                signals,
                score,
                quality,
                has_keywords * penalties[at],
                named=named.get(candidate.path, 0.0),
                coverage=matches[at].coverage,
                is_readable=readable[at],
                rare=matches[at].rare,
                has_rare_name=bool(has_keywords) and matcher.has_rare_name(matches[at]),
            )
        )
    return sorted(scored, key=lambda entry: (-entry.score, tie_breaker(entry.candidate)))


def _exactness(
    plan: MatchPlan, candidates: Sequence[Candidate], matches: Sequence[TextMatch]
) -> tuple[list[float], list[float]]:
    """Return the weight of what each passage contains literally, and its level."""
    typed = TypedText(plan)
    levels = [
        typed.level(candidate.text, f"{candidate.heading}\n{candidate.title}\n{display(candidate.path)}", match.typed)
        if typed.level_may_differ(match.typed)
        else match.typed
        for candidate, match in zip(candidates, matches, strict=True)
    ]
    return weights_of_passages(levels, plan.n_chunks, weights_of_levels(plan)), levels


def _calibrated_cosines(language: str, candidates: Sequence[Candidate], model: Model) -> list[float]:
    """Return the cosines on the scale of the packaged model; passages without a vector count as the average."""
    lowered = {code: _language_loss(code, language, model) for code in {candidate.language for candidate in candidates}}
    usual = [
        None if candidate.cosine is None else model.usual(candidate.cosine, lowered=lowered[candidate.language])
        for candidate in candidates
    ]
    known = [cosine for cosine in usual if cosine is not None]
    if not known:
        return [0.0] * len(candidates)
    average, low, high = _mean(known), min(known), max(known)
    cosines = [average if cosine is None else cosine for cosine in usual]
    if model.scale is not None or high == low:
        return cosines
    scale = CosineScale(low, high)
    return [scale.usual(cosine) for cosine in cosines]


def _language_loss(code: str, language: str, model: Model) -> float:
    """Return how much lower a cosine is than it would be in the language of the query."""
    if model.scale is None or not differs_in_language(code, than=language):
        return 0.0
    are_latin = has_latin_letters(language) and has_latin_letters(NAMES_OF_ALL[code])
    return model.scale.between_languages if are_latin else model.scale.between_scripts


def _readable_by_model(language: str, candidates: Sequence[Candidate], model: Model) -> list[bool]:
    """Return for which passages the cosine is meaningful: where the model knows no letters, it compares blanks."""
    if all(candidate.cosine is None for candidate in candidates) or not model.reads(language):
        return [False] * len(candidates)
    scripts = {
        code: model.reads(NAMES_OF_ALL.get(code, _DEFAULT_LANGUAGE))
        for code in {candidate.language for candidate in candidates}
    }
    return [scripts[candidate.language] for candidate in candidates]


def _may_rest_on_words(query: Query, candidate: Candidate, match: TextMatch, model: Model) -> bool:
    """Whether the words of a passage may be better evidence than its cosine.

    The model does not know its language, and the query is in that language, or has a rare word of the passage.
    """
    language = NAMES_OF_ALL.get(candidate.language, _DEFAULT_LANGUAGE)
    is_understood = model.languages is None or language in model.languages
    return not is_understood and (language == query.language or bool(match.rare))


def _keyword_weight(plan: MatchPlan, matcher: Matcher) -> float:
    """Return the weight of the words: six rare words are better evidence than one.

    Rarity shows only among many chunks, so the words of a small index are taken for rarer than they look.
    """
    rarest, rare = math.log(1 + 2 * plan.n_chunks), math.log(1 + 2 * _MANY_CHUNKS)
    return math.sqrt(matcher.information * max(rare / max(rarest, 1.0), 1.0) / _USUAL_INFORMATION)


def _semantic_weights(usual: float, candidates: Sequence[Candidate], model: Model) -> list[float]:
    """Return the weights of the cosines beside words: lower for languages that the model hardly knows."""
    languages = {candidate.language for candidate in candidates} & NAMES_OF_ALL.keys()
    weights = {code: min(usual, _semantic_weight(NAMES_OF_ALL[code], candidates, model)) for code in languages}
    return [weights.get(candidate.language, usual) for candidate in candidates]


def _semantic_weight(language: str, candidates: Sequence[Candidate], model: Model) -> float:
    """Return the weight of a cosine in a language: constant in prose, higher in code the shorter functions are.

    Code has few of the words that people ask in; short prose has those that count.
    """
    if not model.reads(language):
        return 0.0
    if model.languages is not None and language not in model.languages:
        return _FOREIGN_COSINE
    lengths = [len(candidate.text) for candidate in candidates if candidate.is_code]
    if not lengths:
        return _COSINE
    in_code = max(_COSINE_IN_CODE * math.log(_BLURRED_LENGTH / max(_median(lengths), _MIN_CODE_LENGTH)), _COSINE)
    return _COSINE + (in_code - _COSINE) * len(lengths) / len(candidates)


def _quality(evidence: float, cosine: float, *, nothing: float) -> float:
    """Return the quality, from 0 to 1, by meaning and words; an unrelated passage reaches `nothing`."""
    return min(max((cosine + _WORDS * evidence - nothing) / (1 - nothing), 0.0), 1.0)


def _confident_cosine(cosine: float, match: TextMatch) -> float:
    """Return the cosine of a passage, reduced where a few words without one of the query are near by chance."""
    is_telling = any(match.counts) or any(match.named) or match.n_words >= _TELLING_LENGTH
    if is_telling or cosine <= REFERENCE_SCALE.unrelated:
        return cosine
    return REFERENCE_SCALE.unrelated + (cosine - REFERENCE_SCALE.unrelated) * match.n_words / _TELLING_LENGTH


def _keyword_quality(evidence: float, usual_length: float) -> float:
    """Return the quality by words alone, normalised for passage length: longer passages match more by chance."""
    length_factor = math.pow(max(usual_length, _MIN_USUAL_LENGTH) / _USUAL_LENGTH, _BY_LENGTH)
    return min(evidence / _FULL / length_factor, 1.0)


def _relative_paths(candidates: Sequence[Candidate]) -> list[str]:
    """Return the paths below the common directory of all candidates, which says nothing about any of them."""
    # Not `os.path.commonpath`, which refuses paths on several drives.
    names = [candidate.path.split(os.sep) for candidate in candidates]
    n_above = len(os.path.commonprefix([directories[:-1] for directories in names]))
    return ["/".join(below[n_above:]) for below in names]


# Importing `statistics` costs every search 6 ms.
def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _median(values: Sequence[int]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return (ordered[half] + ordered[~half]) / 2


@lru_cache(maxsize=1 << 13)
def _file_stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


# All weights were chosen on the sets of docs/ranking-results.md; changed by a third, each moves few of them by more
# than 0.01.
_USUAL_INFORMATION: Final = 60.0
_MANY_CHUNKS: Final = 1000
_COSINE: Final = 0.6
_COSINE_IN_CODE: Final = 0.75
_BLURRED_LENGTH: Final = 1900
_MIN_CODE_LENGTH: Final = 150
_FOREIGN_COSINE: Final = 0.2
_MIN_QUALITY_IF_EXACT: Final = 0.5
"""The minimum quality of a passage that contains what was typed, in these or other forms of its words."""

FULL_COVERAGE: Final = 0.999
"""The share of the query's information of a passage that has all of its words; sums of weights are rounded."""

_NAMES: Final = 0.2
_FILE_NAME: Final = 0.12
_FILE_NAME_BESIDE_COSINES: Final = 0.06
"""Added beside cosines, which vary as much as the words do: the name tells the reports of two years apart."""

_DEFAULT_LANGUAGE: Final = "english"
"""The language of passages whose own is unknown."""

_WORDS: Final = 0.8
_NO_EVIDENCE: Final = 0.33
_NOTHING_BY_MEANING: Final = 0.28
"""In a semantic search, fewer passages have words of the query by chance."""

_FULL: Final = 0.4
_TELLING_LENGTH: Final = 5
_USUAL_LENGTH: Final = 60
_MIN_USUAL_LENGTH: Final = 20
_BY_LENGTH: Final = 0.2
_SURPRISE: Final = 0.04
_USUAL_CHUNKS: Final = 2000
_MIN_CHUNKS: Final = 20


def code_penalties(
    query: Query, matcher: Matcher, candidates: Sequence[Candidate], paths: Sequence[str]
) -> list[float]:
    """Return the penalty of each candidate relative to code, unless the query names its kind."""
    if not candidates:
        return []
    query_tokens = {token for word in query.words for token in word.tokens}
    roles = [_role_of(path) for path in paths]
    subject = _Subject(
        is_code=_is_about_code(candidates, roles),
        is_tests=not query_tokens.isdisjoint(_TEST_WORDS),
        is_prose=not query_tokens.isdisjoint(_PROSE_WORDS),
        is_changes=not query_tokens.isdisjoint(_CHANGE_WORDS),
    )
    penalties = [_penalty(candidate, role, subject, matcher) for candidate, role in zip(candidates, roles, strict=True)]
    lowest = min(penalties)
    return [penalty - lowest for penalty in penalties]


class _PathRole(NamedTuple):
    """The role of a file by its path: whether it is generated or a changelog, and its marks of accompanying code."""

    is_generated: bool
    is_change_log: bool
    marks: tuple[str, ...]


@lru_cache(maxsize=1 << 13)
def _role_of(path: str) -> _PathRole:
    marks = tuple(match.group() for match in _PATH_MARK.finditer(path))
    return _PathRole(has_role(path, "generated"), bool(re.search(_CHANGE_LOG, path)), marks)


def _is_about_code(candidates: Sequence[Candidate], roles: Sequence[_PathRole]) -> bool:
    """Whether at least half of the candidates are code, not counting generated files and changelogs.

    Those have many passages. A single passage proves nothing.
    """
    counted = [
        candidate.is_code
        for candidate, role in zip(candidates, roles, strict=True)
        if not role.is_generated and not role.is_change_log
    ]
    return sum(counted) >= max(_MIN_CODE_PASSAGES, len(counted) / 2)


class _Subject(NamedTuple):
    """The subject of a query, judged by its words and by the candidates."""

    is_code: bool
    is_tests: bool
    is_prose: bool
    is_changes: bool


def _penalty(candidate: Candidate, role: _PathRole, subject: _Subject, matcher: Matcher) -> float:
    if subject.is_code and role.is_generated:
        return _HEAVY_PENALTY
    if not candidate.is_code:
        return _prose_penalty(role, subject)
    if not role.marks or matcher.terms_in(" ".join(role.marks)):
        return 0.0
    if all(re.fullmatch(_OTHER_CODE, mark) for mark in role.marks) or not subject.is_code:
        return _PENALTY
    return 0.0 if subject.is_tests else _HEAVY_PENALTY


def _prose_penalty(role: _PathRole, subject: _Subject) -> float:
    """Return a heavier penalty for changelogs than for other prose: they have a sentence about everything."""
    if subject.is_prose or not subject.is_code:
        return 0.0
    return _HEAVY_PENALTY if role.is_change_log and not subject.is_changes else _PENALTY


_MIN_CODE_PASSAGES: Final = 2
_PENALTY: Final = 0.2
_HEAVY_PENALTY: Final = 0.6
"""docs/ranking-results.md compares other values."""

_TEST_WORDS: Final = frozenset(
    "test tests tested testing testcase testcases unittest unittests spec specs fixture fixtures mock mocks testdata "
    "conftest bench benchmark benchmarks example examples sample samples demo demos".split()
)
_PROSE_WORDS: Final = frozenset(
    "doc docs document documents documented documentation readme guide guides tutorial tutorials manual manuals "
    "changelog contributing faq license instructions example examples".split()
)
_CHANGE_WORDS: Final = frozenset("changes history news release releases upgrade version versions".split())

_CHANGE_LOG: Final = r"(?i)(?:^|/)(?:change_?log|changes?|history|news|releases?|release[_-]notes)(?:\.[^/]*)?$"
_PATH_MARK: Final = re.compile(
    r"""
    (?:^|(?<=/)) (?:tests?|testing|__tests__|specs?|fixtures?|mocks?|__mocks__|testdata|e2e|bench(?:marks?)?
                  |_?examples?|samples?|demos?|website|legacy|compat|deprecated|vendor|third_party) (?=/)
    | (?:^|(?<=/)) (?:test(?=_)|conftest)
    | (?<=[._-]) (?:tests?|specs?|bench(?:mark)?) (?=\.)
    | (?<=[a-z0-9]) (?:Tests?|Spec|Benchmark) (?=\.\w+$)
    """,
    re.VERBOSE,
)
"""Names of directories and files that accompany code, in the conventions of many languages."""

_OTHER_CODE: Final = "website|legacy|compat|deprecated|vendor|third_party"
