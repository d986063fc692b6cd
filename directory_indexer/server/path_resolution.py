"""Resolution of the paths and URIs of clients to indexed files, and back.

The index decides, not the disk: a path names a file only if the index contains that file, after `..`, symbolic links,
case and Unicode forms are resolved. An answer about a path outside the index reveals nothing of the disk.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote_from_bytes, unquote_to_bytes

from directory_indexer.core.errors import NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import (
    FilePath,
    describe_invalid_character,
    display,
    exact_text,
    file_path,
    lies_in,
    unquote_path,
    without_line_number,
)

with lazily:
    from directory_indexer.storage.documents.store import Snapshot


URI_PREFIX = "dirindex://file/"
_UNICODE_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_MAX_LISTED = 10
_PATH_WITH_LINES = re.compile(r"(?P<path>.+?):(?P<first>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8}))?", re.DOTALL)


def resolve_indexed_file(snapshot: Snapshot, name: str) -> FilePath:
    """Return the indexed file that a client names: by a path, by a unique end of one, or by a URI.

    Raises:
        NotIndexedError: no such file is indexed.
        UsageError: the name is not a valid path, or a relative one is ambiguous.
    """
    try:
        return _resolve_file(snapshot, name)
    except NotIndexedError:
        if (file := without_line_number(name)) == name:
            raise
        return _resolve_file(snapshot, file)


def _resolve_file(snapshot: Snapshot, name: str) -> FilePath:
    name = _without_scheme(name)
    candidates = list(dict.fromkeys(_possible_spellings(snapshot, name)))
    paths = (
        {path for path in candidates if _has_text(snapshot, path)}
        or set(_files_in_other_case(snapshot, candidates))
        or set(_files_ending_with(snapshot, name))
    )
    if len(paths) > 1:
        raise _ambiguous_name_error(name, paths)
    if not paths:
        raise _not_indexed_error(snapshot, name)
    return paths.pop()


def resolve_file_and_lines(snapshot: Snapshot, name: str) -> tuple[FilePath, tuple[int, int | None] | None]:
    """Return the file that a client names, and the lines of a name such as `path:first` or `path:first-last`.

    Raises:
        NotIndexedError: no such file is indexed.
        UsageError: the name is not a valid path, or a relative one is ambiguous.
    """
    try:
        return _resolve_file(snapshot, name), None
    except NotIndexedError:
        with_lines = _PATH_WITH_LINES.fullmatch(name)
        if not with_lines:
            raise
        last = with_lines["last"]
        return resolve_indexed_file(snapshot, with_lines["path"]), (
            int(with_lines["first"]),
            int(last) if last else None,
        )


def resolve_indexed_directory(snapshot: Snapshot, name: str) -> FilePath | None:
    """Return the directory or container that a client names, if the index contains files in it.

    Raises:
        UsageError: the name is not a valid path, or a relative one is ambiguous.
    """
    name = _without_scheme(name)
    plain = name.rstrip(os.sep) or name
    directories = {
        path
        for path in _possible_spellings(snapshot, plain)
        if _is_tracked(snapshot, path) and snapshot.files.covers(path)
    }
    if len(directories) > 1:
        raise _ambiguous_name_error(name, directories)
    return next(iter(directories), None)


def resolve_scope_directories(snapshot: Snapshot, name: str) -> tuple[FilePath, ...]:
    """Return the directories or files that a client restricts a search to; an empty name means everywhere.

    Raises:
        NotIndexedError: nothing is indexed there.
        UsageError: the name is not a valid path.
    """
    if not name:
        return ()
    name = _without_scheme(name)
    for text in dict.fromkeys((name, without_line_number(name))):
        if scope := tuple(
            dict.fromkeys(path for path in _possible_spellings(snapshot, text) if _is_tracked(snapshot, path))
        ):
            return scope
    raise _not_indexed_error(snapshot, name)


def interpret_relative_path(root: FilePath, name: str) -> tuple[str, ...]:
    """Return the paths that a relative path may mean: below the directory, or starting with its own name."""
    directory = exact_text(root)
    is_beside = name.split(os.sep, maxsplit=1)[0] == os.path.basename(directory)
    beside = (os.path.join(os.path.dirname(directory), name),) if is_beside else ()
    return (os.path.join(directory, name), *beside)


def resource_uri(path: FilePath) -> str:
    """Return the resource URI of an indexed file."""
    location = os.fsencode(exact_text(path)).replace(os.sep.encode(), b"/")
    return URI_PREFIX + quote_from_bytes(location.removeprefix(b"/"))


def path_in_uri(uri: str) -> str:
    """Return the path in a resource URI.

    Raises:
        NotIndexedError: the URI is not a resource of this server.
    """
    require_valid_path(uri)
    if not uri.startswith(URI_PREFIX):
        raise NotIndexedError(f"'{uri}' is not a resource of this server", hint=f"resources are {URI_PREFIX}PATH")
    location = os.fsdecode(unquote_to_bytes(uri.removeprefix(URI_PREFIX)))
    return file_path(location if sys.platform == "win32" else f"/{location}")


def _without_scheme(name: str) -> str:
    """Return the path that a client writes: a resource URI, or any form of `unquote_path`.

    Raises:
        NotIndexedError: the URI is not a resource of this server.
        UsageError: the name is not a valid path.
    """
    path = path_in_uri(name) if name.startswith(URI_PREFIX) else unquote_path(name)
    require_valid_path(path)
    return path


def require_valid_path(name: str) -> None:
    """Reject a string that cannot be a path.

    Raises:
        UsageError: the name is not a valid path.
    """
    if invalid := describe_invalid_character(name, is_from_system=True):
        raise UsageError(f"a path must not contain {invalid}")
    if _is_device(name):
        raise UsageError(f"'{name}' names a device or another machine, not an indexed file")


def _is_device(name: str) -> bool:
    """Whether Windows would open a device or a connection for the path, even for an existence check."""
    return sys.platform == "win32" and name.replace("/", "\\").startswith(("\\\\", "\\??\\"))


def _possible_spellings(snapshot: Snapshot, name: str) -> Iterator[FilePath]:
    """Yield the spellings of a path in the index, exact ones first."""
    exact = exact_text(FilePath(name))
    plains = [path for root in snapshot.directories.all() for path in interpret_relative_path(root, exact)]
    for plain in [exact] if os.path.isabs(exact) else plains:
        for path in dict.fromkeys([plain, os.path.normpath(plain), os.path.realpath(plain)]):
            stored = file_path(path)
            yield stored
            yield from (FilePath(unicodedata.normalize(form, stored)) for form in _UNICODE_FORMS)


def _has_text(snapshot: Snapshot, candidate: FilePath) -> bool:
    """Whether the index has text of a file, possibly of a version from before it became unreadable."""
    known = snapshot.files.get(candidate)
    return known is not None and known.hash is not None


def _files_ending_with(snapshot: Snapshot, name: str) -> list[FilePath]:
    """Return the files whose paths end with the components of a relative one."""
    plain = os.path.normpath(exact_text(FilePath(name)))
    is_end = name.strip() and not os.path.isabs(plain) and plain.split(os.sep, maxsplit=1)[0] not in {".", ".."}
    return snapshot.path_lookup.ending_with(os.sep + file_path(plain)) if is_end else []


def _ambiguous_name_error(name: str, paths: set[FilePath]) -> UsageError:
    choices = ", ".join(map(display, sorted(paths)[:_MAX_LISTED]))
    return UsageError(f"'{name}' matches several files", hint=f"use one of these paths: {choices}")


def _files_in_other_case(snapshot: Snapshot, candidates: list[FilePath]) -> Iterator[FilePath]:
    """Yield files whose paths differ in case only, if the file system confirms that they are the same file."""
    for path in snapshot.path_lookup.ignoring_case(candidates):
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
        is_inside and (_has_text(snapshot, candidate) or (known is None and snapshot.files.covers(candidate)))
    )


def _not_indexed_error(snapshot: Snapshot, name: str) -> NotIndexedError:
    tracked = list(snapshot.directories.all())
    if not tracked:
        return NotIndexedError("nothing is indexed yet")
    reasons = [
        f"it was left out: {known.reason}"
        for path in _possible_spellings(snapshot, name)
        if (known := snapshot.files.get(path))
    ]
    more = f" and {len(tracked) - _MAX_LISTED} more" if len(tracked) > _MAX_LISTED else ""
    where = f"indexed directories are {', '.join(map(display, tracked[:_MAX_LISTED]))}{more}"
    return NotIndexedError(f"'{name}' is not in the index", hint=next(iter(reasons), where))
