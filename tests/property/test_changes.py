"""Whatever happens to a tree, a run ends in the index that a new one would be."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import Index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.indexing.report import IndexReport

NAMES = ("a.md", "b.py", "sub/a.md", "sub/deep/b.py", ".gitignore", "sub/.dirindexignore")
TEXTS = (
    *("", "alpha beta\n", "# Gamma\n\ndelta\n", "def epsilon():\n    return 1\n", "alpha beta\n" * 80),
    *("*.py\n", "sub/\n", "!a.md\n*.md\n", "\x7fELF\0\1\2" * 50),
)

write = st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS))
move = st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES))
delete = st.tuples(st.just("delete"), st.sampled_from((*NAMES, "sub", "sub/deep")), st.just(""))
link = st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(NAMES))
touch = st.tuples(st.just("touch"), st.sampled_from(NAMES), st.just(""))
rounds = st.lists(
    st.lists(st.one_of(write, write, write, move, delete, link, touch), min_size=1, max_size=8), min_size=2, max_size=4
)


def change(root: Path, kind: str, name: str, other: str) -> None:
    path = root / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "write":
            path.write_text(other, encoding="utf-8")
        elif kind == "move":
            (root / other).parent.mkdir(parents=True, exist_ok=True)
            path.replace(root / other)
        elif kind == "delete":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif kind == "link":
            path.symlink_to(root / other)
        elif kind == "touch":
            os.utime(path, (1_000_000_000, 1_000_000_000))
    except OSError:
        return  # what cannot be done to this tree is no change


def drop_rules_that_cannot_be_read(root: Path) -> None:
    """Remove links, which are not followed: without all rules text of before stays, and a fresh index never had it."""
    for path in root.rglob("*ignore"):
        if path.is_symlink():
            path.unlink()


@contextlib.contextmanager
def indexed_tree() -> Iterator[tuple[Path, Path, Index]]:
    """Give a place to write to, a tree in it, and an index of the tree."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(os.path.realpath(temporary))
        root = place / "docs"
        root.mkdir()
        # Without one file that stays, an empty directory would be an error.
        (root / "stays.md").write_text("this stays\n", encoding="utf-8")
        index = Index(root=root, data_dir=place / "data")
        yield place, root, index
        index.close()


@settings(max_examples=settings().max_examples // 5)
@given(rounds)
def test_any_changes_and_a_run_end_in_the_index_of_a_fresh_one(changes: list[list[tuple[str, str, str]]]) -> None:
    with indexed_tree() as (place, root, index):
        for some in changes:
            for kind, name, other in some:
                change(root, kind, name, other)
            index.run()
        drop_rules_that_cannot_be_read(root)
        index.run()
        index.vectorizer.merger.merge_all()
        fresh = Index(root=root, data_dir=place / "fresh")
        fresh.run()
        assert index.contents() == fresh.contents()
        fresh.close()


restore = st.tuples(st.just("restore"), st.sampled_from(NAMES), st.just(""))
calm_rounds = st.lists(
    st.lists(st.one_of(write, write, write, move, delete, link, restore), max_size=6), min_size=2, max_size=5
)


def set_clock_back(root: Path, clock: Iterator[int]) -> None:
    """Let everything that was modified just now have been modified long ago, each at a moment of its own."""
    for path in root.rglob("*"):
        if not path.is_symlink() and path.stat().st_mtime > time.time() - 1000:
            os.utime(path, ns=(next(clock),) * 2)


def keep(root: Path, kept: dict[str, Path], place: Path) -> None:
    """Keep copies of files as they are, with their times, the first time that they are seen."""
    for name in NAMES:
        if name not in kept and (root / name).is_file():
            kept[name] = place / str(len(kept))
            shutil.copy2(root / name, kept[name])


@settings(max_examples=settings().max_examples // 5)
@given(calm_rounds)
def test_directories_that_are_settled_hide_no_change(changes: list[list[tuple[str, str, str]]]) -> None:
    with indexed_tree() as (place, root, index):
        clock, kept = count(10**18), dict[str, Path]()
        for some in changes:
            for kind, name, other in some:
                if kind != "restore":
                    change(root, kind, name, other)
                elif name in kept and (root / name).is_file():
                    shutil.copy2(kept[name], root / name)
            drop_rules_that_cannot_be_read(root)
            set_clock_back(root, clock)
            keep(root, kept, place)
            index.run()
            fresh = Index(root=root, data_dir=place / f"fresh-{next(clock)}")
            fresh.run()
            assert index.contents() == fresh.contents()
            assert seen(index.run()) == seen(index.run()) == seen(fresh.run())
            fresh.close()


def seen(report: IndexReport) -> tuple[object, ...]:
    return report.n_unchanged, report.n_ignored, sorted(report.skipped), report.n_seen
