"""Walks a directory tree and says of everything in it what it is: a file to index, or why it is none.

Each entry of each directory lands in exactly one place of one listing, or has a listing of its own. What cannot be read
is a failure, so that nobody takes it for deleted, and the walk goes on. Of a directory that is as it was when all of
it was settled, nothing is listed anew.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from directory_indexer import __version__
from directory_indexer.records import (
    FilePath,
    Listing,
    SameListing,
    Settled,
    SkippedFile,
    SkipReason,
    file_path,
    os_path,
    prefix_of,
)
from directory_indexer.walker.ignore import Decision, built_in_rules
from directory_indexer.walker.late_rules import LateRules
from directory_indexer.walker.rule_files import RULE_FILES, RuleFiles
from directory_indexer.walker.scanning import scan
from directory_indexer.walker.sorting import Sorting, failure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.walker.scanning import Scan

_CAN_SCAN_DESCRIPTORS: Final = os.scandir in os.supports_fd
_UNKNOWN_DEVICE: Final = -1
_NOTHING_SETTLED: Final = Settled()


class WalkPolicy(NamedTuple):
    """What a walk leaves out."""

    ignore_patterns: tuple[str, ...] = ()
    respect_gitignore: bool = True
    include_hidden: bool = False
    include_secrets: bool = False
    follow_symlinks: bool = False
    max_file_size: int = 10 * 1024 * 1024


def walk(root: FilePath, policy: WalkPolicy, settled: Settled = _NOTHING_SETTLED) -> Iterator[Listing | SameListing]:
    """List one directory after the other, from a root that is absolute and resolved.

    Raises:
        ConfigError: a configured pattern can never match.
    """
    rule_files = RuleFiles(root, respect_gitignore=policy.respect_gitignore)
    rules = _rules_at_root(rule_files, policy)
    return _Walk(rule_files, policy, settled).listings(root, rules)


def explain(root: FilePath, path: FilePath, policy: WalkPolicy) -> Decision | None:
    """Find the rule that leaves a path below the root out of a walk, or brought it back in; `None` if none does."""
    rule_files = RuleFiles(root, respect_gitignore=policy.respect_gitignore)
    rules = _rules_at_root(rule_files, policy)
    directory, decision = Path(os_path(root)), None
    for name in Path(os_path(path)).relative_to(directory).parts:
        rules = rule_files.rules_in(rules, str(directory), RULE_FILES)
        directory /= name
        is_directory = directory.is_dir() and (policy.follow_symlinks or not directory.is_symlink())
        decision = rules.now().decide(name, is_directory=is_directory)
        if decision and decision.is_ignored:
            break
        rules = rules.entering(name)
    return decision


def _rules_at_root(rule_files: RuleFiles, policy: WalkPolicy) -> LateRules:
    built_in = built_in_rules(include_secrets=policy.include_secrets, include_hidden=policy.include_hidden)
    return rule_files.rules_at_root(built_in, policy.ignore_patterns)


class _Visit(NamedTuple):
    """A directory to list, with the rules around it, before its own."""

    directory: FilePath
    rules: LateRules
    device_around: int
    is_linked: bool = False
    """Whether a symbolic link led here: then another path may lead to the same directory."""

    def into(self, name: str, rules: LateRules, device: int, *, is_link: bool = False) -> _Visit:
        """Go on to a sub-directory of this one, which lies on a device."""
        path = FilePath(prefix_of(self.directory) + file_path(name))
        return _Visit(path, rules, device, self.is_linked or is_link)


class _Walk:
    """What a walk has to remember from one directory to the next."""

    def __init__(self, rule_files: RuleFiles, policy: WalkPolicy, settled: Settled) -> None:
        self._rule_files = rule_files
        self._policy = policy
        self._settled = settled.directories
        self._salt = repr((__version__, settled.recipe, policy)).encode()
        self._listed: set[tuple[int, int]] = set()

    def listings(self, root: FilePath, rules: LateRules) -> Iterator[Listing | SameListing]:
        visits = [_Visit(root, rules, _device(os.path.dirname(os_path(root))))]
        linked: deque[_Visit] = deque()
        while visits or linked:
            # Linked directories come last, so that what can be reached without a link is listed under its own path.
            visit = visits.pop() if visits else linked.popleft()
            listing, further = self._list(visit)
            yield listing
            visits += [found for found in reversed(further) if not found.is_linked]
            linked += [found for found in further if found.is_linked]

    def _list(self, visit: _Visit) -> tuple[Listing | SameListing, list[_Visit]]:
        try:
            handle = _open(os_path(visit.directory), follow_links=visit.is_linked)
        except OSError as error:
            return Listing(visit.directory, failures=(failure_of(visit.directory, error),)), []
        try:
            if self._policy.follow_symlinks and self._was_listed(handle) and visit.is_linked:
                skipped = SkippedFile(visit.directory, SkipReason.SYMLINK, "leads to a directory listed elsewhere")
                return Listing(visit.directory, skipped=(skipped,)), []
            return self._found(visit, scan(handle, follow_links=self._policy.follow_symlinks), _device(handle))
        finally:
            _close(handle)

    def _was_listed(self, handle: int | str) -> bool:
        status = os.stat(handle)
        identity = (status.st_dev, status.st_ino)
        is_known = identity in self._listed
        self._listed.add(identity)
        return is_known

    def _found(self, visit: _Visit, found: Scan, device: int) -> tuple[Listing | SameListing, list[_Visit]]:
        names = RULE_FILES.intersection(found.names())
        rules = self._rule_files.rules_in(visit.rules, os_path(visit.directory), names) if names else visit.rules
        digest = self._digest(found, rules)
        is_mount = device not in {visit.device_around, _UNKNOWN_DEVICE}
        settled = self._settled.get(visit.directory)
        if settled and settled.digest == digest:
            left_out = {ignored.path for ignored in settled.ignored}
            further = (visit.into(name, rules.entering(name), device) for name in sorted(found.directories))
            return SameListing(visit.directory, settled, is_mount), [
                one for one in further if one.directory not in left_out
            ]
        sorting = Sorting(visit.directory, self._policy, rules.now())
        failures, rules_are_lost = self._rule_files.take_failures()
        sorting.sort(found, failures)
        listing = sorting.listing()._replace(rules_are_lost=rules_are_lost, is_mount=is_mount, digest=digest)
        return listing, [
            visit.into(name, LateRules(rules.key, inner), device, is_link=is_link)
            for name, is_link, inner in sorting.further()
        ]

    def _digest(self, found: Scan, rules: LateRules) -> bytes:
        """Hash all that a listing follows from; nothing where it cannot be told, or follows from more than that.

        Where links are followed, it depends on what was listed before, and on what they lead to.
        """
        if rules.key is None or self._policy.follow_symlinks or not found.is_whole:
            return b""
        return found.digest(self._salt + rules.key)


def _open(directory: str, *, follow_links: bool) -> int | str:
    """Open a directory, so that a link put in its place since it was seen leads nowhere."""
    if not _CAN_SCAN_DESCRIPTORS:
        return directory
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | (0 if follow_links else os.O_NOFOLLOW))


def _close(handle: int | str) -> None:
    if isinstance(handle, int):
        os.close(handle)


def _device(directory: int | str) -> int:
    try:
        return os.stat(directory).st_dev
    except OSError:
        return _UNKNOWN_DEVICE
