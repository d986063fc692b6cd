"""`scripts/eval localise`: which file is it that has to be changed? Commits ask, and the file they changed answers."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from evaluation.localising import Localiser, Measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EPILOGUE = """
A repository is a git checkout or a bare one, with its history. Of each are taken the newest commits that change exactly
one source file and say so in four words or more; the question is the subject, asked of the tree before the commit.
hit@1, hit@5 and MRR@10 count files. "tokens" are those that are printed until the right file is on screen, 3.5 bytes
each and 25,000 where it never is: of dirindex the rows of a pipe, of rg the lines with the words, file by file in the
order of the ranking, of Recoll the rows of recollq. "no tests or docs" takes these out of the answer. "CPU ms" counts
an index that is up to date, in a process that runs.
"""
_COLUMNS = ("hit@1", "hit@5", "MRR@10", "tokens", "tokens 90 %", "CPU ms")
_FEWEST_FOR_QUANTILES = 2


def localise(arguments: Sequence[str]) -> None:
    """Measure every repository, and print a table for all and for each."""
    options = _options(arguments)
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory() as temporary:
        data_dir = options.data_dir or Path(temporary)
        for repository in options.repositories:
            localiser = Localiser(repository, data_dir, embedding=options.embedding)
            own = localiser.measure(at_most=options.commits)
            measured += own
            _show(f"{repository.name}:", own)
    if len(options.repositories) > 1:
        _show(f"all {len(options.repositories)} repositories:", measured)
        _show("the subject names the file:", [measurement for measurement in measured if measurement.is_named])
        _show("it does not:", [measurement for measurement in measured if not measurement.is_named])


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/eval localise",
        description=__doc__,
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("repositories", type=Path, nargs="+", metavar="REPOSITORY", help="git checkout, or bare")
    parser.add_argument("--data-dir", type=Path, help="where trees, indexes and answers are kept from run to run")
    parser.add_argument("--commits", type=int, default=40, metavar="N", help="ask for so many of each (40)")
    parser.add_argument(
        "--embedding", choices=("complete", "on-demand"), default="complete", help="what is embedded before a question"
    )
    return parser.parse_args(arguments)


def _show(title: str, measured: Sequence[Measured]) -> None:
    n_questions = len({(measurement.repository, measurement.commit) for measurement in measured})
    print(f"\n{title} {n_questions} questions")
    print(f"  {'':34}" + "".join(f"{column:>12}" for column in _COLUMNS))
    for name in dict.fromkeys(measurement.ranking for measurement in measured):
        print(
            f"  {name:34}" + "".join(_cells([measurement for measurement in measured if measurement.ranking == name])),
            flush=True,
        )


def _cells(rows: Sequence[Measured]) -> Iterator[str]:
    places = [row.place for row in rows]
    for most in (1, 5):
        yield f"{statistics.fmean(place is not None and place <= most for place in places):>12.3f}"
    yield f"{statistics.fmean(1 / place if place else 0.0 for place in places):>12.3f}"
    tokens = [row.tokens for row in rows]
    yield f"{statistics.median(tokens):>12,.0f}"
    yield f"{_ninetieth(tokens):>12,.0f}"
    yield f"{statistics.fmean(row.cpu_ms for row in rows):>12.0f}"


def _ninetieth(values: Sequence[float]) -> float:
    if len(values) < _FEWEST_FOR_QUANTILES:
        return values[0]
    return statistics.quantiles(values, n=10, method="inclusive")[-1]
