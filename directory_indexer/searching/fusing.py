"""Fusion of the answers to several wordings or aspects of a question.

Scores are on one scale, so that a passage that several queries find counts for more: one with .6 and .5 answers at
least one of the two with 1 - .4 * .5.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.ids import ChunkId
from directory_indexer.notes import Note
from directory_indexer.paths import FilePath
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.ranking import Ranked
from directory_indexer.relevance.spelling import Correction


class RankedPassage(NamedTuple):
    """A ranked chunk, and the plan of the query that it answers, which determines its excerpt."""

    chunk: IndexedChunk
    ranked: Ranked
    plan: MatchPlan
    also_in: tuple[FilePath, ...] = ()
    """Other files that contain it, too."""
    line: int | None = None
    """Its line that the query names."""


class QueryAnswer(NamedTuple):
    """The passages that a query finds, best first, before their hits are made; the rest as in `SearchResult`."""

    passages: tuple[RankedPassage, ...]
    notes: tuple[Note, ...] = ()
    is_truncated: bool = False
    is_weak: bool = False
    has_weaker: bool = False
    corrections: tuple[Correction, ...] = ()


def fuse(answers: Sequence[QueryAnswer], *, limit: int) -> QueryAnswer:
    """Merge answers, best first; the best hit of every query with a good one is among the first."""
    by_chunk: defaultdict[ChunkId, list[RankedPassage]] = defaultdict(list)
    for passage in chain.from_iterable(answer.passages for answer in answers):
        by_chunk[passage.ranked.chunk_id].append(passage)
    passages = sorted(map(_combine, by_chunk.values()), key=_sort_key)
    bests = [answer.passages[0].ranked.chunk_id for answer in answers if answer.passages and not answer.is_weak]
    return QueryAnswer(
        passages=tuple(_with_bests(passages, frozenset(bests), limit)),
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        is_truncated=len(passages) > limit or any(answer.is_truncated for answer in answers),
        is_weak=all(answer.is_weak for answer in answers),
        has_weaker=any(answer.has_weaker for answer in answers),
        corrections=tuple(dict.fromkeys(correction for answer in answers for correction in answer.corrections)),
    )


def _combine(passages: Sequence[RankedPassage]) -> RankedPassage:
    """Return a passage as found by the query that it answers best, with the score of all."""
    best = max(passages, key=lambda passage: passage.ranked.score)
    score = 1 - math.prod(1 - passage.ranked.score for passage in passages)
    return best._replace(ranked=best.ranked._replace(score=score))


def _sort_key(passage: RankedPassage) -> tuple[float, str, int]:
    return -passage.ranked.score, passage.chunk.path, passage.chunk.chunk.start_line


def _with_bests(passages: Sequence[RankedPassage], bests: frozenset[ChunkId], limit: int) -> list[RankedPassage]:
    n_others = max(limit - len(bests), 0)
    ids = [passage.ranked.chunk_id for passage in passages]
    others = [chunk_id for chunk_id in ids if chunk_id not in bests][:n_others]
    return [passage for passage in passages if passage.ranked.chunk_id in bests or passage.ranked.chunk_id in others][
        :limit
    ]
