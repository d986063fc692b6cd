"""Facet counts of a scope: types, directories, years, languages, authors and tags."""

from __future__ import annotations

import os
from collections import Counter
from typing import NamedTuple

from directory_indexer.docstore.reading import Reading
from directory_indexer.paths import FilePath, prefix_of


class Value(NamedTuple):
    """A facet value and the number of files that have it."""

    value: str
    n_files: int


class Facets(NamedTuple):
    """The facet values of a scope, most frequent first; a file counts once for each of its values.

    `directories` are those right below the directory of the scope, or below the tracked ones.
    """

    n_files: int = 0
    types: tuple[Value, ...] = ()
    directories: tuple[Value, ...] = ()
    years: tuple[Value, ...] = ()
    languages: tuple[Value, ...] = ()
    authors: tuple[Value, ...] = ()
    tags: tuple[Value, ...] = ()


class FacetCounts(Reading):
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
                    SELECT f.kind, f.language, strftime('%Y', {_DATED_AT}, 'unixepoch', 'localtime') AS year,
                        coalesce(:within, d.path || :sep) AS base,
                        substr(f.path, length(coalesce(:within, d.path || :sep)) + 1) AS rest
                    FROM files f JOIN directories d ON d.id = f.directory_id
                    WHERE f.state = 'indexed' AND f.hash IS NOT NULL {scope})
                GROUP BY 1, 2, 3, 4""",  # noqa: S608 - made of constants
            {"sep": os.sep, "within": within, "ids": file_ids_json},
        )
        return rows.fetchall()

    def _metadata_values(self, name: str, file_ids_json: str | None, limit: int) -> tuple[Value, ...]:
        scope = "" if file_ids_json is None else "AND file_id IN (SELECT value FROM json_each(:ids))"
        rows = self._connection.execute(
            f"""SELECT max(value), count(DISTINCT file_id) AS n FROM metadata
                WHERE name = :name AND folded NOT IN ({_PLACEHOLDER_AUTHORS}) {scope}
                GROUP BY folded ORDER BY n DESC, folded LIMIT :limit""",  # noqa: S608 - made of constants
            {"name": name, "ids": file_ids_json, "limit": limit},
        )
        return tuple(map(Value._make, rows))


def _most_frequent(counter: Counter[str], limit: int) -> tuple[Value, ...]:
    known = [(value, count) for value, count in counter.items() if value]
    return tuple(Value(*pair) for pair in sorted(known, key=lambda pair: (-pair[1], pair[0]))[:limit])


_DATED_AT = "coalesce(f.dated_at, f.mtime_ns / 1000000000)"
_PLACEHOLDER_AUTHORS = ", ".join(
    f"'{name}'"
    for name in (
        *("", "admin", "administrator", "anonymous", "author", "microsoft office user", "none", "owner", "root"),
        *("unknown", "user", "windows user"),
    )
)
"""Placeholders that programs write for an unknown author."""
