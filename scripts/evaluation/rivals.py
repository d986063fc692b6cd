"""Results of other programs for the same question: ripgrep with ranked files, and Recoll."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

_SHORTEST_WORD = 3


class Row(NamedTuple):
    """One entry of an answer: its file, below the tree, and the printed text."""

    path: str
    printed: str


class Ripgrep:
    """Files ranked by the words of the question in them, each printed with its lines, like `rg -n`."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    @staticmethod
    def is_installed() -> bool:
        """Whether the command is there."""
        return bool(shutil.which("rg"))

    def distinct_words(self, question: str) -> list[Row]:
        """Rank by the number of different query words in a file."""
        return self._ranked(question, lambda n_files: dict.fromkeys(n_files, 1.0))

    def rare_words(self, question: str) -> list[Row]:
        """Rank by the rarity of the query words in a file."""
        n_all = len(run("rg", "--no-config", "--files", cwd=self._tree).splitlines())
        return self._ranked(
            question, lambda n_files: {word: math.log(1 + n_all / n) for word, n in n_files.items() if n}
        )

    def literal(self, text: str) -> list[str]:
        """Return the files that contain a literal text, ignoring case, sorted by path."""
        result = run("rg", "--no-config", "-liF", "--sort", "path", "-e", text, "--", ".", cwd=self._tree)
        return [path.removeprefix("./") for path in result.splitlines()]

    def _ranked(self, question: str, weigh: Callable[[Mapping[str, int]], Mapping[str, float]]) -> list[Row]:
        words = keywords(question)
        if not words:
            return []
        patterns = [option for word in words for option in ("-e", word)]
        result = run("rg", "--no-config", "-inF", "--no-heading", "-0", "-H", *patterns, "--", ".", cwd=self._tree)
        lines: defaultdict[str, list[str]] = defaultdict(list)
        has: defaultdict[str, set[str]] = defaultdict(set)
        for row in result.split("\n"):
            path, mark, line = row.partition("\0")
            if mark:
                path = path.removeprefix("./")
                lines[path].append(line)
                has[path].update(word for word in words if word in line.lower())
        weights = weigh(Counter(word for held in has.values() for word in held))
        scores = {path: math.fsum(weights[word] for word in held) for path, held in has.items()}
        best = sorted(scores, key=lambda path: (-scores[path], -len(lines[path]), path))
        return [Row(path, "\n".join((path, *lines[path], ""))) for path in best]


class Recoll:
    """Recoll's index of the tree, queried for any of the words; text files are indexed whatever their names."""

    def __init__(self, tree: Path, place: Path) -> None:
        self._tree = os.path.realpath(tree)
        self._place = place
        place.mkdir(parents=True, exist_ok=True)
        settings = (f"topdirs = {self._tree}", "textunknownasplain = 1", "skippedNames+ = .git", "followLinks = 0")
        (place / "recoll.conf").write_text("\n".join(settings) + "\n", encoding="utf-8")

    @staticmethod
    def is_installed() -> bool:
        """Whether both of its commands are there."""
        return bool(shutil.which("recollindex") and shutil.which("recollq"))

    def update(self) -> None:
        """Update the index."""
        run("recollindex", "-c", str(self._place))

    def search(self, question: str) -> list[Row]:
        """Return its first hundred hits."""
        return self._search(" ".join(re.findall(r"\w+", question)))

    def quoted(self, text: str) -> list[str]:
        """Return the files that contain a literal text."""
        return [row.path for row in self._search(f'"{text}"')]

    def _search(self, words: str) -> list[Row]:
        result = run("recollq", "-c", str(self._place), "-o", "-n", "100", words)
        rows = re.findall(r"^(.*\[file://([^\]]*)\].*)$", result, re.MULTILINE)
        return [Row(os.path.relpath(path, self._tree).replace(os.sep, "/"), f"{printed}\n") for printed, path in rows]


def keywords(question: str) -> list[str]:
    """Return the distinct words of a question, without function words."""
    words = re.findall(r"\w+", question.lower())
    return list(dict.fromkeys(word for word in words if len(word) >= _SHORTEST_WORD and word not in _FUNCTION_WORDS))


def without(rows: Iterable[Row], is_wanted: Callable[[str], bool]) -> list[Row]:
    """Drop rows of unwanted files."""
    return [row for row in rows if is_wanted(row.path)]


def run(*command: str, cwd: Path | None = None) -> str:
    """Return what a command prints, whatever its exit code."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(  # noqa: S603 - words of ours
        command, cwd=cwd, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    return done.stdout.decode("utf-8", "surrogateescape")


_FUNCTION_WORDS: Sequence[str] = (
    "the and for not with from when are was were been has have had that this these those its into than then them they "
    "but all any can could should would will does did don doesn isn one two also only more most some such use used "
    "using make makes made add adds added fix fixes fixed allow allows new via per out too off over under about after "
    "before instead while where which who why how what there here our your their his her you"
).split()
