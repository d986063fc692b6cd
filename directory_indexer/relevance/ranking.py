"""In which order passages are shown: words, meaning and place of each candidate become one score.

Everything here is pure: the same candidates give the same order, whichever list they come from. What was tried and
what it gave stands in docs/ranking.md.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, groupby, takewhile
from typing import Final, NamedTuple, Protocol, TypeVar

from directory_indexer.ids import ChunkId
from directory_indexer.paths import FilePath
from directory_indexer.relevance.candidates import Candidate, Model, place_of
from directory_indexer.relevance.doubt import Likeness, beyond_doubt
from directory_indexer.relevance.evidence import Explanation
from directory_indexer.relevance.judging import Judged, judged
from directory_indexer.relevance.matchplan import MatchPlan


class Ranked(NamedTuple):
    """A passage in its place. `n_more_in_file` counts the candidates of its file that are not shown.

    `copies` are files whose candidates have the same words, and are not shown.
    """

    chunk_id: ChunkId
    score: float
    explanation: Explanation
    n_more_in_file: int = 0
    copies: tuple[FilePath, ...] = ()


class Ranking(NamedTuple):
    """All that is worth showing, best first; `is_weak` says that nothing good is among it."""

    hits: tuple[Ranked, ...]
    is_weak: bool


def rank(
    plan: MatchPlan, candidates: Sequence[Candidate], *, limit: int, model: Model, likeness: Likeness | None = None
) -> Ranking:
    """Order candidates by how well they answer the query, and score them by how well the best of them does.

    The order of the first hits does not depend on `limit`, so that a longer answer continues a shorter one. Where words
    alone leave in doubt whether there is something good, `likeness` is asked.
    """
    copies = _copies(candidates)
    found = [first for first, *_ in copies]
    if not found:
        return Ranking((), is_weak=True)
    others = {first.chunk_id: tuple(one.path for one in rest) for first, *rest in copies}
    by_words = _places({one.chunk_id: one.keyword_score for one in candidates})
    by_meaning = _places({one.chunk_id: one.semantic_score for one in candidates})
    bands = [judged(plan, list(band), model) for _, band in groupby(found, key=lambda one: one.band)]
    # Whether there is something good does not depend on what stands in front.
    best_matches = sorted(bands[0], key=lambda one: -one.score - one.set_back)
    by_itself = _best_quality(best_matches)
    quality = beyond_doubt(by_itself, plan, best_matches, likeness)
    ordered = [one for judged in bands for one in _one_file_after_another(judged)]
    hidden = Counter(one.candidate.path for _, one in ordered[limit:])
    # What stands behind the code for what it is, and answers as well, is no weaker for that.
    deserved = [score + one.set_back for score, one in ordered]
    best = deserved[0]
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
            others[one.candidate.chunk_id],
        )
        for shown, (score, one) in zip(accumulate(deserved, min), ordered[:limit], strict=False)
    )
    return Ranking(hits, is_weak=quality < _WEAK)


def _best_quality(best_matches: Sequence[Judged]) -> float:
    """Give the highest quality among the first, or among all that the model reads if none was found by words.

    By meaning alone, words move nothing to the front, so a passage that has them, too, may stand anywhere.
    """
    is_by_meaning = all(one.candidate.keyword_score is None for one in best_matches)
    counted = [one for at, one in enumerate(best_matches) if at < _TOP or (is_by_meaning and one.is_readable)]
    return max(one.quality for one in counted)


def worth_showing(ranking: Ranking) -> tuple[Ranked, ...]:
    """Leave out what scores nothing and has none of the words, where nothing good was found."""
    if not ranking.is_weak:
        return ranking.hits
    return tuple(one for one in ranking.hits if one.score >= _LEAST_SHOWN or one.explanation.keyword_score is not None)


class _Scored(Protocol):
    @property
    def score(self) -> float: ...


Scored = TypeVar("Scored", bound=_Scored)


def good_ones(hits: Sequence[Scored], *, by_words_alone: bool) -> tuple[Scored, ...]:
    """Leave out hits that are much weaker than the best; scores by words alone fall faster."""
    least = (_GOOD_BY_WORDS if by_words_alone else _GOOD) * hits[0].score if hits else 0.0
    return tuple(takewhile(lambda one: one.score >= least, hits))


def _one_file_after_another(judged: Sequence[Judged]) -> list[tuple[float, Judged]]:
    """Let every further passage of a file stand back, the more so the more files there are to choose from.

    What is far from the passages before it stands for itself: a long document is about more than one thing. In one that
    the question names, any passage may be the answer.
    """
    step = _FURTHER * len({one.candidate.path for one in judged}) / len(judged)
    named = _named_documents(judged)
    before: defaultdict[FilePath, list[int]] = defaultdict(list)
    scored = []
    for one in judged:
        path, ordinal = one.candidate.path, one.candidate.ordinal
        n_near = 0 if path in named else sum(abs(ordinal - other) <= _NEAR for other in before[path])
        scored.append((one.score - step * min(n_near, _MOST_BACK), one))
        before[path].append(ordinal)
    return sorted(scored, key=lambda pair: (-pair[0], place_of(pair[1].candidate)))


def _named_documents(judged: Sequence[Judged]) -> set[FilePath]:
    """Find the few long documents whose names or titles the question says, such as the reports of a company."""
    shares = {one.candidate.path: one.named for one in judged}
    least = max(_NAMED, _AS_WELL * max(shares.values()))
    named = {path for path, share in shares.items() if share >= least}
    long = {c.path for c in (one.candidate for one in judged) if c.ordinal > 2 * _NEAR and not c.is_code}
    return named & long if len(named) <= max(_FEW * len(shares), 1) else set()


def _copies(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Put passages with the same words together, the one that is shown first."""
    alike: dict[str, list[Candidate]] = {}
    for one in sorted(candidates, key=lambda one: (one.band, bool(re.search(_COPY, one.path)), place_of(one))):
        alike.setdefault(" ".join(one.text.split()), []).append(one)
    return list(alike.values())


def _places(scores: dict[ChunkId, float | None]) -> dict[ChunkId, int]:
    found = sorted((-score, chunk_id) for chunk_id, score in scores.items() if score is not None)
    return {chunk_id: place for place, (_, chunk_id) in enumerate(found, start=1)}


_COPY: Final = r"""(?ix)
    [ _-]? \(\d+\) (?: \.[^./\\]* )? $
    | [ _(-] (?: copy | copie | copia | kopie ) (?: [ ]?\d+ )? \)? (?: \.[^./\\]* )? $
    | (?: ^ | [/\\] ) (?: (?: copy | copie | copia | kopie ) [ ] (?: of | de | di | von ) [ ] | downloads? [/\\] )
"""
"""What browsers and file managers call a file or a directory that has copies of others in it."""

_FURTHER: Final = 0.6
_MOST_BACK: Final = 3
_NEAR: Final = 40
"""So many passages are ten to fifteen pages, or 1,500 lines of code: more than most files have."""

_NAMED: Final = 0.05
_AS_WELL: Final = 0.8
_FEW: Final = 1 / 3
"""A named document has so much of what a question tells in its name or title, and no other has much more; a name that
more of the files have is the subject of all of them."""

_TOP: Final = 3
_LEAST_SHOWN: Final = 0.005
"""What scores less reads 0.00, and is no hit where nothing better was found."""

_GOOD: Final = 0.5
_GOOD_BY_WORDS: Final = 0.3
"""So much of the best score a hit needs: docs/ranking.md says what other shares give and cost."""

_WEAK: Final = 0.3
"""What separates questions to a corpus from questions to another: see docs/ranking.md for alarms and misses.

The best of few chunks is less near by chance than the best of many, so it may be less near and still mean something."""
