"""What a walk leaves out."""

from __future__ import annotations

from typing import NamedTuple

from directory_indexer.paths import FilePath


class WalkPolicy(NamedTuple):
    """What a walk leaves out; `own` are the paths of the index itself and of what configures it.

    Files whose names end in one of `streamed`, in lower case, may be larger than any other. At or below `reserved` no
    directory may be tracked but that of the `documents` which were sent: of those none is left out by its name alone.
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
    """Which commits of repositories are read, too: none, `all`, so many of the newest, or those since a day."""

    def at(self, root: FilePath) -> WalkPolicy:
        """Tell what a walk of one tracked directory leaves out."""
        if root != self.documents:
            return self
        return self._replace(ignore_patterns=(), respect_gitignore=False, include_hidden=True)
