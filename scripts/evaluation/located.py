"""`scripts/eval located`: the share of the files of a long commit message in the answer, at a budget of tokens.

One commit of each repository is the tree that is asked; the questions are later commits, by subject and body, and the
answer is what they changed of the source files of that tree.
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evaluation.asking import command_parser, open_index, search_tree
from evaluation.commits import commits, git, is_source
from evaluation.rivals import Ripgrep, Row

from directory_indexer.app import App
from directory_indexer.search.locating import LocateRequest, Spot, gathered, within
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_EPILOGUE = """
A repository is a git checkout or a bare one. Taken are the newest N commits with a body of twelve words or more that
change two to eight source files of the tree, which is that before the oldest of them. Tokens are those of the rows and,
of `locate`, of the lines that it names as well, at three bytes: an answer counts with all that it asks to be read.
"""
BUDGETS = (2000, 4000, 8000, 16_000)
_BYTES_PER_TOKEN = 3
_SECONDS = 0.5
_DEEP = 200


class Question(NamedTuple):
    """A message, and the files that the commit changed."""

    commit: str
    text: str
    files: frozenset[str]


class Result(NamedTuple):
    """The result of a ranking for a question: the recall of files at each budget, and the processor time."""

    ranking: str
    recalls: tuple[float, ...]
    cpu_ms: float


def located(arguments: Sequence[str]) -> None:
    """Print a table for each repository, and one for all."""
    parser = command_parser("located", __doc__, _EPILOGUE, "repository: git checkout, or bare")
    parser.add_argument("--commits", type=int, default=30, metavar="N", help="ask for so many of each (30)")
    options = parser.parse_args(arguments)
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as temporary:
        for repository in options.places:
            place = (options.data_dir or Path(temporary)) / _name_of(repository)
            own = list(_measured(repository, place, at_most=options.commits))
            _show(place.name, own)
            results += own
    _show(f"all {len(options.places)} repositories", results)


def _name_of(repository: Path) -> str:
    return repository.parent.name if repository.name in ("repo", ".git") else repository.name


def _measured(repository: Path, place: Path, *, at_most: int) -> Iterator[Result]:
    pin, questions = questions_of(repository, at_most=at_most)
    tree = _tree(repository, pin, place)
    app = open_index(tree, place / "index", indexing={"embedding": "on-demand"})
    ripgrep = Ripgrep(tree)
    rankings: dict[str, Callable[[Question], tuple[float, ...]]] = {
        "dirindex locate": lambda question: _recalls_of_locate(app, tree, question),
        "dirindex search": lambda question: recalls_of(
            question, search_tree(app, tree, question.text, SearchMode.HYBRID, _DEEP)
        ),
    }
    if Ripgrep.is_installed():
        rankings["rg, rare words"] = lambda question: recalls_of(question, ripgrep.rare_words(question.text))
    for (name, ask), question in itertools.product(rankings.items(), questions):
        began = sum(os.times()[:4])
        recalls = ask(question)
        yield Result(name, recalls, (sum(os.times()[:4]) - began) * 1e3)
    app.close()


def questions_of(repository: Path, *, at_most: int) -> tuple[str, list[Question]]:
    """Return the tree that is asked, by its commit, and the questions."""
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
    questions = [Question(commit, text, frozenset(there.intersection(files))) for commit, _, text, files in chosen]
    return pin, [question for question in questions if len(question.files) >= _FEWEST]


def question_text(message: str) -> str:
    """Return a message without trailers, addresses and numbers of requests; nothing where its body is short."""
    lines = [line for line in message.splitlines() if not re.match(_TRAILER, line)]
    text = re.sub(r"https?://\S+|\(?#\d+\)?|\bGH-\d+", " ", "\n".join(lines)).strip()
    subject, _, body = text.partition("\n")
    is_long = len(re.findall(r"[^\W\d_]{2,}", body)) >= _FEWEST_WORDS
    return text if is_long and not re.search(_MECHANICAL, subject) else ""


def recalls_of(question: Question, rows: Sequence[Row]) -> tuple[float, ...]:
    """Return the recall at each budget."""
    return tuple(recall_at(question.files, rows, budget) for budget in BUDGETS)


def recall_at(files: frozenset[str], rows: Sequence[Row], budget: int) -> float:
    """Return the share of files that stand in as many rows as fit; of one that does not fit, its path may."""
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


def _recalls_of_locate(app: App, tree: Path, question: Question) -> tuple[float, ...]:
    """Return the recall at each budget, of the lines that `locate` names."""
    request = LocateRequest(question.text, embedding_seconds=_SECONDS)
    candidates = gathered(app.docstore, app.searcher, request)
    recalls = []
    for budget in BUDGETS:
        places = within(candidates, budget)
        rows = [_row(tree, spot) for spot in (*places.code, *places.tests, *places.documents)]
        n_bytes = sum(len(row.printed.encode("utf-8", "surrogateescape")) for row in rows)
        if n_bytes > budget * _BYTES_PER_TOKEN:
            print(f"  {question.commit[:9]} takes {n_bytes / _BYTES_PER_TOKEN:.0f} of {budget} tokens")
        recalls.append(len(question.files & {row.path for row in rows}) / len(question.files))
    return tuple(recalls)


def _row(tree: Path, spot: Spot) -> Row:
    name = os.path.relpath(spot.path, tree)
    lines = Path(spot.path).read_text("utf-8", "replace").split("\n")[spot.start_line - 1 : spot.end_line]
    printed = f"{name}:{spot.start_line}-{spot.end_line}  {spot.reason}\n" + "\n".join(lines)
    return Row(name.replace(os.sep, "/"), printed)


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
    by_ranking: dict[str, list[Result]] = {}
    for result in results:
        by_ranking.setdefault(result.ranking, []).append(result)
    print(f"\n{title}: {max(map(len, by_ranking.values()), default=0)} questions")
    print(f"  {'recall of files at':20}" + "".join(f"{budget:>9,}" for budget in BUDGETS) + f"{'CPU ms':>9}")
    for name, own in by_ranking.items():
        recalls = (statistics.fmean(column) for column in zip(*(result.recalls for result in own), strict=True))
        cpu_ms = statistics.median(result.cpu_ms for result in own)
        print(f"  {name:20}" + "".join(f"{recall:>9.3f}" for recall in recalls) + f"{cpu_ms:>9.0f}", flush=True)


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
