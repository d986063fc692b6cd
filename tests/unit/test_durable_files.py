"""Files are replaced as a whole, and work is divided into batches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from directory_indexer.core.batching import batched
from directory_indexer.core.kept_files import create_new_file, replace_file, sync_path, write_durably


def test_replacing_a_file_leaves_another_name_of_the_old_one_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "notes", tmp_path / "link"
    path.write_bytes(b"old")
    os.link(path, other)
    replace_file(path, b"new")
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"old")


def test_a_file_that_cannot_be_replaced_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with pytest.raises(OSError, match="irectory"):
        replace_file(tmp_path / "notes", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_new_file_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    write_durably(create_new_file(path), b"{}")
    sync_path(tmp_path)
    with pytest.raises(FileExistsError):
        create_new_file(path)
    assert path.read_bytes() == b"{}"


def test_batches_hold_all_items_in_their_order() -> None:
    assert list(batched(iter(range(7)), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(batched([], 3)) == []
