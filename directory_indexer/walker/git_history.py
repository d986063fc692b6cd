"""The state of a repository's history, read from its references without running git.

In a listing, a history is a file at the path of the git directory, whose stamp changes whenever a reference does.
Only a git directory that lies in its work tree has one: another work tree of the repository shares its commits.
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
"""What git calls the directory of a repository in its work tree."""


def is_history(path: FilePath) -> bool:
    """Return whether a path is that of a history, whose members are commits."""
    return os.path.basename(path) == GIT_DIRECTORY and os.path.isdir(exact_text(path))


def history_at(path: FilePath, scope: str) -> SourceFile | None:
    """Stamp the history of the git directory at a path; None where it is none. Another scope makes another stamp.

    Raises:
        OSError: a file of it is there and cannot be read.
    """
    directory = Path(exact_text(path))
    if directory.is_symlink() or (directory / "objects").is_symlink() or not (directory / "objects").is_dir():
        return None
    head = os.stat(directory / "HEAD", follow_symlinks=False)
    digest = content_hash("\n".join([scope, *references(directory)]).encode())
    # What changes the references changes this number, whatever the clock of the file system says.
    number = int.from_bytes(digest[:7], "big")
    return SourceFile(path, 1, storable(head.st_mtime_ns), 0, number)


def references(directory: Path) -> list[str]:
    """List the commits that references of a repository name, those of its other work trees included, in order.

    Raises:
        OSError: a file of it is there and cannot be read.
    """
    found = {name for line in _lines(directory) if (name := _HASH.match(line))}
    return sorted({match[0] for match in found})


def _lines(directory: Path) -> Iterator[str]:
    yield from _read(directory / "packed-refs")
    yield from _read(directory / "HEAD")
    for place, _, names in os.walk(directory / "refs", onerror=_refuse):  # which follows no link
        for name in names:
            yield from _read(Path(place) / name)
    for head in sorted((directory / "worktrees").glob("*/HEAD")):
        yield from _read(head)


def _read(path: Path) -> Iterator[str]:
    if is_there(path):
        yield from read_small_file(path, open_file, most_bytes=_MOST_BYTES).decode("utf-8", "replace").splitlines()


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # there are no other work trees, or a reference went meanwhile
        raise error


_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?(?=\s|$)")
_MOST_BYTES: Final = 64 << 20
"""Of one file of references: of a million, each with its name."""
