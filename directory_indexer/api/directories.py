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
_Confirmation = Annotated[str, "What confirms it, once and within ten minutes."]


class DirectoryPart(NamedTuple):
    """A directory with all that lies in it."""

    path: Annotated[str, "Absolute path; empty for all tracked directories together."]
    name: Annotated[str, "Its name in its parent directory."]
    files: Files
    bytes: Annotated[int, "Size of these files."]
    chunks: Chunks
    embedded: Embedded
    failed: Failed
    skipped: Skipped
    changed_at: Annotated[str | None, "When the newest of these files was changed."]
    kinds: Annotated[Mapping[str, int], "Files by kind, the most frequent first."]
    directories: Annotated[tuple[DirectoryPart, ...], "The largest directories in it, largest first."]
    more: Annotated[int, "How many directories in it are not listed."]


class LeftOutOne(NamedTuple):
    """A file, or a part of one, that is not in the index."""

    path: Annotated[str, "Absolute path."]
    reason: Annotated[str, "failed, refused, waiting or unreadable, why it was skipped, or ignored."]
    detail: Annotated[str | None, "What went wrong, or the rule that leaves it out and where the rule is written."]


class LeftOutList(NamedTuple):
    """Files that are not in the index, with reasons."""

    reasons: Annotated[Mapping[str, int], "How many for each reason, except those that rules leave out."]
    files: Annotated[tuple[LeftOutOne, ...], "Those of this page."]
    next_offset: Annotated[int | None, "Where the next page begins; null if there is none."]
    truncated: Annotated[bool, "Whether the look for what rules leave out ended early."]


class CauseCount(NamedTuple):
    """The number of paths left out for one reason, or by one rule."""

    cause: Annotated[str, "The reason; or the rule, and where it is written."]
    paths: Annotated[int, "How many files, parts of files and directories it concerns."]


class NearMisses(NamedTuple):
    """Files outside the index in the scope of a query that it may refer to."""

    paths: Annotated[int, "How many files, parts of files and directories are left out there."]
    causes: Annotated[tuple[CauseCount, ...], "Why: the most frequent causes, most frequent first."]
    named: Annotated[int, "How many of them have words of the query in their names."]
    files: Annotated[tuple[LeftOutOne, ...], "The first of those."]
    others: Annotated[tuple[LeftOutOne, ...], "The first of the others."]
    truncated: Annotated[bool, "Whether the look ended early, so that there may be more."]


class RuleCount(NamedTuple):
    """The number of paths that a rule leaves out."""

    rule: Annotated[str, "The rule, and where it is written."]
    paths: Annotated[int, "How many files and directories it leaves out."]


class SuggestedDirectories(NamedTuple):
    """Directories that might be added."""

    directories: Annotated[tuple[str, ...], "Absolute paths of directories that are there and not tracked yet."]
    files: Annotated[
        Mapping[str, int], "Files in each of the usual directories; a large one is not counted to its end."
    ]


class AddingAnswer(NamedTuple):
    """A preview of adding a directory."""

    path: Annotated[str, "The directory, with links resolved."]
    files: Annotated[int, "Files to read."]
    bytes: Annotated[int, "Their size."]
    skipped: Annotated[int, "Files with nothing to index, judging by their names and sizes."]
    failed: Annotated[int, "Files and directories that cannot be read."]
    ignored: Annotated[int, "Files and directories that rules leave out."]
    rules: Annotated[tuple[RuleCount, ...], "The rules that leave out most."]
    kinds: Annotated[Mapping[str, int], "Files to read by the ending of their names, the most frequent first."]
    whole: Annotated[bool, "Whether all of it was looked at; if not, the real numbers are higher."]
    seconds: Annotated[float | None, "About how long it takes to embed them; null if only the provider knows."]
    index_bytes: Annotated[int, "About how much the index grows, at most."]
    free_bytes: Annotated[int, "Free space on its disk."]
    redone: Annotated[tuple[str, ...], "What would be redone, because the index was built with other settings."]
    confirmation: _Confirmation


class ForgettingAnswer(NamedTuple):
    """A preview of forgetting a directory."""

    path: Annotated[str, "The tracked directory."]
    files: Files
    chunks: Chunks
    embedded: Embedded
    confirmation: _Confirmation


class ForgottenAnswer(NamedTuple):
    """The outcome of forgetting a directory."""

    path: Annotated[str, "The directory that is no longer tracked."]
    files: Annotated[int, "Files that were removed from the index."]
    notes: Annotated[tuple[str, ...], "Where something of them is left, if anywhere."]


def directory_part(usage: DirectoryUsage) -> DirectoryPart:
    """Return the record of a directory."""
    counts = usage.counts
    return DirectoryPart(
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
        directories=tuple(map(directory_part, usage.places)),
        more=usage.n_hidden,
    )


def left_out_entry(file: IncompleteFile) -> LeftOutOne:
    """Return the record of a file that is not in the index."""
    return LeftOutOne(file.path, file.reason, file.detail or None)


def ignored_entry(ignored: IgnoredPath) -> LeftOutOne:
    """Return the record of a path that a rule excludes."""
    return LeftOutOne(ignored.path, "ignored", ignored.rule)


def count_extensions(paths: Sequence[str], *, most: int) -> Mapping[str, int]:
    """Count paths by file extension; return the most frequent ones."""
    counts: dict[str, int] = {}
    for path in paths:
        extension = os.path.splitext(path)[1].lower()
        counts[extension] = counts.get(extension, 0) + 1
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0]))[:most])
