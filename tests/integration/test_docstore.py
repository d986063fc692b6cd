"""The database is one's own, whole, and of one moment; otherwise it says so."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from directory_indexer.config import load_config
from directory_indexer.docstore import DocStore
from directory_indexer.errors import CorruptIndexError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a directory of somebody else, as far as the process can tell."""
    directory = tmp_path / "planted"
    directory.mkdir()
    if os.geteuid() == 0:
        os.chown(directory, 4711, 4711)
    owner = directory.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    return directory


@posix
def test_an_index_directory_of_another_user_is_refused(stranger: Path) -> None:
    with pytest.raises(StoreError, match="belongs to another user"):
        DocStore(stranger / "data.db")
    assert list(stranger.iterdir()) == []


@posix
def test_a_link_to_a_directory_of_another_user_is_refused(stranger: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(stranger)
    with pytest.raises(StoreError, match="belongs to another user"):
        DocStore(tmp_path / "link" / "data.db")


@posix
def test_an_index_directory_that_others_can_write_to_is_warned_about(tmp_path: Path) -> None:
    open_to_all, own = tmp_path / "open", tmp_path / "own"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    own.mkdir(mode=0o700)
    [warning] = load_config(file=None, data_dir=open_to_all, environ={}).warnings
    assert f"chmod 700 '{open_to_all}'" in warning
    assert load_config(file=None, data_dir=own, environ={}).warnings == ()


def test_a_file_that_is_no_database_is_said_to_be_damaged_and_left_alone(tmp_path: Path) -> None:
    planted = tmp_path / "data.db"
    planted.write_bytes(b"#!/bin/sh\necho planted\n" * 200)
    with pytest.raises(CorruptIndexError, match="not a database") as caught:
        DocStore(planted)
    assert "doctor --repair" in str(caught.value.hint)
    assert planted.read_bytes().startswith(b"#!/bin/sh")


@pytest.mark.parametrize("page", range(1, 12))
def test_a_damaged_page_is_noticed_by_a_check_of_the_whole(tmp_path: Path, page: int) -> None:
    path = tmp_path / "data.db"
    store = DocStore(path)
    with store.transaction() as transaction:
        transaction.set_meta("text", "x" * 100_000)
    store.checkpoint()
    content = bytearray(path.read_bytes())
    content[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    path.write_bytes(content)
    with pytest.raises(CorruptIndexError):
        DocStore(path).require_integrity()
