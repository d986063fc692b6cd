"""Only what lies below a tracked directory is ever read, whatever takes its place while a run goes on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from indexes import Index

from directory_indexer.core.files import FileFailure
from directory_indexer.core.paths import file_path
from directory_indexer.core.safe_open import DirectoryDescent, open_directory, open_file
from directory_indexer.formats.extraction import extract
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.walk import Listing, WalkPolicy
from directory_indexer.walk.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from directory_indexer.core.paths import FilePath
    from directory_indexer.formats.document import Document

pytestmark = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links cannot be refused there")
PRIVATE = "the midnight heron"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Make a directory that is no business of any index."""
    directory = tmp_path / "private"
    directory.mkdir()
    for name in ("a.md", "b.md", "notes.md"):
        (directory / name).write_text(PRIVATE)
    return directory


@pytest.fixture
def index_with_hook(tmp_path: Path) -> Iterator[tuple[Index, list[Callable[[], None]]]]:
    """Make an index that does something as soon as it reads the first file."""
    root = tmp_path / "docs"
    root.mkdir()
    hooks: list[Callable[[], None]] = []

    def hooked(content: bytes, path: FilePath) -> Document:
        while hooks:
            hooks.pop()()
        return extract(content, path)

    index = Index(root=root, data_dir=tmp_path / "data", extract=hooked)
    yield index, hooks
    index.close()


def replace_by_link(path: Path, target: Path) -> None:
    path.rename(path.with_name(f"former {path.name}"))
    path.symlink_to(target)


def test_a_directory_that_becomes_a_link_between_walk_and_read_brings_nothing_in(
    index_with_hook: tuple[Index, list[Callable[[], None]]], private: Path
) -> None:
    index, hooks = index_with_hook
    index.write("a.md", "first")
    index.write("zz/a.md", "placeholder")
    hooks.append(lambda: replace_by_link(index.root / "zz", private))
    report = index.run()
    assert [failure.message for failure in report.failures] == ["a directory on its path is a symbolic link now"]
    assert (index.names(PRIVATE), index.names("first")) == ([], ["a.md"])


def test_a_root_that_becomes_a_link_between_walk_and_read_brings_nothing_in(
    index_with_hook: tuple[Index, list[Callable[[], None]]], private: Path
) -> None:
    index, hooks = index_with_hook
    index.write("a.md", "first")
    index.write("b.md", "second")
    hooks.append(lambda: replace_by_link(index.root, private))
    assert index.run().n_failed == 1
    assert [hit.text in {"first", "second"} for hit in index.search("first second heron")] == [True]


def test_a_directory_that_becomes_a_link_while_the_tree_is_walked_is_a_failure(tmp_path: Path, private: Path) -> None:
    (tmp_path / "docs" / "sub" / "inner").mkdir(parents=True)
    listings = walk(file_path(tmp_path / "docs"), WalkPolicy())
    next(listings)
    replace_by_link(tmp_path / "docs" / "sub", private)
    [listing] = listings
    assert isinstance(listing, Listing)
    assert listing.files == ()
    assert listing.failures == (FileFailure(listing.directory, "walk", "a symbolic link stands here now"),)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_named", [True, False])
def test_a_tracked_root_that_became_a_link_is_unavailable_and_keeps_its_files(
    index: Index, private: Path, *, is_named: bool
) -> None:
    index.write("a.md", "what was there")
    index.run()
    replace_by_link(index.root, private)
    report = (
        index.run()
        if is_named
        else index.indexer.index([], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None)
    )
    assert report.unavailable_roots == (file_path(index.root),)
    with index.docstore.snapshot() as snapshot:
        assert list(snapshot.directories.all()) == [file_path(index.root)]
    assert [hit.text for hit in index.search("what was there")] == ["what was there"]


def test_a_resolved_path_is_not_resolved_again_by_the_run_that_gets_it(index: Index, private: Path) -> None:
    replace_by_link(index.root, private)
    report = index.run(options=IndexOptions(is_exact=True))
    assert report.unavailable_roots == (file_path(index.root),)
    with index.docstore.snapshot() as snapshot:
        assert snapshot.directories.all() == {}


def test_a_directory_above_a_tracked_root_that_became_a_link_makes_it_unavailable(
    tmp_path: Path, private: Path
) -> None:
    root = tmp_path / "above" / "docs"
    index = Index(root=root, data_dir=tmp_path / "data")
    index.write("a.md", "what was there")
    index.run()
    (private / "docs").mkdir()
    (private / "docs" / "a.md").write_text(PRIVATE)
    replace_by_link(tmp_path / "above", private)
    report = index.run()
    index.close()
    assert report.unavailable_roots == (file_path(root),)
    assert "symbolic link" in report.failures[0].message


def test_every_component_of_a_path_must_be_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "real" / "sub" / "file").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.close(open_file(str(tmp_path / "real" / "sub" / "file")))
    os.close(open_directory(str(tmp_path / "real" / "sub")))
    with pytest.raises(OSError, match="a symbolic link stands here now") as refused:
        open_file(str(tmp_path / "link" / "sub" / "file"))
    assert refused.value.filename == str(tmp_path / "link")
    with pytest.raises(OSError, match="a symbolic link stands here now"):
        open_directory(str(tmp_path / "link"))


def test_a_descent_comes_back_to_directories_that_it_has_closed(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*map(str, range(100)))
    deep.mkdir(parents=True)
    descent = DirectoryDescent(str(tmp_path))
    for directory in (deep, *list(deep.parents)[:100], deep):
        assert os.fstat(descent.enter(str(directory))).st_ino == directory.stat().st_ino
    descent.close()
