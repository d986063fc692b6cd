"""What the same questions find while an index comes to be: by words, after the first pass, asked again, complete.

After the first pass each question is asked as if it were the first one: nothing is kept of what others embedded. Then
all are asked one after the other, and again when a run has kept what that made.
"""

from __future__ import annotations

import contextlib
import statistics
from typing import TYPE_CHECKING

from directory_indexer.searching.answers import SearchMode
from evaluation.asking import IndexedCorpus
from evaluation.steady import steadily

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evaluation.sets import RetrievalSet

_SHOWN = ("nDCG@10", "R@10")


_MOMENTS = (
    ("words", "on-demand", SearchMode.KEYWORD, False),
    ("first pass", "on-demand", SearchMode.HYBRID, False),
    ("asked once", "on-demand", SearchMode.HYBRID, True),
    ("asked again", "on-demand", SearchMode.HYBRID, True),
    ("complete", "complete", SearchMode.HYBRID, True),
)
"""What each is called, what runs embed, how is asked, and whether searches keep what they embed."""


def stages(one: RetrievalSet, data_dir: Path, *, seconds: float, tokens_a_second: float | None = None) -> Iterator[str]:
    """Measure a set at five moments of one index; searches may spend so many seconds on embedding.

    With `tokens_a_second` these are the seconds of a model that is as fast as that. The complete index is the one that
    `scripts/eval` makes and keeps anyway, which has the same passages.
    """
    yield f"{'':16}{'nDCG@10':>9}{'R@10':>8}{'ms':>8}{'95 %':>8}{'CPU ms':>8}{'95 %':>8}"
    for moment, embedding, mode, keeps in _MOMENTS:
        rows = []
        for root, questions in one.repositories():
            name = f"{one.name}/{root.name}" if questions[0].repository else one.name
            place = data_dir / (name if embedding == "complete" else f"{one.name}-stages/{root.name}")
            corpus = IndexedCorpus(one.corpus, root, place, embedding=embedding, seconds=seconds)
            with steadily(tokens_a_second), contextlib.nullcontext() if keeps else corpus.held():
                rows += [corpus.measure_first_hits(question, mode) for question in questions]
            corpus.close()
        quality = "".join(f"{statistics.fmean(row[column] for row in rows):>9.4f}" for column in _SHOWN)
        times = "".join(
            f"{value:>8.0f}" for column in ("ms", "CPU ms") for value in _median_and_95([row[column] for row in rows])
        )
        yield f"{moment:16}{quality}{times}"


def _median_and_95(values: list[float]) -> tuple[float, float]:
    return statistics.median(values), statistics.quantiles(values, n=20)[-1]
