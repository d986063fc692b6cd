"""Scanning of a directory, and classification of its entries: files to index, and reasons why others are not.

Names, kinds and stamps are plain values that can be compared at once.
"""

from __future__ import annotations

import errno
import marshal
import os
import stat
from collections.abc import Callable, Container, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile, Stage, Stamp, clamp_integer
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import FilePath, exact_text, file_path, lies_in, prefix_of
from directory_indexer.walk import IgnoredPath, Listing, WalkPolicy
from directory_indexer.walk.ignore import Decision, Precedence, Rules, built_in_rules
from directory_indexer.walk.rule_files import RULE_FILES

_FILE_TYPE: Final = 0o170000
_REGULAR_FILE: Final = 0o100000
_MAX_INTEGER: Final = 2**63 - 1
OWN_RULE: Final = "it belongs to the index"
"""The reason for excluding files of the index itself, and of its configuration."""

_source_file: Final[Callable[[Stamp], SourceFile]] = partial(tuple.__new__, SourceFile)
"""Makes a `SourceFile` in half the time that its class takes."""

_MISSING_ERRORS: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors of a broken link; other errors mean that its target cannot be read now."""


class Sorting:
    """The state of classifying one directory."""

    def __init__(self, directory: FilePath, policy: WalkPolicy, rules: Rules, *, seen_ns: int) -> None:
        self._directory, self._prefix = directory, prefix_of(directory)
        self._seen_ns = seen_ns
        self._policy = policy
        self._rules = rules
        self._links: Container[str] = ()
        self._directories: dict[str, bool] = {}
        self._files: list[SourceFile] = []
        self._skipped: list[SkippedFile] = []
        self._ignored: list[IgnoredPath] = []
        self._failures: list[FileFailure] = []

    def sort(self, scan: Scan, rule_failures: Sequence[FileFailure]) -> None:
        """Classify the entries; a file of rules that fails is only a failure."""
        if rule_failures:
            failed = {failure.path for failure in rule_failures}
            scan.leave_out({name for name in RULE_FILES if self._path_of(name) in failed})
            self._failures += rule_failures
        self._links = scan.links
        below = (path for path in self._policy.own if path.startswith(self._directory))
        beside = (path for path in below if os.path.dirname(path) == self._directory)
        own = {os.path.basename(exact_text(path)) for path in beside}
        own |= {name for name in scan.links if self._link_leads_to_own_files(name)}
        if present := own.intersection(scan.names()):
            scan.leave_out(present)
            self._ignored += [IgnoredPath(self._path_of(name), OWN_RULE) for name in sorted(present)]
        # A link with a harmless name may point to a secret.
        concerned = self._rules.concerned(scan.names()) | scan.links
        for name, is_link in scan.directories.items():
            if not (name in concerned and self._is_left_out(name, is_directory=True)):
                self._directories[name] = is_link
        for name, broken in scan.broken.items():
            if not (name in concerned and self._is_left_out(name, is_directory=False)):
                self._add_broken(name, broken)
        self._sort_files(scan.stamps, concerned)
        if scan.failure:
            self._failures.append(failure_of(self._directory, scan.failure))

    def further(self) -> list[tuple[str, bool, Rules]]:
        """Return the sub-directories to list, sorted, with whether each is a link, and the rules there."""
        names = sorted(self._directories)
        rules = self._rules.enter_each(names) if names else ()
        return [(name, self._directories[name], inner) for name, inner in zip(names, rules, strict=True)]

    def listing(self) -> Listing:
        """Return the classified entries."""
        return Listing(
            self._directory, tuple(self._files), tuple(self._skipped), tuple(self._ignored), tuple(self._failures)
        )

    def _link_leads_to_own_files(self, name: str) -> bool:
        """Whether a link points into the files of the index, which do not contain this directory."""
        target = file_path(os.path.realpath(exact_text(self._path_of(name))))
        return any(lies_in(target, own) and not lies_in(self._directory, own) for own in self._policy.own)

    def _sort_files(self, stamps: Sequence[EntryStamp], concerned: Container[str]) -> None:
        prefix, add_file, max_size = self._prefix, self._files.append, self._policy.max_file_size
        for stamp in stamps:
            name, mode, size, mtime_ns, changed_ns, inode = stamp
            if name in concerned and self._is_left_out(name, is_directory=False, stamp=stamp):
                continue
            if mode & _FILE_TYPE == _REGULAR_FILE and 0 < size <= max_size:
                path = FilePath(prefix + name if name.isascii() else prefix + file_path(name))
                if abs(mtime_ns) > _MAX_INTEGER or changed_ns > _MAX_INTEGER or inode > _MAX_INTEGER:
                    mtime_ns, changed_ns, inode = map(clamp_integer, (mtime_ns, changed_ns, inode))
                add_file(_source_file((path, size, mtime_ns, changed_ns, inode)))
            elif mode & _FILE_TYPE == _REGULAR_FILE and size and name.lower().endswith(self._policy.streamed):
                add_file(SourceFile(self._path_of(name), size, *map(clamp_integer, (mtime_ns, changed_ns, inode))))
            else:
                self._skip(stamp)

    def _is_left_out(self, name: str, *, is_directory: bool, stamp: EntryStamp | None = None) -> bool:
        decision = self._rules.decide(name, is_directory=is_directory)
        if not (decision and decision.is_ignored) and name in self._links:
            decision = self._decision_on_target(name, is_directory=is_directory)
        if not decision or not decision.is_ignored:
            return False
        if decision.precedence == Precedence.SECRET and not is_directory:
            kind = decision.rule.removeprefix("secret: ")
            self._add_skipped(stamp or (name, 0, 0, 0, 0, 0), SkipReason.SECRET, detail=kind)
        else:
            self._ignored.append(IgnoredPath(self._path_of(name), decision.rule))
        return True

    def _decision_on_target(self, name: str, *, is_directory: bool) -> Decision | None:
        """Return the decision of the secret rules about the target of a link, which may have a harmless name."""
        target = Path(os.path.realpath(exact_text(self._path_of(name))))
        rules = built_in_rules(include_secrets=self._policy.include_secrets, include_hidden=True)
        return rules.decide_path(target.parts[1:], is_directory=is_directory)

    def _skip(self, stamp: EntryStamp) -> None:
        _, mode, size, *_ = stamp
        if stat.S_ISLNK(mode):
            self._add_skipped(stamp, SkipReason.SYMLINK)
        elif not stat.S_ISREG(mode):
            self._add_skipped(stamp, SkipReason.NOT_REGULAR)
        elif size == 0:
            self._add_skipped(stamp, SkipReason.EMPTY)
        else:
            self._add_skipped(stamp, SkipReason.TOO_LARGE, detail=f"more than {self._policy.max_file_size:,} bytes")

    def _add_skipped(self, stamp: EntryStamp, reason: SkipReason, *, detail: str = "") -> None:
        name, _, size, *times_and_inode = stamp
        source = SourceFile(self._path_of(name), size, *map(clamp_integer, times_and_inode))
        self._skipped.append(SkippedFile(source.path, reason, detail, source, self._seen_ns))

    def _add_broken(self, name: str, broken: BrokenEntry) -> None:
        path, error = self._path_of(name), broken.error
        if broken.is_link and error.errno in _MISSING_ERRORS:
            self._skipped.append(SkippedFile(path, SkipReason.BROKEN_LINK, error.strerror or ""))
        else:
            self._failures.append(failure_of(path, error))

    def _path_of(self, name: str) -> FilePath:
        return FilePath(self._prefix + file_path(name))


def failure_of(path: FilePath, error: OSError) -> FileFailure:
    """Return the failure of a path that could not be examined."""
    return FileFailure(path, Stage.WALK, (error.strerror or str(error)).lower())


EntryStamp: TypeAlias = tuple[str, int, int, int, int, int]
"""Name of an entry that is no directory, mode, size, modification time and change time in nanoseconds, and inode; the
last two are 0 if the file system has no stable ones.
"""

_HAS_CHANGE_TIMES: Final = os.name == "posix"

_MARSHAL_FORMAT: Final = 2
"""The last format in which equal values give equal bytes: later ones depend on object identity."""


class BrokenEntry(NamedTuple):
    """The error of an entry that could not be examined."""

    error: OSError
    is_link: bool


class Scan:
    """The entries of a directory, in the order of the file system.

    For directories it records whether they are links. `links` are all links, which only a walk that follows them
    records. With `failure` the scan is incomplete.
    """

    def __init__(self) -> None:
        self.stamps: list[EntryStamp] = []
        self.directories: dict[str, bool] = {}
        self.broken: dict[str, BrokenEntry] = {}
        self.links: set[str] = set()
        self.failure: OSError | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing failed."""
        return not self.broken and self.failure is None

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return [*self.directories, *self.broken, *[stamp[0] for stamp in self.stamps]]

    def leave_out(self, names: Container[str]) -> None:
        """Remove entries."""
        self.stamps = [stamp for stamp in self.stamps if stamp[0] not in names]
        self.directories = {name: is_link for name, is_link in self.directories.items() if name not in names}

    def digest(self, key: bytes) -> bytes:
        """Hash all entries together with a key.

        The order counts, too: it is stable while nothing changes, and sorting takes a tenth of the time of a walk.
        """
        return content_hash(key + marshal.dumps((self.stamps, list(self.directories)), _MARSHAL_FORMAT))


def scan(handle: int | str, *, follow_links: bool, has_inodes: bool) -> Scan:
    """Read a directory, as far as possible; without `has_inodes` inode numbers of its file system are not stable.

    A no-op run spends its time in this loop. It keeps no `DirEntry`, which takes a kilobyte.
    """
    result = Scan()
    add_stamp, directories, has_times = result.stamps.append, result.directories, _HAS_CHANGE_TIMES
    has_inodes = has_inodes and has_times
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                try:
                    if follow_links and entry.is_symlink():
                        result.links.add(entry.name)
                    if entry.is_dir(follow_symlinks=follow_links):
                        directories[entry.name] = entry.name in result.links
                    else:
                        status = entry.stat(follow_symlinks=follow_links)
                        changed_ns = status.st_ctime_ns if has_times else 0
                        inode = status.st_ino if has_inodes else 0
                        add_stamp((entry.name, status.st_mode, status.st_size, status.st_mtime_ns, changed_ns, inode))
                except OSError as error:
                    result.broken[entry.name] = BrokenEntry(error, is_link=entry.name in result.links)
    except OSError as error:
        result.failure = error
    return result
