"""`scripts/eval exact`: ranks of exact queries, whose words, names and lines are sampled from the files of any tree."""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluation.asking import command_parser, open_index
from evaluation.rivals import Recoll, Ripgrep

from directory_indexer.ranking.word_forms import stem_of
from directory_indexer.search.requests import SearchRequest
from directory_indexer.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from directory_indexer.app import App
    from directory_indexer.search.requests import Hit
    from directory_indexer.storage.documents.store import Snapshot

_EPILOGUE = """
Drawn are words that stand once in the tree, with no other form of them; pairs of such a word and another of its line;
three to five words of a line; names of sixteen classes that stand in at most two files; names of files; and parts of
long words that are no words of the tree; secrets, which the index masks, are not. Each is asked as `dirindex search`
asks it. A hit is right when its passage or heading holds what was typed, with the passage beside it if a line goes on
there, a file when it does. "weak" is the share that was answered with "nothing matches well". ripgrep lists the files
with the string in the order of their paths, and Recoll is asked for it in quotation marks.
"""


class Typed(NamedTuple):
    """A query, its class, and the text of a correct passage; a file name has `path`."""

    kind: str
    query: str
    text: str
    path: str = ""


class Outcome(NamedTuple):
    """The rank of the first correct hit, from 1, or None; and whether the answer was marked weak."""

    typed: Typed
    place: int | None
    is_weak: bool = False


class Tree:
    """The texts of the files of a directory, to sample queries from."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts = {path: text for path in sorted(_files(root)) if (text := _text_of(path))}
        self.lines = [line for text in self.texts.values() for line in text.splitlines()]
        self._folded = {path: text.casefold() for path, text in self.texts.items()}

    def holding(self, text: str) -> list[Path]:
        """Return the files that contain a string, ignoring case."""
        folded = text.casefold()
        return [path for path, content in self._folded.items() if folded in content]


def exact(arguments: Sequence[str]) -> None:
    """Measure every tree, and print a table for each and for all."""
    options = _options(arguments)
    by_tree: list[Mapping[str, Sequence[Outcome]]] = []
    with tempfile.TemporaryDirectory() as temporary:
        data_dir = options.data_dir or Path(temporary)
        for root in options.places:
            tree = Tree(root)
            drawn = list(_drawn(tree, options.each, random.Random(options.seed)))
            by_tree.append(_measured(tree, drawn, data_dir))
            _show(root.name, by_tree[-1])
    if len(by_tree) > 1:
        names = dict.fromkeys(name for outcomes in by_tree for name in outcomes)
        _show("all", {name: [outcome for outcomes in by_tree for outcome in outcomes.get(name, ())] for name in names})


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = command_parser("exact", __doc__, _EPILOGUE, "tree: any directory with text")
    parser.add_argument("--each", type=int, default=60, metavar="N", help="draw so many of each class (60)")
    parser.add_argument("--seed", type=int, default=1, help="draw others with another seed (1)")
    return parser.parse_args(arguments)


def _measured(tree: Tree, drawn: Sequence[Typed], data_dir: Path) -> dict[str, list[Outcome]]:
    outcomes: dict[str, list[Outcome]] = {}
    app = open_index(tree.root, data_dir / tree.root.name)
    outcomes["dirindex"] = [_outcome_of(app, typed) for typed in drawn]
    app.close()
    of_files = [typed for typed in drawn if not typed.path]
    if Ripgrep.is_installed():
        ripgrep = Ripgrep(tree.root)
        outcomes["ripgrep"] = [_outcome_of_files(tree, typed, ripgrep.literal) for typed in of_files]
    if Recoll.is_installed():
        recoll = Recoll(tree.root, data_dir / f"{tree.root.name}.recoll")
        recoll.update()
        outcomes["Recoll"] = [_outcome_of_files(tree, typed, recoll.quoted) for typed in of_files]
    return outcomes


def _outcome_of(app: App, typed: Typed) -> Outcome:
    result = app.searcher.search(SearchRequest(typed.query, limit=10, only_good=True))
    with app.docstore.snapshot() as snapshot:
        places = (place for place, hit in enumerate(result.hits, start=1) if _is_right(snapshot, hit, typed))
        return Outcome(typed, next(places, None), result.is_weak)


def _is_right(snapshot: Snapshot, hit: Hit, typed: Typed) -> bool:
    """Return whether a hit has the name or the text, or a part of a line that goes on in the passage beside it."""
    if typed.path:
        return os.path.basename(hit.path) == typed.path
    stored = snapshot.chunks.of_file(hit.path)
    at = next((at for at, passage in enumerate(stored) if passage.chunk_id == hit.chunk_id), None)
    if at is None:
        return _holds(hit.path, typed.text)
    around = [passage.chunk.text for passage in stored[max(at - 1, 0) : at + 2]]
    return _holds(f"{stored[at].chunk.text}\n{hit.heading}\n{hit.path}", typed.text) or any(
        _spans(first, second, typed.text) for first, second in pairwise(around)
    )


def _spans(first: str, second: str, typed: str) -> bool:
    """Whether a text begins in one passage and ends in the next, so that neither holds it."""
    return _holds(f"{first} {second}", typed) and not _holds(first, typed) and not _holds(second, typed)


def _outcome_of_files(tree: Tree, typed: Typed, search: Callable[[str], Sequence[str]]) -> Outcome:
    right = {os.path.relpath(path, tree.root) for path in tree.holding(typed.text)}
    places = (place for place, path in enumerate(search(typed.query)[:10], start=1) if path in right)
    return Outcome(typed, next(places, None))


def _holds(text: str, typed: str) -> bool:
    return " ".join(typed.casefold().split()) in " ".join(text.casefold().split())


def _show(title: str, by_tool: Mapping[str, Sequence[Outcome]]) -> None:
    print(f"\n{title}")
    for tool, outcomes in by_tool.items():
        kinds = dict.fromkeys(outcome.typed.kind for outcome in outcomes)
        print(f"  {tool:30}{'n':>6}{'hit@1':>8}{'hit@5':>8}{'not in ten':>12}{'weak':>8}")
        for kind in kinds if tool == "dirindex" else ():
            print(f"    {kind:28}{_row([outcome for outcome in outcomes if outcome.typed.kind == kind])}")
        print(f"    {'all':28}{_row(outcomes)}", flush=True)


def _row(outcomes: Sequence[Outcome]) -> str:
    n = max(len(outcomes), 1)
    places = [outcome.place for outcome in outcomes]
    first, fifth = (sum(place is not None and place <= most for place in places) / n for most in (1, 5))
    absent, weak = sum(place is None for place in places) / n, sum(outcome.is_weak for outcome in outcomes) / n
    return f"{len(outcomes):>6}{first:>8.3f}{fifth:>8.3f}{absent:>12.3f}{weak:>8.3f}"


def _drawn(tree: Tree, each: int, generator: random.Random) -> Iterator[Typed]:
    """Sample queries of each class, reproducibly for one seed."""
    once = _words_once(tree)
    words = generator.sample(once, min(each, len(once)))
    yield from (Typed("one word", word, word) for word in words)
    yield from _pairs(tree, words, generator)
    yield from _parts_of_lines(tree, each, generator)
    for kind, pattern in _NAMES.items():
        names = _names(tree, pattern)
        yield from (Typed(kind, name, name) for name in generator.sample(names, min(each // 2, len(names))))
    yield from _file_names(tree, each, generator)
    yield from _parts_of_words(tree, each, generator)


def _words_once(tree: Tree) -> list[str]:
    """Return the words of four letters or more that occur once, and share their stem with no other word."""
    n_times: defaultdict[str, int] = defaultdict(int)
    forms: defaultdict[str, set[str]] = defaultdict(set)
    for line in tree.lines:
        for word in re.findall(r"\w+", line.casefold()):
            n_times[word] += 1
            forms[stem_of(word, "english")].add(word)
    names = " ".join(map(str, tree.texts)).casefold()
    return sorted(
        word
        for word, n in n_times.items()
        if n == 1 and re.fullmatch(r"[^\W\d_]{4,20}", word) and len(forms[stem_of(word, "english")]) == 1
        if word not in names
    )


def _pairs(tree: Tree, words: Sequence[str], generator: random.Random) -> Iterator[Typed]:
    """Pair each word with another of its line, preferably the adjacent one."""
    word_set = set(words)
    for line in tree.lines:
        row = re.findall(r"\w+", line)
        for at, word in enumerate(row):
            if word.casefold() in word_set and len(row) > 1:
                word_set.discard(word.casefold())
                other = generator.choice([word for place, word in enumerate(row) if place != at])
                yield Typed("pair of a line", f"{word} {other}", word)


def _parts_of_lines(tree: Tree, each: int, generator: random.Random) -> Iterator[Typed]:
    lines = [words for line in tree.lines if len(words := line.split()) >= _LONG_LINE]
    for size in (3, 4, 5):
        for words in generator.sample(lines, min(each, len(lines))):
            start = generator.randrange(len(words) - size)
            part = " ".join(words[start : start + size])
            if len(re.findall(r"[^\W\d_]{3,}", part)) >= size - 1 and '"' not in part and len(part) < _LONGEST_PART:
                yield Typed(f"{size} words of a line", part, part)


def _names(tree: Tree, pattern: re.Pattern[str]) -> list[str]:
    """Return the names of a class that occur in at most two files."""
    holders: defaultdict[str, set[Path]] = defaultdict(set)
    for path, text in tree.texts.items():
        for match in pattern.finditer(text):
            if len(holders[match[0]]) <= _FEW_FILES:
                holders[match[0]].add(path)
    rare = sorted(name for name, paths in holders.items() if len(paths) <= _FEW_FILES)
    return [name for name in rare[:: max(1, len(rare) // _MOST_NAMES)] if len(tree.holding(name)) <= _FEW_FILES]


def _file_names(tree: Tree, each: int, generator: random.Random) -> Iterator[Typed]:
    paths: defaultdict[str, list[Path]] = defaultdict(list)
    for path in tree.texts:
        paths[path.name].append(path)
    once = sorted(name for name, locations in paths.items() if len(locations) == 1)
    yield from (Typed("name of a file", name, name, path=name) for name in generator.sample(once, min(each, len(once))))


def _parts_of_words(tree: Tree, each: int, generator: random.Random) -> Iterator[Typed]:
    """Cut long words at both ends, if the part is no word, nor a common prefix."""
    words = {word for line in tree.lines for word in re.findall(r"[^\W\d_]+", line.casefold())}
    everything = "\n".join(words)
    drawn = generator.sample(
        long := sorted(word for word in words if len(word) >= _LONG_WORD), min(4 * each, len(long))
    )
    n_drawn = 0
    for word in drawn:
        part = word[len(word) // 2 :]
        if part not in words and everything.count(part) <= _FEW_FILES and n_drawn < each:
            n_drawn += 1
            yield Typed("part of a word", part, part)


def _files(root: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".")]
        paths = (Path(directory, name) for name in files if not name.startswith("."))
        yield from (path for path in paths if not path.is_symlink())


def _text_of(path: Path) -> str:
    if path.suffix in _NO_TEXT or path.stat().st_size > _MOST_BYTES:
        return ""
    content = path.read_bytes()
    try:
        return "" if b"\0" in content else redact(content.decode(), file_name=path.name)[0]
    except UnicodeDecodeError:
        return ""


_LONG_LINE: Final = 8
_LONGEST_PART: Final = 80
_LONG_WORD: Final = 10
_FEW_FILES: Final = 2
_MOST_NAMES: Final = 2000
_MOST_BYTES: Final = 1_000_000
_NO_TEXT: Final = frozenset({".svg", ".lock", ".min", ".map", ".ipynb"})
_NAMES: Final = {
    name: re.compile(rf"(?<![\w./#@$-])(?:{pattern})(?![\w/@-])(?!\.\w)")
    for name, pattern in {
        "letters and digits": r"[a-z]{2,12}\d{1,3}",
        "hexadecimal": r"(?=\d*[a-f]+\d)[0-9a-f]{7,40}",
        "file.ext": r"\w+\.(?:py|js|md|rst|txt|json|yml|yaml|toml|cfg|html|css|sql|db)",
        "--flag": r"--[a-z][a-z-]{2,30}",
        "_private": r"_{1,2}[a-z]\w{2,30}",
        "dotted.name": r"[a-z]\w+(?:\.[a-z]\w+){1,4}",
        "kebab-case": r"[a-z]+(?:-[a-z]+){1,4}",
        "/path": r"(?<![\w.)])/\w+(?:/[\w.-]+){1,5}",
        "version": r"v?\d+\.\d+(?:\.\d+)?(?:[ab.-]\w+)?",
        "camelCase": r"[a-z]+(?:[A-Z][a-z]+){1,5}",
        "PascalCase": r"[A-Z][a-z]+(?:[A-Z][a-z]+){1,5}",
        "snake_case": r"[a-z]+(?:_[a-z]+){1,5}",
        "CONSTANT": r"[A-Z]{2,}(?:_[A-Z]+){1,5}",
        "#number": r"#\d{2,6}",
        "number": r"\d{3,9}",
        "date": r"(?:19|20)\d\d-\d\d-\d\d",
    }.items()
}
"""Names of sixteen classes, each a whole word."""
