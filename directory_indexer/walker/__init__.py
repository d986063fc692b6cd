"""Walks a directory tree and says of everything in it what it is: a file to index, or why it is none.

Each entry of each directory lands in exactly one place of one listing, or has a listing of its own. What cannot be read
is a failure, so that nobody takes it for deleted, and the walk goes on.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from directory_indexer.records import (
    FileFailure,
    FilePath,
    IgnoredPath,
    Listing,
    SkippedFile,
    SkipReason,
    SourceFile,
    Stage,
    Stamp,
    file_path,
    os_path,
)
from directory_indexer.walker.ignore import Decision, Precedence, Rules, built_in_rules
from directory_indexer.walker.rule_files import RULE_FILES, RuleFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

_FILE_TYPE: Final = 0o170000
_REGULAR: Final = 0o100000
_source_file: Final[Callable[[Stamp], SourceFile]] = partial(tuple.__new__, SourceFile)
"""Make a `SourceFile` in half the time that its class takes."""

_CAN_SCAN_DESCRIPTORS: Final = os.scandir in os.supports_fd
_UNKNOWN_DEVICE: Final = -1
_NOTHING_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""What a followed link answers that leads nowhere; anything else says that what it leads to cannot be read now."""


@dataclass(frozen=True, slots=True)
class WalkPolicy:
    """What a walk leaves out."""

    ignore_patterns: tuple[str, ...] = ()
    respect_gitignore: bool = True
    include_hidden: bool = False
    include_secrets: bool = False
    follow_symlinks: bool = False
    max_file_size: int = 10 * 1024 * 1024


def walk(root: FilePath, policy: WalkPolicy) -> Iterator[Listing]:
    """List one directory after the other, from a root that is absolute and resolved.

    Raises:
        ConfigError: a configured pattern can never match.
    """
    rule_files = RuleFiles(root, respect_gitignore=policy.respect_gitignore)
    return _Walk(rule_files, policy).listings(root, _rules_at_root(rule_files, policy))


def explain(root: FilePath, path: FilePath, policy: WalkPolicy) -> Decision | None:
    """Find the rule that leaves a path below the root out of a walk, or brought it back in; `None` if none does."""
    rule_files = RuleFiles(root, respect_gitignore=policy.respect_gitignore)
    rules = _rules_at_root(rule_files, policy)
    directory, decision = Path(os_path(root)), None
    for name in Path(os_path(path)).relative_to(directory).parts:
        rules = rule_files.rules_in(rules, str(directory), RULE_FILES)
        directory /= name
        is_directory = directory.is_dir() and (policy.follow_symlinks or not directory.is_symlink())
        decision = rules.decide(name, is_directory=is_directory)
        if decision and decision.is_ignored:
            break
        rules = rules.enter(name)
    return decision


def _rules_at_root(rule_files: RuleFiles, policy: WalkPolicy) -> Rules:
    built_in = built_in_rules(include_secrets=policy.include_secrets, include_hidden=policy.include_hidden)
    return rule_files.rules_at_root(built_in, policy.ignore_patterns)


class _Visit(NamedTuple):
    """A directory to list, with the rules around it, before its own."""

    directory: FilePath
    rules: Rules
    device_around: int
    is_linked: bool = False
    """Whether a symbolic link led here: then another path may lead to the same directory."""


class _Walk:
    """What a walk has to remember from one directory to the next."""

    def __init__(self, rule_files: RuleFiles, policy: WalkPolicy) -> None:
        self._rule_files = rule_files
        self._policy = policy
        self._listed: set[tuple[int, int]] = set()

    def listings(self, root: FilePath, rules: Rules) -> Iterator[Listing]:
        visits = [_Visit(root, rules, _device(os.path.dirname(os_path(root))))]
        linked: deque[_Visit] = deque()
        while visits or linked:
            # Linked directories come last, so that what can be reached without a link is listed under its own path.
            visit = visits.pop() if visits else linked.popleft()
            listing, further = self._list(visit)
            yield listing
            visits += [found for found in reversed(further) if not found.is_linked]
            linked += [found for found in further if found.is_linked]

    def _list(self, visit: _Visit) -> tuple[Listing, list[_Visit]]:
        try:
            handle = _open(os_path(visit.directory), follow_links=visit.is_linked)
        except OSError as error:
            return Listing(visit.directory, failures=(_failure(visit.directory, error),)), []
        try:
            if self._policy.follow_symlinks and self._was_listed(handle) and visit.is_linked:
                skipped = SkippedFile(visit.directory, SkipReason.SYMLINK, "leads to a directory listed elsewhere")
                return Listing(visit.directory, skipped=(skipped,)), []
            return self._sorted(visit, handle)
        finally:
            _close(handle)

    def _was_listed(self, handle: int | str) -> bool:
        status = os.stat(handle)
        identity = (status.st_dev, status.st_ino)
        is_known = identity in self._listed
        self._listed.add(identity)
        return is_known

    def _sorted(self, visit: _Visit, handle: int | str) -> tuple[Listing, list[_Visit]]:
        entries, failures = _entries(visit.directory, handle)
        sorting = _Sorting(visit, self._policy, failures)
        names = [entry.name for entry in entries]
        if not RULE_FILES.isdisjoint(names):
            entries = self._apply_rule_files(sorting, entries)
        failures, rules_are_lost = self._rule_files.take_failures()
        sorting.failures += failures
        concerned = sorting.rules.concerned(names)
        if self._policy.follow_symlinks:
            concerned.update(entry.name for entry in entries if _may_be_link(entry))
        sorting.sort(entries, concerned=concerned)
        device = _device(handle)
        is_mount = device not in {visit.device_around, _UNKNOWN_DEVICE}
        listing = sorting.listing()._replace(rules_are_lost=rules_are_lost, is_mount=is_mount)
        return listing, sorting.visits(device)

    def _apply_rule_files(self, sorting: _Sorting, entries: list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
        """Change the rules by what the directory says itself; a file of rules that fails is nothing but a failure."""
        names = RULE_FILES.intersection(entry.name for entry in entries)
        sorting.rules = self._rule_files.rules_in(sorting.rules, os_path(sorting.directory), names)
        failed = {failure.path for failure in self._rule_files.failures}
        return [entry for entry in entries if sorting.path_of(entry.name) not in failed] if failed else entries


def _may_be_link(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink()
    except OSError:  # a file system that does not say so in the listing, and cannot tell now either
        return True


class _Sorting:
    """One directory, while its entries are sorted by what becomes of them."""

    def __init__(self, visit: _Visit, policy: WalkPolicy, failures: list[FileFailure]) -> None:
        self.directory, self.rules, self._is_linked = visit.directory, visit.rules, visit.is_linked
        self.failures = failures
        self._policy = policy
        self._prefix = self.directory if self.directory.endswith(os.sep) else self.directory + os.sep
        self._files: list[SourceFile] = []
        self._skipped: list[SkippedFile] = []
        self._ignored: list[IgnoredPath] = []
        self._directories: dict[str, bool] = {}

    def sort(self, entries: list[os.DirEntry[str]], *, concerned: Container[str]) -> None:
        """Sort entries of the directory, which must still be open; `concerned` are those to ask the rules about.

        A walk spends its time in this loop.
        """
        follow_links = self._policy.follow_symlinks
        prefix, add_file, max_size = self._prefix, self._files.append, self._policy.max_file_size
        for entry in entries:
            name = entry.name
            try:
                is_directory = entry.is_dir(follow_symlinks=follow_links)
                if name in concerned and self._is_left_out(entry, is_directory=is_directory):
                    continue
                if is_directory:
                    self._directories[name] = entry.is_symlink()
                    continue
                status = entry.stat(follow_symlinks=follow_links)
            except OSError as error:
                self._add_broken(entry, error)
                continue
            size = status.st_size
            if status.st_mode & _FILE_TYPE == _REGULAR and 0 < size <= max_size:
                path = FilePath(prefix + name if name.isascii() else prefix + file_path(name))
                add_file(_source_file((path, size, status.st_mtime_ns)))
            else:
                self._skip(name, status)

    def listing(self) -> Listing:
        """Put together what was found."""
        return Listing(
            self.directory, tuple(self._files), tuple(self._skipped), tuple(self._ignored), tuple(self.failures)
        )

    def visits(self, device: int) -> list[_Visit]:
        """Name the sub-directories to list, in order; they lie on a device, or another begins there."""
        names = sorted(self._directories)
        return [
            _Visit(self.path_of(name), rules, device, self._is_linked or self._directories[name])
            for name, rules in zip(names, self.rules.enter_each(names) if names else (), strict=True)
        ]

    def path_of(self, name: str) -> FilePath:
        """Give the path of an entry."""
        return FilePath(self._prefix + file_path(name))

    def _is_left_out(self, entry: os.DirEntry[str], *, is_directory: bool) -> bool:
        decision = self.rules.decide(entry.name, is_directory=is_directory)
        if not (decision and decision.is_ignored) and self._policy.follow_symlinks and entry.is_symlink():
            decision = self._decision_on_target(entry.name, is_directory=is_directory)
        if not decision or not decision.is_ignored:
            return False
        if decision.precedence == Precedence.SECRET and not is_directory:
            kind = decision.rule.removeprefix("secret: ")
            self._add_skipped(entry.name, SkipReason.SECRET, entry.stat(follow_symlinks=False), detail=kind)
        else:
            self._ignored.append(IgnoredPath(self.path_of(entry.name), decision.rule))
        return True

    def _decision_on_target(self, name: str, *, is_directory: bool) -> Decision | None:
        """Look for a secret behind a link, which may go by a harmless name."""
        target = Path(os_path(self.path_of(name))).resolve()
        rules = built_in_rules(include_secrets=self._policy.include_secrets, include_hidden=True)
        return rules.decide_path(target.parts[1:], is_directory=is_directory)

    def _skip(self, name: str, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            self._add_skipped(name, SkipReason.SYMLINK, status)
        elif not stat.S_ISREG(status.st_mode):
            self._add_skipped(name, SkipReason.NOT_REGULAR, status)
        elif status.st_size == 0:
            self._add_skipped(name, SkipReason.EMPTY, status)
        else:
            self._add_skipped(
                name, SkipReason.TOO_LARGE, status, detail=f"more than {self._policy.max_file_size} bytes"
            )

    def _add_skipped(self, name: str, reason: SkipReason, status: os.stat_result, *, detail: str = "") -> None:
        path = self.path_of(name)
        self._skipped.append(SkippedFile(path, reason, detail, size=status.st_size, mtime_ns=status.st_mtime_ns))

    def _add_broken(self, entry: os.DirEntry[str], error: OSError) -> None:
        path = self.path_of(entry.name)
        if entry.is_symlink() and error.errno in _NOTHING_THERE:
            self._skipped.append(SkippedFile(path, SkipReason.BROKEN_LINK, error.strerror or ""))
        else:
            self.failures.append(_failure(path, error))


def _open(directory: str, *, follow_links: bool) -> int | str:
    """Open a directory, so that a link put in its place since it was seen leads nowhere."""
    if not _CAN_SCAN_DESCRIPTORS:
        return directory
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | (0 if follow_links else os.O_NOFOLLOW))


def _close(handle: int | str) -> None:
    if isinstance(handle, int):
        os.close(handle)


def _entries(directory: FilePath, handle: int | str) -> tuple[list[os.DirEntry[str]], list[FileFailure]]:
    """Read the entries of a directory, as many as can be read."""
    entries: list[os.DirEntry[str]] = []
    try:
        with os.scandir(handle) as iterator:
            entries.extend(iterator)
    except OSError as error:
        return entries, [_failure(directory, error)]
    return entries, []


def _device(directory: int | str) -> int:
    try:
        return os.stat(directory).st_dev
    except OSError:
        return _UNKNOWN_DEVICE


def _failure(path: FilePath, error: OSError) -> FileFailure:
    return FileFailure(path, Stage.WALK, error.strerror or str(error))
