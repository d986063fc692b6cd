"""Ranking of candidates: their scores become one order.

Everything here is pure: the same candidates give the same order, whichever list they come from.
docs/ranking-results.md lists what was tried and its results.

Keyword-only quality is recalibrated by the semantic similarity of the passages. A query that the corpus cannot answer
shares common words with passages, but hardly their subject. A query of few words says too little about its subject, and
a passage with all of its words is certain.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby, takewhile
from typing import Final, NamedTuple, Protocol, TypeVar

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.paths import FilePath
from directory_indexer.ranking.candidates import (
    EMBEDDED_MODEL,
    NO_EXPLANATION,
    SCALE,
    Candidate,
    Explanation,
    Model,
    tie_breaker,
)
from directory_indexer.ranking.languages import NAMES_OF_ALL
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.scoring import FULL_COVERAGE, ScoredCandidate, score_candidates


class Ranked(NamedTuple):
    """A passage in its rank. `n_more_in_file` counts the candidates of its file that are not shown.

    `copies` are files whose candidates have the same words, and are not shown.
    """

    chunk_id: ChunkId
    score: float
    explanation: Explanation
    n_more_in_file: int = 0
    copies: tuple[FilePath, ...] = ()


class Ranking(NamedTuple):
    """All hits that are worth showing, best first; `is_weak` means that none of them is good."""

    hits: tuple[Ranked, ...]
    is_weak: bool


def rank(
    plan: MatchPlan,
    candidates: Sequence[Candidate],
    *,
    limit: int,
    model: Model,
    similarity_of: SimilarityFunction | None = None,
) -> Ranking:
    """Order candidates by how well they answer the query, and scale their scores by the quality of the best.

    The order of the first hits does not depend on `limit`, so that a longer answer continues a shorter one. If words
    alone leave it uncertain whether a good hit exists, `similarity_of` decides.
    """
    copies = _group_copies(candidates)
    distinct = [first for first, *_ in copies]
    if not distinct:
        return Ranking((), is_weak=True)
    others = {first.chunk_id: tuple(copy.path for copy in rest) for first, *rest in copies}
    by_words = _ranks({candidate.chunk_id: candidate.keyword_score for candidate in candidates})
    by_meaning = _ranks({candidate.chunk_id: candidate.semantic_score for candidate in candidates})
    bands = [
        score_candidates(plan, list(band), model) for _, band in groupby(distinct, key=lambda candidate: candidate.band)
    ]
    # Whether a good hit exists does not depend on penalties.
    best_matches = sorted(bands[0], key=lambda match: -match.score - match.penalty)
    by_itself = _best_quality(best_matches)
    quality = recalibrated_quality(by_itself, plan, best_matches, similarity_of)
    if quality < _MIN_GOOD_QUALITY and any(match.has_rare_name for match in bands[0]):
        bands[0], quality = _put_rare_names_first(bands[0]), _QUALITY_IF_NAMED
    ordered = [entry for band in bands for entry in _apply_same_file_penalty(band)]
    hidden = Counter(match.candidate.path for _, match in ordered[limit:])
    # A passage that ranks behind code for its kind alone keeps its score.
    scores = [score + match.penalty for score, match in ordered]
    scale = quality / scores[0] if scores[0] > 0 else 0.0
    hits = tuple(
        Ranked(
            match.candidate.chunk_id,
            scale * max(capped, 0.0),
            Explanation(
                by_words.get(match.candidate.chunk_id),
                match.candidate.keyword_score,
                by_meaning.get(match.candidate.chunk_id),
                match.candidate.semantic_score,
                {**dict(match.signals), "same_file": score - match.score, SCALE: scale},
            ),
            hidden.pop(match.candidate.path, 0),
            others[match.candidate.chunk_id],
        )
        for capped, (score, match) in zip(accumulate(scores, min), ordered[:limit], strict=False)
    )
    return Ranking(hits, is_weak=quality < _MIN_GOOD_QUALITY)


def rank_by_keyword_score(candidates: Sequence[Candidate]) -> Ranking:
    """Order candidates by their keyword scores alone, without matching their texts.

    In 11,500 keys of pairs of words, the file that was meant was among the first ten hits as often as by all signals.
    """
    scores = {candidate.chunk_id: candidate.keyword_score or 0.0 for candidate in candidates}
    groups = sorted(_group_copies(candidates), key=lambda group: (-scores[group[0].chunk_id], tie_breaker(group[0])))
    best = max(scores.values(), default=0.0) or 1.0
    hits = (
        Ranked(
            first.chunk_id,
            _PREFIX_QUALITY * scores[first.chunk_id] / best,
            NO_EXPLANATION._replace(keyword_rank=position, keyword_score=first.keyword_score),
            copies=tuple(copy.path for copy in others),
        )
        for position, (first, *others) in enumerate(groups, start=1)
    )
    return Ranking(tuple(hits), is_weak=not candidates)


def _put_rare_names_first(matches: Sequence[ScoredCandidate]) -> list[ScoredCandidate]:
    """Return the matches with those first that have a rare name of the query: evidence where nothing else is good."""
    return sorted(
        (
            match._replace(score=match.score + _RARE_NAME, signals=(*match.signals, ("rare_name", _RARE_NAME)))
            if match.has_rare_name
            else match
            for match in matches
        ),
        key=lambda match: not match.has_rare_name,
    )


def _best_quality(best_matches: Sequence[ScoredCandidate]) -> float:
    """Return the highest quality among the first matches, or among all readable ones of a semantic search.

    There, words move nothing to the front, so a passage that has them, too, may have any rank.
    """
    is_by_meaning = all(match.candidate.keyword_score is None for match in best_matches)
    counted = [
        match for at, match in enumerate(best_matches) if at < _N_TOP_MATCHES or (is_by_meaning and match.is_readable)
    ]
    return max(match.quality for match in counted)


def drop_zero_scores(ranking: Ranking) -> tuple[Ranked, ...]:
    """Drop hits with no score and none of the words, if no hit is good."""
    if not ranking.is_weak:
        return ranking.hits
    return tuple(
        hit for hit in ranking.hits if hit.score >= _MIN_SHOWN_SCORE or hit.explanation.keyword_score is not None
    )


class _Scored(Protocol):
    @property
    def score(self) -> float: ...


Scored = TypeVar("Scored", bound=_Scored)


def cut_below_threshold(hits: Sequence[Scored], *, by_words_alone: bool) -> tuple[Scored, ...]:
    """Drop hits that are much weaker than the best; scores by words alone fall faster."""
    least = (_KEYWORD_THRESHOLD if by_words_alone else _THRESHOLD) * hits[0].score if hits else 0.0
    return tuple(takewhile(lambda hit: hit.score >= least, hits))


def _apply_same_file_penalty(matches: Sequence[ScoredCandidate]) -> list[tuple[float, ScoredCandidate]]:
    """Penalise further passages of a file, more strongly the more files there are among the candidates.

    Passages far from the earlier ones are not penalised: a long document has more than one subject. Nor are those with
    a rare word of the query that the earlier ones lack. In a document that the query names, any passage may be the
    answer.
    """
    step = _SAME_FILE_PENALTY * len({match.candidate.path for match in matches}) / len(matches)
    named = _named_documents(matches)
    before: defaultdict[FilePath, list[int]] = defaultdict(list)
    rare_before: defaultdict[FilePath, set[str]] = defaultdict(set)
    scored = []
    for match in matches:
        path, ordinal = match.candidate.path, match.candidate.ordinal
        is_exempt = path in named or not match.rare <= rare_before[path]
        n_near = 0 if is_exempt else sum(abs(ordinal - other) <= _NEAR for other in before[path])
        scored.append((match.score - step * min(n_near, _MAX_PENALISED), match))
        before[path].append(ordinal)
        rare_before[path] |= match.rare
    return sorted(scored, key=lambda pair: (-pair[0], tie_breaker(pair[1].candidate)))


def _named_documents(matches: Sequence[ScoredCandidate]) -> set[FilePath]:
    """Return the few long documents that the query names by file name or title, such as the reports of a company."""
    shares = {match.candidate.path: match.named for match in matches}
    least = max(_MIN_NAMED_SHARE, _SHARE_OF_BEST * max(shares.values()))
    named = {path for path, share in shares.items() if share >= least}
    long = {c.path for c in (match.candidate for match in matches) if c.ordinal > 2 * _NEAR and not c.is_code}
    return named & long if len(named) <= max(_MAX_NAMED_FILES * len(shares), 1) else set()


def _group_copies(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Group passages with the same words, the one that is shown first."""
    alike: defaultdict[bytes, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        alike[_letters_only(candidate.text)].append(candidate)
    groups = [[candidate] for (candidate, *others) in alike.values() if not others]
    for similar in alike.values():
        groups += _group_by_words(similar) if similar[1:] else ()
    return sorted(groups, key=lambda group: group[0].band)


def _letters_only(text: str) -> bytes:
    """Return a text without white space, in a tenth of the time of splitting it."""
    return text.encode().translate(None, _BLANKS) if text.isascii() else "".join(text.split()).encode()


def _group_by_words(similar: Sequence[Candidate]) -> Iterable[list[Candidate]]:
    """Group passages with the same letters by their words."""
    alike: defaultdict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    for candidate in sorted(
        similar,
        key=lambda candidate: (candidate.band, bool(re.search(_COPY_NAME, candidate.path)), tie_breaker(candidate)),
    ):
        alike[tuple(candidate.text.split())].append(candidate)
    return alike.values()


def _ranks(scores: dict[ChunkId, float | None]) -> dict[ChunkId, int]:
    ordered = sorted((-score, chunk_id) for chunk_id, score in scores.items() if score is not None)
    return {chunk_id: rank for rank, (_, chunk_id) in enumerate(ordered, start=1)}


_COPY_NAME: Final = r"""(?ix)
    [ _-]? \(\d+\) (?: \.[^./\\]* )? $
    | [ _(-] (?: copy | copie | copia | kopie ) (?: [ ]?\d+ )? \)? (?: \.[^./\\]* )? $
    | (?: ^ | [/\\] ) (?: (?: copy | copie | copia | kopie ) [ ] (?: of | de | di | von ) [ ] | downloads? [/\\] )
"""
"""Names that browsers and file managers give to copies, and to directories of them."""

_BLANKS: Final = bytes(byte for byte in range(128) if chr(byte).isspace())

_SAME_FILE_PENALTY: Final = 0.6
_MAX_PENALISED: Final = 3
_NEAR: Final = 40
"""Ten to fifteen pages, or 1,500 lines of code: more than most files have."""

_MIN_NAMED_SHARE: Final = 0.05
_SHARE_OF_BEST: Final = 0.8
_MAX_NAMED_FILES: Final = 1 / 3
"""A named document has this share of the query's information in its name or title, and no other has much more; a name
that more of the files have is the subject of all of them."""

_N_TOP_MATCHES: Final = 3
_MIN_SHOWN_SCORE: Final = 0.005
"""A lower score is displayed as 0.00, and is no hit if there is nothing better."""

_THRESHOLD: Final = 0.5
_KEYWORD_THRESHOLD: Final = 0.3
"""The minimum share of the best score; docs/ranking-results.md compares other values."""

_MIN_GOOD_QUALITY: Final = 0.306
"""Separates queries that the corpus answers from others; docs/ranking-results.md has false alarms and misses.

The best of few chunks is less similar by chance than the best of many, so a lower similarity is still significant."""

_PREFIX_QUALITY: Final = 0.5
"""The quality of the best passage with a prefix: the minimum of a passage that contains what was typed."""

_RARE_NAME: Final = 1.0
_QUALITY_IF_NAMED: Final = 0.32
"""A rare name outweighs all other signals of an answer that is not good, and makes it just good."""


SimilarityFunction = Callable[[str, Sequence[str]], float | None]
"""Returns the similarity of a query and passages, from -1 to 1; None if it is unknown."""


def recalibrated_quality(
    quality: float, plan: MatchPlan, best: Sequence[ScoredCandidate], similarity_of: SimilarityFunction | None
) -> float:
    """Return the quality of the best passages, corrected by their similarity where it rests on words alone."""
    if similarity_of is None or not _is_uncertain(quality, plan, best):
        return quality
    passages = [scored.candidate for scored in best if _is_readable(scored.candidate)][:_N_COMPARED_PASSAGES]
    if not passages:
        return quality
    similarity = similarity_of(plan.query.meaning, [f"{passage.heading}\n{passage.text}" for passage in passages])
    if similarity is None:
        return quality
    return min(quality * math.exp(_STEEPNESS * (similarity - _neutral_similarity(passages))), _CERTAIN_QUALITY)


def _neutral_similarity(passages: Sequence[Candidate]) -> float:
    """Return the similarity that is neither evidence for an answer nor against it; it is lower in code."""
    return math.fsum(_NEUTRAL_IN_CODE if passage.is_code else _NEUTRAL_SIMILARITY for passage in passages) / len(
        passages
    )


def _is_uncertain(quality: float, plan: MatchPlan, best: Sequence[ScoredCandidate]) -> bool:
    return (
        _HOPELESS_QUALITY < quality < _CERTAIN_QUALITY
        and len(plan.terms) >= _FEW_TERMS
        and not plan.query.has_only_names
        and EMBEDDED_MODEL.reads(plan.query.language)
        and all(scored.candidate.cosine is None for scored in best)
        and max(scored.coverage for scored in best[:_N_COMPARED_PASSAGES]) < FULL_COVERAGE
    )


def _is_readable(candidate: Candidate) -> bool:
    return EMBEDDED_MODEL.reads(NAMES_OF_ALL.get(candidate.language, "english"))


# Chosen on the sets of docs/ranking-results.md; 3 and 5 in place of 4 change little.
_STEEPNESS: Final = 4
_NEUTRAL_SIMILARITY: Final = 0.52
_NEUTRAL_IN_CODE: Final = 0.45
_N_COMPARED_PASSAGES: Final = 10
_HOPELESS_QUALITY: Final = 0.07
_CERTAIN_QUALITY: Final = 0.9
_FEW_TERMS: Final = 3
