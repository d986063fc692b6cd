"""Files of the index: filters and their SQL conditions, and lookup by a part of a path."""

from __future__ import annotations

import json
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from directory_indexer.core.errors import CorruptIndexError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.ids import ContentHash
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, members_directory, prefix_of
from directory_indexer.storage.databases.stored_values import DamagedValueError, parse_epoch_seconds, parse_stored
from directory_indexer.storage.documents import REPAIR_HINT, SnapshotQueries, placeholders
from directory_indexer.storage.documents.known_files import KNOWN_COLUMNS, KnownFile, KnownFiles, known_by_path
from directory_indexer.storage.documents.metadata import METADATA_NAMES, fold_value

with lazily:
    import datetime as dt
    import sqlite3

    from directory_indexer.formats.document import FileFacts


class IndexedFile(NamedTuple):
    """A file with text in the index."""

    id: int
    directory_id: int
    path: FilePath
    size: int
    mtime_ns: int
    checked_ns: int
    n_masked: int
    hash: ContentHash
    facts: FileFacts


class MatchedFile(NamedTuple):
    """A file that matches a filter, with its row and that of its tracked directory."""

    id: int
    path: FilePath
    directory_id: int
    holder_id: int
    tagged_below: FilePath | None
    """The directory by which the vectors of its text are tagged, if that is not its own tracked one."""


class FileSize(NamedTuple):
    """The amount of text of a file."""

    path: FilePath
    kind: str
    n_chunks: int
    n_tokens: int


class TextFile(NamedTuple):
    """A file with text, and the character at which each of its pages begins, if it has pages."""

    id: int
    path: FilePath
    kind: str
    pages: str
    holder_id: int

    @property
    def page_starts(self) -> tuple[int, ...]:
        """Return the character at which each page begins."""
        try:
            return parse_page_starts(self.pages)
        except (ValueError, AttributeError) as error:
            message = f"where the pages of {display(self.path)} begin is not recorded as it should be"
            raise CorruptIndexError(message, hint=REPAIR_HINT) from error


def parse_page_starts(stored: str) -> tuple[int, ...]:
    """Parse the characters at which pages begin."""
    return tuple(map(int, stored.split()))


class Files(SnapshotQueries):
    """The files of one snapshot."""

    def known_files(self, directory_id: int | None, *, recipe: int) -> KnownFiles:
        """Return the known files of a tracked directory as extracted by a certain recipe."""
        return KnownFiles(self._connection, self._known, directory_id, recipe=recipe)

    def records_within(self, path: FilePath) -> dict[FilePath, KnownFile]:
        """Return the record of a file, or of everything below a directory."""
        condition, arguments = within_condition(path)
        return known_by_path(self._select(f"SELECT {KNOWN_COLUMNS} FROM files f WHERE {condition}", *arguments))  # noqa: S608

    def get(self, path: FilePath) -> KnownFile | None:
        """Return the record of a file; None if the index does not know it."""
        return known_by_path(self._select(f"SELECT {KNOWN_COLUMNS} FROM files WHERE path = ?", path)).get(path)  # noqa: S608

    def get_all(self, paths: Iterable[FilePath]) -> dict[FilePath, KnownFile]:
        """Return the records of those of some files that the index knows."""
        return known_by_path(self._rows_for(f"SELECT {KNOWN_COLUMNS} FROM files WHERE path IN ({{}})", paths))  # noqa: S608

    def page_starts(self, path: FilePath) -> tuple[int, ...]:
        """Return the character at which each page of a file begins; empty if it has no pages."""
        stored = self._values("SELECT page_starts FROM files WHERE path = ?", path)
        return parse_stored("files.page_starts", parse_page_starts, stored[0]) if stored else ()

    def masked(self, path: FilePath) -> int:
        """Count the secrets masked in the text of a file."""
        return self._count("SELECT coalesce(max(n_masked), 0) FROM files WHERE path = ?", [path])

    def container_of(self, path: FilePath) -> FilePath | None:
        """Return the container on disk of a member at any depth; None for other files."""
        return self.containers_of((path,)).get(path)

    def containers_of(self, paths: Iterable[FilePath]) -> dict[FilePath, FilePath]:
        """Return the containers on disk of those of some files that are members."""
        query = "SELECT f.path, c.path FROM files f JOIN files c ON c.id = f.container_id WHERE f.path IN ({})"
        return dict(self._rows_for(query, paths))

    def members(self, path: FilePath) -> list[FilePath]:
        """Return the members with text of a container, at any depth, sorted by path."""
        return self._values(
            """SELECT path FROM files WHERE container_id = (SELECT id FROM files WHERE path = ?)
               AND EXISTS (SELECT 1 FROM chunks WHERE file_id = coalesce(files.holder_id, files.id)) ORDER BY path""",
            path,
        )

    def first_member_without_text(self, path: FilePath) -> KnownFile | None:
        """Return the record of the first member of a container that was skipped or failed, by path."""
        query = f"""SELECT {KNOWN_COLUMNS} FROM files WHERE container_id = (SELECT id FROM files WHERE path = ?)
                    AND state != 'indexed' ORDER BY path LIMIT 1"""  # noqa: S608 - made of constants
        return next(iter(known_by_path(self._select(query, path)).values()), None)

    def covers(self, path: FilePath) -> bool:
        """Whether a path is tracked, lies in a tracked directory, or contains indexed files."""
        condition, arguments = within_condition(path)
        query = f"SELECT EXISTS (SELECT 1 FROM files f WHERE {condition})"  # noqa: S608 - made of constants
        return bool(
            self._count(query, arguments)
            or self._count("SELECT EXISTS (SELECT 1 FROM directories WHERE path = ?)", [path])
        )

    def matching(self, file_filter: FileFilter) -> list[MatchedFile]:
        """Return the files that match a filter."""
        condition, arguments = file_condition(file_filter)
        return list(map(MatchedFile._make, self._select(f"{_SELECT_MATCHED} WHERE {condition}", *arguments)))

    def all_match(self, file_filter: FileFilter) -> bool:
        """Whether a filter matches all files with text; ten times as fast as listing them."""
        condition, arguments = file_condition(file_filter)
        query = f"SELECT NOT EXISTS (SELECT 1 FROM files f WHERE f.hash IS NOT NULL AND NOT ({condition}))"  # noqa: S608
        return bool(self._count(query, arguments))

    def dates(self, paths: Iterable[FilePath]) -> dict[FilePath, float]:
        """Return the dates of documents: their own, or else that of the last change on disk."""
        query = "SELECT path, coalesce(dated_at, mtime_ns / 1e9) FROM files WHERE path IN ({})"
        return {
            path: parse_stored("files.dated_at", parse_epoch_seconds, date)
            for path, date in self._rows_for(query, paths)
        }

    def sizes(self, within: FilePath) -> Iterator[FileSize]:
        """Yield the sizes of the files with text below a directory or in a container, sorted by path."""
        condition, arguments = within_condition(within)
        query = f"""SELECT f.path, f.kind, count(c.id), coalesce(sum(c.n_tokens), 0)
            FROM files f LEFT JOIN chunks c ON c.file_id = coalesce(f.holder_id, f.id)
            WHERE f.hash IS NOT NULL AND {condition} GROUP BY f.id ORDER BY f.path"""  # noqa: S608
        return map(FileSize._make, self._select(query, *arguments))

    def text_files(self, ids_json: str | None) -> list[TextFile]:
        """Return files with text, sorted by path: those of a JSON array of ids, or all."""
        chosen = "hash IS NOT NULL" if ids_json is None else "id IN (SELECT value FROM json_each(?))"
        query = f"SELECT id, path, kind, page_starts, coalesce(holder_id, id) FROM files WHERE {chosen} ORDER BY path"  # noqa: S608
        return list(map(TextFile._make, self._select(query, *([] if ids_json is None else [ids_json]))))

    def at_paths(self, paths: Iterable[FilePath]) -> list[MatchedFile]:
        """Return the files at these paths."""
        query = f"{_SELECT_MATCHED} WHERE f.path IN (SELECT value FROM json_each(?))"  # noqa: S608 - made of constants
        return list(map(MatchedFile._make, self._select(query, json.dumps(list(paths)))))

    def with_text(self, paths: Iterable[FilePath]) -> set[FilePath]:
        """Return which of these paths are those of files with text."""
        query = "SELECT path FROM files WHERE hash IS NOT NULL AND path IN (SELECT value FROM json_each(?))"
        return set(self._values(query, json.dumps(list(paths))))

    def paths(self) -> Iterator[FilePath]:
        """Yield the paths of all files with text, in no order."""
        return (path for (path,) in self._select("SELECT path FROM files WHERE hash IS NOT NULL"))

    def in_order(self, file_filter: FileFilter, *, after: FilePath | None = None) -> Iterator[IndexedFile]:
        """Yield the files that match a filter, sorted by path, optionally only those after a path."""
        condition, arguments = file_condition(file_filter)
        columns = (*IndexedFile._fields[:-1], *FileFacts._fields)
        query = f"SELECT {', '.join(columns)} FROM files f WHERE {condition} AND path > ? ORDER BY path"  # noqa: S608
        rows = self._select(query, *arguments, after or "")
        n_own = len(columns) - len(FileFacts._fields)
        return (IndexedFile._make((*row[:n_own], FileFacts._make(row[n_own:]))) for row in rows)


_SELECT_MATCHED = """SELECT f.id, f.path, f.directory_id, coalesce(f.holder_id, f.id),
    CASE WHEN f.holder_id IS NULL THEN f.tagged_below ELSE (
        SELECT coalesce(h.tagged_below, d.path) FROM files h JOIN directories d ON d.id = h.directory_id
        WHERE h.id = f.holder_id) END
    FROM files f"""


class PathMatch(NamedTuple):
    """A file that a run has found; without text, `reason` says why."""

    id: int
    path: FilePath
    is_indexed: bool
    reason: str
    mtime_ns: int


FINDABLE_WITHOUT_TEXT = (
    *(SkipReason.BINARY, SkipReason.EMPTY, SkipReason.ENCRYPTED, SkipReason.NO_TEXT, SkipReason.TOO_LARGE),
)
"""Skipped files that can be found by name. Those with secrets cannot: that one exists is confidential."""

_IS_FINDABLE_BY_NAME = f"""(state IN ('indexed', 'failed')
    OR (state = 'skipped' AND reason IN ({", ".join(f"'{reason}'" for reason in FINDABLE_WITHOUT_TEXT)})))"""
_MEMBERS = f"!{os.sep}"
_HAS_NON_ASCII_PATH = "length(path) != length(CAST(path AS BLOB))"

_MATCH_COLUMNS = "id, path, state = 'indexed', iif(state = 'failed', 'failed', reason), mtime_ns"


class _Names(NamedTuple):
    """ASCII names, each before a separator, as written and in lower case; where each ends; the numbers of others."""

    joined: str
    lower: str
    ends: array[int]
    non_ascii: tuple[int, ...]

    def with_all(self, words: Sequence[str], *, are_whole: bool) -> Iterator[int]:
        """Yield the numbers of the names that contain all of these words, and of those with non-ASCII characters.

        With `are_whole` they must be whole words: nearly all names contain the letters of a short one.
        """
        yield from self.non_ascii
        longest, last = max(words, key=len), -1
        pattern, text = (_whole_word(longest), self.joined) if are_whole else (re.escape(longest), self.lower)
        for place in re.finditer(pattern, text):
            number = bisect_right(self.ends, place.start())
            start, end = self.ends[number - 1] if number else 0, self.ends[number] - 1
            if number != last and all(self.lower.find(word, start, end) >= 0 for word in words):
                yield number
            last = number

    def matching(self, patterns: Iterable[str]) -> set[int]:
        """Return the numbers of names that match a pattern, in lower case between separators, and of non-ASCII ones."""
        text = f"{os.sep}{self.lower}"
        places = (place.start() for pattern in patterns for place in re.finditer(pattern, text))
        return {*self.non_ascii, *(bisect_right(self.ends, start) for start in places)}


def _whole_word(word: str) -> str:
    """Return a pattern of a word of letters in a name, where it begins and ends at no letter or a change of case."""
    first, rest = word[0], "".join(f"[{letter}{letter.upper()}]" for letter in word[1:])
    return f"(?:(?<![A-Za-z]){first}|{first.upper()}){rest}(?![a-z])"


def _join_names(paths: Iterable[str]) -> _Names:
    names = [os.path.basename(path) for path in paths]
    non_ascii = tuple(number for number, name in enumerate(names) if not name.isascii())
    pieces = [f"{name}{os.sep}" if name.isascii() else os.sep for name in names]
    joined = "".join(pieces)
    return _Names(joined, joined.lower(), array("q", accumulate(map(len, pieces))), non_ascii)


class _KnownNames(NamedTuple):
    """The names of files with their rows, and of the directories that contain files at any depth."""

    files: _Names
    ids: array[int]
    directories: _Names
    paths: tuple[FilePath, ...]


class PathLookup(SnapshotQueries):
    """The paths of files in one snapshot."""

    def files_named(self, words: Sequence[str], *, are_whole: bool) -> list[PathMatch]:
        """Return files whose names contain all of these words, in lower case, and all names with non-ASCII characters.

        With `are_whole` they are whole words, made of letters.

        The names are kept as long as nobody writes: to read all paths took a sixth of the time from a key to hits.
        """
        return self._files_numbered(self._known_names.files.with_all(words, are_whole=are_whole))

    def matching(self, patterns: Iterable[str]) -> list[PathMatch]:
        """Return files whose names match a pattern, in lower case between separators, and all non-ASCII names."""
        return self._files_numbered(self._known_names.files.matching(patterns))

    def _files_numbered(self, numbers: Iterable[int]) -> list[PathMatch]:
        ids = json.dumps([self._known_names.ids[number] for number in numbers])
        query = f"SELECT {_MATCH_COLUMNS} FROM files WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
        return _path_matches(self._select(query, ids))

    def directories_named(self, words: Sequence[str], *, are_whole: bool) -> list[FilePath]:
        """Return likewise directories that contain files at any depth."""
        known = self._known_names
        return [known.paths[number] for number in known.directories.with_all(words, are_whole=are_whole)]

    @property
    def _known_names(self) -> _KnownNames:
        return self._compute_once("names", self._read_names)

    def _read_names(self) -> _KnownNames:
        # In one row, which takes half the time of one for each file.
        query = f"SELECT json_group_array(id), json_group_array(path) FROM files WHERE {_IS_FINDABLE_BY_NAME}"  # noqa: S608
        ids, paths = map(json.loads, self._select(query).fetchone())
        directories = tuple(_with_ancestors({os.path.dirname(path) for path in paths if _MEMBERS not in path}))
        return _KnownNames(_join_names(paths), array("q", ids), _join_names(directories), directories)

    def with_path_parts(self, texts: Sequence[str]) -> list[PathMatch]:
        """Return files whose paths contain all of these texts in any case, and all paths with non-ASCII characters.

        LIKE folds the case of ASCII only, and takes half the time of `instr(lower(path))`.
        """
        likes = " AND ".join(["path LIKE ?"] * len(texts)) or "TRUE"
        query = f"""SELECT {_MATCH_COLUMNS} FROM files
            WHERE (({likes}) OR {_HAS_NON_ASCII_PATH}) AND {_IS_FINDABLE_BY_NAME}"""  # noqa: S608 - made of constants
        return _path_matches(self._select(query, *(f"%{text}%" for text in texts)))

    def first_files_in(self, directory: FilePath, *, limit: int) -> tuple[list[FilePath], int]:
        """Return the first files at any depth of a directory, and the number of all of them."""
        condition, arguments = within_condition(directory)
        source = f"FROM files f WHERE {condition} AND container_id IS NULL AND {_IS_FINDABLE_BY_NAME}"
        paths = self._values(f"SELECT path {source} ORDER BY path LIMIT ?", *arguments, limit)
        return paths, self._count(f"SELECT count(*) {source}", arguments)

    def starting_with(self, text: str) -> list[FilePath]:
        """Return the indexed files whose paths begin with a text."""
        return self._select_indexed("path >= ? AND path < ?", [text, text + chr(0x10FFFF)])

    def containing(self, text: str) -> list[FilePath]:
        """Return the indexed files whose paths contain a text, in any case."""
        return self._select_indexed("instr(lower(path), lower(?))", [text])

    def ending_with(self, text: str) -> list[FilePath]:
        """Return the indexed files whose paths end with a text."""
        return self._select_indexed("substr(path, -length(?)) = ?", [text, text])

    def with_file_names(self, names: Sequence[str]) -> list[FilePath]:
        """Return the indexed files that have one of these names."""
        own_name = "replace(path, rtrim(path, replace(path, ?, '')), '')"
        condition = f"{own_name} IN (SELECT value FROM json_each(?))"  # noqa: S608 - made of constants
        return self._select_indexed(condition, [os.sep, json.dumps(list(names))])

    def ignoring_case(self, paths: Sequence[FilePath]) -> list[FilePath]:
        """Return the indexed files that have one of these paths, in any case."""
        return self._select_indexed(f"lower(path) IN ({','.join(['lower(?)'] * len(paths))})", paths)

    def _select_indexed(self, condition: str, arguments: Sequence[object]) -> list[FilePath]:
        return self._values(f"SELECT path FROM files WHERE state = 'indexed' AND {condition}", *arguments)  # noqa: S608


def _path_matches(rows: sqlite3.Cursor) -> list[PathMatch]:
    matches = [PathMatch(id_, FilePath(path), bool(is_indexed), *rest) for id_, path, is_indexed, *rest in rows]
    if not all(isinstance(match.reason, str) for match in matches):
        raise DamagedValueError("files.reason")
    return matches


def _with_ancestors(directories: Iterable[str]) -> Iterator[FilePath]:
    """Yield directories and their ancestors, each once."""
    visited = {""}
    for directory in directories:
        while directory not in visited:
            visited.add(directory)
            yield FilePath(directory)
            directory = os.path.dirname(directory)  # noqa: PLW2901 - climbs to the parent


class MetadataCondition(NamedTuple):
    """A condition on the metadata of documents, under one of the names in `metadata.NAMES`."""

    name: str
    text: str
    must_match: bool = True


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


def file_condition(file_filter: FileFilter) -> tuple[str, list[object]]:
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
        clauses.append(f"{_DATE_OF_FILE} >= ?")
        arguments.append(file_filter.since)
    if file_filter.until is not None:
        clauses.append(f"{_DATE_OF_FILE} < ? OR {_TRANSCRIPT_BEGAN_BEFORE}")
        arguments += [file_filter.until, _iso_time(file_filter.until)]
    for metadata_condition in file_filter.metadata:
        clause, values = _metadata_condition(metadata_condition)
        clauses.append(clause)
        arguments += values
    return " AND ".join(f"({clause})" for clause in clauses), arguments


def _metadata_condition(condition: MetadataCondition) -> tuple[str, list[object]]:
    """Return the SQL condition: languages and tags are compared as a whole, dates by prefix, the rest by substring."""
    negation = "" if condition.must_match else "NOT "
    text = fold_value(condition.text)
    if condition.name == METADATA_NAMES["language"]:
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
    matches = f"SELECT file_id FROM metadata WHERE name IN ({placeholders(names)}) AND {test}"  # noqa: S608
    return f"{negation}f.id IN ({matches})", [*names, value]


def within_condition(path: FilePath | None) -> tuple[str, list[object]]:
    """Return the SQL condition on `files f` for a file and its members, or for everything below a directory."""
    if path is None:
        return "1", []
    below, members = _path_range(path), _path_range(members_directory(path))
    return f"(f.path = ? OR {_IN_PATH_RANGE} OR ({_IN_PATH_RANGE} AND f.container_id IS NOT NULL))", [
        path,
        *below,
        *members,
    ]


def hide_files(connection: sqlite3.Connection, directories: Sequence[FilePath]) -> None:
    """Hide the files below directories from the queries of a connection, until its transaction is rolled back.

    SQLite looks up a table without a schema among the temporary ones first.
    """
    connection.execute("CREATE TEMP TABLE hidden (first TEXT PRIMARY KEY, after TEXT NOT NULL) WITHOUT ROWID")
    connection.executemany("INSERT OR IGNORE INTO hidden VALUES (?, ?)", map(_path_range, directories))
    connection.execute(
        """CREATE TEMP VIEW files AS SELECT * FROM main.files f
           WHERE NOT EXISTS (SELECT 1 FROM hidden WHERE f.path >= first AND f.path < after)"""
    )


def _path_range(directory: FilePath) -> tuple[str, str]:
    first = prefix_of(directory)
    return first, first[:-1] + chr(ord(os.sep) + 1)


def _iso_time(moment: float) -> str:
    """Format a moment as sessions store theirs; one outside the calendar sorts after or before all of them."""
    try:
        return fold_value(dt.datetime.fromtimestamp(moment, dt.UTC).isoformat(timespec="seconds"))
    except (ValueError, OverflowError, OSError):
        return "9" if moment > 0 else ""


_DATE_OF_FILE = "coalesce(f.dated_at, f.mtime_ns / 1e9)"
_TRANSCRIPT_BEGAN_BEFORE = """(f.kind = 'transcript' AND EXISTS (
    SELECT 1 FROM metadata m WHERE m.file_id = f.id AND m.name = 'created' AND m.folded < ?))"""
_IN_PATH_RANGE = "(f.path >= ? AND f.path < ?)"
