"""Target file of an export: written beside its path under another name, and renamed when complete."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator

from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.kept_files import sync_path
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, OsPath, lies_in, os_path

with lazily:
    import tempfile


_DRAFT = ".dirindex-export-"
_SQLITE_SUFFIXES = ("-wal", "-journal")


def require_free(target: FilePath, own: Iterable[FilePath], *, force: bool) -> None:
    """Raise unless an export may be written to a path; checked before any work is done.

    Raises:
        UsageError: something is there, it cannot be replaced, or it is or would be a part of the index.
        UnavailableError: another program has the database open that is there.
    """
    place = os_path(target)
    if any(_is_in(target, path) for path in own):
        raise UsageError(f"'{place}' belongs to the index", hint="choose a place outside of the data directory")
    if not os.path.isdir(os.path.dirname(place)):
        raise UsageError(f"there is no directory '{OsPath(os.path.dirname(place))}'", hint="create it, or name another")
    if not os.path.lexists(place):
        return
    if not stat.S_ISREG(os.lstat(place).st_mode):
        raise UsageError(f"'{place}' exists and is not a regular file", hint="for standard output write -")
    if not force:
        raise _exists_error(place)
    for end in _SQLITE_SUFFIXES:
        # SQLite would apply this journal to the new database.
        if os.path.exists(os.fspath(place) + end):
            raise UnavailableError(
                f"'{place}' is a database that is in use: there is '{place}{end}'",
                hint="close it in the other program, or choose another name",
            )


@contextlib.contextmanager
def staged_file(target: FilePath, *, force: bool) -> Iterator[str]:
    """Yield the path of an empty private file, and move it to the target when the block ends.

    If the block raises, the file is removed.

    Raises:
        UsageError: the target exists now.
    """
    place = os_path(target)
    number, draft = tempfile.mkstemp(prefix=_DRAFT, dir=os.path.dirname(place))
    os.close(number)
    try:
        yield draft
        _publish(draft, place, force=force)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def _publish(draft: str, place: OsPath, *, force: bool) -> None:
    sync_path(draft)
    if not force and os.path.lexists(place):
        raise _exists_error(place)
    os.replace(draft, place)
    sync_path(os.path.dirname(place))


def _exists_error(place: OsPath) -> UsageError:
    return UsageError(f"'{place}' already exists", hint="--force replaces it")


def _is_in(target: FilePath, own: FilePath) -> bool:
    """Whether a path equals or is below another, by name or, on case-insensitive file systems, by inode."""
    if lies_in(target, own):
        return True
    place = os.fspath(os_path(target))
    while not _is_same(place, own):
        above = os.path.dirname(place)
        if above == place:
            return False
        place = above
    return True


def _is_same(place: str, own: FilePath) -> bool:
    try:
        return os.path.samefile(place, os_path(own))
    except OSError:
        return False
