"""Walk of a directory tree that classifies everything in it: files to index, and reasons why others are not.

Each entry of each directory is in exactly one place of one listing, or has a listing of its own. What cannot be read is
a failure, so that it is not treated as deleted, and the walk continues. A directory that is unchanged since it was
settled is not listed again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from directory_indexer import __version__
from directory_indexer.core.files import SkippedFile, SkipReason
from directory_indexer.core.paths import FilePath, exact_text, file_path, lies_in, prefix_of
from directory_indexer.core.safe_open import CAN_OPEN_BELOW, DirectoryDescent
from directory_indexer.walk import FileSystems, IgnoredPath, Listing, SameListing, Settled, WalkPolicy
from directory_indexer.walk.ignore import Decision, built_in_rules
from directory_indexer.walk.repository import GIT_DIRECTORY, git_history_file
from directory_indexer.walk.rule_files import RULE_FILES, LazyRules, RuleFiles
from directory_indexer.walk.sorting import OWN_RULE, Scan, Sorting, failure_of, scan

_CAN_SCAN_DESCRIPTORS: Final = CAN_OPEN_BELOW and os.scandir in os.supports_fd
_UNKNOWN_DEVICE: Final = -1
_NO_SETTLED_DIRECTORIES: Final = Settled()


def walk(
    root: FilePath, policy: WalkPolicy, settled: Settled = _NO_SETTLED_DIRECTORIES
) -> Iterator[Listing | SameListing]:
    """Yield a listing for each directory, starting at a root that is absolute and resolved.

    Raises:
        ConfigError: a configured pattern can never match.
    """
    policy = policy.at(root)
    rule_files = RuleFiles(root, respect_gitignore=policy.respect_gitignore)
    rules = _rules_at_root(rule_files, policy)
    return _Walk(root, rule_files, policy, settled).listings(rules)


def explain(root: FilePath, path: FilePath, policy: WalkPolicy) -> Decision | None:
    """Return the decision that excludes or re-includes a path below the root, or None if no rule matches."""
    policy = policy.at(root)
    rule_files = RuleFiles(root, respect_gitignore=policy.respect_gitignore)
    rules = _rules_at_root(rule_files, policy)
    directory, decision = Path(exact_text(root)), None
    for name in Path(exact_text(path)).relative_to(directory).parts:
        rules = rule_files.rules_in(rules, str(directory), RULE_FILES)
        directory /= name
        is_directory = directory.is_dir() and (policy.follow_symlinks or not directory.is_symlink())
        decision = rules.resolve().decide(name, is_directory=is_directory)
        if decision and decision.is_ignored:
            break
        rules = rules.entering(name)
    return decision


def _rules_at_root(rule_files: RuleFiles, policy: WalkPolicy) -> LazyRules:
    built_in = partial(built_in_rules, include_secrets=policy.include_secrets, include_hidden=policy.include_hidden)
    return rule_files.rules_at_root(built_in, policy.ignore_patterns)


class _DirectoryVisit(NamedTuple):
    """A directory to list, with the rules around it, before its own."""

    directory: FilePath
    rules: LazyRules
    device_around: int
    is_linked: bool = False
    """Whether a symbolic link led here: then another path may lead to the same directory."""
    is_root: bool = False

    def into(self, name: str, rules: LazyRules, device: int, *, is_link: bool = False) -> _DirectoryVisit:
        """Return the visit of a sub-directory on a device."""
        path = FilePath(prefix_of(self.directory) + file_path(name))
        return _DirectoryVisit(path, rules, device, self.is_linked or is_link)


class _Walk:
    """The state of a walk."""

    def __init__(self, root: FilePath, rule_files: RuleFiles, policy: WalkPolicy, settled: Settled) -> None:
        self._root = root
        self._rule_files = rule_files
        self._policy = policy
        self._settled = settled.directories
        self._salt = repr((__version__, settled.recipe, policy)).encode()
        self._seen_ns = time.time_ns()
        self._file_systems = FileSystems()
        # The index may be inside the root, and the root inside the directory that contains the index.
        self._own = {directory_identity(exact_text(path)) for path in policy.own if not lies_in(root, path)} - {None}
        self._listed: set[tuple[int, int] | None] = set()

    def listings(self, rules: LazyRules) -> Iterator[Listing | SameListing]:
        visits = [_DirectoryVisit(self._root, rules, _UNKNOWN_DEVICE, is_root=True)]
        linked: deque[_DirectoryVisit] = deque()
        with contextlib.closing(_DirectoryOpener(exact_text(self._root))) as opener:
            while visits or linked:
                # Linked directories come last: a directory reachable without a link is listed under its own path.
                visit = visits.pop() if visits else linked.popleft()
                listing, further = self._list(visit, opener)
                yield listing
                visits += [next_visit for next_visit in reversed(further) if not next_visit.is_linked]
                linked += [next_visit for next_visit in further if next_visit.is_linked]

    def _list(
        self, visit: _DirectoryVisit, opener: _DirectoryOpener
    ) -> tuple[Listing | SameListing, list[_DirectoryVisit]]:
        try:
            with opener.opened(exact_text(visit.directory), is_linked=visit.is_linked) as handle:
                return self._list_opened(visit, handle)
        except OSError as error:
            return Listing(visit.directory, failures=(failure_of(visit.directory, error),)), []

    def _list_opened(
        self, visit: _DirectoryVisit, handle: int | str
    ) -> tuple[Listing | SameListing, list[_DirectoryVisit]]:
        identity = directory_identity(handle)
        if identity in self._own:
            return Listing(visit.directory, ignored=(IgnoredPath(visit.directory, OWN_RULE),)), []
        if self._policy.follow_symlinks:
            if visit.is_linked and identity in self._listed:
                skipped = SkippedFile(visit.directory, SkipReason.SYMLINK, "leads to a directory listed elsewhere")
                return Listing(visit.directory, skipped=(skipped,)), []
            self._listed.add(identity)
        device = identity[0] if identity else _UNKNOWN_DEVICE
        system = self._file_systems.of(handle, path=exact_text(visit.directory), device=device)
        scanned = scan(handle, follow_links=self._policy.follow_symlinks, has_inodes=system.has_inodes)
        around = _device(os.path.dirname(exact_text(visit.directory))) if visit.is_root else visit.device_around
        is_mount = _UNKNOWN_DEVICE not in {device, around} and device != around
        place = _OpenedDirectory(handle, device, system.name if is_mount or visit.is_root else "", is_mount=is_mount)
        return self._listing(visit, scanned, place)

    def _listing(
        self, visit: _DirectoryVisit, scanned: Scan, place: _OpenedDirectory
    ) -> tuple[Listing | SameListing, list[_DirectoryVisit]]:
        names = RULE_FILES.intersection(scanned.names())
        rules = visit.rules
        if names:
            rules = self._rule_files.rules_in(rules, exact_text(visit.directory), names, handle=place.handle)
        digest = self._digest(scanned, rules)
        device = place.device
        settled = self._settled.get(visit.directory)
        if settled and settled.digest == digest:
            left_out = {ignored.path for ignored in settled.ignored}
            further = (visit.into(name, rules.entering(name), device) for name in sorted(scanned.directories))
            return SameListing(visit.directory, settled, place.is_mount, place.file_system), [
                next_visit for next_visit in further if next_visit.directory not in left_out
            ]
        sorting = Sorting(visit.directory, self._policy, rules.resolve(), seen_ns=self._seen_ns)
        failures, rules_are_lost = self._rule_files.problems.take()
        sorting.sort(scanned, failures)
        listing = self._with_history(sorting.listing(), scanned)._replace(
            rules_are_lost=rules_are_lost, is_mount=place.is_mount, file_system=place.file_system, digest=digest
        )
        return listing, [
            visit.into(name, LazyRules(rules.key, inner), device, is_link=is_link)
            for name, is_link, inner in sorting.further()
        ]

    def _with_history(self, listing: Listing, scanned: Scan) -> Listing:
        """Add the history of a repository that starts here, if histories are indexed."""
        if not self._has_history(scanned):
            return listing
        path = FilePath(prefix_of(listing.directory) + GIT_DIRECTORY)
        try:
            history = git_history_file(path, self._policy.git_history)
        except OSError as error:
            return listing._replace(failures=(*listing.failures, failure_of(path, error)))
        if history is None:
            return listing
        ignored = tuple(entry for entry in listing.ignored if entry.path != path)
        return listing._replace(files=(*listing.files, history), ignored=ignored)

    def _has_history(self, scanned: Scan) -> bool:
        return bool(self._policy.git_history) and GIT_DIRECTORY in scanned.directories

    def _digest(self, scanned: Scan, rules: LazyRules) -> bytes:
        """Return a hash of everything that a listing depends on, or b"" if it cannot be determined.

        With followed links, it depends on previous listings and on the targets; with a history, on its references.
        """
        if rules.key is None or self._policy.follow_symlinks or not scanned.is_whole or self._has_history(scanned):
            return b""
        return scanned.digest(self._salt + rules.key)


class _OpenedDirectory(NamedTuple):
    """Location of an open directory; `file_system` is set for the root, and where another one begins."""

    handle: int | str
    device: int
    file_system: str
    is_mount: bool


class _DirectoryOpener:
    """Opens the directories of a walk: linked ones by their paths, the others relative to the root."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._descent: DirectoryDescent | None = None

    @contextlib.contextmanager
    def opened(self, directory: str, *, is_linked: bool) -> Iterator[int | str]:
        """Open a directory for the duration of the block.

        Raises:
            OSError: it cannot be opened.
        """
        if not _CAN_SCAN_DESCRIPTORS:
            if not is_linked and os.path.normcase(os.path.realpath(directory)) != os.path.normcase(directory):
                raise OSError(errno.ELOOP, "a symbolic link stands here now", directory)
            yield directory
        elif is_linked:
            handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                yield handle
            finally:
                os.close(handle)
        else:
            self._descent = self._descent or DirectoryDescent(self._root)
            yield self._descent.enter(directory)

    def close(self) -> None:
        """Close what is still open."""
        if self._descent is not None:
            self._descent.close()


def directory_identity(directory: int | str) -> tuple[int, int] | None:
    """Return the device and inode of a directory; None if it cannot be examined."""
    try:
        status = os.stat(directory)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _device(directory: str) -> int:
    identity = directory_identity(directory)
    return identity[0] if identity else _UNKNOWN_DEVICE
