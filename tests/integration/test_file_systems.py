"""Another file system in the place of one is no evidence that files are gone."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from trees import let_settle

from directory_indexer.indexing.options import IndexOptions
from directory_indexer.walk import FileSystems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from indexes import Index


@pytest.fixture
def mount() -> Iterator[Callable[[Path], None]]:
    """Mount an empty file system of its own at a place, in the place of what was mounted there before."""
    if sys.platform != "linux":
        pytest.skip("file systems in memory are those of Linux")
    mounted: list[Path] = []

    def mount(place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        if place in mounted:
            subprocess.run(["umount", place], check=True)
        elif subprocess.run(["mount", "-t", "tmpfs", "test", place], capture_output=True, check=False).returncode:
            pytest.skip("may not mount anything")
        else:
            mounted.append(place)
            return
        subprocess.run(["mount", "-t", "tmpfs", "test", place], check=True)

    yield mount
    for place in mounted:
        subprocess.run(["umount", place], check=False)


@pytest.mark.parametrize("place", ["", "usb"])
def test_two_sticks_at_one_place_do_not_erase_each_other(
    index: Index, mount: Callable[[Path], None], place: str
) -> None:
    index.write("here.md", "what lies here")
    mount(index.root / place)
    index.write(f"{place}/first.md" if place else "first.md", "what the first stick holds")
    index.run()
    mount(index.root / place)
    index.write(f"{place}/second.md" if place else "second.md", "what the second stick holds")
    report = index.run()
    assert report.n_removed == 0
    assert "another file system is mounted here" in report.failures[0].message
    assert index.search("first stick")[0].text == "what the first stick holds"
    assert index.run(options=IndexOptions(accepts_mounts=True)).n_removed == 1
    assert index.run().failures == ()


def test_a_file_system_that_holds_the_same_files_takes_the_place_of_the_one_before(
    index: Index, mount: Callable[[Path], None]
) -> None:
    mount(index.root)
    index.write("a.md", "a")
    index.write("b.md", "b")
    index.run()
    mount(index.root)
    index.write("a.md", "a")
    index.write("b.md", "b")
    assert (index.run().failures, index.run().n_unchanged) == ((), 2)
    (index.root / "b.md").unlink()
    assert index.run().n_removed == 1


def test_a_file_system_is_told_by_the_same_name_each_time(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    first = FileSystems().of(str(tmp_path), path=str(tmp_path), device=device)
    assert first.name
    assert FileSystems().of(str(tmp_path), path=str(tmp_path), device=device) == first


@pytest.mark.skipif(os.name != "posix", reason="there is no such number there")
@pytest.mark.parametrize(
    "number",
    [
        lambda _: 0,
        lambda device: device,
        lambda device: 0x17 << 32 | device,
        lambda device: device << 32,
        lambda device: os.major(device) << 20 | os.minor(device),
    ],
)
def test_a_file_system_that_has_only_the_number_of_its_device_keeps_its_name_with_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: Callable[[int], int]
) -> None:
    names = []
    for device in (os.makedev(8, 1), os.makedev(253, 300)):
        monkeypatch.setattr(os, "statvfs", lambda _, device=device: SimpleNamespace(f_fsid=number(device)))
        names.append(FileSystems().of(str(tmp_path), path=str(tmp_path), device=device).name)
    assert names[0] == names[1] != ""


@pytest.mark.skipif(os.name != "posix", reason="there is no inode there")
def test_files_of_equal_size_and_time_that_were_exchanged_are_read_again(index: Index) -> None:
    for name, text in (("a.md", "about herons"), ("b.md", "about egrets")):
        os.utime(index.write(name, text), (1_000_000_000, 1_000_000_000))
    a, b = index.root / "a.md", index.root / "b.md"
    let_settle(a, b)
    index.run()
    a.rename(index.root / "c.md")
    b.rename(a)
    (index.root / "c.md").rename(b)
    assert index.run().n_changed == 2
    assert index.names("herons")[0] == "b.md"


@pytest.mark.skipif(os.name != "posix", reason="times of change can be set there")
def test_a_file_that_is_changed_and_given_back_its_size_and_time_is_read_again(index: Index) -> None:
    file = index.write("a.md", "about herons")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    let_settle(file)
    index.run()
    file.write_text("about egrets")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert index.run().n_changed == 1
