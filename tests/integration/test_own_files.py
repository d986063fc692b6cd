"""No walk enters the data directory: an index that reads itself, or another collection, would give texts away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from trees import plant, walked

from directory_indexer.config import load_config
from directory_indexer.policies import walk_policy

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = {
    "data.db": "rows",
    "notes.md": "a note",
    "qdrant/points.txt": "vectors",
    "team/team.db": "keys",
    "team/collections/birds/data.db": "rows",
    "team/collections/birds/documents/ab/abcd/heron.md": "the heron of a collection",
}


@pytest.fixture(params=["user/.directory-indexer", "user/index", "user/deep/index"])
def data_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return plant(tmp_path / str(request.param), PLANTED)


def test_a_directory_that_holds_the_data_directory_is_walked_without_it(data_dir: Path, tmp_path: Path) -> None:
    plant(tmp_path / "user", {"mine.md": "mine"})
    policy = walk_policy(load_config(file=None, data_dir=data_dir, environ={}))
    for include_hidden in (False, True):
        assert walked(tmp_path / "user", policy._replace(include_hidden=include_hidden)).files == {"mine.md"}


def test_no_link_leads_a_walk_into_the_data_directory(data_dir: Path, tmp_path: Path) -> None:
    root = plant(tmp_path / "root", {"mine.md": "mine"})
    (root / "all").symlink_to(data_dir)
    (root / "home").symlink_to(tmp_path / "user")
    policy = walk_policy(load_config(file=None, data_dir=data_dir, environ={}))
    assert walked(root, policy._replace(include_hidden=True, follow_symlinks=True)).files == {"mine.md"}


@pytest.mark.parametrize("inside", ["team", "team/collections", "team/collections/birds/documents/ab"])
def test_no_link_leads_a_walk_among_the_collections(data_dir: Path, tmp_path: Path, inside: str) -> None:
    root = plant(tmp_path / "root", {"mine.md": "mine"})
    (root / "link").symlink_to(data_dir / inside)
    (root / "heron.md").symlink_to(data_dir / "team/collections/birds/documents/ab/abcd/heron.md")
    policy = walk_policy(load_config(file=None, data_dir=data_dir, environ={}))
    assert walked(root, policy._replace(include_hidden=True, follow_symlinks=True)).files == {"mine.md"}


def test_the_collections_lie_in_no_tracked_directory_even_where_it_lies_beside_the_database(data_dir: Path) -> None:
    policy = walk_policy(load_config(file=None, data_dir=data_dir, environ={}))
    assert walked(data_dir, policy._replace(include_hidden=True)).files == {"notes.md"}


def test_a_database_elsewhere_leaves_both_directories_out(data_dir: Path, tmp_path: Path) -> None:
    environ = {"DIRINDEX_STORAGE__SQLITE_PATH": str(tmp_path / "user" / "other" / "own.db")}
    plant(tmp_path / "user", {"mine.md": "mine", "other/own.db": "rows", "other/own.db-wal": "rows"})
    policy = walk_policy(load_config(file=None, data_dir=data_dir, environ=environ))
    assert walked(tmp_path / "user", policy._replace(include_hidden=True)).files == {"mine.md"}
