"""`scripts/eval localise`: rank of the file that a commit changed, with the subject of the commit as the query.

Each repository is gone through from the oldest commit that is asked for to the newest, and its index is brought up to
date at each of them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cheap import index_tree
from evaluation.asking import command_parser, open_index, search_tree
from evaluation.commits import Task, git, is_source, tasks
from evaluation.rivals import Recoll, Ripgrep, Row, without

from directory_indexer.search.requests import SearchMode

_EPILOGUE: Final = """
A repository is a git checkout or a bare one, with its history. Of each are taken the newest commits that change exactly
one source file and say so in four words or more; the question is the subject, asked of the tree before the commit.
hit@1, hit@5 and MRR@10 count files. "tokens" are those that are printed until the right file is on screen, 3.5 bytes
each and 25,000 where it never is: of dirindex the rows of a pipe, of rg the lines with the words, file by file in the
order of the ranking, of Recoll the rows of recollq. "no tests or docs" takes these out of the answer. "CPU ms" counts
an index that is up to date, in a process that runs.
"""
BYTES_PER_TOKEN: Final = 3.5
NEVER: Final = 25_000
"""Number of tokens counted if the file is not in the answer."""

_SHOWN: Final = 10
_DEEP: Final = 100
_COLUMNS: Final = ("hit@1", "hit@5", "MRR@10", "tokens", "tokens 90 %", "CPU ms")
_LEFT_OUT: Final = ", no tests or docs"


class Measured(NamedTuple):
    """The result of one ranking for one question: the rank of the file among ten, if any, and the cost."""

    repository: str
    commit: str
    is_named: bool
    ranking: str
    place: int | None
    tokens: float
    cpu_ms: float


def localise(arguments: Sequence[str]) -> None:
    """Measure every repository, and print a table for all and for each."""
    options = _options(arguments)
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory() as temporary:
        for repository in options.places:
            place = (options.data_dir or Path(temporary)) / repository.name.removesuffix(".git")
            own = _measured(repository, place, at_most=options.commits)
            measured += own
            _show(f"{repository.name}:", own)
    if len(options.places) > 1:
        _show(f"all {len(options.places)} repositories:", measured)
        _show("the subject names the file:", [row for row in measured if row.is_named])
        _show("it does not:", [row for row in measured if not row.is_named])


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = command_parser("localise", __doc__, _EPILOGUE, "repository: git checkout, or bare")
    parser.add_argument("--commits", type=int, default=40, metavar="N", help="ask for so many of each (40)")
    return parser.parse_args(arguments)


def _measured(repository: Path, place: Path, *, at_most: int) -> list[Measured]:
    place.mkdir(parents=True, exist_ok=True)
    tree = place / "tree"
    if not tree.exists():
        git("clone", "--quiet", "--shared", "--no-checkout", str(repository.resolve()), str(tree))
    chosen = tasks(repository, at_most=at_most)
    git("-C", str(tree), "checkout", "--quiet", "--force", "--detach", chosen[0].parent)
    rankings = Rankings(tree, place)
    measured = [row for task in chosen for row in rankings.measure(task)]
    rankings.close()
    return measured


def found_at(path: str, rows: Sequence[Row]) -> tuple[int | None, float]:
    """Return the rank of a file among the first ten files, and the number of tokens printed before it."""
    files = list(dict.fromkeys(row.path for row in rows))[:_SHOWN]
    n_bytes = 0
    for row in rows:
        n_bytes += len(row.printed.encode("utf-8", "surrogateescape"))
        if row.path == path:
            break
    else:
        n_bytes = int(NEVER * BYTES_PER_TOKEN)
    return files.index(path) + 1 if path in files else None, min(n_bytes / BYTES_PER_TOKEN, NEVER)


class Rankings:
    """All rankings of one tree by name; of other programs, those that are installed."""

    def __init__(self, tree: Path, place: Path) -> None:
        self._tree = tree
        self._app = app = open_index(tree, place / "index", indexing={"embedding": "complete"})
        self._recoll = Recoll(tree, place / "recoll") if Recoll.is_installed() else None
        self.by_name: dict[str, Callable[[str], Sequence[Row]]] = {
            "dirindex": lambda text: search_tree(app, tree, text, SearchMode.HYBRID, _SHOWN),
            f"dirindex{_LEFT_OUT}": lambda text: without(
                search_tree(app, tree, text, SearchMode.HYBRID, _DEEP), is_source
            ),
            "dirindex, words": lambda text: search_tree(app, tree, text, SearchMode.KEYWORD, _SHOWN),
        }
        if Ripgrep.is_installed():
            ripgrep = Ripgrep(tree)
            self._add("rg, words", ripgrep.distinct_words)
            self._add("rg, rare words", ripgrep.rare_words)
        if self._recoll:
            self._add("recoll", self._recoll.search)

    def _add(self, name: str, ask: Callable[[str], Sequence[Row]]) -> None:
        self.by_name |= {name: ask, f"{name}{_LEFT_OUT}": lambda text: without(ask(text), is_source)}

    def measure(self, task: Task) -> Iterator[Measured]:
        """Set the tree and the indexes to the state before a commit, and measure all rankings."""
        git("-C", str(self._tree), "checkout", "--quiet", "--force", "--detach", task.parent)
        git("-C", str(self._tree), "clean", "--quiet", "-fdx")
        index_tree(self._app, Path(os.path.realpath(self._tree)))
        if self._recoll:
            self._recoll.update()
        for name, ask in self.by_name.items():
            began = sum(os.times()[:4])
            rows = ask(task.subject)
            cpu_ms = (sum(os.times()[:4]) - began) * 1e3
            place, tokens = found_at(task.path, rows)
            yield Measured(self._tree.parent.name, task.commit, task.is_named, name, place, tokens, cpu_ms)

    def close(self) -> None:
        """Release files and memory."""
        self._app.close()


def _show(title: str, measured: Sequence[Measured]) -> None:
    n_questions = len({(row.repository, row.commit) for row in measured})
    print(f"\n{title} {n_questions} questions")
    print(f"  {'':34}" + "".join(f"{column:>12}" for column in _COLUMNS))
    for name in dict.fromkeys(row.ranking for row in measured):
        rows = [row for row in measured if row.ranking == name]
        places, tokens = [row.place or 1 << 30 for row in rows], [row.tokens for row in rows]
        ninetieth = statistics.quantiles([*tokens, tokens[-1]], n=10, method="inclusive")[-1]
        shares = [statistics.fmean(place <= most for place in places) for most in (1, 5)]
        shares.append(statistics.fmean(1 / row.place if row.place else 0.0 for row in rows))
        figures = (statistics.median(tokens), ninetieth, statistics.fmean(row.cpu_ms for row in rows))
        cells = [f"{share:>12.3f}" for share in shares] + [f"{figure:>12,.0f}" for figure in figures]
        print(f"  {name:34}{''.join(cells)}", flush=True)
