"""The database is one's own, whole, and of one moment; otherwise it says so."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from directory_indexer.config import load_config
from directory_indexer.core.errors import CorruptIndexError, StoreError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, Stage
from directory_indexer.core.paths import file_path
from directory_indexer.storage.documents import store
from directory_indexer.storage.documents.file_writes import FileLocation
from directory_indexer.storage.documents.store import DocStore, rename_damaged_database
from directory_indexer.walk import SettledDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from indexes import Index

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
        transaction.meta.set("text", "x" * 100_000)
    store.maintenance.checkpoint()
    content = bytearray(path.read_bytes())
    content[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    path.write_bytes(content)
    with pytest.raises(CorruptIndexError):
        DocStore(path).maintenance.require_integrity()


@pytest.mark.parametrize("what", ["failure", "skip", "removal"])
def test_whatever_is_written_about_a_file_lets_its_directory_be_looked_at_again(tmp_path: Path, what: str) -> None:
    docstore, root = DocStore(tmp_path / "data.db"), file_path("/home/notes")
    path = file_path("/home/notes/a.md")
    with docstore.transaction() as transaction:
        place = FileLocation(transaction.directories.add(root))
        transaction.directories.settle(place.directory_id, {root: SettledDirectory(b"digest", 1)})
    with docstore.transaction() as transaction:
        match what:
            case "failure":
                transaction.files.put_failure(place, FileFailure(path, Stage.READ, "no permission"), recipe=1)
            case "skip":
                transaction.files.put_skipped(place, SkippedFile(path, SkipReason.BINARY), recipe=1)
            case _:
                transaction.files.remove([path])
    with docstore.snapshot() as snapshot:
        assert not snapshot.files.known_files(place.directory_id, recipe=1).settled.directories


@pytest.mark.parametrize("what", ["skip", "removal"])
def test_members_go_with_their_container(tmp_path: Path, what: str) -> None:
    docstore, root = DocStore(tmp_path / "data.db"), file_path("/home/notes")
    container, member = file_path("/home/notes/a.zip"), file_path("/home/notes/a.zip!/b.md")
    with docstore.transaction() as transaction:
        place = FileLocation(transaction.directories.add(root))
        inside = transaction.files.location_in_container(container, place.directory_id)
        transaction.files.put_failure(inside, FileFailure(member, Stage.EXTRACT, "damaged"), recipe=1)
    with docstore.snapshot() as snapshot:
        assert {failure.path for failure in snapshot.left_out.failures(within=None, limit=9)} == {container, member}
        assert snapshot.files.container_of(member) == container
    with docstore.transaction() as transaction:
        assert (transaction.file_rows.is_on_disk(container), transaction.file_rows.is_on_disk(member)) == (True, False)
        if what == "skip":
            transaction.files.put_skipped(place, SkippedFile(container, SkipReason.ENCRYPTED), recipe=1)
        else:
            transaction.files.remove([container])
    with docstore.snapshot() as snapshot:
        assert snapshot.files.get(member) is None


def test_what_was_found_out_about_one_moment_does_not_outlive_it(tmp_path: Path) -> None:
    ours, theirs = DocStore(tmp_path / "data.db"), DocStore(tmp_path / "data.db")
    for number, writer in enumerate((theirs, ours, theirs)):
        with ours.snapshot() as snapshot:
            assert len(snapshot.directories.all()) == number
        with writer.transaction() as transaction:
            transaction.directories.add(file_path(f"/home/{number}"))
    with ours.snapshot() as snapshot:
        assert len(snapshot.directories.all()) == 3
        with theirs.transaction() as transaction:
            transaction.directories.add(file_path("/home/late"))
        assert len(snapshot.directories.all()) == 3


def test_what_was_written_and_undone_is_not_remembered(tmp_path: Path) -> None:
    docstore = DocStore(tmp_path / "data.db")
    with contextlib.suppress(ZeroDivisionError), docstore.transaction() as transaction:
        transaction.directories.add(file_path("/home/undone"))
        raise ZeroDivisionError
    with docstore.snapshot() as snapshot:
        assert snapshot.directories.all() == {}


@posix
def test_a_database_put_in_the_place_of_another_is_the_one_that_is_read(tmp_path: Path) -> None:
    docstore, other = DocStore(tmp_path / "data.db"), DocStore(tmp_path / "other.db")
    with other.transaction() as transaction:
        transaction.directories.add(file_path("/home/other"))
    other.maintenance.checkpoint()
    other.close()
    with docstore.snapshot() as snapshot:
        assert snapshot.directories.all() == {}
    rename_damaged_database(tmp_path / "data.db")
    (tmp_path / "other.db").rename(tmp_path / "data.db")
    with docstore.snapshot() as snapshot:
        assert list(snapshot.directories.all()) == ["/home/other"]


def test_more_threads_ask_than_connections_are_kept(tmp_path: Path) -> None:
    docstore = DocStore(tmp_path / "data.db")
    together = threading.Barrier(12, timeout=60)

    def ask(_: int) -> int:
        with docstore.snapshot() as snapshot:
            together.wait()
            return len(snapshot.directories.all())

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(ask, range(12))) == [0] * 12
    docstore.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.db", "data.db.schema-lock"]


def test_a_checkpoint_gives_all_unused_pages_back(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    store = DocStore(path)
    with store.transaction() as transaction:
        transaction.meta.set("large", "x" * 1_000_000)
    store.maintenance.checkpoint()
    full = path.stat().st_size
    with store.transaction() as transaction:
        transaction.meta.delete("large")
    store.maintenance.checkpoint()
    assert path.stat().st_size < full - 900_000


def test_a_database_is_read_into_memory_unless_it_would_take_much_of_that(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.write("a.md", "apples\n")
    index.run()
    with index.docstore.snapshot() as snapshot:
        snapshot.warm_page_cache()
    read: list[str] = []
    monkeypatch.setattr(store.Snapshot, "warm_page_cache", lambda _: read.append("all"))
    index.docstore.warm_page_cache()
    assert read == ["all"]
    monkeypatch.setattr(store, "_physical_memory_bytes", lambda: 4096)
    index.docstore.warm_page_cache()
    assert read == ["all"]
