from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from directory_indexer.cli.results import unseen_notes

if TYPE_CHECKING:
    from pathlib import Path


def test_a_note_is_shown_once_until_it_changes(tmp_path: Path) -> None:
    assert unseen_notes(tmp_path, {"a": "1 file failed", "b": "other"}) == ["1 file failed", "other"]
    assert unseen_notes(tmp_path, {"a": "1 file failed"}) == []
    assert unseen_notes(tmp_path, {"c": "2 files failed", "a": "1 file failed"}) == ["2 files failed"]


def test_a_note_is_not_shown_again_after_other_notes(tmp_path: Path) -> None:
    unseen_notes(tmp_path, {"here": "x"})
    unseen_notes(tmp_path, {"there": "y"})
    assert unseen_notes(tmp_path, {"here": "x"}) == []


def test_the_history_keeps_no_text_of_a_note(tmp_path: Path) -> None:
    unseen_notes(tmp_path, {"the first run over /home/ann/secret has not ended": "x"})
    (file,) = tmp_path.iterdir()
    assert "secret" not in file.read_text()


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "directory", "bytes", "large"])
def test_a_link_or_foreign_file_in_place_of_the_history_is_harmless_and_notes_are_shown(
    tmp_path: Path, kind: str
) -> None:
    target, place = tmp_path / "target", tmp_path / "notes-shown"
    target.write_text("kept")
    match kind:
        case "link":
            place.symlink_to(target)
        case "hard link":
            place.hardlink_to(target)
        case "pipe":
            os.mkfifo(place)
        case "directory":
            place.mkdir()
        case "bytes":
            place.write_bytes(b"\xff\x00")
        case _:
            place.write_bytes(b"a" * 100_000)
    assert unseen_notes(tmp_path, {"a": "note"}) == ["note"]
    assert target.read_text() == "kept"
    assert {path.name for path in tmp_path.iterdir()} == {"target", "notes-shown"}
