"""Records of directory usage, skipped files, and previews of adding or forgetting a directory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from directory_indexer.api.fields import Chunks, Embedded, Failed, Files, Skipped, format_timestamp
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.search.directory_usage import DirectoryUsage
    from directory_indexer.storage.documents.incomplete_files import IncompleteFile
    from directory_indexer.walk.listing import IgnoredPath

_MAX_KINDS = 8
_Confirmation = Annotated[str, "Token that confirms it, once, within ten minutes."]


class DirectoryTree(NamedTuple):
    """A directory with everything below it."""

    path: Annotated[str, "Absolute path; empty for the total of all tracked directories."]
    name: Annotated[str, "Its name in its parent directory."]
    files: Files
    bytes: Annotated[int, "Size of these files."]
    chunks: Chunks
    embedded: Embedded
    failed: Failed
    skipped: Skipped
    changed_at: Annotated[str | None, "When the newest of these files was modified."]
    kinds: Annotated[Mapping[str, int], "Files by kind, most frequent first."]
    directories: Annotated[tuple[DirectoryTree, ...], "Its largest subdirectories, largest first."]
    more: Annotated[int, "Subdirectories that are not listed."]


class UnindexedFile(NamedTuple):
    """A file, or a part of one, that is not in the index."""

    path: Annotated[str, "Absolute path."]
    reason: Annotated[str, "failed, refused, waiting, unreadable, ignored, or why it was skipped."]
    detail: Annotated[str | None, "The error, or the rule that excludes it, with its location."]


class UnindexedFiles(NamedTuple):
    """Files that are not in the index, with reasons."""

    reasons: Annotated[Mapping[str, int], "Number of files by reason, without those excluded by rules."]
    files: Annotated[tuple[UnindexedFile, ...], "The files of this page."]
    next_offset: Annotated[int | None, "Offset of the next page; null if this is the last."]
    truncated: Annotated[bool, "Whether the search for excluded files ended early."]


class CauseCount(NamedTuple):
    """The number of paths excluded for one reason, or by one rule."""

    cause: Annotated[str, "The reason, or the rule with its location."]
    paths: Annotated[int, "Number of files, parts of files and directories concerned."]


class NearMisses(NamedTuple):
    """Files outside the index in the scope of a query that it may refer to."""

    paths: Annotated[int, "Number of files, parts of files and directories that are not indexed there."]
    causes: Annotated[tuple[CauseCount, ...], "The most frequent causes, most frequent first."]
    named: Annotated[int, "How many of them are named with words of the query."]
    files: Annotated[tuple[UnindexedFile, ...], "The first of those."]
    others: Annotated[tuple[UnindexedFile, ...], "The first of all others."]
    truncated: Annotated[bool, "Whether the search ended early, so there may be more."]


class RuleCount(NamedTuple):
    """The number of paths that a rule excludes."""

    rule: Annotated[str, "The rule, with its location."]
    paths: Annotated[int, "Number of files and directories it excludes."]


class SuggestedDirectories(NamedTuple):
    """Directories that might be added."""

    directories: Annotated[tuple[str, ...], "Absolute paths of existing directories that are not tracked yet."]
    files: Annotated[Mapping[str, int], "Files in each of the usual directories; counting stops early in large ones."]


class AddPreview(NamedTuple):
    """A preview of adding a directory."""

    path: Annotated[str, "The directory, with links resolved."]
    files: Annotated[int, "Files to read."]
    bytes: Annotated[int, "Their size."]
    skipped: Annotated[int, "Files with nothing to index, judging by their names and sizes."]
    failed: Annotated[int, "Files and directories that cannot be read."]
    ignored: Annotated[int, "Files and directories excluded by rules."]
    rules: Annotated[tuple[RuleCount, ...], "The rules that exclude most."]
    kinds: Annotated[Mapping[str, int], "Files to read by extension, most frequent first."]
    whole: Annotated[bool, "Whether everything was counted; if not, the real numbers are higher."]
    seconds: Annotated[float | None, "Estimated time to embed them; null if only the provider knows."]
    index_bytes: Annotated[int, "Estimated growth of the index, at most."]
    free_bytes: Annotated[int, "Free space on its disk."]
    redone: Annotated[tuple[str, ...], "Work to be repeated, since the index was built with other settings."]
    confirmation: _Confirmation


class ForgetPreview(NamedTuple):
    """A preview of forgetting a directory."""

    path: Annotated[str, "The tracked directory."]
    files: Files
    chunks: Chunks
    embedded: Embedded
    confirmation: _Confirmation


class ForgottenAnswer(NamedTuple):
    """The outcome of forgetting a directory."""

    path: Annotated[str, "The directory, which is no longer tracked."]
    files: Annotated[int, "Files removed from the index."]
    notes: Annotated[tuple[str, ...], "Where copies of their content remain, if anywhere."]


def directory_tree(usage: DirectoryUsage) -> DirectoryTree:
    """Return the record of a directory."""
    counts = usage.counts
    return DirectoryTree(
        path=usage.path,
        name=usage.name,
        files=counts.n_files,
        bytes=counts.n_bytes,
        chunks=counts.n_chunks,
        embedded=counts.n_embedded,
        failed=counts.n_failed,
        skipped=counts.n_skipped,
        changed_at=format_timestamp(counts.changed_at),
        kinds=dict(counts.kinds[:_MAX_KINDS]),
        directories=tuple(map(directory_tree, usage.places)),
        more=usage.n_hidden,
    )


def unindexed_file(file: IncompleteFile) -> UnindexedFile:
    """Return the record of a file that is not in the index."""
    return UnindexedFile(file.path, file.reason, file.detail or None)


def ignored_entry(ignored: IgnoredPath) -> UnindexedFile:
    """Return the record of a path that a rule excludes."""
    return UnindexedFile(ignored.path, "ignored", ignored.rule)


def count_extensions(paths: Sequence[str], *, most: int) -> Mapping[str, int]:
    """Count paths by file extension; return the most frequent ones."""
    counts: dict[str, int] = {}
    for path in paths:
        extension = os.path.splitext(path)[1].lower()
        counts[extension] = counts.get(extension, 0) + 1
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0]))[:most])
