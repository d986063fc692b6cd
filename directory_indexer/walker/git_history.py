"""State of a repository's history, read from its references without running git.

In a listing, a history is a file at the path of the git directory, whose stamp changes whenever a reference does. Only
a git directory inside its work tree has one: other work trees of the repository share its commits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from directory_indexer.files import SourceFile, storable
from directory_indexer.ids import content_hash
from directory_indexer.nofollow import open_file
from directory_indexer.paths import FilePath, exact_text
from directory_indexer.walker.small_files import is_there, read_small_file

GIT_DIRECTORY: Final = ".git"
"""The name of a repository's directory in its work tree."""


def is_history(path: FilePath) -> bool:
    """Whether a path is that of a history, whose members are commits."""
    return os.path.basename(path) == GIT_DIRECTORY and os.path.isdir(exact_text(path))


def history_at(path: FilePath, scope: str) -> SourceFile | None:
    """Return a file record that stamps the history of the git directory at a path, or None if it is no such directory.

    Another scope yields another stamp.

    Raises:
        OSError: a file of it is there and cannot be read.
    """
    directory = Path(exact_text(path))
    if directory.is_symlink() or (directory / "objects").is_symlink() or not (directory / "objects").is_dir():
        return None
    head = os.stat(directory / "HEAD", follow_symlinks=False)
    digest = content_hash("\n".join([scope, *references(directory)]).encode())
    # This number changes with the references, whatever the clock of the file system says.
    number = int.from_bytes(digest[:7], "big")
    return SourceFile(path, 1, storable(head.st_mtime_ns), 0, number)


def references(directory: Path) -> list[str]:
    """Return the sorted commits that references of a repository point to, including those of its other work trees.

    Raises:
        OSError: a file of it is there and cannot be read.
    """
    matches = {name for line in _lines(directory) if (name := _HASH.match(line))}
    return sorted({match[0] for match in matches})


def _lines(directory: Path) -> Iterator[str]:
    yield from _read(directory / "packed-refs")
    yield from _read(directory / "HEAD")
    for place, _, names in os.walk(directory / "refs", onerror=_raise_unless_missing):  # follows no links
        for name in names:
            yield from _read(Path(place) / name)
    for head in sorted((directory / "worktrees").glob("*/HEAD")):
        yield from _read(head)


def _read(path: Path) -> Iterator[str]:
    if is_there(path):
        yield from read_small_file(path, open_file, most_bytes=_MOST_BYTES).decode("utf-8", "replace").splitlines()


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # there are no references, or one was deleted meanwhile
        raise error


_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?=\s|$)")
_MOST_BYTES: Final = 64 << 20
"""Maximum size of one file of references: a million, each with its name."""
