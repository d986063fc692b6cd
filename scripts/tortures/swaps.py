"""Swaps directories and files against links to a private tree while they are indexed: nothing of it may come in."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import shutil
import sqlite3
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from serving import RawClient
from tortures.contained import CHEAPLY, Containment, Ended
from tortures.workbench import Child, contents, differences

from directory_indexer.docstore import DocStore

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from tortures.workbench import Torture

_DIRECTORIES = ("", "zz", "zz/inner", "library", "library/deep", "library/deep/deeper")
_N_FILES = 8
_FILES_TO_CHANGE = 30
_MANY_FILES = 400
_AT_THE_FDCWD, _EXCHANGE = -100, 2
_POLL_SECONDS = 0.002
_PATIENCE_SECONDS = 60.0
_WATCHED_SECONDS = 4.0
"""Longer than it takes from a report of the kernel to the end of a run over a small tree."""

_LATEST_RUN = "SELECT phase, outcome FROM runs ORDER BY id DESC LIMIT 1"


def swaps(torture: Torture) -> str:
    """Go through the scenarios, then through `size` rounds of chance, or as many as time allows."""
    n_rounds = n_swaps = 0
    rounds = _rounds(torture.chance)
    while n_rounds < torture.size and not torture.is_over and not torture.failures:
        user, reach = next(rounds)
        n_rounds += 1
        stage = _Stage.made(torture, n_rounds, user.__name__.removeprefix("_"))
        n_swaps += _one_round(stage, user, reach)
        if not torture.failures:
            shutil.rmtree(stage.place)
    return f"{n_swaps} swaps in {n_rounds} rounds of index runs"


@dataclass
class _Stage:
    """A tree, a private tree beside it with the same names below each directory, and an index."""

    torture: Torture
    place: Path
    chance: random.Random
    what: str
    words: tuple[str, str]
    """Unmistakable words that only the private tree has: one to look for, and one that is then shown."""

    @classmethod
    def made(cls, torture: Torture, number: int, what: str) -> _Stage:
        chance = random.Random(f"{torture.seed} {number}")
        words = (f"qzx{chance.randrange(10**9)}", f"vkj{chance.randrange(10**9)}")
        stage = cls(torture, torture.place / f"round{number}", chance, f"round {number}, {what}", words)
        for directory in _DIRECTORIES:
            for place in (stage.root, stage.mirror_of(stage.root)):
                (place / directory).mkdir(parents=True)
        for number_of_file in range(_N_FILES):
            for directory in _DIRECTORIES:
                stage.write(stage.root / directory / f"file{number_of_file}.md", 0)
                stage.write_private(stage.mirror_of(stage.root / directory / f"file{number_of_file}.md"))
        for directory in _DIRECTORIES:
            stage.write_private(stage.mirror_of(stage.root) / directory / f"{words[1]}.md")
        # Names that rules on secrets would know, had they the path that is really read.
        stage.write(stage.root / "zz" / "hosts.yml", 0)
        stage.write_private(stage.mirror_of(stage.root / "zz" / "hosts.yml"))
        (stage.root / "library" / "link").symlink_to(stage.root / "zz")
        stage.mirror_of(stage.root / "library" / "link").mkdir()
        stage.write_private(stage.mirror_of(stage.root / "library" / "link") / "file0.md")
        return stage

    @property
    def outer(self) -> Path:
        return self.place / "outer"

    @property
    def root(self) -> Path:
        return self.outer / "middle" / "root"

    @property
    def data_dir(self) -> Path:
        return self.place / "index"

    def mirror_of(self, path: Path) -> Path:
        return self.place / self.words[0] / path.relative_to(self.outer)

    def write(self, path: Path, version: int) -> None:
        path.write_text(f"# Note\n\nHarmless words of {path.name}, version {version}.\n", encoding="utf-8")

    def write_private(self, path: Path) -> None:
        first, second = self.words
        path.write_text(f"# Private {second}\n\nThe {first} of {path.name} is {second}.\n", encoding="utf-8")

    def change_files(self) -> None:
        """Give a run something to read, also where directories are swapped just now."""
        for _ in range(_FILES_TO_CHANGE):
            path = self.root / self.chance.choice(_DIRECTORIES) / f"file{self.chance.randrange(_N_FILES)}.md"
            # Whoever writes through a link would make the private tree public himself.
            if path.resolve(strict=False) == path:
                with contextlib.suppress(OSError):
                    self.write(path, self.chance.randrange(10**6))

    def write_many(self) -> None:
        """Give a run so much to read that there is time to swap what it reads last."""
        for number in range(_MANY_FILES):
            self.write(self.root / f"a{number}.md", number)
        for number in range(_N_FILES):
            self.write(self.root / "zz" / f"file{number}.md", number + 1)

    def require(self, claim: bool, message: str) -> None:  # noqa: FBT001 - read as an assertion
        if not self.torture.failures:
            self.torture.require(claim, f"{self.what}: {message}")

    def dirindex(self, *words: str | Path) -> Ended:
        return Containment(self.place).run(*CHEAPLY, *words, "--data-dir", self.data_dir)

    def started(self, *words: str | Path) -> subprocess.Popen[bytes]:
        return Containment(self.place).started(*CHEAPLY, *words, "--data-dir", self.data_dir)

    @contextlib.contextmanager
    def served(self, *words: str | Path) -> Iterator[RawClient]:
        with RawClient(*words, "--data-dir", self.data_dir, environ=Containment(self.place).environ()) as client:
            client.shake_hands()
            yield client


class _Swapper:
    """Swaps one thing after the other, and puts each back."""

    def __init__(self, stage: _Stage, victims: tuple[Path, ...]) -> None:
        self._stage, self._victims = stage, victims
        self._must_end = threading.Event()
        self._thread = threading.Thread(target=self._swap_on)
        self.n_swaps = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._must_end.set()
        self._thread.join()

    def _swap_on(self) -> None:
        chance = random.Random(self._stage.chance.random())
        while not self._must_end.wait(10 ** chance.uniform(-3.5, 0)):
            with swapped(self._stage, chance.choice(self._victims), exchanges=chance.random() < 0.5):  # noqa: PLR2004
                # Not cut short by the end, for a run that is just ending should meet it.
                time.sleep(10 ** chance.uniform(-3.5, 0.3))
            self.n_swaps += 1


@contextlib.contextmanager
def swapped(stage: _Stage, victim: Path, *, exchanges: bool = False) -> Iterator[None]:
    """Have a link to the private tree in the place of a file or directory."""
    spare = victim.with_name(f".{victim.name}.spare")
    if exchanges and sys.platform == "linux":
        spare.symlink_to(stage.mirror_of(victim))
        _exchange(spare, victim)
    else:
        victim.rename(spare)
        victim.symlink_to(stage.mirror_of(victim))
    try:
        yield
    finally:
        if exchanges and sys.platform == "linux":
            _exchange(spare, victim)
            spare.unlink()
        else:
            victim.unlink()
            spare.rename(victim)


def _exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_THE_FDCWD, os.fsencode(one), _AT_THE_FDCWD, os.fsencode(other), _EXCHANGE):
        raise OSError(ctypes.get_errno(), "cannot exchange", str(one))


def _inner(stage: _Stage) -> tuple[Path, ...]:
    """Give what can be swapped below a root: directories, files and a link."""
    directories = [stage.root / name for name in _DIRECTORIES if name]
    files = [stage.root / "file0.md", stage.root / "zz/file1.md", stage.root / "zz/hosts.yml"]
    return (*directories, *files, stage.root / "library/link")


def _all(stage: _Stage) -> tuple[Path, ...]:
    return (*_inner(stage), *_above(stage) * 2)


def _above(stage: _Stage) -> tuple[Path, ...]:
    """Give the root and the directory above it."""
    return (stage.root, stage.root.parent)


_Reach = tuple[Path, ...]
_User = "Callable[[_Stage, _Reach], int]"


def _rounds(chance: random.Random) -> Iterator[tuple[Callable[[_Stage, _Reach], int], Callable[[_Stage], _Reach]]]:
    yield from (
        (_directory_while_reading, _inner),
        (_directory_while_reading_over_mcp, _inner),
        (_root_then_index_over_mcp, _above),
        (_root_then_watch_over_mcp, _above),
        (_allowed_directory_after_the_call, _above),
    )
    # Whoever names a directory on the command line means what it is at that moment, be it a link.
    users: list[tuple[Callable[[_Stage, _Reach], int], Callable[[_Stage], _Reach]]] = [
        (_command_with_path, _inner),
        (_command_without_path, _all),
        (_watching_command, _all),
        (_client, _all),
        (_client_of_an_allowed_directory, _all),
        (_watching_server, _all),
    ]
    while True:
        yield from chance.sample(users, len(users))


def _one_round(stage: _Stage, user: Callable[[_Stage, _Reach], int], reach: Callable[[_Stage], _Reach]) -> int:
    is_new = user in {_client_of_an_allowed_directory, _allowed_directory_after_the_call}
    if not is_new:
        ended = stage.dirindex("index", stage.root, "--quiet")
        stage.require(not ended.complaint(), f"the first run {ended.complaint()}: {ended.stderr[-300:]!r}")
    stage.change_files()
    n_swaps = user(stage, reach(stage))
    _require_nothing_private(stage, "after the swaps")
    ended = stage.dirindex("index", stage.root, "--quiet")
    stage.require(ended.code == 0, f"the last run ends with {ended.code}: {ended.stderr[-300:]!r}")
    _require_nothing_private(stage, "in the end")
    _require_as_fresh(stage)
    return n_swaps


def _directory_while_reading(stage: _Stage, _: _Reach) -> int:
    stage.write_many()
    process = stage.started("index", stage.root, "--quiet")
    _wait_for_reading(stage)
    with swapped(stage, stage.root / "zz"):
        process.wait(_PATIENCE_SECONDS)
    return 1


def _directory_while_reading_over_mcp(stage: _Stage, _: _Reach) -> int:
    stage.write_many()
    with stage.served() as client:
        asked = client.ask("tools/call", _tool("index", path=str(stage.root), wait_seconds=0))
        _wait_for_reading(stage)
        with swapped(stage, stage.root / "zz"):
            client.answer_to(asked)
            _finish_index(client, path=str(stage.root))
        _require_nothing_shown(stage, client)
    return 1


def _root_then_index_over_mcp(stage: _Stage, above: _Reach) -> int:
    with stage.served() as client:
        for victim in above:
            with swapped(stage, victim):
                _finish_index(client)
                _require_nothing_shown(stage, client)
                _finish_index(client, path=str(stage.root))
                _require_nothing_shown(stage, client)
            stage.change_files()
    return len(above)


def _root_then_watch_over_mcp(stage: _Stage, above: _Reach) -> int:
    with stage.served("--watch") as client:
        time.sleep(_WATCHED_SECONDS / 2)
        for victim in above:
            with swapped(stage, victim):
                time.sleep(_WATCHED_SECONDS)
                _require_nothing_shown(stage, client)
                stage.write_private(stage.mirror_of(stage.root) / "later.md")
                time.sleep(_WATCHED_SECONDS / 2)
                _require_nothing_shown(stage, client)
            stage.change_files()
    return len(above)


def _allowed_directory_after_the_call(stage: _Stage, above: _Reach) -> int:
    delays = (0.02, 0.06, 0.12, 0.2, 0.3, 0.5)
    with stage.served(stage.outer) as client:
        for delay in delays:
            asked = client.ask("tools/call", _tool("index", path=str(stage.root), wait_seconds=0))
            time.sleep(delay)
            with swapped(stage, stage.chance.choice(above)):
                client.answer_to(asked)
                # The run resolves the path when it has started; asking again would be about the link.
                time.sleep(_WATCHED_SECONDS)
            _require_nothing_shown(stage, client)
            stage.change_files()
    return len(delays)


def _command_with_path(stage: _Stage, victims: _Reach) -> int:
    return _commands(stage, victims, "index", stage.root, "--quiet")


def _command_without_path(stage: _Stage, victims: _Reach) -> int:
    return _commands(stage, victims, "index", "--quiet")


def _commands(stage: _Stage, victims: _Reach, *words: str | Path) -> int:
    with _Swapper(stage, victims) as swapper:
        for _ in range(3):
            ended = stage.dirindex(*words)
            # A root that is a link just now cannot be read, which is an error of the run.
            stage.require(
                not ended.complaint(codes=frozenset({0, 1, 3})), f"{ended.complaint()}: {ended.stderr[-300:]!r}"
            )
            _require_nothing_private(stage, "after a run")
            stage.change_files()
    return swapper.n_swaps


def _watching_command(stage: _Stage, victims: _Reach) -> int:
    process = stage.started("index", "--watch", "--quiet")
    with _Swapper(stage, victims) as swapper:
        for _ in range(3):
            time.sleep(_WATCHED_SECONDS / 2)
            stage.change_files()
            _require_nothing_private(stage, "while watching")
    stage.require(process.poll() is None, f"`index --watch` ended with {process.poll()}")
    process.terminate()
    stage.require(process.wait(_PATIENCE_SECONDS) in {0, 1, 130, 143}, f"stopping ends with {process.returncode}")
    return swapper.n_swaps


def _client(stage: _Stage, victims: _Reach) -> int:
    with stage.served() as client, _Swapper(stage, victims) as swapper:
        for _ in range(3):
            _finish_index(client, **({"path": str(stage.root)} if stage.chance.random() < 0.5 else {}))  # noqa: PLR2004
            _require_nothing_shown(stage, client)
            stage.change_files()
    return swapper.n_swaps


def _client_of_an_allowed_directory(stage: _Stage, victims: _Reach) -> int:
    with stage.served(stage.outer) as client, _Swapper(stage, victims) as swapper:
        for _ in range(3):
            _finish_index(client, path=str(stage.root))
            _require_nothing_shown(stage, client)
            stage.change_files()
    return swapper.n_swaps


def _watching_server(stage: _Stage, victims: _Reach) -> int:
    with stage.served("--watch") as client, _Swapper(stage, victims) as swapper:
        for _ in range(3):
            time.sleep(_WATCHED_SECONDS / 2)
            _require_nothing_shown(stage, client)
            stage.change_files()
    return swapper.n_swaps


def _tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _finish_index(client: RawClient, **arguments: Any) -> None:
    """Call the tool until no run of it goes on; it may well be refused."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        result = client.call("index", wait_seconds=20, **arguments)
        if (result.get("structuredContent") or {}).get("state") not in {"running", "queued"}:
            break


def _wait_for_reading(stage: _Stage) -> None:
    """Wait until the run that was just started reads files, or has done so already."""
    address, until = f"file:{stage.data_dir / 'data.db'}?mode=ro", time.monotonic() + _PATIENCE_SECONDS
    with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
        n_before = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        while time.monotonic() < until:
            n_runs = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
            phase, outcome = connection.execute(_LATEST_RUN).fetchone()
            if n_runs > n_before and (phase == "reading" or outcome is not None):
                break
            time.sleep(_POLL_SECONDS)


def _require_nothing_shown(stage: _Stage, client: RawClient) -> None:
    """Ask a server for what is private, by search and by name, and look into its index."""
    first, second = stage.words
    shown = json.dumps(client.call("search", query=f'"{first}"'))
    stage.require(second not in shown, f"a search over MCP shows what is private: {shown[:300]}")
    for path in (*_inner(stage), *(stage.root / directory / "file2.md" for directory in _DIRECTORIES)):
        shown = json.dumps(client.call("get_content", path=str(path)))
        stage.require(second not in shown, f"get_content of {path} shows what is private: {shown[:300]}")
    shown = json.dumps(client.call("get_content", path=str(stage.mirror_of(stage.root) / "file0.md")))
    stage.require(second not in shown, f"get_content shows the private tree itself: {shown[:300]}")
    _require_nothing_private(stage, "while a server is asked")


def _require_nothing_private(stage: _Stage, when: str) -> None:
    """Look for the words of the private tree in all of the index: names, titles, texts, words."""
    if not (stage.data_dir / "data.db").exists():
        return
    code, found = Child(_private, stage.data_dir, stage.words).wait()
    stage.require(code == 0 and not found, f"{when} the index has what is private: {found}")
    found = json.loads(stage.dirindex("search", stage.words[0], "-m", "keyword", "--json").stdout or b"{}").get("hits")
    stage.require(not found, f"{when} a search finds what is private: {found}")


def _private(data_dir: Path, words: tuple[str, str]) -> list[str]:
    found = []
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        for root in snapshot.directories():
            for path in snapshot.known_files_within(root):
                texts = [chunk.chunk.text for chunk in snapshot.chunks_of(path)]
                found += [f"{path}: {text[:80]}" for text in (path, *texts) if any(word in text for word in words)]
    with contextlib.closing(sqlite3.connect(f"file:{data_dir / 'data.db'}?mode=ro", uri=True)) as connection:
        for query in _COLUMNS:
            for row in connection.execute(query):
                found += [f"{query}: {value[:200]}" for value in map(str, row) if any(word in value for word in words)]
    return found[:5]


_COLUMNS = (
    "SELECT path, title, reason, detail FROM files",
    "SELECT path, mounts FROM directories",
    "SELECT heading FROM chunks",
    "SELECT term FROM chunks_vocab",
    "SELECT path, left_out FROM settled_directories",
)


def _require_as_fresh(stage: _Stage) -> None:
    fresh = stage.place / "fresh"
    ended = Containment(stage.place).run(*CHEAPLY, "index", stage.root, "--quiet", "--data-dir", fresh)
    stage.require(ended.code == 0, f"a fresh run ends with {ended.code}: {ended.stderr[-300:]!r}")
    (code, mine), (_, truth) = Child(contents, stage.data_dir).wait(), Child(contents, fresh).wait()
    stage.require(code == 0, f"the index cannot be read: {mine}")
    if code == 0:
        told = differences(_without_vectors(mine), _without_vectors(truth))
        stage.require(not told, f"not as a fresh index: {'; '.join(told[:5])}")


def _without_vectors(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out the vectors, which servers made with the real model and commands without it; none may lack."""
    files = {
        name: (texts, [] if all(v is not None for v in vectors) else [None])
        for name, (texts, vectors) in found["files"].items()
    }
    return {**found, "files": files}
