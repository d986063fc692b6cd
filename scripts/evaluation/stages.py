"""Results of the same questions while an index comes to be: by words, after the first pass, asked again, complete.

After the first pass each question is asked as if it were the first one: nothing is kept of what others embedded. Then
all are asked one after the other, and again when a run has kept what that made. Some can also be asked from outside, at
each moment but the third, which those of the second have come to by their end.
"""

from __future__ import annotations

import contextlib
import statistics
from typing import TYPE_CHECKING

from benchmarks.measure import Cost, percentile

from directory_indexer.search.requests import SearchMode
from evaluation.asking import IndexedCorpus
from evaluation.from_outside import costs_from_outside
from evaluation.steady import steadily

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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


def stages(
    retrieval_set: RetrievalSet,
    data_dir: Path,
    *,
    seconds: float,
    tokens_a_second: float | None = None,
    from_outside: int = 0,
) -> Iterator[str]:
    """Measure a set at five moments of one index; searches may spend so many seconds on embedding.

    With `tokens_a_second` these are the seconds of a model that is as fast as that. `from_outside` questions are asked
    by commands and in `serve`, too. The complete index is the one that `scripts/eval` makes and keeps anyway, which has
    the same passages.
    """
    yield (
        f"{'':16}{'nDCG@10':>9}{'R@10':>8}" + _TIMES + (f"  by commands{_TIMES}  in serve{_TIMES}" * bool(from_outside))
    )
    for moment, embedding, mode, keeps in _MOMENTS:
        rows, cold, served = [], [], []
        repositories = list(retrieval_set.repositories())
        for root, questions in repositories:
            name = f"{retrieval_set.name}/{root.name}" if questions[0].repository else retrieval_set.name
            place = data_dir / (name if embedding == "complete" else f"{retrieval_set.name}-stages/{root.name}")
            corpus = IndexedCorpus(retrieval_set.corpus, root, place, embedding=embedding, seconds=seconds)
            with steadily(tokens_a_second), contextlib.nullcontext() if keeps else corpus.held():
                rows += [corpus.measure_first_hits(question, mode) for question in questions]
            corpus.close()
            if from_outside and moment != "asked once":
                at_most = from_outside // len(repositories)
                by_commands, in_serve = costs_from_outside(place, questions, mode, at_most=at_most)
                cold, served = cold + by_commands, served + in_serve
        quality = "".join(f"{statistics.fmean(row[column] for row in rows):>9.4f}" for column in _SHOWN)
        times = _summary([Cost(row["CPU ms"], row["ms"]) for row in rows])
        yield f"{moment:16}{quality}{times}" + (f"{'':13}{_summary(cold)}{'':10}{_summary(served)}" if cold else "")


def _summary(costs: Sequence[Cost]) -> str:
    """Return median and 95 of 100, of the clock and of the processor."""
    columns = ([cost.wall for cost in costs], [cost.cpu for cost in costs])
    return "".join(f"{percentile(column, percent):>8.0f}" for column in columns for percent in (50, 95))


_TIMES = f"{'ms':>8}{'95 %':>8}{'CPU ms':>8}{'95 %':>8}"
