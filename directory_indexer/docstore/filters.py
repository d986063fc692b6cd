"""Which files are meant: a filter is a value, and what it means in SQL is known here alone."""

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
    """What documents must say about themselves, or must not, under one of the names in `metadata.NAMES`."""

    name: str
    text: str
    is_wanted: bool = True


class FileFilter(NamedTuple):
    """Files with text; without any condition, all of them.

    `within` are directories, in which a file lies at any depth, or files. `kinds` is None where any kind will do.
    `since` and `until` are in seconds since the epoch; the time of a file is the one that its document gives itself,
    else its last change on disk. A session lasts from its first turn to its last, and is meant if any part of it is.
    """

    within: tuple[FilePath, ...] = ()
    kinds: frozenset[str] | None = None
    not_kinds: frozenset[str] = frozenset()
    since: float | None = None
    until: float | None = None
    metadata: tuple[MetadataCondition, ...] = ()


ALL_FILES = FileFilter()


def condition_of(wanted: FileFilter) -> tuple[str, list[object]]:
    """Make the SQL condition over `files f`, with its arguments."""
    clauses, arguments = ["f.hash IS NOT NULL"], list[object]()
    if wanted.within:
        conditions = [within_condition(path) for path in wanted.within]
        clauses.append(" OR ".join(clause for clause, _ in conditions))
        arguments += [value for _, values in conditions for value in values]
    for kinds, negation in ((wanted.kinds, ""), (wanted.not_kinds or None, "NOT")):
        if kinds is not None:
            clauses.append(f"f.kind {negation} IN ({', '.join('?' * len(kinds))})")
            arguments += sorted(kinds)
    if wanted.since is not None:
        clauses.append(f"{_DATED} >= ?")
        arguments.append(wanted.since)
    if wanted.until is not None:
        clauses.append(f"{_DATED} < ? OR {_BEGAN_BEFORE}")
        arguments += [wanted.until, _written(wanted.until)]
    for one in wanted.metadata:
        clause, values = _metadata_condition(one)
        clauses.append(clause)
        arguments += values
    return " AND ".join(f"({clause})" for clause in clauses), arguments


def _metadata_condition(wanted: MetadataCondition) -> tuple[str, list[object]]:
    """A language or a tag is meant as a whole, a date by its beginning, and of anything else a part."""
    negation = "" if wanted.is_wanted else "NOT "
    text = folded(wanted.text)
    if wanted.name == NAMES["language"]:
        return f"{negation}(f.language = ?)", [text.partition("-")[0]]
    match wanted.name:
        case "tag":
            test, value = "folded = ?", text.removeprefix("#")
        case "created":
            beginning = re.sub(r"[^0-9t:.+-]", "", text)
            test, value = "folded GLOB ?", f"{beginning}*" if beginning else ""
        case _:
            test, value = "instr(folded, ?)", text
    names = ("to", "cc") if wanted.name == "to" else (wanted.name,)
    found = f"SELECT file_id FROM metadata WHERE name IN ({marks(names)}) AND {test}"  # noqa: S608
    return f"{negation}f.id IN ({found})", [*names, value]


def within_condition(path: FilePath | None) -> tuple[str, list[object]]:
    """Make the SQL condition over `files f` for a file with its members, or for everything below a directory."""
    if path is None:
        return "1", []
    below, members = _below(path), _below(members_directory(path))
    return f"(f.path = ? OR {_BETWEEN} OR ({_BETWEEN} AND f.container_id IS NOT NULL))", [path, *below, *members]


def _below(directory: FilePath) -> tuple[str, str]:
    first = prefix_of(directory)
    return first, first[:-1] + chr(ord(os.sep) + 1)


def _written(moment: float) -> str:
    """Write a moment as sessions write theirs; one beyond the calendar sorts after or before all of them."""
    try:
        return folded(dt.datetime.fromtimestamp(moment, dt.UTC).isoformat(timespec="seconds"))
    except (ValueError, OverflowError, OSError):
        return "9" if moment > 0 else ""


_DATED = "coalesce(f.dated_at, f.mtime_ns / 1e9)"
_BEGAN_BEFORE = """(f.kind = 'transcript' AND EXISTS (
    SELECT 1 FROM metadata m WHERE m.file_id = f.id AND m.name = 'created' AND m.folded < ?))"""
_BETWEEN = "(f.path >= ? AND f.path < ?)"
