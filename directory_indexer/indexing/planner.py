"""The plan of an index run for one tracked directory: the walk compared with the known files.

Pure. The invariant it guards: a file counts as removed only if its directory was read and did not contain it. A link
that is broken now is no evidence, nor is a file that is ignored while rules could not be read, nor a place where a file
system was mounted and now none, or another one, is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from directory_indexer.core.errors import RootUnavailableError
from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, Stamp
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display
from directory_indexer.storage.documents.known_files import FileState, KnownFile
from directory_indexer.walk import IgnoredPath, Listing, SameListing, Settled, SettledDirectory

with lazily:
    from directory_indexer.parsing.outcomes import ParseRequest


class KnownFileSource(Protocol):
    """The known files below the directory."""

    @property
    def settled(self) -> Settled:
        """The directories that can be skipped while they are unchanged."""

    def count(self) -> int:
        """Count all files."""

    def stamps_in(self, directory: FilePath) -> set[Stamp]:
        """Return the stamps of the files of a directory that can be skipped while their stamps are unchanged."""

    def details_in(self, directory: FilePath, paths: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Return the records of all unsettled files of a directory, and of these paths."""

    def details_outside(self, directories: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Return the records of the files of any other directory."""

    def members_of(self, path: FilePath) -> dict[FilePath, ContentHash | None]:
        """Return the members of a container with the hashes of those that the current recipe read; None for others."""


class Plan(NamedTuple):
    """The work to do in one directory.

    `requests` are files to read, and `changed` those of them that the index knows. `skipped` must be stored;
    `skip_counts` covers those and the ones stored before. `failures` must be stored, too; `broken` files were stored
    before, and are unchanged since they crashed a parser; `retried` are requests for those that failed for
    another reason, of which no stamp is known. `removed` leave the index, and their hashes distinguish a moved
    file from a new one; `resolved` are failures and skips of removed files. The file systems at `mounts` must
    be stored, and newly `settled` directories as well; those in `left` were settled and not found.
    With `reads_everything`, no file shares the text of another one instead of being read.
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
    retried: frozenset[FilePath] = frozenset()
    mounts: Mapping[FilePath, str] = MappingProxyType({})
    settled: Mapping[FilePath, SettledDirectory] = MappingProxyType({})
    left: frozenset[FilePath] = frozenset()
    reads_everything: bool = False

    @property
    def n_bytes(self) -> int:
        """Return the total size of the files to read."""
        return sum(request.source.size for request in self.requests)


def plan(
    directory: FilePath,
    listings: Iterable[Listing | SameListing],
    known: KnownFileSource,
    *,
    recipe: int,
    mounts: Mapping[FilePath, str] | None = MappingProxyType({}),
    read_everything: bool = False,
) -> Plan:
    """Compare a walk with the known files.

    `mounts` maps mount points of the last run to file systems, beginning with the directory itself. With None, the
    current file systems replace them, and files that these lack are removed.

    Raises:
        RootUnavailableError: the directory cannot be read, is empty although the index has files of it, or lies on
            another file system than before.
    """
    comparison, evidence = _WalkComparison(known, recipe=recipe, read_everything=read_everything), WalkEvidence()
    for listing in listings:
        evidence.add(listing)
        comparison.add(listing)
    comparison.load_unlisted_files()
    evidence.compare_mounts(directory, mounts, comparison.unmet)
    for link in evidence.settle_broken_links(comparison.unmet):
        comparison.add_skipped(link)
    evidence.require_listed(directory, comparison.unmet)
    return comparison.plan(directory, evidence)


class _WalkComparison:
    """The comparison of a walk with the known files. Files that remain `unmet` are removed if there is evidence.

    Settled files are not loaded.
    """

    def __init__(self, known_files: KnownFileSource, *, recipe: int, read_everything: bool) -> None:
        self.unmet: dict[FilePath, KnownFile] = {}
        self._known_files = known_files
        self._recipe = recipe
        self._read_everything = read_everything
        self._n_accounted_for = 0
        self._listed: set[FilePath] = set()
        self._requests: list[ParseRequest] = []
        self._changed: set[FilePath] = set()
        self._retried: set[FilePath] = set()
        self._skipped: list[SkippedFile] = []
        self._broken: list[FileFailure] = []
        self._settled: dict[FilePath, SettledDirectory] = {}
        self._skip_counts: Counter[SkipReason] = Counter()
        self._n_unchanged = 0

    def add(self, listing: Listing | SameListing) -> None:
        self._listed.add(listing.directory)
        if isinstance(listing, SameListing):
            self._add_same(listing.settled)
        else:
            self._add_listing(listing)

    def _add_same(self, settled: SettledDirectory) -> None:
        self._n_accounted_for += settled.n_known
        self._n_unchanged += settled.n_files
        for reason, count in settled.skipped:
            self._skip_counts[reason] += count

    def _add_listing(self, listing: Listing) -> None:
        n_to_do, skip_counts = self._n_to_do, self._skip_counts.copy()
        stamps = self._known_files.stamps_in(listing.directory)
        unchanged = set[Stamp]() if self._read_everything else stamps.intersection(listing.files)
        details = self._known_files.details_in(listing.directory, [stamp[0] for stamp in stamps - unchanged])
        self._n_accounted_for += len(unchanged) + len(details)
        self._n_unchanged += len(unchanged)
        self.unmet |= details
        for skipped in listing.skipped:
            if skipped.reason != SkipReason.BROKEN_LINK:
                self.add_skipped(skipped)
        if len(unchanged) < len(listing.files):
            for source in listing.files:
                if source not in unchanged:
                    self._add_source(source)
        has_nothing_to_do = n_to_do == self._n_to_do and self.unmet.keys().isdisjoint(details)
        if listing.digest and not listing.failures and has_nothing_to_do:
            skips = self._skip_counts - skip_counts
            self._settled[listing.directory] = SettledDirectory(
                listing.digest, len(unchanged), tuple(skips.items()), listing.ignored
            )

    @property
    def _n_to_do(self) -> int:
        return len(self._requests) + len(self._skipped) + len(self._broken)

    def load_unlisted_files(self) -> None:
        """Load the known files of directories that no longer exist, if there are any."""
        if self._n_accounted_for != self._known_files.count():
            self.unmet |= self._known_files.details_outside(self._listed)

    def _add_source(self, source: SourceFile) -> None:
        known = self.unmet.pop(source.path, None)
        if known is None:
            self._requests.append(ParseRequest(source, None))
        elif self._is_unchanged(source, known, FileState.SKIPPED):
            # Whether files with secrets are skipped is configured, and part of the recipe.
            self._skip_counts[SkipReason(known.reason)] += 1
        elif self._is_unchanged(source, known, FileState.FAILED):
            self._broken.append(_failure_of_known_file(known))
        else:
            self._add_request(source, known)

    def _add_request(self, source: SourceFile, known: KnownFile) -> None:
        if known.hash:
            self._changed.add(source.path)
        if known.state == FileState.FAILED and known.broken_recipe is None:
            self._retried.add(source.path)
        is_comparable = known.recipe == self._recipe and not self._read_everything
        broken = (
            _failure_of_known_file(known) if known.broken_recipe == self._recipe and not self._read_everything else None
        )
        members = tuple(self._known_files.members_of(source.path).items())
        if self._read_everything:
            members = tuple((path, None) for path, _ in members)
        self._requests.append(ParseRequest(source, known.hash if is_comparable else None, broken, members))

    def _is_unchanged(self, source: SourceFile, known: KnownFile, state: FileState) -> bool:
        recipe = known.broken_recipe if state is FileState.FAILED else known.recipe
        return (
            known.state == state
            and known.source == source
            and recipe == self._recipe
            and known.is_settled
            and not self._read_everything
        )

    def add_skipped(self, skipped: SkippedFile) -> None:
        self._skip_counts[skipped.reason] += 1
        known = self.unmet.pop(skipped.path, None)
        if known is None or known.state != FileState.SKIPPED or known.reason != skipped.reason:
            self._skipped.append(skipped)

    def plan(self, directory: FilePath, evidence: WalkEvidence) -> Plan:
        gone = evidence.removed_files(self.unmet)
        with_text = [path for path in gone if self.unmet[path].hash]
        return Plan(
            directory=directory,
            requests=tuple(self._requests),
            changed=frozenset(self._changed),
            skipped=tuple(self._skipped),
            failures=tuple(evidence.failures),
            removed=tuple(with_text),
            resolved=tuple(path for path in gone if not self.unmet[path].hash),
            removed_hashes=frozenset(digest for path in with_text if (digest := self.unmet[path].hash)),
            n_unchanged=self._n_unchanged,
            skip_counts=self._skip_counts,
            ignored=tuple(evidence.ignored),
            broken=tuple(self._broken),
            retried=frozenset(self._retried),
            mounts=evidence.file_systems,
            settled=self._settled,
            left=frozenset(self._known_files.settled.directories.keys() - self._listed),
            reads_everything=self._read_everything,
        )


def _failure_of_known_file(known: KnownFile) -> FileFailure:
    return FileFailure(known.source.path, Stage(known.reason), known.detail, known.source, known.broken_hash)


class WalkEvidence:
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
        others = {path for path in self.file_systems if self._is_other_file_system(path, directory, before)}
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

    def _is_other_file_system(self, path: FilePath, directory: FilePath, before: Mapping[FilePath, str]) -> bool:
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

    def require_listed(self, directory: FilePath, unmet: Mapping[FilePath, KnownFile]) -> None:
        """Require that the directory itself was read.

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

    def removed_files(self, unmet: Mapping[FilePath, KnownFile]) -> list[FilePath]:
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
