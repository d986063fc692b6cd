"""A question right after a change: no answer is older than the files without a notice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from serving import RawClient, text_of

from directory_indexer.core.errors import LockedError
from directory_indexer.core.lock import write_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_DIRINDEX = Path(sys.executable).with_name("dirindex")
_N_FILES = 40
_N_MANY = 400
_SAID = re.compile(r"changed since|every directory could be checked|could not be looked|may not be in the index yet")
_SAID_OF_SIMILAR = re.compile(rf"{_SAID.pattern}|not searchable by meaning yet|\"error\"")
"""Similar files are those with similar vectors; how many wait for theirs is said."""
_N_PAIRS: Final = 60
_CROWDED: Final = 0.01
_LOCKED: Final = 0.05


class _Tree:
    """Files with one word each that no other file has; what stood in them before is remembered."""

    def __init__(self, chance: random.Random, root: Path) -> None:
        self._chance = chance
        self.root = root
        self.words: dict[Path, str] = {}
        self.gone: set[str] = set()
        self._n_words = 0
        for number in range(_N_FILES):
            self._put(self.root / f"part{number % 4}" / f"file{number}.{('md', 'txt', 'py')[number % 3]}")

    def change(self) -> tuple[str, Path, str]:
        """Do one thing to a file, and give its name, the path that it is about, and the word that is new there."""
        path = self._chance.choice(sorted(self.words))
        kinds = (self._edit, self._edit, self._hide, self._replace, self._remove, self._rename, self._append, self._add)
        change = self._chance.choice(kinds)
        return change.__name__.removeprefix("_"), *change(path)

    def copy(self, source: Path, target: Path) -> None:
        """Make a file the copy of another one."""
        self._forget(target)
        target.write_bytes(source.read_bytes())
        self.words[target] = self.words[source]

    def places_of(self, word: str) -> set[str]:
        """Name the files that have a word, as they are now."""
        return {str(path) for path in self.words if word in path.read_text(encoding="utf-8")}

    def crowd(self) -> None:
        """Write more files than a question has time for."""
        for number in range(_N_MANY):
            path = self.root / "many" / f"{self._n_words}-{number}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"# Many\n\nOne of many, {number}.\n" * 50, encoding="utf-8")

    def _edit(self, path: Path) -> tuple[Path, str]:
        return path, self._put(path)

    def _hide(self, path: Path) -> tuple[Path, str]:
        """Change it so that size and time stay the same."""
        before = path.stat()
        word = self._put(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return path, word

    def _replace(self, path: Path) -> tuple[Path, str]:
        self._forget(path)
        other = path.with_name(f".{path.name}.new")
        word = self._put(other)
        other.replace(path)
        self.words[path] = self.words.pop(other)
        return path, word

    def _remove(self, path: Path) -> tuple[Path, str]:
        self._forget(path)
        path.unlink()
        self._put(path.with_name(f"file{self._n_words}.md"))
        return path, ""

    def _rename(self, path: Path) -> tuple[Path, str]:
        other = path.with_name(f"moved{self._n_words}{path.suffix}")
        path.rename(other)
        self.words[other] = self.words.pop(path)
        self._n_words += 1
        return other, self.words[other]

    def _append(self, path: Path) -> tuple[Path, str]:
        self._forget(path)
        word = self._next()
        with path.open("a", encoding="utf-8") as file:
            file.write(f"And {word} once more.\n")
        # What stood there still does.
        self.gone -= set(re.findall(r"word\d{6}x", path.read_text(encoding="utf-8")))
        self.words[path] = word
        return path, word

    def _add(self, path: Path) -> tuple[Path, str]:
        other = path.with_name(f"file{self._n_words}.md")
        return other, self._put(other)

    def _put(self, path: Path) -> str:
        if path in self.words:
            self._forget(path)
        word = self._next()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# About {word}\n\nThe harbour has {word} in it, and boats.\n", encoding="utf-8")
        self.words[path] = word
        return word

    def _forget(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            self.gone |= set(re.findall(r"word\d{6}x", path.read_text(encoding="utf-8")))
        self.words.pop(path, None)

    def _next(self) -> str:
        self._n_words += 1
        return f"word{self._n_words:06}x"


class _Asking:
    """All the ways to ask, of one index, and what was answered too late in silence."""

    def __init__(self, chance: random.Random, tree: _Tree, data_dir: Path) -> None:
        self._chance = chance
        self._tree = tree
        self.data_dir = data_dir
        self._environ = {**os.environ, "DIRINDEX_DATA_DIR": str(self.data_dir)}
        self._client: RawClient | None = None

    @contextlib.contextmanager
    def served(self, *arguments: str) -> Iterator[None]:
        """Serve the tools meanwhile."""
        with RawClient(*arguments, environ=self._environ) as client:
            client.shake_hands()
            self._client = client
            yield
        self._client = None

    def index(self) -> None:
        done = self._run("index", str(self._tree.root), "-y", "-q")
        assert done.returncode == 0, done.stderr

    def ask(self, change: str, path: Path, word: str) -> None:
        """Ask for what is new and for what is gone, in one of six ways."""
        ways: Mapping[str, Callable[[Path, str], tuple[bool, str]]] = {
            "search": self._search,
            "grep": self._grep,
            "similar": self._similar,
            "search tool": self._search_tool,
            "grep tool": self._grep_tool,
            "similar_files tool": self._similar_tool,
        }
        way = self._chance.choice([*ways, *list(ways)[3:]])
        is_right, output = ways[way](path, word)
        is_said = (_SAID_OF_SIMILAR if "similar" in way else _SAID).search(output) is not None
        assert is_right or is_said, f"{way} after {change} of {path}: old in silence: {output[-500:]}"

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [_DIRINDEX, *words], capture_output=True, text=True, check=False, env=self._environ, timeout=600
        )

    def _search(self, _: Path, word: str) -> tuple[bool, str]:
        return self._is_current(word, lambda text: self._run("search", text, "-m", "keyword", "--json").stdout)

    def _grep(self, _: Path, word: str) -> tuple[bool, str]:
        return self._is_current(word, lambda text: self._run("grep", "-F", text, "--json").stdout)

    def _search_tool(self, _: Path, word: str) -> tuple[bool, str]:
        return self._is_current(word, lambda text: self._call("search", query=text, mode="keyword", again=True))

    def _grep_tool(self, _: Path, word: str) -> tuple[bool, str]:
        return self._is_current(word, lambda text: self._call("grep", pattern=text, fixed=True))

    def _is_current(self, word: str, ask: Callable[[str], str]) -> tuple[bool, str]:
        is_old = not word or self._chance.random() < 1 / 3
        query = self._chance.choice(sorted(self._tree.gone) or [word]) if is_old else word
        answer = ask(query)
        places = self._tree.places_of(query)
        paths = _paths_with(answer, query)
        return places == paths, f"{answer}\n{query} is in {sorted(places)}"

    def _similar(self, path: Path, _: str) -> tuple[bool, str]:
        other = self._twin(path)
        answer = self._run("similar", str(other), "--json")
        return str(path) in _paths_in(answer.stdout), answer.stdout

    def _similar_tool(self, path: Path, _: str) -> tuple[bool, str]:
        other = self._twin(path)
        answer = self._call("similar_files", path=str(other))
        return str(path) in _paths_in(answer), answer

    def _twin(self, path: Path) -> Path:
        """Make a file the copy of another one, which must be like it from then on."""
        other = self._chance.choice(sorted({*self._tree.words} - {path}))
        self._tree.copy(other, path)
        return other

    def _call(self, tool: str, **arguments: Any) -> str:
        if self._client is None:
            raise RuntimeError("no server runs")
        result = self._client.call(tool, **arguments)
        return json.dumps(result.get("structuredContent") or {"hits": [], "error": text_of(result)})


def _paths_in(answer: str) -> set[str]:
    page = json.loads(answer)
    return {hit["path"] for hit in page.get("hits", page.get("files", ()))}


def _paths_with(answer: str, word: str) -> set[str]:
    """Name the files that are said to have a word; a search may have more in its list."""
    page = json.loads(answer)
    hits = [hit for hit in page.get("hits", ()) if word in hit.get("excerpt", "")]
    copies = {path for hit in hits for path in (hit.get("also_in") or {}).get("paths", ())}
    return copies | {hit["path"] for hit in hits} | {file["path"] for file in page.get("files", ())}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("arguments", [(), ("--watch",)])
def test_an_answer_is_current_or_says_that_something_is_missing(arguments: tuple[str, ...], tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311 - chance decides what to try
    tree = _Tree(chance, tmp_path / "tree")
    asking = _Asking(chance, tree, tmp_path / "index")
    asking.index()
    with asking.served(*arguments):
        for _ in range(_N_PAIRS):
            drawn = chance.random()
            if drawn < _CROWDED:
                tree.crowd()
            change, path, word = tree.change()
            is_locked = drawn > 1 - _LOCKED
            lock = write_lock(asking.data_dir / "write.lock", wait=False) if is_locked else contextlib.nullcontext()
            with contextlib.suppress(LockedError), lock:
                asking.ask(change, path, word)
