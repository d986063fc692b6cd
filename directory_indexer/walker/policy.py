"""What a walk leaves out."""

from typing import NamedTuple

from directory_indexer.paths import FilePath


class WalkPolicy(NamedTuple):
    """What a walk leaves out; `own` are the paths of the index itself and of what configures it.

    Files whose names end in one of `streamed`, in lower case, may be larger than any other.
    """

    ignore_patterns: tuple[str, ...] = ()
    respect_gitignore: bool = True
    include_hidden: bool = False
    include_secrets: bool = False
    follow_symlinks: bool = False
    max_file_size: int = 10 * 1024 * 1024
    streamed: tuple[str, ...] = ()
    own: tuple[FilePath, ...] = ()
