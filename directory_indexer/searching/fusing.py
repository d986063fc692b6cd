"""Answers to several wordings of a question, or to several sides of it, as one.

Scores say how well a passage answers on one scale, so that what several queries find counts for more: a passage of .6
and .5 answers one of the two as surely as 1 - .4 * .5.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from directory_indexer.ids import ChunkId
from directory_indexer.searching.answers import Hit, SearchResult


def fused(results: Sequence[SearchResult], *, limit: int) -> SearchResult:
    """Put answers together, best first; the best hit of every query that has a good one is among the first."""
    found: defaultdict[ChunkId, list[Hit]] = defaultdict(list)
    for hit in chain.from_iterable(result.hits for result in results):
        found[hit.chunk_id].append(hit)
    hits = sorted(map(_together, found.values()), key=lambda hit: (-hit.score, hit.path, hit.start_line))
    bests = [result.hits[0].chunk_id for result in results if result.hits and not result.is_weak]
    return results[0]._replace(
        hits=tuple(_with_bests(hits, frozenset(bests), limit)),
        degraded=tuple(dict.fromkeys(note for result in results for note in result.degraded)),
        is_truncated=len(hits) > limit or any(result.is_truncated for result in results),
        is_weak=all(result.is_weak for result in results),
        has_weaker=any(result.has_weaker for result in results),
        corrections=tuple(dict.fromkeys(one for result in results for one in result.corrections)),
    )


def _together(hits: Sequence[Hit]) -> Hit:
    """Show a passage as the query does that it answers best."""
    best = max(hits, key=lambda hit: hit.score)
    return best._replace(score=1 - math.prod(1 - hit.score for hit in hits))


def _with_bests(hits: Sequence[Hit], bests: frozenset[ChunkId], limit: int) -> list[Hit]:
    n_others = max(limit - len(bests), 0)
    others = [hit.chunk_id for hit in hits if hit.chunk_id not in bests][:n_others]
    return [hit for hit in hits if hit.chunk_id in bests or hit.chunk_id in others][:limit]
