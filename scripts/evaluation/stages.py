"""What the same questions find while an index comes to be: by words, after the first pass, asked again, complete."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from directory_indexer.searching.answers import SearchMode
from evaluation.asking import IndexedCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evaluation.sets import RetrievalSet

_SHOWN = ("nDCG@10", "R@10")


def stages(one: RetrievalSet, data_dir: Path, *, seconds: float) -> Iterator[str]:
    """Measure a set at four moments of one index; searches may spend so many seconds on embedding."""
    yield f"{'':16}{'nDCG@10':>9}{'R@10':>8}{'ms':>8}{'95 %':>8}{'CPU ms':>8}{'95 %':>8}"
    for name, embedding, mode in (
        ("words", "on-demand", SearchMode.KEYWORD),
        ("first pass", "on-demand", SearchMode.HYBRID),
        ("asked again", "on-demand", SearchMode.HYBRID),
        ("complete", "complete", SearchMode.HYBRID),
    ):
        rows = []
        for root, questions in one.repositories():
            place = data_dir / f"{one.name}-stages" / root.name
            corpus = IndexedCorpus(one.corpus, root, place, embedding=embedding, seconds=seconds)
            rows += [corpus.measure_first_hits(question, mode) for question in questions]
            corpus.close()
        quality = "".join(f"{statistics.fmean(row[column] for row in rows):>9.4f}" for column in _SHOWN)
        times = "".join(
            f"{value:>8.0f}" for column in ("ms", "CPU ms") for value in _median_and_95([row[column] for row in rows])
        )
        yield f"{name:16}{quality}{times}"


def _median_and_95(values: list[float]) -> tuple[float, float]:
    return statistics.median(values), statistics.quantiles(values, n=20)[-1]
