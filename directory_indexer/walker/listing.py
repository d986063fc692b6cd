"""What a walk says of one directory, and what an index remembers of one in which there was nothing to do."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from directory_indexer.files import FileFailure, SkippedFile, SkipReason, SourceFile
from directory_indexer.paths import FilePath


class IgnoredPath(NamedTuple):
    """A file or directory that a rule excludes, and the rule as the user would write it, with where it stands."""

    path: FilePath
    rule: str


class Listing(NamedTuple):
    """One directory of a walk; a tuple, as `SourceFile` is.

    `failures` name the directory itself when it could not be read, or entries of it: nothing at or below such a path
    may be taken for deleted. Nor may text of what is ignored from here on when there is `rules_are_lost`: rules that
    could not be read might have brought it back. With `is_mount` another file system begins here;
    `file_system` names it, and that of the root. Where the `digest` is the same and not empty, so is all of this.
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
    """A directory of a walk in which the index knew every file, and had nothing to do.

    It has `n_files` indexed files; the rest was skipped, by reason, or ignored.
    """

    digest: bytes
    n_files: int
    skipped: tuple[tuple[SkipReason, int], ...] = ()
    ignored: tuple[IgnoredPath, ...] = ()

    @property
    def n_known(self) -> int:
        """Count the files that the index knows in the directory."""
        return self.n_files + sum(count for _, count in self.skipped)


class Settled(NamedTuple):
    """The directories that are settled, for runs that extract files in the way that `recipe` names."""

    recipe: int = 0
    directories: Mapping[FilePath, SettledDirectory] = MappingProxyType({})


class SameListing(NamedTuple):
    """A directory of a walk that is as it was when it was settled; the rest is as in `Listing`."""

    directory: FilePath
    settled: SettledDirectory
    is_mount: bool = False
    file_system: str = ""
