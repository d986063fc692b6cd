from __future__ import annotations

import os
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, source_file_of_status
from directory_indexer.core.paths import file_path
from directory_indexer.parsing.reading import FileContent, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def source_of(path: Path) -> SourceFile:
    return source_file_of_status(file_path(path), path.lstat())


def what_was_read(path: Path, *, max_file_size: int) -> tuple[SourceFile, bytes]:
    found = read(source_of(path), max_file_size=max_file_size)
    assert isinstance(found, FileContent)
    return found.source, found.content


def written(path: Path, content: bytes = b"some bytes") -> Path:
    path.write_bytes(content)
    return path


def test_the_bytes_come_with_the_stamp_that_they_were_read_under(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt")
    seen_by_walk = SourceFile(file_path(path), 3, 5, 7, 9)
    before_ns = time.time_ns()

    found = read(seen_by_walk, max_file_size=100)

    assert isinstance(found, FileContent)
    assert (found.source, found.content) == (source_of(path), b"some bytes")
    assert before_ns <= found.seen_ns <= time.time_ns()


def test_no_inode_is_noted_where_the_walk_found_that_none_lasts(tmp_path: Path) -> None:
    source = source_of(written(tmp_path / "a.txt"))._replace(inode=0)

    found = read(source, max_file_size=100)

    assert isinstance(found, FileContent)
    assert found.source == source


def test_a_file_that_grew_beyond_the_limit_is_skipped_with_its_size(tmp_path: Path) -> None:
    source = source_of(written(tmp_path / "a.txt"))
    grown = source_of(written(tmp_path / "a.txt", b"x" * 101))

    found = read(source, max_file_size=100)

    assert isinstance(found, SkippedFile)
    assert (found.reason, found.source) == (SkipReason.TOO_LARGE, grown)


def test_a_file_of_just_the_limit_is_read(tmp_path: Path) -> None:
    source = source_of(written(tmp_path / "a.txt", b"x" * 100))

    assert what_was_read(tmp_path / "a.txt", max_file_size=100) == (source, b"x" * 100)


def test_a_file_that_vanished_is_a_failure(tmp_path: Path) -> None:
    source = source_of(written(tmp_path / "a.txt"))
    (tmp_path / "a.txt").unlink()

    assert read(source, max_file_size=100) == FileFailure(source.path, Stage.READ, "vanished")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_put_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    source = source_of(written(tmp_path / "a.txt"))
    (tmp_path / "a.txt").unlink()
    os.mkfifo(tmp_path / "a.txt")

    assert_skipped(read(source, max_file_size=100), SkipReason.NOT_REGULAR)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets in the file system here")
def test_a_socket_put_in_the_place_of_a_file_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        assert_skipped(read(source_of(tmp_path / "socket"), max_file_size=100), SkipReason.NOT_REGULAR)


@pytest.mark.skipif(os.name == "nt", reason="a directory cannot be opened there")
def test_a_directory_put_in_the_place_of_a_file_is_skipped(tmp_path: Path) -> None:
    assert_skipped(read(source_of(tmp_path), max_file_size=100_000), SkipReason.NOT_REGULAR)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links cannot be refused there")
def test_a_link_put_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path / "private")
    (tmp_path / "a.txt").symlink_to(tmp_path / "private")

    assert_skipped(read(source_of(tmp_path / "a.txt"), max_file_size=100), SkipReason.SYMLINK)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links cannot be refused there")
def test_a_link_put_in_the_place_of_a_directory_on_the_way_is_not_followed(tmp_path: Path) -> None:
    for name in ("tree", "private"):
        (tmp_path / name / "sub").mkdir(parents=True)
        written(tmp_path / name / "sub" / "a.txt", name.encode())
    source = source_of(tmp_path / "tree" / "sub" / "a.txt")
    (tmp_path / "tree").rename(tmp_path / "real")
    (tmp_path / "tree").symlink_to(tmp_path / "private")

    found = read(source, max_file_size=100)

    assert found == FileFailure(source.path, Stage.READ, "a directory on its path is a symbolic link now")


def test_a_link_is_followed_where_links_are(tmp_path: Path) -> None:
    written(tmp_path / "real")
    (tmp_path / "a.txt").symlink_to(tmp_path / "real")

    found = read(source_of(tmp_path / "a.txt"), max_file_size=100, follow_symlinks=True)

    assert isinstance(found, FileContent)
    assert found.content == b"some bytes"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everybody may read there")
def test_a_file_that_may_not_be_read_is_a_failure_with_the_reason(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt")
    path.chmod(0)

    assert read(source_of(path), max_file_size=100) == FileFailure(file_path(path), Stage.READ, "permission denied")


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.txt")
    append_after(monkeypatch, path, n_times=1)

    assert what_was_read(path, max_file_size=100) == (source_of(path), b"some bytes+")


def test_a_file_that_never_stops_changing_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.txt")
    append_after(monkeypatch, path, n_times=100)

    assert read(source_of(path), max_file_size=1000) == FileFailure(
        file_path(path), Stage.READ, "changes while it is read"
    )


def test_a_file_that_is_rewritten_with_the_same_size_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.txt")
    after_first_look(monkeypatch, lambda: os.utime(path, ns=(1, 1)), n_times=1)

    found = read(source_of(path), max_file_size=100)

    assert isinstance(found, FileContent)
    assert found.source.mtime_ns == 1


@pytest.mark.skipif(sys.platform != "linux", reason="no files without a size here")
def test_a_file_that_holds_more_than_its_size_is_a_failure() -> None:
    source = SourceFile(file_path("/proc/self/status"), 0, 0)

    assert isinstance(read(source, max_file_size=100), FileFailure)


def append_after(monkeypatch: pytest.MonkeyPatch, path: Path, *, n_times: int) -> None:
    def append() -> None:
        with path.open("ab") as file:
            file.write(b"+")

    after_first_look(monkeypatch, append, n_times=n_times)


def after_first_look(monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any], *, n_times: int) -> None:
    """Change the file each time that it was looked at, as another process would that works on it."""
    fstat = os.fstat
    left = [n_times]

    def fstat_and_change(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        if left[0]:
            left[0] -= 1
            change()
        return status

    monkeypatch.setattr(os, "fstat", fstat_and_change)


def assert_skipped(outcome: object, reason: SkipReason) -> None:
    assert isinstance(outcome, SkippedFile)
    assert outcome.reason == reason
