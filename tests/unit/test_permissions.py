"""Who may read and write what is kept, and what is believed of what others have written."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from directory_indexer import cli
from directory_indexer.core import kept_files
from directory_indexer.core.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")

US, ROOT, FORMER = 1000, 0, 2000
OURS, FOREIGN = 50, 60


@pytest.fixture(autouse=True)
def as_user(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be an ordinary user, in two groups, and forget at the end what was decided."""
    monkeypatch.setattr(os, "geteuid", lambda: US)
    monkeypatch.setattr(os, "getegid", lambda: 0)
    monkeypatch.setattr(os, "getgroups", lambda: [OURS])
    umask = os.umask(0o022)
    yield
    kept_files.keep_private()
    os.umask(umask)


def status(mode: int, uid: int, gid: int) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("mode", "uid", "gid", "is_open"),
    [
        (0o600, US, OURS, False),
        (0o400, US, OURS, False),
        (0o440, US, OURS, True),  # whoever owns it can close it
        (0o440, US, 0, True),
        (0o440, ROOT, OURS, False),  # as Kubernetes mounts it with fsGroup
        (0o440, ROOT, 0, False),  # and without, in group 0
        (0o640, ROOT, OURS, False),
        (0o440, FORMER, OURS, False),
        (0o440, ROOT, FOREIGN, True),
        (0o460, ROOT, OURS, True),
        (0o444, ROOT, OURS, True),
        (0o404, ROOT, OURS, True),
        (0o644, US, OURS, True),
    ],
)
def test_a_secret_is_open_unless_its_group_is_the_only_way_to_it(
    mode: int, uid: int, gid: int, *, is_open: bool
) -> None:
    assert kept_files.is_secret_readable_by_others(status(mode, uid, gid)) == is_open


def test_in_a_container_that_runs_as_root_the_group_of_a_secret_may_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: ROOT)
    assert not kept_files.is_secret_readable_by_others(status(0o440, ROOT, OURS))
    assert kept_files.is_secret_readable_by_others(status(0o640, ROOT, OURS))
    assert kept_files.is_secret_readable_by_others(status(0o440, ROOT, FOREIGN))
    assert kept_files.is_secret_readable_by_others(status(0o444, ROOT, OURS))


def test_what_a_member_of_the_group_has_written_is_trusted_only_where_the_group_shares() -> None:
    theirs = status(0o660, FORMER, OURS)
    assert not kept_files.is_trusted(theirs)
    kept_files.share_with_group()
    assert kept_files.is_trusted(theirs)
    assert not kept_files.is_trusted(status(0o660, FORMER, FOREIGN))
    assert not kept_files.is_trusted(status(0o666, FORMER, OURS))


def test_without_a_group_nobody_else_can_read_what_is_written_whatever_the_umask_was(tmp_path: Path) -> None:
    os.umask(0)
    kept_files.keep_private()
    (tmp_path / "file").write_text("")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == kept_files.file_mode() == 0o600
    assert kept_files.directory_mode() == 0o700
    assert kept_files.is_accessible_to_others(status(0o640, US, OURS))
    assert kept_files.others_can_write(status(0o770, US, OURS), group_may=False)


def test_a_group_that_shares_can_read_and_write_and_nobody_else(tmp_path: Path) -> None:
    kept_files.share_with_group()
    (tmp_path / "file").write_text("")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == kept_files.file_mode() == 0o660
    assert not kept_files.is_accessible_to_others(status(0o660, US, OURS))
    assert kept_files.is_accessible_to_others(status(0o660, US, FOREIGN))
    assert kept_files.is_accessible_to_others(status(0o664, US, OURS))
    assert not kept_files.others_can_write(status(0o2775, FORMER, OURS), group_may=True)
    assert kept_files.others_can_write(status(0o2775, FORMER, FOREIGN), group_may=True)


def test_a_directory_that_is_confined_still_hands_its_group_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid)
    tmp_path.chmod(0o2775)
    kept_files.share_with_group()
    kept_files.apply_mode_of_new_files(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o2770
    kept_files.keep_private()
    kept_files.apply_mode_of_new_files(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o2700


def test_what_a_link_of_another_names_keeps_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_files.share_with_group()
    (tmp_path / "private").write_text("nobody else's")
    (tmp_path / "private").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "private")
    owner = (tmp_path / "private").stat().st_uid
    as_seen = os.stat_result([*(tmp_path / "link").lstat()[:4], owner + 1, *(tmp_path / "link").lstat()[5:10]])
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    monkeypatch.setattr(type(tmp_path), "lstat", lambda _: as_seen)
    kept_files.apply_mode_of_new_files(tmp_path / "link")
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_a_bug_is_not_reported_into_what_a_link_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "profile").write_text("")
    (tmp_path / "dirindex.log").symlink_to(tmp_path / "profile")
    monkeypatch.setattr(sys, "argv", ["dirindex", "--data-dir", str(tmp_path)])
    assert cli._report_bug(ValueError("no")) == ExitCode.BUG  # noqa: SLF001 - what `main` ends with
    assert (tmp_path / "profile").read_text() == ""
