"""Totals of an index and its tracked directories, an identifier of its state, and the facets of a scope.

Facets are types, directories, years, languages, authors and tags; directories have counts of indexed, failed and
skipped files. A run can skip directories below a tracked one while they are unchanged. Such a directory is settled: a
run had nothing to do there and knew every file. Every write about a file unsettles its directory in the same
transaction, so nothing is skipped that a run has to see.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import FilePath, os_path, prefix_of
from directory_indexer.storage.databases.stored_values import (
    parse_epoch_seconds,
    parse_mapping,
    parse_stored,
    parse_text,
    parse_texts,
)
from directory_indexer.storage.documents import (
    WHOLE_INDEX,
    IndexScope,
    ScopedQueries,
    SnapshotQueries,
    TableWrites,
)
from directory_indexer.storage.documents.known_files import format_skipped_entries
from directory_indexer.storage.documents.runs import Runs
from directory_indexer.storage.documents.schema import PARENT_OF_PATH
from directory_indexer.storage.documents.shared_texts import CHUNKS_OF_FILES, HAS_TEXT
from directory_indexer.storage.documents.vector_sets import VectorSets
from directory_indexer.walk import SettledDirectory

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
        return self._compute_once("state_id", self._state_id)

    def _state_id(self) -> str:
        summary, runs = self.summary(), Runs(self._connection, self._known).latest(1)
        generations = VectorSets(self._connection, self._known).generations().values()
        parts = (*generations, summary.n_files, summary.n_chunks, summary.n_embedded, runs[0].id if runs else 0)
        return ".".join(map(str, parts))

    def _summary(self) -> IndexSummary:
        n_chunks = self.n_chunks
        directories = self._select("SELECT count(*), coalesce(min(coalesce(completed_at, 0.0)), 0.0) FROM directories")
        n_directories, completed_at = directories.fetchone()
        return IndexSummary(
            n_directories=n_directories,
            n_files=self._count("SELECT count(*) FROM files WHERE state = 'indexed'"),
            n_chunks=n_chunks,
            n_embedded=n_chunks - self._count_waiting(),
            is_running=self._count("SELECT count(*) FROM runs WHERE outcome IS NULL") > 0,
            completed_at=parse_stored("directories.completed_at", parse_epoch_seconds, completed_at) or None,
        )


class FacetValue(NamedTuple):
    """A facet value and the number of files that have it."""

    value: str
    n_files: int


class Facets(NamedTuple):
    """The facet values of a scope, most frequent first; a file counts once for each of its values.

    `directories` are those right below the directory of the scope, or below the tracked ones. If there are several
    tracked ones, these come first, each with all files below it.
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

    def count_values(self, file_ids_json: str | None, *, below: FilePath | None, limit: int) -> Facets:
        """Count the facet values of these files (a JSON array) or of all; at most `limit` values a facet."""
        counts = [Counter[str]() for _ in range(5)]
        for *values, n_files in self._rows(file_ids_json, below):
            for counter, value in zip(counts, values, strict=True):
                counter[value] += n_files
        types, languages, years, roots, places = counts
        return Facets(
            types.total(),
            types=_most_frequent(types, limit),
            directories=_directories_by_rank(roots, places, limit),
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
            f"""SELECT kind, language, year, base, base || substr(rest, 1, max(instr(rest, :sep) - 1, 0)), count(*)
                FROM (
                    SELECT f.kind, f.language, strftime('%Y', {_DATE_OF_FILE}, 'unixepoch', 'localtime') AS year,
                        coalesce(:within, d.path || :sep) AS base,
                        substr(f.path, length(coalesce(:within, d.path || :sep)) + 1) AS rest
                    FROM files f JOIN directories d ON d.id = f.directory_id
                    WHERE f.state = 'indexed' AND f.hash IS NOT NULL {scope})
                GROUP BY 1, 2, 3, 4, 5""",  # noqa: S608 - made of constants
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


def _directories_by_rank(roots: Counter[str], places: Counter[str], limit: int) -> tuple[FacetValue, ...]:
    """Return tracked directories before those below them, unless there is only one."""
    if len(roots) == 1:
        return _most_frequent(places, limit)
    below = Counter({place: n_files for place, n_files in places.items() if place not in roots})
    return (*_most_frequent(roots, limit), *_most_frequent(below, limit))[:limit]


def _most_frequent(counter: Counter[str], limit: int) -> tuple[FacetValue, ...]:
    known = [(value, count) for value, count in counter.items() if value]
    return tuple(FacetValue(*pair) for pair in sorted(known, key=lambda pair: (-pair[1], pair[0]))[:limit])


class Directories(SnapshotQueries):
    """The tracked directories of one snapshot."""

    def all(self) -> dict[FilePath, int]:
        """Return the tracked directories with their ids, sorted by path."""
        return self._tracked()

    def last_completed(self) -> float:
        """Return when a run over a tracked directory was last completed; 0 if none was."""
        [completed_at] = self._values("SELECT coalesce(max(completed_at), 0.0) FROM directories")
        return parse_stored("directories.completed_at", parse_epoch_seconds, completed_at)

    def mounts(self, directory_id: int) -> dict[FilePath, str]:
        """Return the file systems found on the last walk: that of a tracked directory and those mounted below it."""
        [stored] = self._values("SELECT mounts FROM directories WHERE id = ?", directory_id)
        return parse_stored("directories.mounts", parse_mounts, stored)

    def statuses(self) -> tuple[DirectoryStatus, ...]:
        """Return the status of every tracked directory."""
        completed_at = dict(self._select("SELECT id, completed_at FROM directories"))
        return tuple(self._status(id_, path, completed_at[id_]) for path, id_ in self.all().items())

    def _status(self, directory_id: int, path: FilePath, completed_at: float | None) -> DirectoryStatus:
        n_files, n_bytes, n_failed, n_masked = self._select(
            """SELECT count(*) FILTER (WHERE state = 'indexed'),
                   coalesce(sum(size) FILTER (WHERE container_id IS NULL AND state = 'indexed'), 0),
                   count(*) FILTER (WHERE state = 'failed'), coalesce(sum(n_masked), 0)
               FROM files WHERE directory_id = ?""",
            directory_id,
        ).fetchone()
        n_chunks, n_embedded, n_tokens_to_embed = self._select(
            f"""SELECT count(*), coalesce(sum(c.is_embedded), 0),
                   coalesce(sum(c.n_tokens) FILTER (WHERE c.is_embedded = 0), 0)
               FROM {CHUNKS_OF_FILES} WHERE f.directory_id = ?""",  # noqa: S608 - made of constants
            directory_id,
        ).fetchone()
        skipped = self._select(
            """SELECT reason, count(*) FROM files WHERE directory_id = ? AND state = 'skipped'
               GROUP BY reason ORDER BY count(*) DESC, reason""",
            directory_id,
        ).fetchall()
        return DirectoryStatus(
            path=path,
            is_available=os.path.isdir(os_path(path)),
            completed_at=None
            if completed_at is None
            else parse_stored("directories.completed_at", parse_epoch_seconds, completed_at),
            n_files=n_files,
            n_bytes=n_bytes,
            n_chunks=n_chunks,
            n_embedded=n_embedded,
            n_tokens_to_embed=n_tokens_to_embed,
            skipped=tuple((parse_stored("files.reason", SkipReason, reason), count) for reason, count in skipped),
            n_failed=n_failed,
            n_masked=n_masked,
            n_refused=self._count(
                f"""SELECT count(*) FROM refused_chunks r JOIN chunks c ON c.id = r.id JOIN files f ON {HAS_TEXT}
                   WHERE f.directory_id = ?""",  # noqa: S608 - made of constants
                (directory_id,),
            ),
        )


def parse_mounts(written: object) -> dict[FilePath, str]:
    """Parse the file systems of a directory."""
    if parse_text(written).startswith("["):  # up to schema 5, mounts are a list of paths
        return {FilePath(mount_point): "" for mount_point in parse_texts(written)}
    return {FilePath(mount_point): parse_text(name) for mount_point, name in parse_mapping(written).items()}


class DirectoryWrites(TableWrites):
    """Writes to the tables of tracked and of settled directories."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._unsettled: set[FilePath] = set()

    def add(self, path: FilePath) -> int:
        """Track a directory and return its id; a tracked one keeps its id."""
        self._execute(
            "INSERT INTO directories (path, added_at) VALUES (?, ?) ON CONFLICT DO NOTHING", path, time.time()
        )
        return int(self._execute("SELECT id FROM directories WHERE path = ?", path).fetchone()[0])

    def mark_completed(self, directory_id: int) -> None:
        """Store that all files of a directory are searchable by keyword as of now."""
        self._execute("UPDATE directories SET completed_at = ? WHERE id = ?", time.time(), directory_id)

    def set_mounts(self, directory_id: int, mounts: Mapping[FilePath, str]) -> None:
        """Store the file systems of a directory and of the mounts below it."""
        self._execute(
            "UPDATE directories SET mounts = ? WHERE id = ?", json.dumps(dict(mounts), sort_keys=True), directory_id
        )

    def remove(self, directory_id: int) -> None:
        """Stop tracking a directory whose files were removed from the index."""
        self._execute("DELETE FROM directories WHERE id = ?", directory_id)

    def settle(self, directory_id: int, settled: Mapping[FilePath, SettledDirectory]) -> None:
        """Mark directories as settled: skipped while unchanged. Any write to a file in one unsettles it."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO settled_directories VALUES (?, ?, ?, ?, ?)",
            [
                (path, directory_id, directory.digest, directory.n_files, format_skipped_entries(path, directory))
                for path, directory in settled.items()
            ],
        )

    def unsettle(self, directories: Iterable[FilePath]) -> None:
        """Unsettle directories, so that the next run reads them again."""
        self._execute_each("DELETE FROM settled_directories WHERE path = ?", directories)

    def unsettle_all(self) -> None:
        """Unsettle every directory."""
        self._execute("DELETE FROM settled_directories")

    def unsettle_parents_of(self, *paths: FilePath) -> None:
        """Unsettle the parent directories of paths."""
        directories = {FilePath(os.path.dirname(path)) for path in paths} - self._unsettled
        self._unsettled |= directories
        self.unsettle(directories)
