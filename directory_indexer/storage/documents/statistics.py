"""Totals of an index and its directories, an identifier of its state, and the facets of a scope.

Facets are types, directories, years, languages, authors and tags; directories have counts of indexed, failed and
skipped files.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import FilePath, prefix_of
from directory_indexer.storage.databases.stored_values import parse_stored
from directory_indexer.storage.documents.queries import WHOLE_INDEX, IndexScope, ScopedQueries, SnapshotQueries
from directory_indexer.storage.documents.runs import Runs
from directory_indexer.storage.documents.schema import PARENT_OF_PATH
from directory_indexer.storage.documents.vector_sets import VectorSets

_DATE_OF_FILE = "coalesce(f.dated_at, f.mtime_ns / 1000000000)"
_PLACEHOLDER_AUTHORS = ", ".join(
    f"'{name}'"
    for name in (
        *("", "admin", "administrator", "anonymous", "author", "microsoft office user", "none", "owner", "root"),
        *("unknown", "user", "windows user"),
    )
)
"""Placeholders that programs write for an unknown author."""

_SELECT_BY_DIRECTORY = f"""
SELECT d.path, {PARENT_OF_PATH.replace("path", "disk_path")},
    count(*) FILTER (WHERE state = 'indexed'), sum(n_bytes), sum(n_chunks), sum(n_embedded),
    count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'skipped'),
    max(mtime_ns) FILTER (WHERE state = 'indexed'), iif(state = 'indexed', kind, '')
FROM (
    SELECT f.directory_id, coalesce(k.path, f.path) AS disk_path, f.state, f.mtime_ns, coalesce(f.kind, '') AS kind,
        iif(f.container_id IS NULL AND f.state = 'indexed', f.size, 0) AS n_bytes,
        coalesce(c.n, 0) AS n_chunks, coalesce(c.n_embedded, 0) AS n_embedded
    FROM files f
    LEFT JOIN files k ON k.id = f.container_id
    LEFT JOIN (SELECT file_id, count(*) AS n, sum(is_embedded) AS n_embedded FROM chunks GROUP BY file_id) c
        ON c.file_id = coalesce(f.holder_id, f.id)
) JOIN directories d ON d.id = directory_id
GROUP BY directory_id, 2, 10
"""  # noqa: S608 - made of constants
_NS_PER_SECOND = 1e9
_N_SUMMED_COLUMNS = 6


class DirectoryStatus(NamedTuple):
    """One tracked directory: the chunks searchable by keyword (`n_chunks`) and by meaning (`n_embedded`).

    The provider refuses the texts of `n_refused` chunks; `n_masked` secrets are masked.
    `seconds_to_embed` estimates the time for the waiting `n_tokens_to_embed`; None if only the provider knows.
    """

    path: FilePath
    is_available: bool
    completed_at: float | None
    n_files: int
    n_bytes: int
    n_chunks: int
    n_embedded: int
    skipped: tuple[tuple[SkipReason, int], ...]
    n_failed: int
    n_refused: int = 0
    n_masked: int = 0
    n_tokens_to_embed: int = 0
    seconds_to_embed: float | None = None

    @property
    def n_skipped(self) -> int:
        """Return the number of skipped files."""
        return sum(n for _, n in self.skipped)


class FileCounts(NamedTuple):
    """The known files of some directories, members of containers included: indexed, skipped and failed ones."""

    n_indexed: int = 0
    n_skipped: int = 0
    n_failed: int = 0


class IndexSummary(NamedTuple):
    """The state of the index behind an answer; `is_running` means that a run is changing it."""

    n_directories: int = 0
    n_files: int = 0
    n_chunks: int = 0
    n_embedded: int = 0
    is_running: bool = False
    completed_at: float | None = None


class IndexTotals(ScopedQueries):
    """The totals of one snapshot."""

    def file_counts(self, scope: IndexScope = WHOLE_INDEX) -> FileCounts:
        """Count the files of tracked directories by their state."""
        condition, arguments = self._files_in(scope)
        counts = dict(
            self._select(
                f"SELECT f.state, count(*) FROM files f WHERE {condition} GROUP BY f.state",  # noqa: S608 - of constants
                *arguments,
            )
        )
        return FileCounts(*(counts.get(state, 0) for state in ("indexed", "skipped", "failed")))

    def skip_reasons(self, scope: IndexScope) -> tuple[tuple[SkipReason, int], ...]:
        """Count the skipped files of tracked directories by reason, the most frequent first."""
        condition, arguments = self._files_in(scope)
        rows = self._select(
            f"""SELECT reason, count(*) FROM files f WHERE {condition} AND state = 'skipped'
                AND directory_id IN (SELECT id FROM directories) GROUP BY reason ORDER BY count(*) DESC, reason""",  # noqa: S608 - of constants
            *arguments,
        )
        return tuple((parse_stored("files.reason", SkipReason, reason), n_files) for reason, n_files in rows)

    def summary(self) -> IndexSummary:
        """Return the totals of the index that an answer is drawn from."""
        return self._compute_once("summary", self._summary)

    def state_id(self) -> str:
        """Return an identifier that changes whenever answers may change."""
        summary, runs = self.summary(), Runs(self._connection, self._known).latest(1)
        generations = VectorSets(self._connection, self._known).generations().values()
        parts = (*generations, summary.n_files, summary.n_chunks, summary.n_embedded, runs[0].id if runs else 0)
        return ".".join(map(str, parts))

    def _summary(self) -> IndexSummary:
        n_chunks = self.n_chunks
        directories = self._select("SELECT count(*), min(coalesce(completed_at, 0)) FROM directories")
        n_directories, completed_at = directories.fetchone()
        return IndexSummary(
            n_directories=n_directories,
            n_files=self._count("SELECT count(*) FROM files WHERE state = 'indexed'"),
            n_chunks=n_chunks,
            n_embedded=n_chunks - self._count_waiting(),
            is_running=self._count("SELECT count(*) FROM runs WHERE outcome IS NULL") > 0,
            completed_at=completed_at or None,
        )


class FacetValue(NamedTuple):
    """A facet value and the number of files that have it."""

    value: str
    n_files: int


class Facets(NamedTuple):
    """The facet values of a scope, most frequent first; a file counts once for each of its values.

    `directories` are those right below the directory of the scope, or below the tracked ones.
    """

    n_files: int = 0
    types: tuple[FacetValue, ...] = ()
    directories: tuple[FacetValue, ...] = ()
    years: tuple[FacetValue, ...] = ()
    languages: tuple[FacetValue, ...] = ()
    authors: tuple[FacetValue, ...] = ()
    tags: tuple[FacetValue, ...] = ()


class FacetCounts(SnapshotQueries):
    """Exact facet counts of one snapshot."""

    def of(self, file_ids_json: str | None, *, below: FilePath | None, limit: int) -> Facets:
        """Count the facet values of these files (a JSON array) or of all; at most `limit` values a facet."""
        counts = [Counter[str]() for _ in range(4)]
        for *values, n_files in self._rows(file_ids_json, below):
            for counter, value in zip(counts, values, strict=True):
                counter[value] += n_files
        types, languages, years, places = counts
        return Facets(
            types.total(),
            types=_most_frequent(types, limit),
            directories=_most_frequent(places, limit),
            years=_most_frequent(years, limit),
            languages=_most_frequent(languages, limit),
            authors=self._metadata_values("author", file_ids_json, limit),
            tags=self._metadata_values("tag", file_ids_json, limit),
        )

    def _rows(self, file_ids_json: str | None, below: FilePath | None) -> list[tuple[str, str, str, str, int]]:
        # One pass over the files; SQLite cuts the path after the first name below the directory.
        within = prefix_of(below) if below else None
        scope = "" if file_ids_json is None else "AND f.id IN (SELECT value FROM json_each(:ids))"
        rows = self._connection.execute(
            f"""SELECT kind, language, year, base || substr(rest, 1, max(instr(rest, :sep) - 1, 0)), count(*) FROM (
                    SELECT f.kind, f.language, strftime('%Y', {_DATE_OF_FILE}, 'unixepoch', 'localtime') AS year,
                        coalesce(:within, d.path || :sep) AS base,
                        substr(f.path, length(coalesce(:within, d.path || :sep)) + 1) AS rest
                    FROM files f JOIN directories d ON d.id = f.directory_id
                    WHERE f.state = 'indexed' AND f.hash IS NOT NULL {scope})
                GROUP BY 1, 2, 3, 4""",  # noqa: S608 - made of constants
            {"sep": os.sep, "within": within, "ids": file_ids_json},
        )
        return rows.fetchall()

    def _metadata_values(self, name: str, file_ids_json: str | None, limit: int) -> tuple[FacetValue, ...]:
        scope = "" if file_ids_json is None else "AND file_id IN (SELECT value FROM json_each(:ids))"
        rows = self._connection.execute(
            f"""SELECT max(value), count(DISTINCT file_id) AS n FROM metadata
                WHERE name = :name AND folded NOT IN ({_PLACEHOLDER_AUTHORS}) {scope}
                GROUP BY folded ORDER BY n DESC, folded LIMIT :limit""",  # noqa: S608 - made of constants
            {"name": name, "ids": file_ids_json, "limit": limit},
        )
        return tuple(map(FacetValue._make, rows))


class DirectoryCount(NamedTuple):
    """The totals of the files directly in one directory; members count where their container lies.

    `changed_at` is when the newest of its indexed files was changed, in seconds since the epoch. `kinds` are those of
    its indexed files, each with how many there are.
    """

    path: FilePath
    n_files: int
    n_bytes: int
    n_chunks: int
    n_embedded: int
    n_failed: int
    n_skipped: int
    changed_at: float | None
    kinds: tuple[tuple[str, int], ...] = ()


class DirectoryCounts(SnapshotQueries):
    """The counts of one snapshot."""

    def by_root(self) -> Mapping[FilePath, tuple[DirectoryCount, ...]]:
        """Return the directories with known files, by tracked directory."""
        return self._compute_once("directory_counts", self._by_root)

    def _by_root(self) -> Mapping[FilePath, tuple[DirectoryCount, ...]]:
        parts: dict[tuple[FilePath, FilePath], list[DirectoryCount]] = defaultdict(list)
        for root, parent, n_files, *counts, changed_ns, kind in self._select(_SELECT_BY_DIRECTORY):
            path = FilePath(parent.rstrip(os.sep) or parent)
            changed_at = None if changed_ns is None else changed_ns / _NS_PER_SECOND
            kinds = ((kind, n_files),) if kind else ()
            parts[FilePath(root), path].append(DirectoryCount._make((path, n_files, *counts, changed_at, kinds)))
        by_root: dict[FilePath, list[DirectoryCount]] = defaultdict(list)
        for (root, path), counts in parts.items():
            by_root[root].append(sum_counts(path, counts))
        return {root: tuple(counts) for root, counts in by_root.items()}


def sum_counts(path: FilePath, counts: Sequence[DirectoryCount]) -> DirectoryCount:
    """Return the sum of several counts."""
    if len(counts) == 1:
        return counts[0]._replace(path=path)
    sums = (
        sum(values)
        for values in zip(
            (0,) * _N_SUMMED_COLUMNS, *(directory[1 : 1 + _N_SUMMED_COLUMNS] for directory in counts), strict=True
        )
    )
    kinds = Counter[str]()
    for directory in counts:
        kinds.update(dict(directory.kinds))
    changed_at = max((directory.changed_at for directory in counts if directory.changed_at is not None), default=None)
    return DirectoryCount._make((path, *sums, changed_at, tuple(kinds.most_common())))


def _most_frequent(counter: Counter[str], limit: int) -> tuple[FacetValue, ...]:
    known = [(value, count) for value, count in counter.items() if value]
    return tuple(FacetValue(*pair) for pair in sorted(known, key=lambda pair: (-pair[1], pair[0]))[:limit])
