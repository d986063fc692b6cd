"""Evidence for the removal of files that a walk did not find.

Pure, and the guard of a promise: a file counts as removed only if its directory was read and did not contain it. A link
that is broken now is no evidence, nor is a file that is ignored while rules could not be read, nor a place where a file
system was mounted and now none, or another one, is.
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
    """The evidence of a walk; `unmet` always holds the known files that the walk did not find."""

    def __init__(self) -> None:
        self.failures: list[FileFailure] = []
        self.ignored: list[IgnoredPath] = []
        self.file_systems: dict[FilePath, str] = {}
        """The file systems of the directory and of the mounts below it; at the end, those to be stored."""

        self._mounts: set[FilePath] = set()
        self._mounts_in_use: set[FilePath] = set()
        self._without_rules: set[FilePath] = set()
        self._broken_links: list[SkippedFile] = []
        self._is_empty = True

    def add(self, listing: Listing | SameListing) -> None:
        """Add the listing of one directory; directories come before those in them."""
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
            if mount := _innermost_ancestor(listing.directory, self._mounts):
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
        """Mark text as unavailable below a mount point that is unmounted, empty, or has another file system."""
        if before is None:
            return
        out_of_sight = {failure.path for failure in self.failures} | {ignored.path for ignored in self.ignored}
        missing = {
            path for path in before if path not in self.file_systems and not _innermost_ancestor(path, out_of_sight)
        }
        others = {path for path in self.file_systems if self._is_other(path, directory, before)}
        unavailable = _paths_with_text(missing | others | (self._mounts - self._mounts_in_use), unmet)
        for path in sorted(unavailable):
            is_mounted = path in self._mounts or before.get(path)
            state = (
                "another file system is mounted here"
                if path in others and is_mounted
                else "nothing is mounted here now"
            )
            message = (
                f"{state}; dirindex forget {display(path)} removes what was indexed of the one before, and dirindex "
                f"index --accept-mounts what this one does not have"
            )
            self.failures.append(FileFailure(path, Stage.WALK, message))
        # Missing mounts are stored for as long as text of them is.
        remembered = {path: name for path, name in before.items() if path not in missing or path in unavailable}
        present = {path: name for path, name in self.file_systems.items() if path not in unavailable}
        self.file_systems = remembered | present

    def _is_other(self, path: FilePath, directory: FilePath, before: Mapping[FilePath, str]) -> bool:
        """Whether a file system is another one than before, as far as its name was known."""
        if path not in before:
            return path in self._mounts
        is_root_that_was_mounted = path == directory and not before[path] and path not in self._mounts
        return is_root_that_was_mounted or bool(before[path] and before[path] != self.file_systems[path])

    def settle_broken_links(self, unmet: Mapping[FilePath, KnownFile]) -> list[SkippedFile]:
        """Mark broken links whose target has known text as unavailable; return the others."""
        with_text = _paths_with_text({link.path for link in self._broken_links}, unmet)
        for link in self._broken_links:
            if link.path in with_text:
                message = f"the link leads nowhere now ({link.detail}); what was indexed of it stays"
                self.failures.append(FileFailure(link.path, Stage.WALK, message))
        return [link for link in self._broken_links if link.path not in with_text]

    def require(self, directory: FilePath, unmet: Mapping[FilePath, KnownFile]) -> None:
        """Ensure that the directory itself was read.

        Raises:
            RootUnavailableError: it was not, or it is empty although the index has files of it.
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
        """Return the files that are certainly removed."""
        unreadable = {failure.path for failure in self.failures}
        without_rules = {
            ignored.path for ignored in self.ignored if _innermost_ancestor(ignored.path, self._without_rules)
        }
        without_evidence = unreadable | without_rules
        return [
            path
            for path, file in unmet.items()
            if not _innermost_ancestor(path, without_evidence if file.hash else unreadable)
        ]


def _paths_with_text(paths: set[FilePath], unmet: Mapping[FilePath, KnownFile]) -> set[FilePath]:
    """Return the paths with known text, at or below them, that the walk did not find."""
    covers = (_innermost_ancestor(path, paths) for path, file in unmet.items() if file.hash) if paths else ()
    return {cover for cover in covers if cover}


def _innermost_ancestor(path: FilePath, paths: set[FilePath]) -> FilePath | None:
    """Return the innermost of `paths` that is a path or contains it."""
    ancestor = path
    while paths and ancestor not in paths:
        parent = FilePath(os.path.dirname(ancestor))
        if parent == ancestor:
            return None
        ancestor = parent
    return ancestor if paths else None
