"""Share of right files on screen within so many tokens of an answer: of the MCP server, and of ripgrep.

A token is four characters of the text that an assistant reads, whatever the tool. The server is asked with a budget of
as many; of ripgrep's lines those come first whose files have most of the distinct words of the question, as in
`rg -n -i -e WORD -e WORD`, grouped by file, at most five lines a file and those with most of the words first. In
both, a file is on screen once its path is.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from evaluation.asking import IndexedCorpus
from evaluation.over_mcp import Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evaluation.sets import Question, RetrievalSet

_CHARACTERS: Final = 4
_BYTES_PER_TOKEN: Final = 3
_LEAST_BUDGET, _MOST_BUDGET = 200, 10_000
_LINES_A_FILE: Final = 5
_NO_PATH: Final = " ["
_LONGEST_LINE: Final = 200
_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_FUNCTION_WORDS: Final = frozenset(
    "the and for how are does what where which with from into that this when can use used uses its not".split()
)


def recall_at_tokens(retrieval_set: RetrievalSet, data_dir: Path, *, budgets: Sequence[int]) -> Iterator[str]:
    """Measure a set, and give the rows of a table."""
    recalls: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for root, questions in retrieval_set.repositories():
        name = f"{retrieval_set.name}/{root.name}" if questions[0].repository else retrieval_set.name
        IndexedCorpus(retrieval_set.corpus, root, data_dir / name).close()
        with Server(retrieval_set.corpus, data_dir / name) as server:
            for question in questions:
                for budget in budgets:
                    recalls["dirindex"][budget].append(recall_in(_answer(server, question, budget), question, budget))
        for question in questions:
            text = _lines_of_ripgrep(question.text, root)
            for budget in budgets:
                recalls["ripgrep"][budget].append(recall_in(text, question, budget))
    yield f"{retrieval_set.name:16}" + "".join(f"{budget:>8}" for budget in budgets)
    for tool, by_budget in recalls.items():
        yield f"{tool:16}" + "".join(f"{statistics.fmean(by_budget[budget]):>8.3f}" for budget in budgets)


def _answer(server: Server, question: Question, budget: int) -> str:
    limit = budget * _CHARACTERS // _BYTES_PER_TOKEN
    return server.text(question.text, max_tokens=min(max(limit, _LEAST_BUDGET), _MOST_BUDGET))


def recall_in(text: str, question: Question, budget: int) -> float:
    """Return the share of the right files of which a line of the text is the path, or the end of it."""
    named = [line for line in text[: budget * _CHARACTERS].splitlines() if line and line[0] not in _NO_PATH]
    n_named = sum(any(_is_path(line, f"/{path}") for line in named) for path in question.grades)
    return n_named / len(question.grades)


def _is_path(line: str, path: str) -> bool:
    """Whether a line is a path, as a whole or below a directory that is named elsewhere."""
    return line.endswith(path) or path.endswith(f"/{line}")


def _lines_of_ripgrep(text: str, root: Path) -> str:
    words = {word.lower() for word in _WORD.findall(text)} - _FUNCTION_WORDS
    if not words:
        return ""
    patterns = [argument for word in sorted(words) for argument in ("-e", re.escape(word))]
    done = subprocess.run(  # noqa: S603 - words of ours
        ["rg", "--no-heading", "--null", "-n", "-i", *patterns, "."],  # noqa: S607
        cwd=root, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    files: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for row in done.stdout.splitlines():
        path, _, line = row.partition("\0")
        held = {word for word in words if word in line.lower()}
        seen[path] |= held
        files[path].append((len(held), line[:_LONGEST_LINE]))
    ranked = sorted(files, key=lambda path: (-len(seen[path]), -len(files[path]), path))
    return "\n".join(line for path in ranked for line in _limited(os.path.normpath(path), files[path]))


def _limited(path: str, lines: Sequence[tuple[int, str]]) -> Iterator[str]:
    yield path
    for _, line in sorted(lines, key=lambda item: -item[0])[:_LINES_A_FILE]:
        yield f"  {line}"
