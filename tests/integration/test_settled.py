"""Directories in which there was nothing to do are passed over, and nothing that happens in them is missed."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from trees import EVERYTHING, let_settle, plant, plant_repository

from directory_indexer.core import files
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.core.safe_open import MAX_FILE_BYTES
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.walk import Listing, SameListing, Settled, SettledDirectory, WalkPolicy
from directory_indexer.walk.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from indexes import Index

    Fresh = Callable[[Index], dict[str, object]]

LONG_AGO = 1_000_000_000
LATER = LONG_AGO + 1
LOGIN = "somebody\nq7Xv-Pw2#kL9z\n"


def let_be_old(root: Path, *, seconds: int = LONG_AGO) -> None:
    paths = (root, *root.rglob("*"))
    for path in paths:
        os.utime(path, (seconds, seconds))
    let_settle(*paths)


@pytest.fixture
def settled(index: Index) -> Index:
    """Make an index of a tree in which nothing needs to be looked at."""
    tree = {
        "a.md": "alpha\n",
        "sub/b.md": "beta\n",
        "sub/deep/c.md": "gamma\n",
        "sub/empty": "",
        "sub/.hidden/d.md": "delta\n",
    }
    plant(index.root, tree)
    let_be_old(index.root)
    index.run()
    index.run()
    assert names_of_settled(index) == {"", "sub", "sub/deep"}
    return index


def test_a_run_that_reads_many_files_settles_their_directories(index: Index) -> None:
    plant(index.root, {f"part{number % 3}/{number}.md": f"note {number}\n" for number in range(120)})
    let_be_old(index.root)
    index.run()
    assert names_of_settled(index) == {"", "part0", "part1", "part2"}
    index.write("part1/1.md", "another text\n")
    assert index.run().n_changed == 1
    assert names_of_settled(index) == {"", "part0", "part2"}


def names_of_settled(index: Index) -> set[str]:
    with index.docstore.snapshot() as snapshot:
        [directory_id] = snapshot.directories.all().values()
        settled = snapshot.files.known_files(directory_id, recipe=index.fingerprint.recipe).settled
    return {path.removeprefix(str(index.root)).lstrip(os.sep) for path in settled.directories}


def test_the_report_of_a_run_with_nothing_to_do_counts_as_that_of_one_that_looks_closely(settled: Index) -> None:
    report = settled.run()
    assert (report.n_seen, report.n_unchanged, report.n_ignored) == (4, 3, 1)
    assert report.skipped == ((SkipReason.EMPTY, 1),)
    [plan] = settled.indexer.plans([])
    assert [os.path.basename(ignored.path) for ignored in plan.ignored] == [".hidden"]


def test_a_file_that_gets_back_its_former_text_and_time_is_read_again(settled: Index, fresh: Fresh) -> None:
    file = settled.root / "sub" / "b.md"
    shutil.copy2(file, settled.data_dir / "former")
    file.write_text("delta\n", encoding="utf-8")
    assert settled.run().n_changed == 1
    shutil.copy2(settled.data_dir / "former", file)
    assert settled.run().n_changed == 1
    assert settled.contents() == fresh(settled)


def test_a_file_that_came_while_the_run_was_stopped_is_read_by_the_next_one(settled: Index, fresh: Fresh) -> None:
    settled.write("sub/new.md", "epsilon\n")
    let_be_old(settled.root)
    settled.run(stop_reason=lambda: Outcome.INTERRUPTED)
    assert settled.run().n_added == 1
    assert settled.contents() == fresh(settled)


def test_rules_further_out_leave_out_what_lies_in_settled_directories(settled: Index) -> None:
    settled.write(".gitignore", "c.md\n")
    assert settled.run().n_removed == 1
    settled.write(".gitignore", "#c.md\n")
    assert settled.run().n_added == 1


def test_files_of_directories_that_are_gone_are_removed(settled: Index) -> None:
    shutil.rmtree(settled.root / "sub")
    assert settled.run().n_removed == 2
    settled.run()
    assert names_of_settled(settled) == {""}


def test_directories_without_files_are_forgotten_when_they_are_gone(settled: Index) -> None:
    (settled.root / "none").mkdir()
    settled.run()
    assert "none" in names_of_settled(settled)
    (settled.root / "none").rmdir()
    settled.run()
    assert "none" not in names_of_settled(settled)


def test_files_that_are_read_on_demand_are_read_in_settled_directories_too(settled: Index) -> None:
    report = settled.run(options=IndexOptions(read_everything=True, wait=False))
    assert (report.n_changed, report.n_unchanged) == (3, 0)


def test_another_recipe_reads_what_is_settled(settled: Index) -> None:
    settled.fingerprint = settled.fingerprint._replace(chunking="32/8")
    assert settled.run(options=IndexOptions(has_consent=True, wait=False)).n_changed == 3


def test_a_directory_with_a_file_that_has_just_been_modified_is_looked_at_again(
    settled: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_FINE_STAMP_NS", 3600 * 10**9)  # however long the run takes to get there
    settled.write("sub/b.md", "delta\n")
    settled.run()
    settled.run()
    assert names_of_settled(settled) == {"", "sub/deep"}


@pytest.mark.parametrize("place", [".", "docs", "docs/sub"])
def test_rules_that_are_of_no_use_are_told_by_every_run(index: Index, place: str) -> None:
    around = plant_repository(index.root.parent)
    plant(index.root, {"a.md": "alpha\n", "sub/b.md": "beta\n"})
    plant(around / place, {".gitignore": "[a\n"})
    let_be_old(index.root)
    for _ in range(4):
        [failure] = index.run().failures
        assert failure.path == file_path(around / place / ".gitignore")


def test_a_file_in_the_place_of_a_settled_directory_is_read(settled: Index) -> None:
    shutil.rmtree(settled.root / "sub")
    plant(settled.root, {"sub": "a file now\n"})
    report = settled.run()
    assert (report.n_added, report.n_removed) == (1, 2)


def states_of(root: Path, policy: WalkPolicy = EVERYTHING, settled: Settled | None = None) -> Settled:
    """Take every directory of a walk for settled, as far as it can be."""
    digests = {
        listing.directory: SettledDirectory(listing.digest, len(listing.files), ignored=listing.ignored)
        for listing in walk(file_path(root), policy, settled or Settled())
        if isinstance(listing, Listing) and listing.digest
    }
    return Settled(directories=digests)


def looked_at(root: Path, settled: Settled, policy: WalkPolicy = EVERYTHING) -> set[str]:
    """Name the directories that a walk lists although they are settled."""
    listings = walk(file_path(root), policy, settled)
    return {os.path.relpath(one.directory, root) for one in listings if not isinstance(one, SameListing)}


def put_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "another size": lambda sub: (sub / "b").write_text("longer"),
    "another time": lambda sub: os.utime(sub / "b", (LATER, LATER)),
    "another nanosecond": lambda sub: os.utime(sub / "b", ns=(LONG_AGO * 10**9, LONG_AGO * 10**9 + 1)),
    "another name": lambda sub: (sub / "b").rename(sub / "c"),
    "another case": lambda sub: (sub / "b").rename(sub / "B"),
    "one more": lambda sub: (sub / "c").touch(),
    "one less": lambda sub: (sub / "b").unlink(),
    "a directory more": lambda sub: (sub / "d").mkdir(),
    "a directory in its place": lambda sub: put_directory(sub / "b"),
    "its own rules": lambda sub: (sub / ".dirindexignore").write_text("x\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_directory_is_listed_anew_after_any_change_in_it(tmp_path: Path, change: Callable[[Path], object]) -> None:
    root = plant(tmp_path / "root", {"a": "x", "sub/b": "x", "sub/in/c": "x"})
    let_be_old(root)
    settled = states_of(root)
    assert looked_at(root, settled) == set()
    change(root / "sub")
    assert "sub" in looked_at(root, settled)
    assert "." not in looked_at(root, settled)


def test_directories_below_changed_rules_are_listed_anew_and_those_beside_are_not(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", {"a": "x", "sub/.gitignore": "x\n", "sub/in/deep/c": "x", "other/d": "x"})
    settled = states_of(root)
    (root / "sub" / ".gitignore").write_text("y\n")
    assert looked_at(root, settled) == {"sub", os.path.join("sub", "in"), os.path.join("sub", "in", "deep")}


def test_the_rules_of_a_settled_directory_hold_where_it_changes_below(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", {".gitignore": "*.o\nsub/in/gone/\n", "sub/in/deep/c": "x"})
    settled = states_of(root)
    plant(root, {"sub/in/deep/d.o": "x", "sub/in/gone/e": "x"})
    listings = [one for one in walk(file_path(root), EVERYTHING, settled) if isinstance(one, Listing)]
    assert [os.path.relpath(one.path, root) for listing in listings for one in listing.ignored] == [
        os.path.join("sub", "in", "gone"),
        os.path.join("sub", "in", "deep", "d.o"),
    ]


def test_another_policy_lists_everything_anew(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", {"a": "x", "sub/b": "x"})
    settled = states_of(root, WalkPolicy())
    assert looked_at(root, settled, WalkPolicy(max_file_size=5)) == {".", "sub"}
    assert looked_at(root, settled._replace(recipe=1), WalkPolicy()) == {".", "sub"}


def test_where_links_are_followed_nothing_is_settled(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", {"a": "x", "sub/b": "x"})
    assert not states_of(root, WalkPolicy(follow_symlinks=True)).directories


def test_where_rules_cannot_be_read_nothing_is_settled(tmp_path: Path) -> None:
    unreadable = "#" * (MAX_FILE_BYTES + 1)
    root = plant(tmp_path / "root", {"a": "x", "sub/b": "x", "sub/in/c": "x", "sub/.gitignore": unreadable})
    assert [os.path.basename(path) for path in states_of(root).directories] == ["root"]


def test_what_was_left_out_as_a_secret_is_not_looked_into_again(index: Index) -> None:
    plant(index.root, {"a.md": "alpha\n", "sub/login.txt": LOGIN})
    let_be_old(index.root)
    assert index.run().skipped == ((SkipReason.SECRET, 1),)
    [plan] = index.indexer.plans([])
    assert not plan.requests
    assert index.run().skipped == ((SkipReason.SECRET, 1),)
    assert "sub" in names_of_settled(index)
