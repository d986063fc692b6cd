"""`scripts/eval located`: recall of the files that a commit changed, with its message as the query, by token budget.

One commit of each repository is the tree that is asked; the questions are later commits, by subject and body, and the
answer is what they changed of the source files of that tree, and of the functions and methods in them.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evaluation.asking import open_index, search_tree
from evaluation.commits import commits, git, is_source
from evaluation.rivals import Ripgrep, Row

from directory_indexer.app import App
from directory_indexer.formats.kinds import kind_for_alias
from directory_indexer.search.issue_localisation import (
    CandidateFiles,
    LocateRequest,
    LocateResult,
    Spot,
    fit_token_budget,
    gather_candidates,
)
from directory_indexer.search.requests import SearchMode
from directory_indexer.search.symbol_source import CALLABLE, SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_EPILOGUE = """
A repository is a git checkout or a bare one. Taken are the newest N commits with a body of twelve words or more that
change two to eight source files of the tree, which is that before the oldest of them. Tokens are those of the rows and,
of `locate`, of the lines that it names as well, at three bytes: an answer counts with all that it asks to be read. A
function counts where lines of it are named; it is one that a hunk lies in before the commit, and that is in the tree.
"""
BUDGETS = (2000, 4000, 8000, 16_000)
_BYTES_PER_TOKEN = 3
_SECONDS = 0.5
_DEEP = 200
_SHOWN = BUDGETS.index(8000)


class Function(NamedTuple):
    """A function or method of the searched tree: its file and its lines."""

    path: str
    start_line: int
    end_line: int


class Question(NamedTuple):
    """A message, and the files that the commit changed."""

    repository: str
    commit: str
    text: str
    files: frozenset[str]


class Result(NamedTuple):
    """The result of a ranking for a question: the recall of files at each budget, and the processor time."""

    repository: str
    ranking: str
    recalls: tuple[float, ...]
    cpu_ms: float


def located(arguments: Sequence[str]) -> None:
    """Print a table for each repository, and one for all."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "scripts/eval located", description=__doc__, epilog=_EPILOGUE, formatter_class=form
    )
    parser.add_argument("repositories", type=Path, nargs="+", metavar="REPOSITORY", help="git checkout, or bare")
    parser.add_argument("--data-dir", type=Path, help="where trees and indexes are kept from run to run")
    parser.add_argument("--commits", type=int, default=30, metavar="N", help="ask for so many of each (30)")
    parser.add_argument("--history", action="store_true", help="index the commits before, too")
    parser.add_argument("--only", default="", metavar="RANKING", help="ask this one alone")
    parser.add_argument("--show", action="store_true", help="also print what was missed at 8,000 tokens")
    options = parser.parse_args(arguments)
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as temporary:
        for repository in options.repositories:
            own = list(_measured(repository, options.data_dir or Path(temporary), options))
            _show(repository.parent.name if repository.name in ("repo", ".git") else repository.name, own)
            results += own
    _show(f"all {len(options.repositories)} repositories", results)


def _measured(repository: Path, data_dir: Path, options: argparse.Namespace) -> Iterator[Result]:
    place = data_dir / (repository.parent.name if repository.name in ("repo", ".git") else repository.name)
    pin, questions = questions_of(repository, at_most=options.commits)
    tree = _tree(repository, pin, place)
    indexing = {"embedding": "on-demand", "git_history": options.history}
    app = open_index(tree, place / ("index-history" if options.history else "index"), indexing=indexing)
    own = _Located(app, tree)
    rankings: dict[str, Callable[[Question], tuple[float, ...]]] = {
        "dirindex locate": own.recalls,
        "dirindex search": lambda question: recalls_of(
            question, search_tree(app, tree, question.text, SearchMode.HYBRID, _DEEP)
        ),
    }
    if Ripgrep.is_installed():
        ripgrep = Ripgrep(tree)
        rankings["rg, rare words"] = lambda question: recalls_of(question, ripgrep.rare_words(question.text))
    for name, ask in rankings.items():
        if options.only and options.only not in name:
            continue
        for question in questions:
            began = sum(os.times()[:4])
            recalls = ask(question)
            cpu_ms = (sum(os.times()[:4]) - began) * 1e3
            yield Result(place.name, name, recalls, cpu_ms)
            if name == "dirindex locate" and (functions := changed_functions(repository, question, tree)):
                yield Result(place.name, "functions of locate", own.function_recalls(question, functions), cpu_ms)
            if options.show and name == "dirindex locate" and recalls[_SHOWN] < 1:
                _show_missed(question, own.ranked(question))
    app.close()


def questions_of(repository: Path, *, at_most: int) -> tuple[str, list[Question]]:
    """Return the searched tree, by its commit, and the questions."""
    chosen: list[tuple[str, str, str, list[str]]] = []
    for commit, parents, message, changes in commits(repository, "%B", "--first-parent"):
        files = [path for status, path in changes if status == "M" and is_source(path)]
        text = question_text(message)
        if len(parents.split()) == 1 and text and _FEWEST <= len(files) <= _MOST:
            chosen.append((commit, parents, text, files))
        if len(chosen) == at_most:
            break
    pin = chosen[-1][1]
    there = set(git("-C", str(repository), "ls-tree", "-r", "--name-only", "-z", pin).split("\0"))
    name = repository.parent.name if repository.name in ("repo", ".git") else repository.name
    questions = [
        Question(name, commit, text, frozenset(there.intersection(files))) for commit, _, text, files in chosen
    ]
    return pin, [question for question in questions if len(question.files) >= _FEWEST]


def changed_functions(repository: Path, question: Question, tree: Path) -> frozenset[Function]:
    """Return the functions of the tree that a commit changed, by their earlier names."""
    return frozenset(function for path in question.files for function in _changed_in(repository, question, path, tree))


def _changed_in(repository: Path, question: Question, path: str, tree: Path) -> Iterator[Function]:
    commit, kind = question.commit, kind_for_alias(path.rpartition(".")[2]) or ""
    before = SourceText(git("-C", str(repository), "show", f"{commit}^:{path}"), kind)
    diff = git("-C", str(repository), "diff", "--unified=0", "--no-ext-diff", f"{commit}^", commit, "--", path)
    changed = [
        range(int(start), int(start) + int(n_lines or 1) + (n_lines == "0"))
        for start, n_lines in re.findall(r"^@@ -(\d+)(?:,(\d+))?", diff, re.MULTILINE)
    ]
    around = {before.enclosing(line) for lines in changed for line in lines}
    names = {definition.qualified for definition in around if definition is not None and definition.kind in CALLABLE}
    for definition in SourceText((tree / path).read_text("utf-8", "surrogateescape"), kind).definitions:
        if definition.qualified in names:
            yield Function(path, definition.start_line, definition.end_line)


def question_text(message: str) -> str:
    """Return a message without trailers, addresses and pull request numbers; nothing if its body is short."""
    lines = [line for line in message.splitlines() if not re.match(_TRAILER, line)]
    text = re.sub(r"https?://\S+|\(?#\d+\)?|\bGH-\d+", " ", "\n".join(lines)).strip()
    subject, _, body = text.partition("\n")
    is_long = len(re.findall(r"[^\W\d_]{2,}", body)) >= _FEWEST_WORDS
    return text if is_long and not re.search(_MECHANICAL, subject) else ""


def recalls_of(question: Question, rows: Sequence[Row]) -> tuple[float, ...]:
    """Return the recall at each budget."""
    return tuple(recall_at(question.files, rows, budget) for budget in BUDGETS)


def recall_at(files: frozenset[str], rows: Sequence[Row], budget: int) -> float:
    """Return the share of files in the rows that fit; of the first row that does not fit, the path may count."""
    room = budget * _BYTES_PER_TOKEN
    seen = set()
    for row in rows:
        n_bytes = len(row.printed.encode("utf-8", "surrogateescape"))
        if room < n_bytes:
            if room >= len(row.path):
                seen.add(row.path)
            break
        room -= n_bytes
        seen.add(row.path)
    return len(files & seen) / len(files)


class _Located:
    """The lines that `locate` names at each budget."""

    def __init__(self, app: App, tree: Path) -> None:
        self._app = app
        self._tree = tree
        self._last: tuple[Question, CandidateFiles] | None = None

    def recalls(self, question: Question) -> tuple[float, ...]:
        candidates = self._gathered(question)
        return tuple(self._recall(fit_token_budget(candidates, budget), question, budget) for budget in BUDGETS)

    def function_recalls(self, question: Question, functions: frozenset[Function]) -> tuple[float, ...]:
        """Return the share of functions with a line in the answer, at each budget."""
        return tuple(
            self._share_named(fit_token_budget(self._gathered(question), budget), functions) for budget in BUDGETS
        )

    def _share_named(self, places: LocateResult, functions: frozenset[Function]) -> float:
        spots = [(self._row(spot).path, spot) for spot in (*places.code, *places.tests, *places.documents)]
        named = {
            function
            for function in functions
            for path, spot in spots
            if path == function.path and spot.start_line <= function.end_line and function.start_line <= spot.end_line
        }
        return len(named) / len(functions)

    def _recall(self, places: LocateResult, question: Question, budget: int) -> float:
        rows = [self._row(spot) for spot in (*places.code, *places.tests, *places.documents)]
        n_bytes = sum(len(row.printed.encode("utf-8", "surrogateescape")) for row in rows)
        if n_bytes > budget * _BYTES_PER_TOKEN:
            print(f"  {question.commit[:9]} takes {n_bytes / _BYTES_PER_TOKEN:.0f} of {budget} tokens")
        return len(question.files & {row.path for row in rows}) / len(question.files)

    def _row(self, spot: Spot) -> Row:
        name = os.path.relpath(spot.path, self._tree)
        lines = Path(spot.path).read_text("utf-8", "replace").split("\n")[spot.start_line - 1 : spot.end_line]
        printed = f"{name}:{spot.start_line}-{spot.end_line}  {spot.reason}\n" + "\n".join(lines)
        return Row(name.replace(os.sep, "/"), printed)

    def ranked(self, question: Question) -> list[str]:
        """Return the ranked files, to inspect misses."""
        return [os.path.relpath(path, self._tree) for path, _ in self._gathered(question).files]

    def _gathered(self, question: Question) -> CandidateFiles:
        if self._last is None or self._last[0] != question:
            request = LocateRequest(question.text, embedding_seconds=_SECONDS)
            self._last = question, gather_candidates(self._app.docstore, self._app.searcher, request)
        return self._last[1]


def _tree(repository: Path, pin: str, place: Path) -> Path:
    """Return a checkout whose history ends with the commit of the questions."""
    tree = place / "tree"
    if not tree.exists():
        tree.mkdir(parents=True)
        git("init", "--quiet", str(tree))
        git("-C", str(tree), "fetch", "--quiet", str(repository.resolve()), pin)
        git("-C", str(tree), "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
    return Path(os.path.realpath(tree))


def _show(title: str, results: Sequence[Result]) -> None:
    n_questions = max(
        (sum(result.ranking == name for result in results) for name in {result.ranking for result in results}),
        default=0,
    )
    print(f"\n{title}: {n_questions} questions")
    print(f"  {'recall at':20}" + "".join(f"{budget:>9,}" for budget in BUDGETS) + f"{'CPU ms':>9}")
    for name in dict.fromkeys(result.ranking for result in results):
        own = [result for result in results if result.ranking == name]
        recalls = (statistics.fmean(column) for column in zip(*(result.recalls for result in own), strict=True))
        cpu_ms = statistics.median(result.cpu_ms for result in own)
        print(f"  {name:20}" + "".join(f"{recall:>9.3f}" for recall in recalls) + f"{cpu_ms:>9.0f}", flush=True)


def _show_missed(question: Question, ranked: Sequence[str]) -> None:
    places = {path: ranked.index(path) + 1 if path in ranked else 0 for path in sorted(question.files)}
    print(f"  {question.commit[:9]} {question.text.splitlines()[0][:70]!r}: {places}")


_FEWEST, _MOST = 2, 8
_FEWEST_WORDS = 12
_TRAILER = (
    r"(?i)\s*(?:[\w-]+-by|co-authored-by|change-id|cc|fixes|closes|refs?|resolves|see also|git-svn-id)"
    r"\s*:?\s*(?=\S*[<#@:]|$)"
)
_MECHANICAL = (
    r"(?i)^(?:docs?|style|chore|ci|build|release|lint|deps?|typo|revert|merge|bump)\b[^:]*:|^v?\d+\.\d+|\bbump|clippy"
    r"|\b(?:ruff|black|mypy|prettier|rustfmt|gofmt|eslint|pre-commit|copyright|typos?|pyupgrade|changelog)\b"
)
