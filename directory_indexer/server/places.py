"""From what a client calls a file to a file of the index, and back.

The index decides, not the disk: a path names a file only if the index holds that very file, after `..`, symbolic
links, case and Unicode forms are resolved. What is answered about a path outside says nothing of what is there.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote_from_bytes, unquote_to_bytes

from directory_indexer.errors import NotIndexedError, UsageError
from directory_indexer.lazy import lazily
from directory_indexer.paths import (
    FilePath,
    display,
    exact_text,
    file_path,
    invalid_character_in,
    lies_in,
    without_line,
    written_path,
)

with lazily:
    from directory_indexer.docstore.store import Snapshot


URI_PREFIX = "dirindex://file/"
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_MOST_NAMED = 10
_WITH_LINES = re.compile(r"(?P<path>.+?):(?P<first>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8}))?", re.DOTALL)


def indexed_file(snapshot: Snapshot, name: str) -> FilePath:
    """Find the indexed file that a client means: by a path, the end of one that only one file has, or a URI.

    Raises:
        NotIndexedError: the index holds no such file.
        UsageError: the name cannot be a path, or a relative one means several files.
    """
    try:
        return _file_named(snapshot, name)
    except NotIndexedError:
        if (file := without_line(name)) == name:
            raise
        return _file_named(snapshot, file)


def _file_named(snapshot: Snapshot, name: str) -> FilePath:
    name = _without_scheme(name)
    candidates = list(dict.fromkeys(_candidates(snapshot, name)))
    found = (
        {path for path in candidates if _is_known(snapshot, path)}
        or set(_other_case(snapshot, candidates))
        or set(_with_end(snapshot, name))
    )
    if len(found) > 1:
        raise _several(name, found)
    if not found:
        raise _not_indexed(snapshot, name)
    return found.pop()


def indexed_lines(snapshot: Snapshot, name: str) -> tuple[FilePath, tuple[int, int | None] | None]:
    """Find the file that a client means, and the first and last line where it writes `path:first` or `path:first-last`.

    Raises:
        NotIndexedError: the index holds no such file.
        UsageError: the name cannot be a path, or a relative one means several files.
    """
    try:
        return _file_named(snapshot, name), None
    except NotIndexedError:
        with_lines = _WITH_LINES.fullmatch(name)
        if not with_lines:
            raise
        last = with_lines["last"]
        return indexed_file(snapshot, with_lines["path"]), (int(with_lines["first"]), int(last) if last else None)


def indexed_directory(snapshot: Snapshot, name: str) -> FilePath | None:
    """Find the directory or container that a client means, if the index holds files in it.

    Raises:
        UsageError: the name cannot be a path, or a relative one means several directories.
    """
    name = _without_scheme(name)
    plain = name.rstrip(os.sep) or name
    found = {one for one in _candidates(snapshot, plain) if _is_tracked(snapshot, one) and snapshot.files.holds(one)}
    if len(found) > 1:
        raise _several(name, found)
    return next(iter(found), None)


def scope_of(snapshot: Snapshot, name: str) -> tuple[FilePath, ...]:
    """Find the directories or files that a client wants to search in; an empty name means everywhere.

    Raises:
        NotIndexedError: nothing is indexed there.
        UsageError: the name cannot be a path.
    """
    if not name:
        return ()
    name = _without_scheme(name)
    for text in dict.fromkeys((name, without_line(name))):
        if found := tuple(dict.fromkeys(c for c in _candidates(snapshot, text) if _is_tracked(snapshot, c))):
            return found
    raise _not_indexed(snapshot, name)


def below_or_beside(root: FilePath, name: str) -> tuple[str, ...]:
    """Give what a relative path can mean: one in the directory, or one that begins with the directory's own name."""
    directory = exact_text(root)
    is_beside = name.split(os.sep, maxsplit=1)[0] == os.path.basename(directory)
    beside = (os.path.join(os.path.dirname(directory), name),) if is_beside else ()
    return (os.path.join(directory, name), *beside)


def uri_of(path: FilePath) -> str:
    """Name an indexed file as a resource."""
    location = os.fsencode(exact_text(path)).replace(os.sep.encode(), b"/")
    return URI_PREFIX + quote_from_bytes(location.removeprefix(b"/"))


def name_in_uri(uri: str) -> str:
    """Give the path that a resource URI names.

    Raises:
        NotIndexedError: the URI is not that of an indexed file.
    """
    require_sane(uri)
    if not uri.startswith(URI_PREFIX):
        raise NotIndexedError(f"'{uri}' is no resource of this server", hint=f"resources are {URI_PREFIX}PATH")
    location = os.fsdecode(unquote_to_bytes(uri.removeprefix(URI_PREFIX)))
    return file_path(location if sys.platform == "win32" else f"/{location}")


def _without_scheme(name: str) -> str:
    """Return the path that a client writes: as a resource of this server, or in any form of `written_path`.

    Raises:
        NotIndexedError: the URI is not that of an indexed file.
        UsageError: the name cannot be a path.
    """
    path = name_in_uri(name) if name.startswith(URI_PREFIX) else written_path(name)
    require_sane(path)
    return path


def require_sane(name: str) -> None:
    """Refuse what no path can be.

    Raises:
        UsageError: the name cannot be a path.
    """
    if invalid := invalid_character_in(name, is_from_system=True):
        raise UsageError(f"a path must not contain {invalid}")
    if _is_device(name):
        raise UsageError(f"'{name}' names a device or another machine, not an indexed file")


def _is_device(name: str) -> bool:
    """Tell the paths that Windows would open a device or a connection for, if only it was asked whether they exist."""
    return sys.platform == "win32" and name.replace("/", "\\").startswith(("\\\\", "\\??\\"))


def _candidates(snapshot: Snapshot, name: str) -> Iterator[FilePath]:
    """Give the spellings under which the index may know a path, exact ones first."""
    meant = exact_text(FilePath(name))
    plains = [one for root in snapshot.directories.all() for one in below_or_beside(root, meant)]
    for plain in [meant] if os.path.isabs(meant) else plains:
        for path in dict.fromkeys([plain, os.path.normpath(plain), os.path.realpath(plain)]):
            stored = file_path(path)
            yield stored
            yield from (FilePath(unicodedata.normalize(form, stored)) for form in _FORMS)


def _is_known(snapshot: Snapshot, candidate: FilePath) -> bool:
    """Tell whether the index has text of a file, which may be that of before it could not be read any more."""
    known = snapshot.files.get(candidate)
    return known is not None and known.hash is not None


def _with_end(snapshot: Snapshot, name: str) -> list[FilePath]:
    """Find the files whose paths end with the parts of a relative one."""
    plain = os.path.normpath(exact_text(FilePath(name)))
    is_end = name.strip() and not os.path.isabs(plain) and plain.split(os.sep, maxsplit=1)[0] not in {".", ".."}
    return snapshot.typed_paths.ending_with(os.sep + file_path(plain)) if is_end else []


def _several(name: str, found: set[FilePath]) -> UsageError:
    choices = ", ".join(map(display, sorted(found)[:_MOST_NAMED]))
    return UsageError(f"'{name}' means several files", hint=f"give one of these paths: {choices}")


def _other_case(snapshot: Snapshot, candidates: list[FilePath]) -> Iterator[FilePath]:
    """Find a file that differs in case only, where the file system says that it is the same file."""
    for path in snapshot.typed_paths.in_other_case(candidates):
        if any(_is_same_file(path, candidate) for candidate in candidates):
            yield path


def _is_same_file(path: FilePath, other: FilePath) -> bool:
    try:
        return os.path.samefile(exact_text(path), exact_text(other))
    except OSError:
        return False


def _is_tracked(snapshot: Snapshot, candidate: FilePath) -> bool:
    roots = snapshot.directories.all()
    is_inside = any(lies_in(candidate, root) for root in roots)
    is_around = any(root != candidate and lies_in(root, candidate) for root in roots)
    known = snapshot.files.get(candidate)
    return is_around or (
        is_inside and (_is_known(snapshot, candidate) or (known is None and snapshot.files.holds(candidate)))
    )


def _not_indexed(snapshot: Snapshot, name: str) -> NotIndexedError:
    tracked = list(snapshot.directories.all())
    if not tracked:
        return NotIndexedError("nothing is indexed yet")
    reasons = [
        f"it was left out: {known.reason}" for c in _candidates(snapshot, name) if (known := snapshot.files.get(c))
    ]
    more = f" and {len(tracked) - _MOST_NAMED} more" if len(tracked) > _MOST_NAMED else ""
    where = f"indexed directories are {', '.join(map(display, tracked[:_MOST_NAMED]))}{more}"
    return NotIndexedError(f"'{name}' is not in the index", hint=next(iter(reasons), where))
