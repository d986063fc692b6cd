"""Counts of the indexed, failed and skipped files of each directory."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from directory_indexer.docstore.reading import Reading
from directory_indexer.docstore.schema import PARENT
from directory_indexer.paths import FilePath

_BY_DIRECTORY = f"""
SELECT d.path, {PARENT.replace("path", "disk_path")},
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
_NS = 1e9
_N_SUMS = 6


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


class DirectoryCounts(Reading):
    """The counts of one snapshot."""

    def by_root(self) -> Mapping[FilePath, tuple[DirectoryCount, ...]]:
        """Return the directories with known files, by tracked directory."""
        return self._once("directory_counts", self._by_root)

    def _by_root(self) -> Mapping[FilePath, tuple[DirectoryCount, ...]]:
        parts: dict[tuple[FilePath, FilePath], list[DirectoryCount]] = defaultdict(list)
        for root, parent, n_files, *counts, changed_ns, kind in self._connection.execute(_BY_DIRECTORY):
            path = FilePath(parent.rstrip(os.sep) or parent)
            changed_at = None if changed_ns is None else changed_ns / _NS
            kinds = ((kind, n_files),) if kind else ()
            parts[FilePath(root), path].append(DirectoryCount._make((path, n_files, *counts, changed_at, kinds)))
        by_root: dict[FilePath, list[DirectoryCount]] = defaultdict(list)
        for (root, path), counts in parts.items():
            by_root[root].append(summed(path, counts))
        return {root: tuple(counts) for root, counts in by_root.items()}


def summed(path: FilePath, counts: Sequence[DirectoryCount]) -> DirectoryCount:
    """Return the sum of several counts."""
    if len(counts) == 1:
        return counts[0]._replace(path=path)
    sums = (
        sum(values)
        for values in zip((0,) * _N_SUMS, *(directory[1 : 1 + _N_SUMS] for directory in counts), strict=True)
    )
    kinds = Counter[str]()
    for directory in counts:
        kinds.update(dict(directory.kinds))
    changed_at = max((directory.changed_at for directory in counts if directory.changed_at is not None), default=None)
    return DirectoryCount._make((path, *sums, changed_at, tuple(kinds.most_common())))
