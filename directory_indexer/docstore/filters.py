"""File filters, and their translation to SQL conditions."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from directory_indexer.docstore.metadata import NAMES, folded
from directory_indexer.docstore.reading import marks
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, members_directory, prefix_of

with lazily:
    import datetime as dt


class MetadataCondition(NamedTuple):
    """A condition on the metadata of documents, under one of the names in `metadata.NAMES`."""

    name: str
    text: str
    is_wanted: bool = True


class FileFilter(NamedTuple):
    """Conditions on files with text; without any, all of them match.

    `within` are files, or directories that contain a file at any depth. `kinds` is None for any kind.
    `since` and `until` are in seconds since the epoch; a file has the date of its document,
    else that of its last change on disk. A session matches if any part of it lies between the two.
    """

    within: tuple[FilePath, ...] = ()
    kinds: frozenset[str] | None = None
    not_kinds: frozenset[str] = frozenset()
    since: float | None = None
    until: float | None = None
    metadata: tuple[MetadataCondition, ...] = ()


ALL_FILES = FileFilter()


def condition_of(file_filter: FileFilter) -> tuple[str, list[object]]:
    """Return the SQL condition on `files f` and its arguments."""
    clauses, arguments = ["f.hash IS NOT NULL"], list[object]()
    if file_filter.within:
        conditions = [within_condition(path) for path in file_filter.within]
        clauses.append(" OR ".join(clause for clause, _ in conditions))
        arguments += [value for _, values in conditions for value in values]
    for kinds, negation in ((file_filter.kinds, ""), (file_filter.not_kinds or None, "NOT")):
        if kinds is not None:
            clauses.append(f"f.kind {negation} IN ({', '.join('?' * len(kinds))})")
            arguments += sorted(kinds)
    if file_filter.since is not None:
        clauses.append(f"{_DATED} >= ?")
        arguments.append(file_filter.since)
    if file_filter.until is not None:
        clauses.append(f"{_DATED} < ? OR {_BEGAN_BEFORE}")
        arguments += [file_filter.until, _iso_time(file_filter.until)]
    for metadata_condition in file_filter.metadata:
        clause, values = _metadata_condition(metadata_condition)
        clauses.append(clause)
        arguments += values
    return " AND ".join(f"({clause})" for clause in clauses), arguments


def _metadata_condition(condition: MetadataCondition) -> tuple[str, list[object]]:
    """Languages and tags are compared as a whole, dates by their beginning, other values by substring."""
    negation = "" if condition.is_wanted else "NOT "
    text = folded(condition.text)
    if condition.name == NAMES["language"]:
        return f"{negation}(f.language = ?)", [text.partition("-")[0]]
    match condition.name:
        case "tag":
            test, value = "folded = ?", text.removeprefix("#")
        case "created":
            beginning = re.sub(r"[^0-9t:.+-]", "", text)
            test, value = "folded GLOB ?", f"{beginning}*" if beginning else ""
        case _:
            test, value = "instr(folded, ?)", text
    names = ("to", "cc") if condition.name == "to" else (condition.name,)
    matches = f"SELECT file_id FROM metadata WHERE name IN ({marks(names)}) AND {test}"  # noqa: S608
    return f"{negation}f.id IN ({matches})", [*names, value]


def within_condition(path: FilePath | None) -> tuple[str, list[object]]:
    """Return the SQL condition on `files f` for a file and its members, or for everything below a directory."""
    if path is None:
        return "1", []
    below, members = _path_range(path), _path_range(members_directory(path))
    return f"(f.path = ? OR {_BETWEEN} OR ({_BETWEEN} AND f.container_id IS NOT NULL))", [path, *below, *members]


def _path_range(directory: FilePath) -> tuple[str, str]:
    first = prefix_of(directory)
    return first, first[:-1] + chr(ord(os.sep) + 1)


def _iso_time(moment: float) -> str:
    """Format a moment as sessions store theirs; one outside the calendar sorts after or before all of them."""
    try:
        return folded(dt.datetime.fromtimestamp(moment, dt.UTC).isoformat(timespec="seconds"))
    except (ValueError, OverflowError, OSError):
        return "9" if moment > 0 else ""


_DATED = "coalesce(f.dated_at, f.mtime_ns / 1e9)"
_BEGAN_BEFORE = """(f.kind = 'transcript' AND EXISTS (
    SELECT 1 FROM metadata m WHERE m.file_id = f.id AND m.name = 'created' AND m.folded < ?))"""
_BETWEEN = "(f.path >= ? AND f.path < ?)"
