"""What an index run has to do in one tracked directory: the walk compared with what the index knows.

Pure, and the guard of the promise that nothing disappears without evidence: a file counts as removed only when the
directory that held it was read and the file was not in it. No evidence is a link that leads nowhere now, a file that is
ignored while rules could not be read, and a place where a file system was mounted and is not any more, or another is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from directory_indexer.docstore.known import FileState, KnownFile
from directory_indexer.errors import RootUnavailableError
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, Stamp
from directory_indexer.ids import ContentHash
from directory_indexer.parsing.outcomes import ParseRequest
from directory_indexer.paths import FilePath, display
from directory_indexer.walker.listing import IgnoredPath, Listing, SameListing, Settled, SettledDirectory


class KnownFiles(Protocol):
    """What the index knows of the files below the directory."""

    @property
    def settled(self) -> Settled:
        """The directories in which nothing needs to be looked at while they are as they were."""

    def count(self) -> int:
        """Count all files."""

    def stamps_in(self, directory: FilePath) -> set[Stamp]:
        """Give the stamps of the files of one directory that need not be looked at while they have them."""

    def details_in(self, directory: FilePath, paths: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Tell all that is known of every file of one directory that is not settled, and of these."""

    def details_outside(self, directories: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Tell all that is known of the files of any other directory."""


class Plan(NamedTuple):
    """What to do in one directory.

    `requests` are files to read, and `changed` those of them that the index knows. `skipped` are to be noted anew;
    `skip_counts` covers those and the ones noted before. `failures` are to be noted, too; `broken` files were noted
    before, and are as they were when they broke a parser. `removed` leave the index, and their hashes tell a moved
    file from a new one; `resolved` are failures and skips of files that are gone. The file systems at `mounts` are to
    be remembered, and so is what is `settled` now and was not before; what is `left` was settled and was not met.
    """

    directory: FilePath
    requests: tuple[ParseRequest, ...]
    changed: frozenset[FilePath]
    skipped: tuple[SkippedFile, ...]
    failures: tuple[FileFailure, ...]
    removed: tuple[FilePath, ...]
    resolved: tuple[FilePath, ...]
    removed_hashes: frozenset[ContentHash]
    n_unchanged: int
    skip_counts: Counter[SkipReason]
    ignored: tuple[IgnoredPath, ...]
    broken: tuple[FileFailure, ...] = ()
    mounts: Mapping[FilePath, str] = MappingProxyType({})
    settled: Mapping[FilePath, SettledDirectory] = MappingProxyType({})
    left: frozenset[FilePath] = frozenset()

    @property
    def n_bytes(self) -> int:
        """Add up the sizes of the files to read."""
        return sum(request.source.size for request in self.requests)


def plan(
    directory: FilePath,
    listings: Iterable[Listing | SameListing],
    known: KnownFiles,
    *,
    recipe: int,
    mounts: Mapping[FilePath, str] | None = MappingProxyType({}),
    read_everything: bool = False,
) -> Plan:
    """Compare a walk with what the index knows.

    `mounts` names the file systems of before: that of the directory, and where others began in it. With None, those
    that are there now take their place, and what they do not have is gone.

    Raises:
        RootUnavailableError: the directory cannot be read, is empty although the index holds files of it, or lies on
            another file system than before.
    """
    comparison = _Comparison(known, recipe=recipe, read_everything=read_everything)
    for listing in listings:
        comparison.add(listing)
    comparison.load_unlisted_files()
    comparison.compare_mounts(directory, mounts)
    comparison.keep_targets_of_broken_links()
    comparison.require_evidence(directory)
    return comparison.plan(directory)


class _Comparison:
    """The state of a comparison. What stays in `known` was not met; of what is settled nothing is known here."""

    def __init__(self, known_files: KnownFiles, *, recipe: int, read_everything: bool) -> None:
        self.known: dict[FilePath, KnownFile] = {}
        self._known_files = known_files
        self._n_accounted_for = 0
        self._listed: set[FilePath] = set()
        self.recipe = recipe
        self.read_everything = read_everything
        self.requests: list[ParseRequest] = []
        self.changed: set[FilePath] = set()
        self.skipped: list[SkippedFile] = []
        self.failures: list[FileFailure] = []
        self.ignored: list[IgnoredPath] = []
        self.settled: dict[FilePath, SettledDirectory] = {}
        self.skip_counts: Counter[SkipReason] = Counter()
        self.n_unchanged = 0
        self.n_entries = 0
        self.broken_links: list[SkippedFile] = []
        self.without_rules: set[FilePath] = set()
        self.broken: list[FileFailure] = []
        self.file_systems: dict[FilePath, str] = {}
        self.mounts: set[FilePath] = set()
        self.mounts_in_use: set[FilePath] = set()

    def add(self, listing: Listing | SameListing) -> None:
        self._listed.add(listing.directory)
        if listing.file_system:
            self.file_systems[listing.directory] = listing.file_system
        if listing.is_mount:
            self.mounts.add(listing.directory)
        if isinstance(listing, SameListing):
            self._add_same(listing.settled)
            n_entries = listing.settled.n_known + len(listing.settled.ignored)
        else:
            self._add_listing(listing)
            n_entries = len(listing.files) + len(listing.skipped) + len(listing.ignored)
        self.n_entries += n_entries
        if n_entries and (mount := _cover_of(listing.directory, self.mounts)):
            self.mounts_in_use.add(mount)

    def _add_same(self, settled: SettledDirectory) -> None:
        self._n_accounted_for += settled.n_known
        self.n_unchanged += settled.n_files
        self.ignored += settled.ignored
        for reason, count in settled.skipped:
            self.skip_counts[reason] += count

    def _add_listing(self, listing: Listing) -> None:
        self.failures += listing.failures
        self.ignored += listing.ignored
        if listing.rules_are_lost:
            self.without_rules.add(listing.directory)
        n_to_do, skip_counts = self._n_to_do, self.skip_counts.copy()
        stamps = self._known_files.stamps_in(listing.directory)
        met = set[Stamp]() if self.read_everything else stamps.intersection(listing.files)
        details = self._known_files.details_in(listing.directory, [stamp[0] for stamp in stamps - met])
        self._n_accounted_for += len(met) + len(details)
        self.n_unchanged += len(met)
        self.known |= details
        for skipped in listing.skipped:
            if skipped.reason == SkipReason.BROKEN_LINK:
                self.broken_links.append(skipped)
            else:
                self._add_skipped(skipped)
        if len(met) < len(listing.files):
            for source in listing.files:
                if source not in met:
                    self._add_source(source)
        has_nothing_to_do = n_to_do == self._n_to_do and self.known.keys().isdisjoint(details)
        if listing.digest and not listing.failures and has_nothing_to_do:
            skips = self.skip_counts - skip_counts
            self.settled[listing.directory] = SettledDirectory(
                listing.digest, len(met), tuple(skips.items()), listing.ignored
            )

    @property
    def _n_to_do(self) -> int:
        return len(self.requests) + len(self.skipped) + len(self.broken)

    def load_unlisted_files(self) -> None:
        """Load what is known of the files of directories that are not there any more, if there is anything."""
        if self._n_accounted_for != self._known_files.count():
            self.known |= self._known_files.details_outside(self._listed)

    def _add_source(self, source: SourceFile) -> None:
        known = self.known.pop(source.path, None)
        if known is None:
            self.requests.append(ParseRequest(source, None))
        elif self._is_as_before(source, known, FileState.SKIPPED) and known.reason != SkipReason.SECRET:
            # Whether secrets are left out is configured, and there are few: those are looked at again.
            self.skip_counts[SkipReason(known.reason)] += 1
        elif self._is_as_before(source, known, FileState.FAILED):
            self.broken.append(_failure_of(known))
        else:
            self._add_request(source, known)

    def _add_request(self, source: SourceFile, known: KnownFile) -> None:
        if known.hash:
            self.changed.add(source.path)
        is_comparable = known.recipe == self.recipe and not self.read_everything
        broken = _failure_of(known) if known.broken_recipe == self.recipe and not self.read_everything else None
        self.requests.append(ParseRequest(source, known.hash if is_comparable else None, broken))

    def _is_as_before(self, source: SourceFile, known: KnownFile, state: FileState) -> bool:
        recipe = known.broken_recipe if state is FileState.FAILED else known.recipe
        return (
            known.state == state
            and known.source == source
            and recipe == self.recipe
            and known.is_settled
            and not self.read_everything
        )

    def _add_skipped(self, skipped: SkippedFile) -> None:
        self.skip_counts[skipped.reason] += 1
        known = self.known.pop(skipped.path, None)
        if known is None or known.state != FileState.SKIPPED or known.reason != skipped.reason:
            self.skipped.append(skipped)

    def compare_mounts(self, directory: FilePath, before: Mapping[FilePath, str] | None) -> None:
        """Take text for unavailable where something was mounted and is not, or another is, or where it is empty."""
        if before is None:
            return
        out_of_sight = {failure.path for failure in self.failures} | {ignored.path for ignored in self.ignored}
        missing = {path for path in before if path not in self.file_systems and not _cover_of(path, out_of_sight)}
        others = {path for path in self.file_systems if self._is_other(path, directory, before)}
        unavailable = self._covers_of_text(missing | others | (self.mounts - self.mounts_in_use))
        for path in sorted(unavailable):
            is_there = path in self.mounts or before.get(path)
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
            return path in self.mounts
        is_root_that_was_mounted = path == directory and not before[path] and path not in self.mounts
        return is_root_that_was_mounted or bool(before[path] and before[path] != self.file_systems[path])

    def keep_targets_of_broken_links(self) -> None:
        """Take links that lead nowhere for unavailable if the index has text of what was behind them."""
        by_path = {link.path: link for link in self.broken_links}
        with_text = self._covers_of_text(set(by_path))
        for link in self.broken_links:
            if link.path in with_text:
                message = f"the link leads nowhere now ({link.detail}); what was indexed of it stays"
                self.failures.append(FileFailure(link.path, Stage.WALK, message))
            else:
                self._add_skipped(link)

    def _covers_of_text(self, paths: set[FilePath]) -> set[FilePath]:
        """Tell which paths have text of the index at or below them that was not met."""
        covers = (_cover_of(path, paths) for path, file in self.known.items() if file.hash) if paths else ()
        return {cover for cover in covers if cover}

    def require_evidence(self, directory: FilePath) -> None:
        for failure in self.failures:
            if failure.path == directory:
                raise RootUnavailableError(
                    f"{display(directory)}: {failure.message}",
                    hint=f"nothing was removed; once it is gone for good: dirindex forget {display(directory)}",
                )
        if self.n_entries == 0 and any(file.hash for file in self.known.values()):
            raise RootUnavailableError(
                f"{display(directory)} is empty, but the index holds files of it: is a drive not mounted?",
                hint=f"nothing was removed; if it is empty on purpose: dirindex forget {display(directory)}",
            )

    def plan(self, directory: FilePath) -> Plan:
        unreadable = {failure.path for failure in self.failures}
        kept = unreadable
        if self.without_rules:
            kept = unreadable | {one.path for one in self.ignored if _cover_of(one.path, self.without_rules)}
        gone = [path for path, file in self.known.items() if not _cover_of(path, kept if file.hash else unreadable)]
        with_text = [path for path in gone if self.known[path].hash]
        return Plan(
            directory=directory,
            requests=tuple(self.requests),
            changed=frozenset(self.changed),
            skipped=tuple(self.skipped),
            failures=tuple(self.failures),
            removed=tuple(with_text),
            resolved=tuple(path for path in gone if not self.known[path].hash),
            removed_hashes=frozenset(digest for path in with_text if (digest := self.known[path].hash)),
            n_unchanged=self.n_unchanged,
            skip_counts=self.skip_counts,
            ignored=tuple(self.ignored),
            broken=tuple(self.broken),
            mounts=self.file_systems,
            settled=self.settled,
            left=frozenset(self._known_files.settled.directories.keys() - self._listed),
        )


def _failure_of(known: KnownFile) -> FileFailure:
    return FileFailure(known.source.path, Stage(known.reason), known.detail, known.source, known.broken_hash)


def _cover_of(path: FilePath, paths: set[FilePath]) -> FilePath | None:
    """Give the one of `paths` that a path is or lies below, the innermost if there are several."""
    ancestor = path
    while paths and ancestor not in paths:
        parent = FilePath(os.path.dirname(ancestor))
        if parent == ancestor:
            return None
        ancestor = parent
    return ancestor if paths else None
