"""Walking of directory trees: which files are below a root, and the rules that exclude the others.

Records of a walk are here: directory listings, settled directories, which are skipped while unchanged, and the policy,
which decides which files are excluded.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from directory_indexer.core.files import FileFailure, SkippedFile, SkipReason, SourceFile
from directory_indexer.core.paths import FilePath


class IgnoredPath(NamedTuple):
    """A file or directory that a rule excludes, and the rule as the user would write it, with its source."""

    path: FilePath
    rule: str


class Listing(NamedTuple):
    """One directory of a walk; a tuple, as `SourceFile` is.

    `failures` name the directory itself if it could not be read, or entries of it: nothing at or below such a path may
    be treated as deleted. Neither may indexed text of ignored paths if `rules_are_lost`: unreadable rules might have
    re-included it. With `is_mount` another file system begins here; `file_system` names it, and that of the root. If
    the `digest` is unchanged and not empty, so is the whole listing.
    """

    directory: FilePath
    files: tuple[SourceFile, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()
    failures: tuple[FileFailure, ...] = ()
    rules_are_lost: bool = False
    is_mount: bool = False
    file_system: str = ""
    digest: bytes = b""


class SettledDirectory(NamedTuple):
    """A directory of a walk in which the index is up to date.

    It has `n_files` indexed files; the rest was skipped, by reason, or ignored.
    """

    digest: bytes
    n_files: int
    skipped: tuple[tuple[SkipReason, int], ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()

    @property
    def n_known(self) -> int:
        """The number of files that the index knows in the directory."""
        return self.n_files + sum(count for _, count in self.skipped)


class Settled(NamedTuple):
    """The settled directories, for runs that extract files as `recipe` identifies."""

    recipe: int = 0
    directories: Mapping[FilePath, SettledDirectory] = MappingProxyType({})


class SameListing(NamedTuple):
    """A directory that is unchanged since it was settled; the other fields are as in `Listing`."""

    directory: FilePath
    settled: SettledDirectory
    is_mount: bool = False
    file_system: str = ""


class WalkPolicy(NamedTuple):
    """The exclusions of a walk; `own` are the paths of the index itself and of its configuration.

    Files whose names end in one of `streamed`, in lower case, may exceed the size limit. At or below `reserved` no
    directory may be tracked but that of the `documents` which were sent: none of those is excluded by its name.
    """

    ignore_patterns: tuple[str, ...] = ()
    respect_gitignore: bool = True
    include_hidden: bool = False
    include_secrets: bool = False
    follow_symlinks: bool = False
    max_file_size: int = 10 * 1024 * 1024
    streamed: tuple[str, ...] = ()
    own: tuple[FilePath, ...] = ()
    reserved: FilePath | None = None
    documents: FilePath | None = None
    git_history: str = ""
    """Commits of repositories to index: none, `all`, a number of the newest, or those since a day."""

    def at(self, root: FilePath) -> WalkPolicy:
        """Return the policy for one tracked directory."""
        if root != self.documents:
            return self
        return self._replace(ignore_patterns=(), respect_gitignore=False, include_hidden=True)
