"""Which files are meant: a filter is a value, and what it means in SQL is known here alone."""

from __future__ import annotations

import os
from typing import NamedTuple

from directory_indexer.paths import FilePath, prefix_of

_MOST = 2.0**62
"""SQLite takes whole numbers below 2⁶³; this is a moment 146 years from 1970."""


class FileFilter(NamedTuple):
    """Files with text; without any condition, all of them.

    `within` are directories, in which a file lies at any depth, or files. `kinds` is None where any kind will do.
    `modified_since` is in seconds since the epoch.
    """

    within: tuple[FilePath, ...] = ()
    kinds: frozenset[str] | None = None
    not_kinds: frozenset[str] = frozenset()
    modified_since: float | None = None


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
    if wanted.modified_since is not None:
        clauses.append("f.mtime_ns >= ?")
        arguments.append(int(min(max(wanted.modified_since * 1e9, -_MOST), _MOST)))
    return " AND ".join(f"({clause})" for clause in clauses), arguments


def within_condition(path: FilePath | None) -> tuple[str, list[object]]:
    """Make the SQL condition over `files f` for a file, or for everything below a directory."""
    if path is None:
        return "1", []
    first = prefix_of(path)
    return "(f.path = ? OR (f.path >= ? AND f.path < ?))", [path, first, first[:-1] + chr(ord(os.sep) + 1)]
