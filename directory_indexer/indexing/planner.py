"""What an index run has to do in one tracked directory: the walk compared with what the index knows.

Pure, and the guard of the promise that nothing disappears without evidence: a file counts as removed only when the
directory that held it was read and the file was not in it.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from directory_indexer.errors import RootUnavailableError
from directory_indexer.parsing import ParseRequest
from directory_indexer.records import FileState, SkipReason, os_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from directory_indexer.records import (
        ContentHash,
        FileFailure,
        FilePath,
        IgnoredPath,
        KnownFile,
        Listing,
        SkippedFile,
        SourceFile,
    )

RACY_NS = 2_000_000_000
"""A file modified less than this before its stamp was taken may have changed again within the same stamp.

Two seconds is the coarsest modification time of a file system in use (FAT).
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do in one directory.

    `requests` are files to read, and `changed` those of them that the index knows. `skipped` are to be noted anew;
    `skip_counts` covers those and the ones noted before. `removed` leave the index, and their hashes tell a moved
    file from a new one; `resolved` are failures and skips of files that are gone.
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

    @property
    def n_bytes(self) -> int:
        """Add up the sizes of the files to read."""
        return sum(request.source.size for request in self.requests)


def plan(
    directory: FilePath,
    listings: Iterable[Listing],
    known: dict[FilePath, KnownFile],
    *,
    recipe: int,
    read_everything: bool = False,
) -> Plan:
    """Compare a walk with what the index knows; `known` is used up.

    Raises:
        RootUnavailableError: the directory cannot be read, or is empty although the index holds files of it.
    """
    comparison = _Comparison(known, recipe=recipe, read_everything=read_everything)
    for listing in listings:
        comparison.add(listing)
    comparison.require_evidence(directory)
    return comparison.plan(directory)


class _Comparison:
    """The state of a comparison while the walk goes on; what stays in `known` was not met."""

    def __init__(self, known: dict[FilePath, KnownFile], *, recipe: int, read_everything: bool) -> None:
        self.known = known
        self.recipe = recipe
        self.read_everything = read_everything
        self.had_text = any(file.hash for file in known.values())
        self.requests: list[ParseRequest] = []
        self.changed: set[FilePath] = set()
        self.skipped: list[SkippedFile] = []
        self.failures: list[FileFailure] = []
        self.ignored: list[IgnoredPath] = []
        self.skip_counts: Counter[SkipReason] = Counter()
        self.n_unchanged = 0
        self.n_entries = 0

    def add(self, listing: Listing) -> None:
        self.n_entries += len(listing.files) + len(listing.skipped) + len(listing.ignored)
        self.failures += listing.failures
        self.ignored += listing.ignored
        for skipped in listing.skipped:
            self._add_skipped(skipped)
        for source in listing.files:
            self._add_source(source)

    def _add_source(self, source: SourceFile) -> None:
        known = self.known.pop(source.path, None)
        if known is None:
            self.requests.append(ParseRequest(source, None))
        elif self._is_trusted(source, known):
            if known.state == FileState.INDEXED:
                self.n_unchanged += 1
            else:
                self.skip_counts[SkipReason(known.reason)] += 1
        else:
            if known.hash:
                self.changed.add(source.path)
            is_comparable = known.recipe == self.recipe and not self.read_everything
            self.requests.append(ParseRequest(source, known.hash if is_comparable else None))

    def _is_trusted(self, source: SourceFile, known: KnownFile) -> bool:
        return (
            known.mtime_ns == source.mtime_ns
            and known.size == source.size
            and known.recipe == self.recipe
            and known.mtime_ns + RACY_NS < known.checked_ns
            and not self.read_everything
            and known.state != FileState.FAILED
            # Whether secrets are left out is configured, and there are few: look again.
            and known.reason != SkipReason.SECRET
        )

    def _add_skipped(self, skipped: SkippedFile) -> None:
        self.skip_counts[skipped.reason] += 1
        known = self.known.pop(skipped.path, None)
        if known is None or known.state != FileState.SKIPPED or known.reason != skipped.reason:
            self.skipped.append(skipped)

    def require_evidence(self, directory: FilePath) -> None:
        for failure in self.failures:
            if failure.path == directory:
                raise RootUnavailableError(
                    f"{os_path(directory)}: {failure.message}",
                    hint=f"nothing was removed; once it is gone for good: dirindex forget {os_path(directory)}",
                )
        if self.n_entries == 0 and self.had_text:
            raise RootUnavailableError(
                f"{os_path(directory)} is empty, but the index holds files of it: is a drive not mounted?",
                hint=f"nothing was removed; if it is empty on purpose: dirindex forget {os_path(directory)}",
            )

    def plan(self, directory: FilePath) -> Plan:
        failed = {failure.path for failure in self.failures}
        gone = [path for path in self.known if not _is_hidden_by(path, failed)]
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
        )


def _is_hidden_by(path: FilePath, failed: set[FilePath]) -> bool:
    """Tell whether a path is, or lies below, one that could not be read."""
    if not failed:
        return False
    ancestor = str(path)
    while ancestor not in failed:
        parent = os.path.dirname(ancestor)
        if parent == ancestor:
            return False
        ancestor = parent
    return True
