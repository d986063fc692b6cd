"""Asks for the one file that a commit changes, in the tree as it stood before, and tells at which place it was found.

Each repository is gone through from the oldest commit that is asked for to the newest, and its index is brought up to
date at each of them. An answer that was measured stays in `answers.jsonl` of the repository's directory, so a run that
was cut off goes on, and a ranking that was added is measured by itself.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from directory_indexer.app import App
from directory_indexer.config import load_config
from directory_indexer.core.paths import os_path, resolved_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.text.formatting import PathStyle
from directory_indexer.text.rows import search_rows
from evaluation.commits import Task, git, is_source, tasks
from evaluation.rivals import Recoll, Ripgrep, Row, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from directory_indexer.search.requests import SearchResult

BYTES_PER_TOKEN = 3.5
NEVER = 25_000
"""So many tokens count where the file is not in the answer."""

_SHOWN = 10
_DEEP = 100
_SECONDS = 0.5
"""So long a search may embed what waits, as that of a terminal may."""


class Measured(NamedTuple):
    """The answer of one ranking to one question: the place of the file among ten, if it is there, and what it took."""

    repository: str
    commit: str
    is_named: bool
    ranking: str
    place: int | None
    tokens: float
    cpu_ms: float


class Localiser:
    """One repository: its tree, the indexes of it, and what was measured so far."""

    def __init__(self, repository: Path, data_dir: Path, *, embedding: str) -> None:
        self._name = repository.name.removesuffix(".git")
        self._place = data_dir / self._name
        self._tree = self._place / "tree"
        self._repository = repository
        self._embedding = embedding
        self._answers = self._place / "answers.jsonl"

    def measure(self, *, at_most: int) -> list[Measured]:
        """Ask what was not asked yet, and give all that was measured."""
        self._place.mkdir(parents=True, exist_ok=True)
        if not self._tree.exists():
            git("clone", "--quiet", "--shared", "--no-checkout", str(self._repository.resolve()), str(self._tree))
        known_tasks = tasks(self._repository, at_most=at_most)
        known = {(measurement.commit, measurement.ranking): measurement for measurement in self._known()}
        self._answers.write_text("".join(map(_line, known.values())), encoding="utf-8")
        rankings = Rankings(self._tree, self._place, embedding=self._embedding)
        try:
            with self._answers.open("a", encoding="utf-8") as file:
                for task in known_tasks:
                    missing = [name for name in rankings.names if (task.commit, name) not in known]
                    for measurement in self._measured(task, missing, rankings):
                        known[task.commit, measurement.ranking] = measurement
                        file.write(_line(measurement))
                        file.flush()
        finally:
            rankings.close()
        return [known[task.commit, name] for task in known_tasks for name in rankings.names]

    def _measured(self, task: Task, names: Sequence[str], rankings: Rankings) -> Iterator[Measured]:
        if not names:
            return
        git("-C", str(self._tree), "checkout", "--quiet", "--force", "--detach", task.parent)
        git("-C", str(self._tree), "clean", "--quiet", "-fdx")
        rankings.update(names)
        for name in names:
            began = _cpu_seconds()
            rows = rankings.ask(name, task.subject)
            cpu_ms = (_cpu_seconds() - began) * 1e3
            place, tokens = found_at(task.path, rows)
            yield Measured(self._name, task.commit, task.is_named, name, place, tokens, cpu_ms)

    def _known(self) -> Iterator[Measured]:
        if not self._answers.exists():
            return
        for line in self._answers.read_text(encoding="utf-8").splitlines():
            try:
                yield Measured(**json.loads(line))
            except ValueError:
                continue  # the end of a run that was killed


def _line(measurement: Measured) -> str:
    return json.dumps(measurement._asdict()) + "\n"


def found_at(path: str, rows: Sequence[Row]) -> tuple[int | None, float]:
    """Return the place of a file among the first ten files, and how many tokens are printed until it is on screen."""
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
    """All that is asked about one tree, by name; of what others can do, what is installed."""

    def __init__(self, tree: Path, place: Path, *, embedding: str) -> None:
        self._own = OwnIndex(tree, place / "index", embedding=embedding)
        self._recoll = Recoll(tree, place / "recoll") if Recoll.is_installed() else None
        self._ask: dict[str, Callable[[str], Sequence[Row]]] = {
            "dirindex": self._own.both,
            _left_out("dirindex"): lambda text: without(self._own.deep(text), is_source),
            "dirindex, words": self._own.words,
        }
        if Ripgrep.is_installed():
            ripgrep = Ripgrep(tree)
            self._add("rg, words", ripgrep.distinct_words)
            self._add("rg, rare words", ripgrep.rare_words)
        if self._recoll:
            self._add("recoll", self._recoll.search)

    def _add(self, name: str, ask: Callable[[str], Sequence[Row]]) -> None:
        self._ask[name] = ask
        self._ask[_left_out(name)] = lambda text: without(ask(text), is_source)

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names, in the order of the table."""
        return tuple(self._ask)

    def update(self, names: Sequence[str]) -> None:
        """Update the indexes that these need."""
        if any(name.startswith("dirindex") for name in names):
            self._own.update()
        if self._recoll and any(name.startswith("recoll") for name in names):
            self._recoll.update()

    def ask(self, name: str, question: str) -> Sequence[Row]:
        """Answer a question by one of them."""
        return self._ask[name](question)

    def close(self) -> None:
        """Release files and memory."""
        self._own.close()


class OwnIndex:
    """The tree in an index of its own, asked in this process; what is printed is what a pipe gets."""

    def __init__(self, tree: Path, data_dir: Path, *, embedding: str) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        settings = data_dir / "config.json"
        settings.write_text(json.dumps({"indexing": {"embedding": embedding}}), encoding="utf-8")
        self._tree = os.path.realpath(tree)
        self._app = App(load_config(file=settings, data_dir=data_dir, environ={}))

    def update(self) -> None:
        """Update the index."""
        options = IndexOptions(has_consent=True)
        self._app.indexer.index([self._tree], options=options, listener=lambda _: None, stop_reason=lambda: None)

    def both(self, question: str) -> list[Row]:
        """Ask by words and meaning."""
        return self._rows(self._ask(question, SearchMode.HYBRID, _SHOWN))

    def words(self, question: str) -> list[Row]:
        """Ask by words alone."""
        return self._rows(self._ask(question, SearchMode.KEYWORD, _SHOWN))

    def deep(self, question: str) -> list[Row]:
        """Ask by words and meaning, for more hits than are shown."""
        return self._rows(self._ask(question, SearchMode.HYBRID, _DEEP))

    def close(self) -> None:
        """Release files and memory."""
        self._app.close()

    def _ask(self, question: str, mode: SearchMode, limit: int) -> SearchResult:
        return self._app.searcher.search(SearchRequest(question, mode=mode, limit=limit, embedding_seconds=_SECONDS))

    def _rows(self, result: SearchResult) -> list[Row]:
        printed = search_rows(result, paths=PathStyle(working_directory=self._tree)).splitlines(keepends=True)
        names = (os.path.relpath(os_path(resolved_path(hit.path)), self._tree) for hit in result.hits)
        return [Row(name.replace(os.sep, "/"), line) for name, line in zip(names, printed, strict=True)]


def _left_out(name: str) -> str:
    return f"{name}, no tests or docs"


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    return sum(os.times()[:4])
