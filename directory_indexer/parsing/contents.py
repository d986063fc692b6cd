"""Gives the bytes of a file, or of a member of a container by its path in it."""

from __future__ import annotations

import io
import os
from typing import BinaryIO

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.budget import MAX_DEPTH, Budget
from directory_indexer.extractors.members import read_whole
from directory_indexer.extractors.recognition import format_of
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, source_file
from directory_indexer.parsing.member_paths import MemberPaths, name_of
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.reading import open_large, read
from directory_indexer.paths import FilePath, display, os_path, prefix_of

_HEAD_BYTES = 1 << 16


def content_of(
    path: FilePath, policy: ParsePolicy, budget: Budget, *, follow_links: bool = False
) -> bytes | SkippedFile | FileFailure:
    """Give the bytes of the file or the member at a path, or what keeps them from being read.

    Raises:
        SkipFileError: the budget is spent before the member is met.
        ExtractionError: a container on the way is damaged, or has no such member.
        OSError: the container cannot be opened.
    """
    on_disk = _file_of(path)
    if on_disk != path:
        with open_large(source_file(on_disk), follow_symlinks=follow_links) as large:
            return _member(large.file, on_disk, path, policy, budget)
    found = read(source_file(path), max_file_size=policy.max_file_size, follow_symlinks=follow_links)
    if isinstance(found, SkippedFile) and found.reason is SkipReason.TOO_LARGE:
        with open_large(source_file(path), follow_symlinks=follow_links) as large:
            head = large.file.read(_HEAD_BYTES)
            large.file.seek(0)
            # What is read piece by piece may be of any size, up to what the budget allows.
            return read_whole(large.file) if format_of(path, head, policy.added)[1].open else found
    return found if isinstance(found, SkippedFile | FileFailure) else found.content


def _file_of(path: FilePath) -> FilePath:
    """Give the file on disk that a path lies in as that of a member; the path itself where it lies in none."""
    outer = path
    while not os.path.lexists(os_path(outer)):
        directory, _, _ = outer.rpartition(f"!{os.sep}")
        if not directory:
            return path
        outer = FilePath(directory.rstrip("!"))
    return outer if os.path.isfile(os_path(outer)) else path


def _member(file: BinaryIO, container: FilePath, path: FilePath, policy: ParsePolicy, budget: Budget) -> bytes:
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    kind, found = format_of(container, head, policy.added)
    opened = found.open
    if opened is None or budget.depth > MAX_DEPTH:
        raise ExtractionError(f"{display(container)} holds no files")
    paths = MemberPaths()
    directory = paths.within(container)
    for member in opened(file, kind, budget).members:
        at = paths.path_of(name_of(member, container, policy), directory)
        if at != path and not path.startswith(prefix_of(paths.within(at))):
            continue
        if member.problem is not None:
            raise member.problem
        if at == path:
            return member.content
        budget.depth += 1
        return _member(io.BytesIO(member.content), at, path, policy, budget)
    raise ExtractionError(f"{display(container)} has no such file")
