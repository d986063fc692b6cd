"""Nothing leaves the index without evidence, whatever the walk has met."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import RootUnavailableError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, Stamp
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.paths import FilePath
from directory_indexer.indexing.planner import plan
from directory_indexer.storage.documents.known_files import FileState, KnownFile
from directory_indexer.walk import IgnoredPath, Listing, SameListing, Settled, SettledDirectory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from directory_indexer.indexing.planner import Plan

ROOT = FilePath("/docs")
OLD = 1_000_000_000


def path(name: str) -> FilePath:
    return FilePath(f"/docs/{name}" if name else "/docs")


def known(*names: str) -> dict[FilePath, KnownFile]:
    return {
        path(name): KnownFile(SourceFile(path(name), 5, OLD), True, ContentHash(b"hash"), 1, FileState.INDEXED, "")
        for name in names
    }


def listing(name: str, *files: str, **more: object) -> Listing:
    sources = tuple(SourceFile(path(f"{name}/{file}" if name else file), 5, OLD) for file in files)
    return Listing(path(name), sources, **more)  # type: ignore[arg-type]


class Known:
    """The files that an index knows, all of them as `known` makes them."""

    settled = Settled()

    def __init__(self, files: dict[FilePath, KnownFile]) -> None:
        self.files = files

    def count(self) -> int:
        return len(self.files)

    def stamps_in(self, directory: FilePath) -> set[Stamp]:
        return {file.source for file in self._in(directory).values() if file.state is FileState.INDEXED}

    def details_in(self, directory: FilePath, paths: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        wanted = set(paths)
        return {
            path: file
            for path, file in self._in(directory).items()
            if path in wanted or file.state is not FileState.INDEXED
        }

    def _in(self, directory: FilePath) -> dict[FilePath, KnownFile]:
        return {path: file for path, file in self.files.items() if os.path.dirname(path) == directory}

    def details_outside(self, directories: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        listed = set(directories)
        return {path: file for path, file in self.files.items() if os.path.dirname(path) not in listed}

    def members_of(self, _: FilePath) -> dict[FilePath, ContentHash | None]:
        return {}


def planned(
    *listings: Listing, of: dict[FilePath, KnownFile], mounts: Mapping[FilePath, str] | None = MappingProxyType({})
) -> Plan:
    return plan(ROOT, listings, Known(of), recipe=1, mounts=mounts)


def test_a_file_that_is_not_in_its_directory_is_removed() -> None:
    assert planned(listing("", "a"), of=known("a", "b")).removed == (path("b"),)


def test_what_lies_below_a_directory_that_cannot_be_read_stays() -> None:
    failure = FileFailure(path("sub"), Stage.WALK, "Permission denied")
    done = planned(listing("", "a"), Listing(path("sub"), failures=(failure,)), of=known("a", "sub/b", "sub/deep/c"))
    assert done.removed == ()


def test_what_is_ignored_while_rules_cannot_be_read_stays_and_what_is_deleted_goes() -> None:
    ignored = (IgnoredPath(path("build"), "hidden"),)
    lost = listing("", "a", ignored=ignored, rules_are_lost=True)
    assert planned(lost, of=known("a", "build/kept", "deleted")).removed == (path("deleted"),)


def test_a_failure_of_before_does_not_outlive_its_cause_because_rules_cannot_be_read() -> None:
    failed = KnownFile(SourceFile(path("hidden"), 0, 0), False, None, 1, FileState.FAILED, "walk")
    lost = listing("", "a", ignored=(IgnoredPath(path("hidden"), "hidden"),), rules_are_lost=True)
    done = planned(lost, of={**known("a"), path("hidden"): failed})
    assert (done.removed, done.resolved) == ((), (path("hidden"),))


def test_what_is_ignored_above_the_directory_whose_rules_cannot_be_read_goes() -> None:
    top = listing("", "a", ignored=(IgnoredPath(path("build"), "hidden"),))
    below = listing("sub", "b", ignored=(IgnoredPath(path("sub/build"), "hidden"),), rules_are_lost=True)
    assert planned(top, below, of=known("a", "build/c", "sub/build/d")).removed == (path("build/c"),)


def test_what_was_behind_a_link_that_leads_nowhere_stays_and_the_link_is_named() -> None:
    link = SkippedFile(path("drive"), SkipReason.BROKEN_LINK, "No such file or directory")
    done = planned(listing("", "a", skipped=(link,)), of=known("a", "drive/b"))
    assert (done.removed, done.skipped) == ((), ())
    assert [failure.path for failure in done.failures] == [path("drive")]


def test_a_file_that_was_read_through_a_link_that_leads_nowhere_stays() -> None:
    link = SkippedFile(path("file"), SkipReason.BROKEN_LINK, "No such file or directory")
    done = planned(listing("", "a", skipped=(link,)), of=known("a", "file"))
    assert (done.removed, done.skipped, len(done.failures)) == ((), (), 1)


def test_a_broken_link_that_nothing_was_indexed_of_is_a_skipped_file() -> None:
    link = SkippedFile(path("drive"), SkipReason.BROKEN_LINK, "No such file or directory")
    done = planned(listing("", "a", skipped=(link,)), of=known("a"))
    assert (done.skipped, done.failures) == ((link,), ())


def test_what_lay_on_a_mount_that_is_an_empty_directory_now_stays() -> None:
    done = planned(listing("", "a"), Listing(path("usb")), of=known("a", "usb/b"), mounts={path("usb"): "stick"})
    assert (done.removed, done.mounts) == ((), {path("usb"): "stick"})
    assert [failure.path for failure in done.failures] == [path("usb")]


def test_what_lay_on_a_mount_that_is_gone_with_its_directory_stays() -> None:
    done = planned(listing("", "a"), of=known("a", "usb/b"), mounts={path("usb"): "stick"})
    assert (done.removed, done.mounts) == ((), {path("usb"): "stick"})


def test_what_lay_below_a_place_where_something_is_mounted_now_stays() -> None:
    done = planned(listing("", "a"), Listing(path("sub"), is_mount=True, file_system="stick"), of=known("a", "sub/b"))
    assert (done.removed, done.mounts) == ((), {})


def test_what_lay_below_a_place_where_a_drive_with_files_is_mounted_now_stays() -> None:
    drive = listing("sub", "x", is_mount=True, file_system="stick")
    done = planned(listing("", "a"), drive, of=known("a", "sub/b"))
    assert done.removed == ()
    assert [(failure.path, "another file system" in failure.message) for failure in done.failures] == [
        (path("sub"), True)
    ]


@pytest.mark.parametrize(("recipe", "n_requests"), [(1, 0), (0, 1)])
def test_a_file_that_was_skipped_is_read_again_in_another_way_and_only_then(recipe: int, n_requests: int) -> None:
    source = SourceFile(path("a"), 5, OLD)
    skipped = KnownFile(source, True, None, recipe, FileState.SKIPPED, SkipReason.BINARY)
    done = planned(listing("", "a"), of={path("a"): skipped})
    assert (len(done.requests), done.skip_counts[SkipReason.BINARY]) == (n_requests, 1 - n_requests)


def test_a_mount_that_is_suddenly_empty_keeps_its_files() -> None:
    mounts = {path("usb"): "stick"}
    empty = (Listing(path("usb"), is_mount=True, file_system="stick"), Listing(path("usb/lost+found")))
    done = planned(listing("", "a"), *empty, of=known("a", "usb/b"), mounts=mounts)
    assert (done.removed, len(done.failures), done.mounts) == ((), 1, mounts)


def test_a_file_that_is_deleted_on_a_mount_goes() -> None:
    mounts = {path("usb"): "stick"}
    done = planned(
        listing("", "a"),
        listing("usb", "b", is_mount=True, file_system="stick"),
        of=known("usb/b", "usb/c"),
        mounts=mounts,
    )
    assert (done.removed, done.failures, done.mounts) == ((path("usb/c"),), (), mounts)


def test_what_is_deleted_beside_a_settled_directory_goes() -> None:
    """Of the files of a settled directory nothing is told one by one, and there they are."""
    same = SameListing(ROOT, SettledDirectory(b"digest", 1))
    index = Known(known("a", "sub/b"))
    done = plan(ROOT, [same, Listing(path("sub"))], index, recipe=1)
    assert (done.removed, done.failures, done.n_unchanged) == ((path("sub/b"),), (), 1)


def test_what_is_deleted_on_a_mount_that_is_settled_goes() -> None:
    mounted = SameListing(path("usb"), SettledDirectory(b"digest", 1), is_mount=True, file_system="stick")
    listings: list[Listing | SameListing] = [listing("", "a"), mounted, Listing(path("usb/sub"))]
    done = plan(ROOT, listings, Known(known("a", "usb/b", "usb/sub/c")), recipe=1, mounts={path("usb"): "stick"})
    assert (done.removed, done.failures) == ((path("usb/sub/c"),), ())


def test_a_directory_with_something_to_read_and_something_to_leave_out_is_not_settled() -> None:
    left_out = SkippedFile(path("b"), SkipReason.BINARY)
    full = listing("", "a", skipped=(left_out,), digest=b"digest")
    assert planned(full, of={}).settled == {}
    skipped = KnownFile(SourceFile(path("b"), 0, 0), True, None, 1, FileState.SKIPPED, SkipReason.BINARY)
    assert set(planned(full, of={**known("a"), path("b"): skipped}).settled) == {ROOT}


def test_a_directory_with_something_to_read_and_something_that_broke_a_parser_is_not_settled() -> None:
    broke = KnownFile(
        SourceFile(path("b"), 5, OLD), True, None, 1, FileState.FAILED, Stage.EXTRACT, broken_recipe=1, detail="broke"
    )
    done = planned(listing("", "a", "b", digest=b"digest"), of={path("b"): broke})
    assert ([one.source.path for one in done.requests], len(done.broken), done.settled) == ([path("a")], 1, {})


def test_a_file_that_could_not_be_read_is_tried_again_and_told_from_one_that_changed() -> None:
    unread = KnownFile(SourceFile(path("a"), 0, 0), False, None, 0, FileState.FAILED, Stage.READ, "denied")
    broke = KnownFile(SourceFile(path("b"), 4, OLD), True, None, 1, FileState.FAILED, Stage.EXTRACT, broken_recipe=1)
    done = planned(listing("", "a", "b"), of={path("a"): unread, path("b"): broke})
    assert ({one.source.path for one in done.requests}, set(done.retried)) == ({path("a"), path("b")}, {path("a")})


def test_what_is_deleted_beside_a_settled_directory_of_ignored_files_goes() -> None:
    same = SameListing(ROOT, SettledDirectory(b"digest", 0, ignored=(IgnoredPath(path("build"), "build/"),)))
    assert plan(ROOT, [same, Listing(path("sub"))], Known(known("sub/b")), recipe=1).removed == (path("sub/b"),)


def test_a_directory_that_a_file_has_left_is_not_settled() -> None:
    done = planned(listing("", "a", digest=b"digest"), of=known("a", "b"))
    assert (done.removed, done.settled) == ((path("b"),), {})


def test_a_mount_of_which_nothing_is_indexed_any_more_is_forgotten() -> None:
    done = planned(listing("", "a"), of=known("a"), mounts={path("usb"): "stick"})
    assert (done.failures, done.mounts) == ((), {})


def test_a_mount_that_is_ignored_from_now_on_leaves_the_index() -> None:
    ignored = (IgnoredPath(path("usb"), "usb/"),)
    done = planned(listing("", "a", ignored=ignored), of=known("a", "usb/b"), mounts={path("usb"): "stick"})
    assert (done.removed, done.failures) == ((path("usb/b"),), ())


def test_a_root_that_was_a_mount_and_is_none_is_an_error_even_if_something_lies_there() -> None:
    with pytest.raises(RootUnavailableError, match="nothing is mounted"):
        planned(listing("", "not mounted.txt"), of=known("a"), mounts={ROOT: ""})


def test_a_root_that_was_a_mount_of_no_name_and_is_a_directory_of_a_disk_is_an_error() -> None:
    with pytest.raises(RootUnavailableError, match="nothing is mounted"):
        planned(listing("", "not mounted.txt", file_system="disk"), of=known("a"), mounts={ROOT: ""})


def test_a_directory_in_a_root_whose_mount_had_no_name_is_that_of_before() -> None:
    below = listing("usb", "b", is_mount=True, file_system="stick")
    done = planned(listing("", "a"), below, of=known("a", "usb/b", "usb/c"), mounts={path("usb"): ""})
    assert (done.removed, done.mounts) == ((path("usb/c"),), {path("usb"): "stick"})


def test_files_stay_where_another_stick_is_mounted_than_before() -> None:
    other = listing("usb", "c", is_mount=True, file_system="other stick")
    done = planned(listing("", "a"), other, of=known("a", "usb/b"), mounts={path("usb"): "stick"})
    assert (done.removed, done.mounts) == ((), {path("usb"): "stick"})
    assert ["another file system" in failure.message for failure in done.failures] == [True]


def test_a_root_on_another_file_system_than_before_is_an_error_while_files_are_missing() -> None:
    with pytest.raises(RootUnavailableError, match="another file system"):
        planned(listing("", "b", file_system="new"), of=known("a"), mounts={ROOT: "old"})


def test_another_file_system_that_holds_all_files_takes_the_place_of_the_one_before() -> None:
    done = planned(listing("", "a", "b", file_system="new"), of=known("a"), mounts={ROOT: "old"})
    assert (done.failures, done.mounts) == ((), {ROOT: "new"})


def test_another_file_system_is_evidence_once_that_is_said() -> None:
    done = planned(listing("", "b", file_system="new"), of=known("a"), mounts=None)
    assert (done.removed, done.mounts) == ((path("a"),), {ROOT: "new"})


def test_files_that_are_deleted_while_an_index_learns_the_name_of_its_file_system_go() -> None:
    done = planned(listing("", "b", file_system="new"), of=known("a", "b"))
    assert (done.removed, done.mounts) == ((path("a"),), {ROOT: "new"})


def test_a_file_that_broke_a_parser_is_left_alone_until_it_or_the_way_of_reading_changes() -> None:
    source = SourceFile(path("a"), 5, OLD)
    broken = KnownFile(source, True, None, 0, FileState.FAILED, "extract", "crashed", ContentHash(b"bad"), 1)

    def read(known_file: KnownFile, file: SourceFile) -> tuple[int, int, bool]:
        done = planned(Listing(ROOT, (file,)), of={path("a"): known_file})
        return len(done.broken), len(done.requests), any(request.broken for request in done.requests)

    assert read(broken, source) == (1, 0, False)
    assert read(broken, source._replace(mtime_ns=OLD + 1)) == (0, 1, True)
    assert read(broken._replace(broken_recipe=2), source) == (0, 1, False)
    assert read(broken._replace(is_settled=False), source) == (0, 1, True)
