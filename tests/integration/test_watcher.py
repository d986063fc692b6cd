"""What changes in a root while it is watched leads to an update, whatever the kernel reports of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import watchfiles
from trees import listings

from directory_indexer.core.machine import WATCH_MARK, is_watching_limited
from directory_indexer.core.paths import exact_text, file_path
from directory_indexer.indexing.watch import Watch
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.walk import WalkPolicy
from directory_indexer.walk.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from directory_indexer.core.paths import FilePath

    Step = Callable[[], object]


_SLOW_WRITER = """
import sys
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for _ in sys.stdin:
        file.write("x" * 1000)
        file.flush()
        print("written", flush=True)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


def directories(roots: Sequence[FilePath]) -> Iterator[FilePath]:
    return (listing.directory for root in roots for listing in walk(root, WalkPolicy()))


def files_in(root: Path) -> int:
    return sum(len(listing.files) for listing in listings(root, WalkPolicy()))


def watch_through(roots: Sequence[Path], steps: Sequence[Step], *, until: Callable[[], bool] = lambda: True) -> None:
    """Take a step after each update; when an update misses, so that there is none, the test runs out of time."""
    left = list(steps)
    is_done = False

    def update(_: Sequence[FilePath]) -> None:
        nonlocal is_done
        if left:
            left.pop(0)()
        else:
            is_done = until()

    Watch(
        roots=[file_path(root) for root in roots],
        update=update,
        directories=directories,
        stop_reason=lambda: Outcome.INTERRUPTED if is_done else None,
    ).run()


def test_changes_in_new_directories_are_noticed(root: Path) -> None:
    def add_directory() -> None:
        (root / "new" / "deep").mkdir(parents=True)

    watch_through([root], [add_directory, lambda: (root / "new" / "deep" / "a").write_text("x", encoding="utf-8")])


def test_a_renamed_directory_and_a_replaced_file_are_noticed(root: Path) -> None:
    (root / "old").mkdir()
    file = root / "old" / "a"
    file.write_text("x", encoding="utf-8")

    def replace() -> None:
        (root / "draft").write_text("y", encoding="utf-8")
        (root / "draft").replace(root / "new" / "a")

    watch_through([root], [lambda: (root / "old").rename(root / "new"), replace])


def test_an_edited_ignore_file_is_noticed(root: Path) -> None:
    (root / "a.tmp").write_text("x", encoding="utf-8")
    watch_through([root], [lambda: (root / ".gitignore").write_text("*.tmp", encoding="utf-8")])
    assert files_in(root) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no Unicode")
def test_a_name_that_is_no_unicode_does_not_end_the_watch(root: Path) -> None:
    def write_strange_name() -> None:
        Path(os.fsdecode(os.fsencode(root) + b"/\xff.txt")).write_text("x", encoding="utf-8")

    def make_strange_directory() -> None:
        Path(os.fsdecode(os.fsencode(root) + b"/\xfe")).mkdir()

    watch_through(
        [root],
        [write_strange_name, make_strange_directory, lambda: (root / "plain.txt").write_text("x", encoding="utf-8")],
    )


def test_a_root_that_goes_away_and_comes_back_is_watched_again(root: Path) -> None:
    def bring_back() -> None:
        root.mkdir()

    watch_through(
        [root], [lambda: shutil.rmtree(root), bring_back, lambda: (root / "a").write_text("x", encoding="utf-8")]
    )


def test_a_root_that_is_missing_from_the_start_is_noticed_when_it_comes(root: Path, tmp_path: Path) -> None:
    late = tmp_path / "late"
    watch_through([root, late], [late.mkdir, lambda: (late / "a").write_text("x", encoding="utf-8")])


@pytest.mark.slow
def test_ten_thousand_changes_at_once_are_all_seen(root: Path) -> None:
    def change_much() -> None:
        for number in range(100):
            directory = root / f"d{number}"
            directory.mkdir()
            for other in range(100):
                (directory / f"f{other}").write_text("x", encoding="utf-8")

    watch_through([root], [change_much], until=lambda: files_in(root) == 10_000)


def test_after_a_flood_all_is_looked_at_once_more_when_it_is_over(root: Path) -> None:
    def flood() -> None:
        for number in range(2000):
            (root / f"f{number}").write_text("x", encoding="utf-8")

    watch_through([root], [flood, lambda: None])


def test_a_file_that_is_written_slowly_is_looked_at_again_when_it_is_whole(root: Path) -> None:
    slow = root / "slow.txt"
    writer = subprocess.Popen(
        [sys.executable, "-c", _SLOW_WRITER, slow], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert writer.stdin
    assert writer.stdout
    pipes = writer.stdin, writer.stdout

    def write_on() -> None:
        pipes[0].write(b"go on\n")
        pipes[1].readline()

    with writer:
        watch_through([root], [write_on, write_on, write_on], until=lambda: slow.stat().st_size == 3000)
        writer.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="counts the watches of inotify")
def test_no_link_is_followed_out_of_a_root(root: Path) -> None:
    (root / "link").symlink_to("/usr")
    counts = []

    def count_watches() -> None:
        fdinfo = [path.read_text(encoding="ascii") for path in Path("/proc/self/fdinfo").iterdir() if path.exists()]
        counts.append(sum(text.count("inotify wd:") for text in fdinfo))

        (root / "a").write_text("x", encoding="utf-8")

    watch_through([root], [count_watches])
    assert counts == [1]


def test_what_is_ignored_is_not_watched(root: Path) -> None:
    (root / ".git" / "objects").mkdir(parents=True)
    (root / "src").mkdir()
    assert [exact_text(path) for path in directories([file_path(root)])] == [str(root), str(root / "src")]


class LimitedSystem:
    """The library that watches, on a system that allows no more watches, or, with `n_watchers` 0, no watcher at all."""

    def __init__(self, n_watchers: int) -> None:
        self.n_watchers = n_watchers

    def watch(self, *_: str, ignore_permission_denied: bool, **__: object) -> Iterator[set[tuple[int, str]]]:
        if not self.n_watchers:
            raise RuntimeError("Error creating recommended watcher: Too many open files (os error 24)")
        if not ignore_permission_denied:
            raise OSError("OS file watch limit reached.")
        while True:
            yield set()


@pytest.mark.parametrize("n_watchers", [0, 1])
def test_what_the_system_does_not_let_us_watch_is_looked_through_now_and_then(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_watchers: int
) -> None:
    monkeypatch.setattr("watchfiles.watch", LimitedSystem(n_watchers).watch)
    database, told, updates = tmp_path / "data.db", [], []

    def update(roots: Sequence[FilePath]) -> None:
        updates.append((list(roots), is_watching_limited(database)))

    Watch(
        roots=[file_path(root)],
        update=update,
        directories=directories,
        stop_reason=lambda: Outcome.INTERRUPTED if len(updates) == 3 else None,
        on_limit=lambda: told.append("limited"),
        limit_path=tmp_path / WATCH_MARK,
        poll_seconds=0,
    ).run()

    assert updates == [([file_path(root)], True)] * 3
    assert told == ["limited"]
    assert not is_watching_limited(database)


def test_a_directory_that_cannot_be_read_keeps_no_other_from_being_watched(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = watchfiles.watch, []

    def refused(*paths: str, ignore_permission_denied: bool, **options: Any) -> Iterator[set[Any]]:
        asked.append(ignore_permission_denied)
        if not ignore_permission_denied:
            raise PermissionError("Permission denied (os error 13)")
        yield from real(*paths, ignore_permission_denied=True, **options)

    monkeypatch.setattr("watchfiles.watch", refused)
    watch_through([root], [lambda: (root / "a").write_text("x", encoding="utf-8")])

    assert asked[:2] == [False, True]
