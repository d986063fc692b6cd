"""Measures of a ranking against judgements; all lie between 0 and 1, more is better.

nDCG is that of trec_eval: linear gain, logarithmic discount. The measures of spans are those of Chroma's "Evaluating
Chunking Strategies for Retrieval", which count characters and count what two hits share twice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluation.sets import Span, Unit

DEPTH = 10
"""How many places a person looks at."""

RECALL_DEPTH = 100

SPAN_DEPTH = 5


def of_files(files: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """Measure a ranking of files, each of which is named once."""
    places = [place for place, file in enumerate(files) if file in grades]
    return {
        "nDCG@10": _ndcg([(place, grades[files[place]]) for place in places], grades),
        "R@10": sum(place < DEPTH for place in places) / len(grades),
        "R@100": sum(place < RECALL_DEPTH for place in places) / len(grades),
        "MRR": 1 / (1 + places[0]) if places else 0.0,
    }


def of_hits(files: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """Measure a ranking of passages: a second one of the same file takes a place, and finds nothing new."""
    first = {file: place for place, file in reversed(list(enumerate(files)))}
    graded_places = [(place, grades[file]) for file, place in first.items() if file in grades]
    return {"hits nDCG@10": _ndcg(graded_places, grades)}


def of_spans(hits: Sequence[Span], expected: Sequence[Span]) -> dict[str, float]:
    """Measure how much of what answers the query the first hits hold, and how little beside it."""
    top_hits = hits[:SPAN_DEPTH]
    answered = sum(_overlap(span, top_hits) for span in expected)
    held = sum(_overlap(hit, expected) for hit in top_hits)
    n_wanted = sum(span.end - span.start for span in expected)
    n_shown = sum(hit.end - hit.start for hit in top_hits)
    return {
        "span recall": answered / n_wanted,
        "span precision": held / n_shown if n_shown else 0.0,
        "span IoU": answered / (n_shown + n_wanted - answered),
    }


def of_targets(hits: Sequence[Mapping[Unit, Span]], targets: Sequence[Span]) -> dict[str, float]:
    """Measure at which places the first passages stand that overlap the targets, each of which counts alike."""
    places = [_first_over(target, [hit.get(target.unit) for hit in hits]) for target in targets]
    ranks = [(place, 1) for place in places if place is not None]
    return {"targets nDCG@10": _ndcg(ranks, dict.fromkeys(map(str, range(len(targets))), 1))}


def _first_over(target: Span, hits: Sequence[Span | None]) -> int | None:
    return next((place for place, hit in enumerate(hits) if hit and _overlap(target, [hit])), None)


def _ndcg(graded_places: Sequence[tuple[int, int]], grades: Mapping[str, int]) -> float:
    gain = math.fsum(grade / math.log2(place + 2) for place, grade in graded_places if place < DEPTH)
    best = sorted(grades.values(), reverse=True)[:DEPTH]
    return gain / math.fsum(grade / math.log2(place + 2) for place, grade in enumerate(best))


def _overlap(target: Span, others: Sequence[Span]) -> int:
    """Count the characters of one span that any of the others holds."""
    total, end = 0, target.start
    for other in sorted(others, key=lambda span: span.start):
        if other.file == target.file:
            first, last = max(other.start, end), min(other.end, target.end)
            total += max(last - first, 0)
            end = max(end, last)
    return total
