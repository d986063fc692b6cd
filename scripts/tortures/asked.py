"""Edits a file and asks about it at once, again and again: no answer may be older than the files without saying so."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from serving import RawClient, text_of

from directory_indexer.core.errors import LockedError
from directory_indexer.core.lock import write_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tortures.workbench import Torture

_DIRINDEX = Path(sys.executable).with_name("dirindex")
_N_FILES = 40
_N_MANY = 400
_SAID = re.compile(r"changed since|every directory could be checked|could not be looked|may not be in the index yet")
_SAID_OF_SIMILAR = re.compile(rf"{_SAID.pattern}|not embedded yet|\"error\"")
"""Similar files are those with similar vectors; how many wait for theirs is said."""
_WATCHED_SHARE: Final = 0.3
"""So large a part of the pairs is asked of a server that watches."""


class _Tree:
    """Files with one word each that no other file has; what stood in them before is remembered."""

    def __init__(self, torture: Torture) -> None:
        self._chance = torture.chance
        self.root = torture.place / "tree"
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

    def __init__(self, torture: Torture, tree: _Tree) -> None:
        self._torture = torture
        self._tree = tree
        self.data_dir = torture.place / "index"
        self._environ = {**os.environ, "DIRINDEX_DATA_DIR": str(self.data_dir)}
        self._client: RawClient | None = None
        self.n_asked: Counter[str] = Counter()
        self.n_said: Counter[str] = Counter()

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
        self._torture.require(done.returncode == 0, f"the first run: {done.stderr}")

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
        way = self._torture.chance.choice([*ways, *list(ways)[3:]])
        is_right, output = ways[way](path, word)
        self.n_asked[way] += 1
        is_said = (_SAID_OF_SIMILAR if "similar" in way else _SAID).search(output) is not None
        self.n_said[way] += is_said
        self._torture.require(is_right or is_said, f"{way} after {change} of {path}: old in silence: {output[-500:]}")

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - the program under test
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
        is_old = not word or self._torture.chance.random() < 1 / 3
        query = self._torture.chance.choice(sorted(self._tree.gone) or [word]) if is_old else word
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
        other = self._torture.chance.choice(sorted({*self._tree.words} - {path}))
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


def compare_answers(torture: Torture) -> str:
    """Run `size` pairs of change and question; some while another writes, some after many changes."""
    tree = _Tree(torture)
    asking = _Asking(torture, tree)
    asking.index()
    n_watched = int(torture.size * _WATCHED_SHARE)
    n_pairs = 0
    for arguments, n_here in (((), torture.size - n_watched), (("--watch",), n_watched)):
        with asking.served(*arguments):
            for _ in range(n_here):
                if not torture.goes_on(n_pairs):
                    break
                _pair(torture, tree, asking)
                n_pairs += 1
    summaries = (
        f"{way} {n} ({asking.n_said[way]} said that something is missing)" for way, n in asking.n_asked.items()
    )
    return f"{n_pairs} pairs of change and question: {', '.join(summaries)}"


def _pair(torture: Torture, tree: _Tree, asking: _Asking) -> None:
    chance = torture.chance.random()
    if chance < _CROWDED:
        tree.crowd()
    change, path, word = tree.change()
    if chance > 1 - _LOCKED:
        with contextlib.suppress(LockedError), write_lock(asking.data_dir / "write.lock", wait=False):
            asking.ask(change, path, word)
            return
    asking.ask(change, path, word)


_CROWDED: Final = 0.01
_LOCKED: Final = 0.05
