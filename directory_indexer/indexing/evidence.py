"""What a walk says of the files that it did not meet: whether they are gone, or only out of sight.

Pure, and the guard of the promise that nothing disappears without evidence: a file counts as removed only when the
directory that held it was read and the file was not in it. No evidence is a link that leads nowhere now, a file that is
ignored while rules could not be read, and a place where a file system was mounted and is not any more, or another is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from directory_indexer.docstore.known import KnownFile
from directory_indexer.errors import RootUnavailableError
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, Stage
from directory_indexer.paths import FilePath, display
from directory_indexer.walker.listing import IgnoredPath, Listing, SameListing


class Evidence:
    """Collects what could not be seen; `unmet` is everywhere what the index knows and the walk did not meet."""

    def __init__(self) -> None:
        self.failures: list[FileFailure] = []
        self.ignored: list[IgnoredPath] = []
        self.file_systems: dict[FilePath, str] = {}
        """That of the directory, and where others begin in it; in the end, those that are to be remembered."""

        self._mounts: set[FilePath] = set()
        self._mounts_in_use: set[FilePath] = set()
        self._without_rules: set[FilePath] = set()
        self._broken_links: list[SkippedFile] = []
        self._is_empty = True

    def add(self, listing: Listing | SameListing) -> None:
        """Take what is said of one directory; directories come before those in them."""
        if listing.file_system:
            self.file_systems[listing.directory] = listing.file_system
        if listing.is_mount:
            self._mounts.add(listing.directory)
        if isinstance(listing, SameListing):
            self.ignored += listing.settled.ignored
            has_entries = bool(listing.settled.n_known or listing.settled.ignored)
        else:
            self._add_listing(listing)
            has_entries = bool(listing.files or listing.skipped or listing.ignored)
        if has_entries:
            self._is_empty = False
            if mount := _cover_of(listing.directory, self._mounts):
                self._mounts_in_use.add(mount)

    def _add_listing(self, listing: Listing) -> None:
        self.failures += listing.failures
        self.ignored += listing.ignored
        self._broken_links += (skipped for skipped in listing.skipped if skipped.reason == SkipReason.BROKEN_LINK)
        if listing.rules_are_lost:
            self._without_rules.add(listing.directory)

    def compare_mounts(
        self, directory: FilePath, before: Mapping[FilePath, str] | None, unmet: Mapping[FilePath, KnownFile]
    ) -> None:
        """Take text for unavailable where something was mounted and is not, or another is, or where it is empty."""
        if before is None:
            return
        out_of_sight = {failure.path for failure in self.failures} | {ignored.path for ignored in self.ignored}
        missing = {path for path in before if path not in self.file_systems and not _cover_of(path, out_of_sight)}
        others = {path for path in self.file_systems if self._is_other(path, directory, before)}
        unavailable = _covers_of_text(missing | others | (self._mounts - self._mounts_in_use), unmet)
        for path in sorted(unavailable):
            is_there = path in self._mounts or before.get(path)
            found = (
                "another file system is mounted here" if path in others and is_there else "nothing is mounted here now"
            )
            message = (
                f"{found}; dirindex forget {display(path)} removes what was indexed of the one before, and dirindex "
                f"index --accept-mounts what this one does not have"
            )
            self.failures.append(FileFailure(path, Stage.WALK, message))
        # Those that are not there now are remembered for as long as text of them is.
        kept = {path: name for path, name in before.items() if path not in missing or path in unavailable}
        present = {path: name for path, name in self.file_systems.items() if path not in unavailable}
        self.file_systems = kept | present

    def _is_other(self, path: FilePath, directory: FilePath, before: Mapping[FilePath, str]) -> bool:
        """Tell whether a file system is not the one of before, as far as its name was remembered then."""
        if path not in before:
            return path in self._mounts
        is_root_that_was_mounted = path == directory and not before[path] and path not in self._mounts
        return is_root_that_was_mounted or bool(before[path] and before[path] != self.file_systems[path])

    def settle_broken_links(self, unmet: Mapping[FilePath, KnownFile]) -> list[SkippedFile]:
        """Take links that lead nowhere for unavailable if text of what was behind them is known; give the others."""
        with_text = _covers_of_text({link.path for link in self._broken_links}, unmet)
        for link in self._broken_links:
            if link.path in with_text:
                message = f"the link leads nowhere now ({link.detail}); what was indexed of it stays"
                self.failures.append(FileFailure(link.path, Stage.WALK, message))
        return [link for link in self._broken_links if link.path not in with_text]

    def require(self, directory: FilePath, unmet: Mapping[FilePath, KnownFile]) -> None:
        """Make sure that the directory itself was seen.

        Raises:
            RootUnavailableError: it was not, or it is empty although the index holds files of it.
        """
        for failure in self.failures:
            if failure.path == directory:
                raise RootUnavailableError(
                    f"{display(directory)}: {failure.message}",
                    hint=f"nothing was removed; once it is gone for good: dirindex forget {display(directory)}",
                )
        if self._is_empty and any(file.hash for file in unmet.values()):
            raise RootUnavailableError(
                f"{display(directory)} is empty, but the index holds files of it: is a drive not mounted?",
                hint=f"nothing was removed; if it is empty on purpose: dirindex forget {display(directory)}",
            )

    def gone(self, unmet: Mapping[FilePath, KnownFile]) -> list[FilePath]:
        """List what is gone for certain."""
        unreadable = {failure.path for failure in self.failures}
        without_rules = {one.path for one in self.ignored if _cover_of(one.path, self._without_rules)}
        kept = unreadable | without_rules
        return [path for path, file in unmet.items() if not _cover_of(path, kept if file.hash else unreadable)]


def _covers_of_text(paths: set[FilePath], unmet: Mapping[FilePath, KnownFile]) -> set[FilePath]:
    """Tell which paths have text of the index at or below them that was not met."""
    covers = (_cover_of(path, paths) for path, file in unmet.items() if file.hash) if paths else ()
    return {cover for cover in covers if cover}


def _cover_of(path: FilePath, paths: set[FilePath]) -> FilePath | None:
    """Give the one of `paths` that a path is or lies below, the innermost if there are several."""
    ancestor = path
    while paths and ancestor not in paths:
        parent = FilePath(os.path.dirname(ancestor))
        if parent == ancestor:
            return None
        ancestor = parent
    return ancestor if paths else None
