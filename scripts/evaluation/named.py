"""Asks for definitions by their names alone: is the first hit their file, and its line theirs?

What defines a name is told here by the words of each language alone, and not as the index tells it. Names that are
defined more than once in a tree are left out: none of their lines is the right one.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from directory_indexer.search.requests import SearchMode
from evaluation.asking import IndexedCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evaluation.sets import RetrievalSet

_SHORTEST: Final = 3
_MOST_BYTES: Final = 1_000_000
_MOST_NAMED: Final = 200


class Named(NamedTuple):
    """A definition: its name, and the file and line where it stands."""

    name: str
    path: str
    line: int


def measured_names(retrieval_set: RetrievalSet, data_dir: Path, *, at_most: int) -> Iterator[str]:
    """Ask each corpus for so many of its definitions, and tell of how many the first hit is the file, and the line."""
    yield f"{retrieval_set.name:16}{'names':>8}{'file':>8}{'line':>8}"
    for root, questions in retrieval_set.repositories():
        definitions = named_once(root, at_most=at_most)
        name = f"{retrieval_set.name}/{root.name}" if questions[0].repository else retrieval_set.name
        corpus = IndexedCorpus(retrieval_set.corpus, root, data_dir / name)
        places = [(definition, corpus.first_place(definition.name, SearchMode.HYBRID)) for definition in definitions]
        corpus.close()
        in_file = [
            (definition, line)
            for definition, (path, line) in places
            if os.path.realpath(path) == os.path.realpath(definition.path)
        ]
        on_line = {definition for definition, line in in_file if line == definition.line}
        missed = " ".join(definition.name for definition in definitions if definition not in on_line)
        yield f"{root.name:16}{len(places):>8}{len(in_file):>8}{len(on_line):>8}  {missed[:_MOST_NAMED]}"


def named_once(root: Path, *, at_most: int) -> tuple[Named, ...]:
    """Return definitions of a tree whose names have no other; of more than `at_most`, some evenly spread ones."""
    places: defaultdict[str, list[Named]] = defaultdict(list)
    for definition in _definitions(root):
        places[definition.name].append(definition)
    once = [same_name[0] for _, same_name in sorted(places.items()) if len(same_name) == 1]
    step = max(1.0, len(once) / at_most)
    return tuple(once[int(at * step)] for at in range(int(len(once) / step)))


def _definitions(root: Path) -> Iterator[Named]:
    for directory, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            pattern = _PATTERNS.get(os.path.splitext(name)[1])
            path = os.path.join(directory, name)
            if pattern is None or os.path.getsize(path) > _MOST_BYTES:
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in enumerate(file, start=1):
                    match = pattern.match(line)
                    symbol = next(filter(None, match.groups()), "") if match else ""
                    if len(symbol) >= _SHORTEST:
                        yield Named(symbol, path, number)


_SCRIPT: Final = re.compile(
    r"\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|interface|type|enum)\s+(\w+)"
    r"|\w+(?:\.\w+)*\.(\w+)\s*=\s*function"
)
_C: Final = re.compile(
    r"\s*(?:class|struct|enum(?:\s+class)?)\s+(?:[A-Z_]+\s+)?(\w+)\s*(?:final\s*)?[{:]|#\s*define\s+(\w+)"
    r"|(?!\s*(?:return|else|if|for|while|switch|case)\b)[\w:<>&*~ ]+[\s*&](\w+)\([^;]*\{\s*$"
)
_PATTERNS: Final = {
    ".py": re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)"),
    ".go": re.compile(r"func\s+(?:\([^)]*\)\s*)?(\w+)\s*[(\[]|type\s+(\w+)\s"),
    ".rs": re.compile(
        r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+|const\s+|unsafe\s+)*(?:fn|struct|enum|trait|type|macro_rules!)\s+(\w+)"
    ),
    ".js": _SCRIPT,
    ".ts": _SCRIPT,
    ".tsx": _SCRIPT,
    ".java": re.compile(
        r"\s*(?:(?:public|private|protected|static|final|abstract|sealed)\s+)*(?:class|interface|enum|record)\s+(\w+)"
        r"|\s+(?:(?:public|private|protected|static|final|abstract|synchronized)\s+)+(?:<[^()=]*>\s+)?"
        r"[\w.<>\[\], ?]+\s(\w+)\("
    ),
    ".rb": re.compile(r"\s*(?:def\s+(?:self\.)?|class\s+|module\s+)(\w+)\b(?![?!=:.])"),
    ".h": _C,
    ".c": _C,
    ".cc": _C,
    ".cpp": _C,
    ".swift": re.compile(
        r"\s*(?:(?:public|open|private|fileprivate|internal|final|static|override|mutating)\s+)*"
        r"(?:func|class|struct|enum|protocol|actor)\s+(\w+)"
    ),
    ".ex": re.compile(r"\s*(?:defp?|defmacrop?)\s+(\w+)\b(?![?!])"),
}
"""What a line begins with that defines a name, for each ending of files."""
