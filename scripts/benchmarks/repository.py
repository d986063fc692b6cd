"""Repositories: all commits of a long history by words, and a worktree of a repository that is indexed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from typing import TYPE_CHECKING

from benchmarks.corpus import make_index, make_tree, vocabulary
from benchmarks.measure import DIRINDEX, Options, Row, cost_of, median, rows_of
from benchmarks.search import queries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_N_COMMITS = 50_000
_N_FILES = 10_000
_BY_WORDS = {"indexing": {"git_history": True, "embedding": "off"}}
_MONDAY = 1_500_000_000


def repository(options: Options) -> Iterator[Row]:
    """Measure all commits by words, beside `git log`, and a new worktree by words and meaning, beside `git status`."""
    yield from _commits(options)
    yield from _worktree(options)


def _commits(options: Options) -> Iterator[Row]:
    place = options.place / f"commits-{_N_COMMITS}"
    if not place.exists():
        _git("init", "--quiet", "--bare", "--initial-branch=main", str(place / "history.git"))
        _git("-C", str(place / "history.git"), "fast-import", "--quiet", stdin=_history())
        _git("clone", "--quiet", "--no-checkout", str(place / "history.git"), str(place / "clone"))
    config, data_dir = place / "config.json", place / "index"
    config.write_text(json.dumps(_BY_WORDS), encoding="utf-8")
    index = (DIRINDEX, "index", str(place / "clone"), "--yes", "--quiet", *_of(data_dir), "--config", str(config))
    log = ("git", "-C", str(place / "clone"), "log", "--name-only")
    indexed, listed = [], []
    for _ in range(options.rounds):
        shutil.rmtree(data_dir, ignore_errors=True)
        indexed.append(cost_of(index))
        listed.append(cost_of(log))
    yield from rows_of(
        f"index {_N_COMMITS:,} commits by words", median(indexed), median(listed), of="git log --name-only"
    )


def _worktree(options: Options) -> Iterator[Row]:
    """Ask each new worktree by words and meaning when it is indexed; nothing of it may be embedded."""
    place = options.place / f"worktree-{_N_FILES}"
    tree, worktree, data_dir = (place / name for name in ("tree", "worktree", "index"))
    make_tree(tree, n_files=_N_FILES, n_chunks_each=1)
    if not (tree / ".git").exists():
        _git("-C", str(tree), "init", "--quiet")
        _git("-C", str(tree), "add", "--all")
        _git("-C", str(tree), *_AUTHOR, "-c", "gc.auto=0", "commit", "--quiet", "--message", "All notes")
    make_index(data_dir, tree).close()
    search = (DIRINDEX, "search", *queries(1), str(worktree), *_of(data_dir), "--quiet")
    index = (DIRINDEX, "index", str(worktree), "--quiet", "--yes", "--json", *_of(data_dir))
    report = place / "report.json"
    indexed, query_ms, status, embedded = [], [], [], []
    for _ in range(options.rounds):
        _git("-C", str(tree), "worktree", "add", "--quiet", "--detach", str(worktree))
        with report.open("wb") as output:
            indexed.append(cost_of(index, output=output))
        embedded.append(json.loads(report.read_text("utf-8"))["embedded"])
        query_ms.append(cost_of(search, may_fail=True))
        status.append(cost_of(("git", "-C", str(worktree), "status", "--short")))
        cost_of((DIRINDEX, "forget", str(worktree), "--quiet", *_of(data_dir)))
        _git("-C", str(tree), "worktree", "remove", "--force", str(worktree))
    what = f"a new worktree of {_N_FILES:,} files"
    yield from rows_of(f"index {what}", median(indexed), median(status), of="git status")
    yield from rows_of(f"first search of {what}", median(query_ms), median(status), of="git status")
    yield Row(f"texts embedded for {what}", "texts", max(embedded))


_AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def _of(data_dir: Path) -> tuple[str, str]:
    return "--data-dir", str(data_dir)


def _history() -> bytes:
    """Return commits of made-up words as `git fast-import` takes them; each changes one of two thousand files."""
    chance, words = random.Random(5), vocabulary(random.Random(7))
    return b"".join(_commit(number, chance, words) for number in range(_N_COMMITS))


def _commit(number: int, chance: random.Random, words: list[str]) -> bytes:
    body = "\n".join(" ".join(chance.choices(words, k=11)) for _ in range(chance.randrange(8)))
    message = f"{' '.join(chance.choices(words, k=8))}\n\n{body}\n".encode()
    who = f"Dev {number % 60} <dev{number % 60}@example.org> {_MONDAY + number * 600} +0000"
    path, content = f"d{chance.randrange(40)}/f{chance.randrange(50)}.c", f"x{number}\n"
    return (
        f"commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {len(message)}\n".encode()
        + message
        + f"\nM 100644 inline {path}\ndata {len(content)}\n{content}\n".encode()
    )


def _git(*arguments: str, stdin: bytes | None = None) -> None:
    program = shutil.which("git") or "git"
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run((program, *arguments), input=stdin, check=True, env=environment)  # noqa: S603 - a command of a benchmark
