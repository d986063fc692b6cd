"""A file is opened where its path says or not at all."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

import pytest
from trees import plant

from directory_indexer.core import safe_open
from directory_indexer.core.safe_open import CachedPathOpener, open_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=[True, False], ids=["below", "compared"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open from descriptors, and as on Windows by comparing paths."""
    if request.param and not safe_open.CAN_OPEN_BELOW:
        pytest.skip("nothing is opened from a descriptor here")
    if not request.param and sys.platform not in {"linux", "win32"}:
        pytest.skip("the path of what is open is not told here")
    monkeypatch.setattr(safe_open, "CAN_OPEN_BELOW", request.param)


@pytest.mark.usefixtures("_way")
def test_a_file_behind_a_link_is_opened_only_where_links_are_followed(tmp_path: Path) -> None:
    plant(tmp_path, {"real/file": "text"})
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)

    for name, follow_links in (("real/file", False), ("real/file", True), ("link/file", True)):
        descriptor = open_file(str(tmp_path / name), follow_links=follow_links)
        assert os.read(descriptor, 9) == b"text"
        os.close(descriptor)
    with pytest.raises(OSError, match="a symbolic link stands here now") as caught:
        open_file(str(tmp_path / "link" / "file"))
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize("follow_links", [False, True])
@pytest.mark.skipif(os.name != "posix", reason="there are no terminals as files there")
def test_a_terminal_that_is_opened_does_not_become_that_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, follow_links: bool
) -> None:
    plant(tmp_path, {"file": "text"})
    flags: list[int] = []
    real_open = os.open

    def noting(path: str, given: int, **more: int) -> int:
        flags.append(given)
        return real_open(path, given, **more)

    monkeypatch.setattr(os, "open", noting)
    os.close(open_file(str(tmp_path / "file"), follow_links=follow_links))
    assert flags[-1] & os.O_NOCTTY
    assert flags[-1] & os.O_NONBLOCK


@pytest.mark.usefixtures("_way")
def test_files_that_are_opened_one_after_the_other_are_opened_as_each_would_be(tmp_path: Path) -> None:
    plant(tmp_path, {"a/one": "1", "a/b/c/two": "2", "a/three": "3", "d/four": "4"})
    (tmp_path / "d/link").symlink_to(tmp_path / "a/one")
    (tmp_path / "e").symlink_to(tmp_path / "a", target_is_directory=True)
    with CachedPathOpener() as passage:
        for name, text in (("a/one", b"1"), ("a/b/c/two", b"2"), ("a/three", b"3"), ("d/four", b"4"), ("a/one", b"1")):
            descriptor = passage.open_file(str(tmp_path / name))
            assert os.read(descriptor, 9) == text
            os.close(descriptor)
        for name in ("d/link", "e/one"):
            with pytest.raises(OSError, match=r"symbolic link|ymbolic links") as caught:
                passage.open_file(str(tmp_path / name))
            assert caught.value.errno == errno.ELOOP
        with pytest.raises(FileNotFoundError):
            passage.open_file(str(tmp_path / "a/none/four"))


@pytest.mark.skipif(not safe_open.CAN_OPEN_BELOW, reason="nothing is opened from a descriptor here")
def test_a_link_that_takes_the_place_of_an_open_directory_leads_nowhere(tmp_path: Path) -> None:
    plant(tmp_path, {"in/one": "1", "in/two": "2", "out/two": "secret"})
    with CachedPathOpener() as passage:
        os.close(passage.open_file(str(tmp_path / "in/one")))
        (tmp_path / "in").rename(tmp_path / "gone")
        (tmp_path / "in").symlink_to(tmp_path / "out", target_is_directory=True)
        descriptor = passage.open_file(str(tmp_path / "in/two"))
        assert os.read(descriptor, 9) == b"2"
        os.close(descriptor)
