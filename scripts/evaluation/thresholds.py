"""Misses and false hits, wherever the line is drawn below which an answer is "nothing good"."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from directory_indexer.search.requests import SearchMode
from evaluation.asking import IndexedCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluation.sets import RetrievalSet

_LINES: Final = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
_MODES: Final = (SearchMode.KEYWORD, SearchMode.SEMANTIC, SearchMode.HYBRID)


class Scores(NamedTuple):
    """The best scores of the answers to the questions of a set, and to those of other sets."""

    own: Sequence[float]
    foreign: Sequence[float]

    def shares(self, line: float) -> tuple[float, float]:
        """Return the percentages that a line misses of its own and lets through of the others."""
        missed = fmean(score < line for score in self.own)
        return 100 * missed, 100 * fmean(score >= line for score in self.foreign)


def trade_off(sets: Sequence[RetrievalSet], foreign: Mapping[str, Sequence[str]], data_dir: Path) -> Iterator[str]:
    """Ask each corpus its own questions and the `foreign` ones, and tell what several lines would miss and let in."""
    yield f"{'missed/taken, %':26}" + "".join(f"{line:>11.2f}" for line in _LINES)
    all_scores: defaultdict[SearchMode, list[Scores]] = defaultdict(list)
    for retrieval_set in sets:
        for mode, scores in _scores_of(retrieval_set, foreign[retrieval_set.name], data_dir).items():
            all_scores[mode].append(scores)
            yield _row(f"{retrieval_set.name}, {mode}", [scores.shares(line) for line in _LINES])
    for mode, mode_scores in all_scores.items():
        by_line = [[scores.shares(line) for scores in mode_scores] for line in _LINES]
        yield _row(f"mean, {mode}", [(fmean(m for m, _ in row), fmean(t for _, t in row)) for row in by_line])
        yield _row(f"most, {mode}", [(max(m for m, _ in row), max(t for _, t in row)) for row in by_line])


def _scores_of(retrieval_set: RetrievalSet, foreign: Sequence[str], data_dir: Path) -> dict[SearchMode, Scores]:
    """Ask in every mode; the repositories of a set share the foreign questions."""
    own: defaultdict[SearchMode, list[float]] = defaultdict(list)
    others: defaultdict[SearchMode, list[float]] = defaultdict(list)
    repositories = list(retrieval_set.repositories())
    for at, (root, questions) in enumerate(repositories):
        name = f"{retrieval_set.name}/{root.name}" if questions[0].repository else retrieval_set.name
        corpus = IndexedCorpus(retrieval_set.corpus, root, data_dir / name)
        for mode in _MODES:
            own[mode] += [corpus.best_score(question.text, mode) for question in questions]
            others[mode] += [corpus.best_score(text, mode) for text in foreign[at :: len(repositories)]]
        corpus.close()
    return {mode: Scores(own[mode], others[mode]) for mode in _MODES}


def _row(name: str, shares: Sequence[tuple[float, float]]) -> str:
    return f"{name:26}" + "".join(f"{f'{missed:.1f}/{taken:.1f}':>11}" for missed, taken in shares)
