"""Policy of a walk: which files it excludes."""

from __future__ import annotations

from typing import NamedTuple

from directory_indexer.paths import FilePath


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
