"""Directories and files that are swapped for links to a private tree during indexing: nothing private is indexed."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from cheap import CHEAP_COMMAND
from serving import RawClient
from tortures.workbench import Child, complaint_of, contents, run_command, start_command

from directory_indexer.storage.documents.store import DocStore

if TYPE_CHECKING:
    from tortures.workbench import Torture

DIRECTORIES: Final = ("", "zz", "zz/inner", "library", "library/deep", "library/deep/deeper")
_N_FILES: Final = 8
_FILES_TO_CHANGE: Final = 30
_MANY_FILES: Final = 400
_N_ROUNDS: Final = 3
_AT_FDCWD, _EXCHANGE = -100, 2
_PATIENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.002
_WATCHED_SECONDS: Final = 4.0
"""Longer than it takes from a report of the kernel to the end of a run over a small tree."""

_COLUMNS: Final = (
    "SELECT path, title, reason, detail FROM files",
    "SELECT path, mounts FROM directories",
    "SELECT heading FROM chunks",
    "SELECT term FROM chunks_vocab",
    "SELECT path, left_out FROM settled_directories",
)


def swaps(torture: Torture) -> str:
    """Run the scenarios, then up to `size` random rounds within the time limit."""
    n_rounds = n_swaps = 0
    rounds = _rounds(torture.rng)
    while torture.goes_on(n_rounds):
        scenario = next(rounds)
        n_rounds += 1
        stage = Stage(torture, torture.place / f"round{n_rounds}", n_rounds, scenario.__name__.removeprefix("_"))
        if scenario not in _OF_AN_ALLOWED_DIRECTORY:
            stage.index()
        stage.change_files()
        n_swaps += scenario(stage)
        stage.require_nothing_private("after the swaps")
        stage.index()
        stage.require_nothing_private("in the end")
        stage.require_as_fresh()
        if not torture.failures:
            shutil.rmtree(stage.place)
    return f"{n_swaps} swaps in {n_rounds} rounds of index runs"


class Stage:
    """A tree, a private tree beside it with the same names below each directory, and an index.

    The private tree alone has two unmistakable words: one to look for, and one that is then shown.
    """

    def __init__(self, torture: Torture, place: Path, number: int, what: str) -> None:
        self.torture, self.place, self.what = torture, place, f"round {number}, {what}"
        self.rng = random.Random(f"{torture.seed} {number}")
        self.words = (f"qzx{self.rng.randrange(10**9)}", f"vkj{self.rng.randrange(10**9)}")
        self.outer = place / "outer"
        self.root = self.outer / "middle" / "root"
        self.data_dir = place / "index"
        for directory in DIRECTORIES:
            for tree in (self.root, self.mirror_of(self.root)):
                (tree / directory).mkdir(parents=True)
        for directory in DIRECTORIES:
            for number_of_file in range(_N_FILES):
                self.write_both(self.root / directory / f"file{number_of_file}.md")
            self.write_private(self.mirror_of(self.root) / directory / f"{self.words[1]}.md")
        # Names that rules on secrets would know, had they the path that is really read.
        self.write_both(self.root / "zz" / "hosts.yml")
        (self.root / "library" / "link").symlink_to(self.root / "zz")
        self.mirror_of(self.root / "library" / "link").mkdir()
        self.write_private(self.mirror_of(self.root / "library" / "link") / "file0.md")
        self.above = (self.root, self.root.parent)
        files = (self.root / "file0.md", self.root / "zz/file1.md", self.root / "zz/hosts.yml")
        self.inside = (*(self.root / name for name in DIRECTORIES if name), *files, self.root / "library/link")

    def mirror_of(self, path: Path) -> Path:
        return self.place / self.words[0] / path.relative_to(self.outer)

    def write_both(self, path: Path) -> None:
        self.write(path, 0)
        self.write_private(self.mirror_of(path))

    def write(self, path: Path, version: int) -> None:
        path.write_text(f"# Note\n\nHarmless words of {path.name}, version {version}.\n", encoding="utf-8")

    def write_private(self, path: Path) -> None:
        first, second = self.words
        path.write_text(f"# Private {second}\n\nThe {first} of {path.name} is {second}.\n", encoding="utf-8")

    def change_files(self) -> None:
        """Write files for a run to read, even in directories that are being swapped."""
        for _ in range(_FILES_TO_CHANGE):
            path = self.root / self.rng.choice(DIRECTORIES) / f"file{self.rng.randrange(_N_FILES)}.md"
            # Whoever writes through a link would make the private tree public himself.
            if path.resolve(strict=False) == path:
                with contextlib.suppress(OSError):
                    self.write(path, self.rng.randrange(10**6))

    def require(self, claim: bool, message: str) -> None:  # noqa: FBT001 - read as an assertion
        if not self.torture.failures:
            self.torture.require(claim, f"{self.what}: {message}")

    def index(self, *, data_dir: Path | None = None, codes: tuple[int, ...] = (0,), is_named: bool = True) -> None:
        """Run `dirindex index`, for the tree or for everything tracked."""
        words = (self.root,) if is_named else ()
        done = run_command(*CHEAP_COMMAND, "index", *words, "-q", "--data-dir", data_dir or self.data_dir)
        complaint = complaint_of(done, frozenset(codes))
        self.require(not complaint, f"a run {complaint}")

    def started(self, *words: str | Path) -> subprocess.Popen[bytes]:
        return start_command(*CHEAP_COMMAND, "index", *words, "--quiet", "--data-dir", self.data_dir)

    @contextlib.contextmanager
    def served(self, *words: str | Path) -> Iterator[RawClient]:
        with RawClient(*words, "--data-dir", self.data_dir, environ=dict(os.environ)) as client:
            client.shake_hands()
            yield client

    def require_nothing_shown(self, client: RawClient) -> None:
        """Search a server for private content, by words and by name, and check its index."""
        first, second = self.words
        answer = json.dumps(client.call("search", query=f'"{first}"'))
        self.require(second not in answer, f"a search over MCP shows what is private: {answer[:300]}")
        files = (*self.inside, *(self.root / directory / "file2.md" for directory in DIRECTORIES))
        for path in (*files, self.mirror_of(self.root) / "file0.md"):
            answer = json.dumps(client.call("get_content", path=str(path)))
            self.require(second not in answer, f"get_content of {path} shows what is private: {answer[:300]}")
        self.require_nothing_private("while a server is asked")

    def require_nothing_private(self, when: str) -> None:
        """Check that no name, title, text or word of the index is private."""
        if (self.data_dir / "data.db").exists():
            problems = self.torture.result_of(when, Child(_private, self.data_dir, self.words))
            self.require(not problems, f"{when} the index has what is private: {problems}")

    def require_as_fresh(self) -> None:
        fresh = self.place / "fresh"
        self.index(data_dir=fresh)
        mine, truth = (self.torture.result_of("reading", Child(contents, place)) for place in (self.data_dir, fresh))
        self.torture.require_same(f"{self.what}: not as fresh", _without_vectors(mine), _without_vectors(truth))


def _private(data_dir: Path, words: tuple[str, str]) -> list[str]:
    with DocStore(data_dir / "data.db").snapshot() as snapshot:
        paths = [path for root in snapshot.directories.all() for path in snapshot.files.records_within(root)]
        values = [f"{path}: {chunk.chunk.text}" for path in paths for chunk in snapshot.chunks.of_file(path)]
    with contextlib.closing(sqlite3.connect(f"file:{data_dir / 'data.db'}?mode=ro", uri=True)) as connection:
        values += [f"{query}: {row}" for query in _COLUMNS for row in connection.execute(query)]
    return [value[:200] for value in values if any(word in value for word in words)][:5]


def _without_vectors(rows: dict[str, Any]) -> dict[str, Any]:
    """Remove the vectors, which differ between servers (real model) and commands; none may be missing."""
    files = {
        name: (texts, [None for vector in vectors if vector is None])
        for name, (texts, vectors) in rows["files"].items()
    }
    return {**rows, "files": files}


class Swapper:
    """Swaps one victim after another, and restores each."""

    def __init__(self, stage: Stage, victims: tuple[Path, ...]) -> None:
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
        rng = random.Random(self._stage.rng.random())
        while not self._must_end.wait(10 ** rng.uniform(-3.5, 0)):
            with swapped(self._stage, rng.choice(self._victims), exchanges=rng.random() < 0.5):  # noqa: PLR2004
                # Not cut short by the end, for a run that is just ending should meet it.
                time.sleep(10 ** rng.uniform(-3.5, 0.3))
            self.n_swaps += 1


@contextlib.contextmanager
def swapped(stage: Stage, victim: Path, *, exchanges: bool = False) -> Iterator[None]:
    """Replace a file or directory by a link to the private tree."""
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


def _exchange(first: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(other), _EXCHANGE):
        raise OSError(ctypes.get_errno(), "cannot exchange", str(first))


Scenario: TypeAlias = Callable[[Stage], int]


def _directory_while_reading(stage: Stage) -> int:
    for number in range(_MANY_FILES):  # so that there is time to swap what is read last
        stage.write(stage.root / f"a{number}.md", number)
    for number in range(_N_FILES):
        stage.write(stage.root / "zz" / f"file{number}.md", number + 1)
    process = stage.started(stage.root)
    _wait_for_reading(stage)
    with swapped(stage, stage.root / "zz"):
        process.communicate(timeout=_PATIENCE_SECONDS)
    return 1


def _root_then_index_over_mcp(stage: Stage) -> int:
    with stage.served() as client:
        for victim in stage.above:
            with swapped(stage, victim):
                for arguments in ({}, {"path": str(stage.root)}):
                    _finish_index(client, **arguments)
                    stage.require_nothing_shown(client)
            stage.change_files()
    return len(stage.above)


def _root_then_watch_over_mcp(stage: Stage) -> int:
    with stage.served("--watch") as client:
        time.sleep(_WATCHED_SECONDS / 2)
        for victim in stage.above:
            with swapped(stage, victim):
                for seconds in (_WATCHED_SECONDS, _WATCHED_SECONDS / 2):
                    time.sleep(seconds)
                    stage.require_nothing_shown(client)
                    stage.write_private(stage.mirror_of(stage.root) / "later.md")
            stage.change_files()
    return len(stage.above)


def _allowed_directory_after_the_call(stage: Stage) -> int:
    delays = (0.02, 0.06, 0.12, 0.2, 0.3, 0.5)
    with stage.served(stage.outer) as client:
        for delay in delays:
            reply = client.ask(
                "tools/call", {"name": "index", "arguments": {"path": str(stage.root), "wait_seconds": 0}}
            )
            time.sleep(delay)
            with swapped(stage, stage.rng.choice(stage.above)):
                client.answer_to(reply)
                # The run resolves the path when it has started; asking again would be about the link.
                time.sleep(_WATCHED_SECONDS)
            stage.require_nothing_shown(client)
            stage.change_files()
    return len(delays)


# Whoever names a directory on the command line means what it is at that moment, be it a link.
def _command_with_path(stage: Stage) -> int:
    return _while_swapping(stage, stage.inside, lambda: _command(stage, is_named=True))


def _command_without_path(stage: Stage) -> int:
    return _while_swapping(stage, (*stage.inside, *stage.above * 2), lambda: _command(stage, is_named=False))


def _watching_command(stage: Stage) -> int:
    process = stage.started("--watch")
    n_swaps = _while_swapping(stage, (*stage.inside, *stage.above * 2), lambda: _watched(stage))
    stage.require(process.poll() is None, f"`index --watch` ended with {process.poll()}")
    process.terminate()
    process.communicate(timeout=_PATIENCE_SECONDS)
    # Its first run may have met a link in the place of the root: then it ends with 3.
    stage.require(process.returncode in {0, 1, 3, 130, 143}, f"stopping ends with {process.returncode}")
    return n_swaps


def _client(stage: Stage) -> int:
    return _client_of(stage, (), lambda: {"path": str(stage.root)} if stage.rng.random() < 0.5 else {})  # noqa: PLR2004


def _client_of_an_allowed_directory(stage: Stage) -> int:
    return _client_of(stage, (stage.outer,), lambda: {"path": str(stage.root)})


def _watching_server(stage: Stage) -> int:
    with stage.served("--watch") as client:
        return _while_swapping(stage, (*stage.inside, *stage.above * 2), lambda: _watched(stage, client))


def _client_of(stage: Stage, words: tuple[Path, ...], arguments: Callable[[], dict[str, str]]) -> int:
    with stage.served(*words) as client:

        def act() -> None:
            _finish_index(client, **arguments())
            stage.require_nothing_shown(client)

        return _while_swapping(stage, (*stage.inside, *stage.above * 2), act)


def _while_swapping(stage: Stage, victims: tuple[Path, ...], act: Callable[[], None]) -> int:
    with Swapper(stage, victims) as swapper:
        for _ in range(_N_ROUNDS):
            act()
            stage.change_files()
    return swapper.n_swaps


def _command(stage: Stage, *, is_named: bool) -> None:
    # A root that is a link just now cannot be read, which is an error of the run.
    stage.index(codes=(0, 1, 3), is_named=is_named)
    stage.require_nothing_private("after a run")


def _watched(stage: Stage, client: RawClient | None = None) -> None:
    time.sleep(_WATCHED_SECONDS / 2)
    if client:
        stage.require_nothing_shown(client)
    else:
        stage.require_nothing_private("while watching")


def _wait_for_reading(stage: Stage) -> None:
    """Wait until the run that was just started reads files, or has read them."""
    address, until = f"file:{stage.data_dir / 'data.db'}?mode=ro", time.monotonic() + _PATIENCE_SECONDS
    with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
        [n_before] = connection.execute("SELECT count(*) FROM runs").fetchone()
        while time.monotonic() < until:
            latest = "SELECT count(*) OVER (), phase, outcome FROM runs ORDER BY id DESC LIMIT 1"
            n_runs, phase, outcome = connection.execute(latest).fetchone()
            if n_runs > n_before and (phase == "reading" or outcome is not None):
                break
            time.sleep(_POLL_SECONDS)


def _finish_index(client: RawClient, **arguments: Any) -> None:
    """Call the tool until no run of it is in progress; a refusal is accepted."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        result = client.call("index", wait_seconds=20, **arguments)
        if (result.get("structuredContent") or {}).get("state") not in {"running", "queued"}:
            break


_OF_AN_ALLOWED_DIRECTORY: Final = {_client_of_an_allowed_directory, _allowed_directory_after_the_call}
_FIRST: Final[tuple[Scenario, ...]] = (
    *(_directory_while_reading, _root_then_index_over_mcp),
    *(_root_then_watch_over_mcp, _allowed_directory_after_the_call),
)
_OTHERS: Final[tuple[Scenario, ...]] = (
    *(_command_with_path, _command_without_path, _watching_command, _client, _client_of_an_allowed_directory),
    _watching_server,
)


def _rounds(rng: random.Random) -> Iterator[Scenario]:
    yield from _FIRST
    while True:
        yield from rng.sample(_OTHERS, len(_OTHERS))
