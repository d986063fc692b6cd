"""Run an engine over pages, and compare what it reads with what stands there."""

from __future__ import annotations

import json
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scanning.pages import Page

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u00b4`", "'"),
        **dict.fromkeys("\u2010\u2011\u2013\u2014\u2212", "-"),
    }
)


class Engine(NamedTuple):
    """An engine: its name, the program beside this file that reads with it, and the interpreter that runs that."""

    name: str
    program: str
    python: str


class Read(NamedTuple):
    """The text read on a page, with the processor time and the most memory of the process so far."""

    text: str
    seconds: float
    wall: float
    peak_mb: int


class Measured(NamedTuple):
    """All that an engine has read, in the order of the pages."""

    name: str
    read: list[Read]


def measure(engine: Engine, pages: Sequence[Page]) -> Measured:
    """Read all pages with an engine."""
    questions = "".join(json.dumps({"path": str(page.path), "language": page.language}) + "\n" for page in pages)
    words = (engine.python, str(Path(__file__).with_name(engine.program)))
    done = subprocess.run(words, input=questions.encode(), stdout=subprocess.PIPE, check=True)  # noqa: S603 - ours
    return Measured(engine.name, [Read(**json.loads(line)) for line in done.stdout.splitlines()])


def error_rate(text: str, truth: str) -> float:
    """Count the characters to change, insert and remove, by the characters that stand there."""
    return _distance(_folded(text), _folded(truth)) / max(len(_folded(truth)), 1)


def words_found(text: str, truth: str) -> float:
    """Return the share of the words of one text that are in the other, each as often."""
    expected = Counter(_folded(truth).casefold().split())
    n_words = Counter(_folded(text).casefold().split())
    return (expected & n_words).total() / max(expected.total(), 1)


def _folded(text: str) -> str:
    """Make alike what is the same to a search: spaces, quotation marks and dashes."""
    return " ".join(unicodedata.normalize("NFKC", text.translate(_ALIKE)).split())


def _distance(left: str, right: str) -> int:
    """Count edits, a row of the table at once: what is inserted in a row costs one more than its left neighbour."""
    letters = np.array([ord(character) for character in right])
    offsets = np.arange(len(right) + 1)
    row = offsets.copy()
    for number, letter in enumerate(left, start=1):
        best = np.minimum(row[1:] + 1, row[:-1] + (letters != ord(letter)))
        row = np.minimum.accumulate(np.concatenate(([number], best)) - offsets) + offsets
    return int(row[-1])
