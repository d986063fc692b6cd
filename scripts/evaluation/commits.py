"""Commits of a repository whose subject describes a change of one file: questions with a known answer.

Taken are commits that change exactly one source file, beside tests, documentation and other files that are no source,
and whose subjects have four words at least. Merges, releases, and what is about style or documentation alone are left
out. The answer is the file as it stood before.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FEWEST_WORDS = 4
_SHORTEST_STEM = 3


class Task(NamedTuple):
    """A question about the tree at `parent`, answered by `path`; `is_named` if the question contains its name."""

    commit: str
    parent: str
    subject: str
    path: str
    is_named: bool


def tasks(repository: Path, *, at_most: int) -> list[Task]:
    """Return the newest usable commits of a repository, oldest first."""
    chosen: dict[str, Task] = {}
    for task in _tasks(repository):
        chosen.setdefault(task.subject.casefold(), task)  # a change made on two branches counts once
        if len(chosen) >= at_most:
            break
    return list(reversed(chosen.values()))


def is_source(path: str) -> bool:
    """Whether a file is source code of the product, not of a test, an example or documentation."""
    return path.rpartition(".")[2].lower() in _SOURCE and not re.search(_ASIDE, path)


def git(*arguments: str) -> str:
    """Run git without the user's configuration and a repository's hooks; end if it fails, after its own message."""
    command = ("git", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*", "-c", "advice.detachedHead=false")
    done = subprocess.run((*command, *arguments), check=False, stdout=subprocess.PIPE)  # noqa: S603 - words of ours
    if done.returncode:
        sys.exit(f"git {' '.join(arguments[:3])} failed; name a repository with its full history")
    return done.stdout.decode("utf-8", "surrogateescape")


def commits(repository: Path, message: str, *options: str) -> Iterator[tuple[str, str, str, list[tuple[str, str]]]]:
    """Yield commits with their parents, their message in a git format, and their changes (status and path)."""
    arguments = ("log", "--no-merges", "--no-renames", "--name-status", "-z", *options)
    log = git("-C", str(repository), *arguments, f"--format=%x01%H%x02%P%x02{message}%x02")
    for record in log.split("\x01")[1:]:
        commit, parents, text, rest = record.split("\x02", 3)
        fields = [field for field in rest.strip("\n").split("\0") if field]
        changes = [(status.strip(), path) for status, path in zip(fields[::2], fields[1::2], strict=False)]
        yield commit, parents, text, changes


def _tasks(repository: Path) -> Iterator[Task]:
    for commit, parents, subject, changes in commits(repository, "%s", "--topo-order"):
        changed = [(status, path) for status, path in changes if is_source(path)]
        question = _question(subject)
        if len(parents.split()) == 1 and question and len(changed) == 1 and changed[0][0] == "M":
            yield Task(commit, parents, question, changed[0][1], _has_name(question, changed[0][1]))


def _question(subject: str) -> str:
    """Return a subject without the number of its pull request, or nothing if it is no usable question."""
    text = re.sub(_NUMBER, "", subject).strip()
    is_asked = len(re.findall(_WORD, text)) >= _FEWEST_WORDS and not re.search(_MECHANICAL, text)
    return text if is_asked else ""


def _has_name(subject: str, path: str) -> bool:
    stem = path.rpartition("/")[2].partition(".")[0].casefold()
    return len(stem) >= _SHORTEST_STEM and stem in re.findall(r"\w+", subject.casefold())


_NUMBER = r"(?:\s*\((?:[\w/.-]*#\d+(?:,\s*)?)+\))+\s*$"
_WORD = r"[^\W\d_]+"
_SOURCE = frozenset(
    (
        "c cc cjs cpp cs cxx dart ex go h hpp hs java jl js jsx kt lua m mjs ml php pl pm py rb rs scala swift ts tsx "
        "zig"
    ).split()
)
_ASIDE = r"""(?x)
    (?:^|/) (?:tests?|testing|__tests__|specs?|testdata|test-\w+|fixtures?|mocks?|e2e|docs?|doc-src|_?examples?|
               samples?|bench(?:es|marks?)?|vendor|third_party|node_modules|dist) /
    | (?:^|/) (?:test_[^/]*|conftest\.py|tests?\.\w+) $
    | [._-] (?:tests?|specs?|bench|min) \.[^/]+ $
    | [a-z0-9] (?:Tests?|Spec|Benchmark) \.\w+ $
"""
_MECHANICAL = r"""(?xi)
    ^ (?:docs?|tests?|style|chore|ci|build|release|lint|deps?|typo|revert|merge|bump|update\ (?:to\ )?v?\d|prepare)
      \b [^:]* (?::|\ )
    | ^ v?\d+\.\d+
    | \b (?:bump(?:s|ed|ing)?|lint(?:er|s|ing)?|re-?format\w*|prettier|gofmt|rustfmt|clippy|rubocop|eslint|ruff|mypy|
            flake8|black|phpstan|changelog|release|typos?|spelling|misspell\w*|copyright|licen[cs]e|godoc|javadoc|
            docstrings?|comments?|docs?|document(?:s|ed|ing|ation)?|tests?|readme|autofix\w*|whitespace|type\ hints?|
            typing|annotations?|pre-commit\.ci) \b
    | \b trigger\ the\ tests\b | \b pyupgrade \b
"""
