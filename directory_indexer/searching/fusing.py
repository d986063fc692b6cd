"""Answers to several wordings of a question, or to several sides of it, as one.

Scores say how well a passage answers on one scale, so that what several queries find counts for more: a passage of .6
and .5 answers one of the two as surely as 1 - .4 * .5.
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


class Passage(NamedTuple):
    """A chunk in its place, and the plan of the query that it answers, which tells what of it is shown."""

    chunk: IndexedChunk
    ranked: Ranked
    plan: MatchPlan
    also_in: tuple[FilePath, ...] = ()
    """Other files that have it, too."""
    line: int | None = None
    """The line of it that the query names."""


class Answer(NamedTuple):
    """What a query finds, best first, before it is known which of it is shown; the rest as in `SearchResult`."""

    passages: tuple[Passage, ...]
    notes: tuple[Note, ...] = ()
    is_truncated: bool = False
    is_weak: bool = False
    has_weaker: bool = False
    corrections: tuple[Correction, ...] = ()


def fused(answers: Sequence[Answer], *, limit: int) -> Answer:
    """Put answers together, best first; the best hit of every query that has a good one is among the first."""
    found: defaultdict[ChunkId, list[Passage]] = defaultdict(list)
    for passage in chain.from_iterable(answer.passages for answer in answers):
        found[passage.ranked.chunk_id].append(passage)
    passages = sorted(map(_together, found.values()), key=_place)
    bests = [one.passages[0].ranked.chunk_id for one in answers if one.passages and not one.is_weak]
    return Answer(
        passages=tuple(_with_bests(passages, frozenset(bests), limit)),
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        is_truncated=len(passages) > limit or any(answer.is_truncated for answer in answers),
        is_weak=all(answer.is_weak for answer in answers),
        has_weaker=any(answer.has_weaker for answer in answers),
        corrections=tuple(dict.fromkeys(one for answer in answers for one in answer.corrections)),
    )


def _together(passages: Sequence[Passage]) -> Passage:
    """Show a passage as the query does that it answers best."""
    best = max(passages, key=lambda one: one.ranked.score)
    score = 1 - math.prod(1 - one.ranked.score for one in passages)
    return best._replace(ranked=best.ranked._replace(score=score))


def _place(passage: Passage) -> tuple[float, str, int]:
    return -passage.ranked.score, passage.chunk.path, passage.chunk.chunk.start_line


def _with_bests(passages: Sequence[Passage], bests: frozenset[ChunkId], limit: int) -> list[Passage]:
    n_others = max(limit - len(bests), 0)
    ids = [one.ranked.chunk_id for one in passages]
    others = [one for one in ids if one not in bests][:n_others]
    return [one for one in passages if one.ranked.chunk_id in bests or one.ranked.chunk_id in others][:limit]
