"""Directories that go with their process, and those that were left by others."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.scratch import ScratchDirectory, remove_abandoned, scratch_directories_in_use

if TYPE_CHECKING:
    from pathlib import Path

KILLED = """
import os, pathlib, sys
from directory_indexer.core.scratch import ScratchDirectory
scratch = ScratchDirectory(pathlib.Path(sys.argv[1]))
(scratch.path / "copy").write_text("private")
print(scratch.path)
sys.stdout.flush()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


def left_by_a_killed_process(place: Path) -> str:
    done = subprocess.run([sys.executable, "-c", KILLED, place], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_a_directory_is_private_and_goes_with_all_that_is_in_it(place: Path) -> None:
    scratch = ScratchDirectory(place)
    (scratch.path / "below").mkdir()
    (scratch.path / "below" / "copy").write_text("private")
    assert scratch.path.stat().st_mode & 0o777 == 0o700

    scratch.remove()
    scratch.remove()

    assert list(place.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="it kills itself with a signal")
def test_what_a_killed_process_has_left_is_removed_and_what_a_running_one_has_is_not(place: Path) -> None:
    running = ScratchDirectory(place)
    (running.path / "copy").write_text("private")
    left = left_by_a_killed_process(place)
    assert left in map(str, place.iterdir())

    remove_abandoned(place)

    assert scratch_directories_in_use(place) == [running.path]
    assert {path.stem for path in place.iterdir()} == {running.path.name}


def test_what_cannot_be_removed_is_tried_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = left_by_a_killed_process(place)
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", lambda *_, **__: None)
        remove_abandoned(place)
    assert left in map(str, place.iterdir())

    remove_abandoned(place)

    assert list(place.iterdir()) == []


def test_without_an_index_a_directory_lies_in_the_temporary_directory_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    scratch = ScratchDirectory(tmp_path / "no-index" / "scratch")

    assert scratch.path.parent == tmp_path
    assert not (tmp_path / "no-index").exists()


def test_a_link_in_a_place_that_others_may_write_to_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "victim.lock").touch()
    (tmp_path / "victim").mkdir()
    place.mkdir()
    (place / "dirindex-0.lock").symlink_to(tmp_path / "victim.lock")
    (place / "dirindex-0").symlink_to(tmp_path / "victim")
    (place / "dirindex-1.lock").touch()
    (place / "dirindex-1").symlink_to(tmp_path / "victim")

    remove_abandoned(place)

    assert (tmp_path / "victim").is_dir()
    assert (place / "dirindex-0").is_symlink()
