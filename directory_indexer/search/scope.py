"""Scope of a search: the files that it may draw on, resolved before anything is ranked, and conditions on passages.

Conditions on single passages are a line that matches a pattern, and the time of a turn in a transcript: files with such
a passage decide the scope, texts the passages.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from directory_indexer.core.errors import UsageError
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import (
    FilePath,
    exact_text,
    lies_in,
    members_directory,
    moved_below,
    unquote_path,
    without_line_number,
)
from directory_indexer.formats.kinds import GROUPS, kind_for_alias
from directory_indexer.ranking.query import Query
from directory_indexer.ranking.query_syntax import has_role, parse_period
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.files import ALL_FILES, FileFilter, MatchedFile, MetadataCondition
from directory_indexer.storage.documents.store import Snapshot
from directory_indexer.storage.vectors import VectorScope

with lazily:
    from directory_indexer.formats.transcripts import events
    from directory_indexer.matching import LinePattern, PatternOptions
    from directory_indexer.search.grep import GrepRequest, grep
    from directory_indexer.search.requests import SearchRequest
    from directory_indexer.walk.rule_layer import PathPatterns


MAX_FILES_IN_VECTOR_FILTER = 256
"""Filters of the vector store list at most so many files; with more, its results are filtered afterwards."""

_SMALL_SHARE = 0.1
"""For a larger share of the files, finding the rows of their chunks takes longer than searching all rows."""


class Scope(NamedTuple):
    """The files of a search; `file_ids` is None if all files are in it.

    `file_ids_json` contains them as a JSON array, the form in which SQLite accepts a list of any length. `rows` are the
    first and the last row of their chunks, if it pays to know them: words are then searched for between them alone.
    Files of a directory were mostly indexed one after the other.

    Of files that share a text, one holds the chunks, and may lie elsewhere: queries on chunks use `holder_ids`.
    `vectors` names the directories or files that their vectors are tagged with.
    """

    file_ids: frozenset[int] | None
    vectors: VectorScope
    holder_ids: frozenset[int] | None = None
    file_ids_json: str | None = None
    holder_ids_json: str | None = None
    rows: tuple[int, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no file is in the scope."""
        return self.file_ids is not None and not self.file_ids


def resolve_scope(snapshot: Snapshot, request: SearchRequest, query: Query) -> Scope:
    """Return the files that satisfy the options of a request and the filters in its query."""
    file_filter = _file_filter(request, query)
    if _covers_everything(snapshot, request.scope):
        file_filter = file_filter._replace(within=())
    if not _names_paths(request, query) and (file_filter == ALL_FILES or snapshot.files.all_match(file_filter)):
        return Scope(None, VectorScope())
    tests = {id_: _path_test(request, query, root) for root, id_ in snapshot.directories.all().items()}
    files = [file for file in snapshot.files.matching(file_filter) if tests[file.directory_id](file.path)]
    for group in _filter_groups(query):
        allowed = {id_ for branch in group for id_ in _matching_ids(snapshot, branch)}
        files = [file for file in files if file.id in allowed]
    scope = scope_of_files(
        snapshot, files, VectorScope(directories=_tagged_directories(snapshot, file_filter.within, files))
    )
    is_small = len(files) <= _SMALL_SHARE * snapshot.overview.summary().n_files
    return scope._replace(rows=snapshot.chunks.row_range_of_files(scope.holder_ids_json or "[]")) if is_small else scope


def scope_of_files(snapshot: Snapshot, files: Sequence[MatchedFile], vectors: VectorScope) -> Scope:
    """Return the scope of some files, which the vector store filters by if they are few."""
    file_ids, holder_ids = frozenset(file.id for file in files), frozenset(file.holder_id for file in files)
    if len(files) <= MAX_FILES_IN_VECTOR_FILTER:
        roots = {id_: root for root, id_ in snapshot.directories.all().items()}
        vectors = VectorScope(files=tuple(_tagged_path(file, roots) for file in files))
    return Scope(file_ids, vectors, holder_ids, json.dumps(sorted(file_ids)), json.dumps(sorted(holder_ids)))


def _tagged_path(file: MatchedFile, roots: Mapping[int, FilePath]) -> FilePath:
    """Return the path that the vectors of a file are tagged with."""
    return moved_below(file.path, roots[file.directory_id], file.tagged_below) if file.tagged_below else file.path


def apply_query_dates(request: SearchRequest, query: Query) -> SearchRequest:
    """Return a request with its time range narrowed by the dates in its query."""
    required, forbidden = query.required, query.forbidden
    # A negated `since:` is an `until:`, and vice versa.
    since = [request.since, *_starts_of_dates(required.since), *_ends_of_dates(forbidden.until)]
    until = [request.until, *_ends_of_dates(required.until), *_starts_of_dates(forbidden.since)]
    return request._replace(
        since=max((moment for moment in since if moment is not None), default=None),
        until=min((moment for moment in until if moment is not None), default=None),
    )


def _filter_groups(query: Query) -> list[tuple[Query, ...]]:
    """Return the groups of alternatives that are filters only."""
    return [group for group in query.alternatives if all(branch.has_only_filters for branch in group)]


def _matching_ids(snapshot: Snapshot, query: Query) -> Iterator[int]:
    tests = {id_: _query_tests(query, root) for root, id_ in snapshot.directories.all().items()}
    files = snapshot.files.matching(_file_filter(None, query))
    return (file.id for file in files if all(test(file.path) for test in tests[file.directory_id]))


def _covers_everything(snapshot: Snapshot, scope: Iterable[FilePath]) -> bool:
    """Whether the scope contains all tracked directories, so that it costs time and changes nothing."""
    return all(any(lies_in(root, path) for path in scope) for root in snapshot.directories.all())


def _tracked_parts(snapshot: Snapshot, scope: Iterable[FilePath]) -> tuple[FilePath, ...]:
    """Return directories that are tracked or lie in tracked ones, replacing one above them by those below it."""
    tracked = snapshot.directories.all()
    parts: list[FilePath] = []
    for path in scope:
        below = [root for root in tracked if root != path and lies_in(root, path)]
        parts += below or [path]
    return tuple(parts)


def _tagged_directories(
    snapshot: Snapshot, scope: Iterable[FilePath], files: Iterable[MatchedFile]
) -> tuple[FilePath, ...]:
    """Return the directories that the vectors of the files of a scope are tagged with.

    Texts that came from elsewhere are tagged with the corresponding directories there.
    """
    parts = _tracked_parts(snapshot, scope)
    elsewhere = {(file.directory_id, file.tagged_below) for file in files if file.tagged_below}
    roots = {id_: root for root, id_ in snapshot.directories.all().items()} if parts else {}
    others = {
        moved_below(part, roots[id_], tagged_below)
        for part in parts
        for id_, tagged_below in elsewhere
        if roots and tagged_below and lies_in(part, roots[id_])
    }
    return (*parts, *sorted(others - set(parts)))


def _file_filter(request: SearchRequest | None, query: Query) -> FileFilter:
    request = request or SearchRequest("")
    kinds = [_resolve_kinds(names) for names in (request.kinds, query.required.kinds) if names]
    required, forbidden = query.required, query.forbidden
    dated = apply_query_dates(request, query)
    return FileFilter(
        within=request.scope,
        kinds=frozenset.intersection(*kinds) if kinds else None,
        not_kinds=_resolve_kinds(forbidden.kinds),
        since=dated.since,
        until=dated.until,
        metadata=(
            *(MetadataCondition(*condition) for condition in (*request.metadata, *required.metadata)),
            *(MetadataCondition(*condition, must_match=False) for condition in forbidden.metadata),
        ),
    )


def _starts_of_dates(dates: Iterable[str]) -> Iterator[float]:
    return (period.start for date in dates if (period := parse_period(date, now=time.time())))


def _ends_of_dates(dates: Iterable[str]) -> Iterator[float]:
    return (period.end for date in dates if (period := parse_period(date, now=time.time())))


def _resolve_kinds(names: Iterable[str]) -> frozenset[str]:
    """Return the kinds that people mean by `py`, `markdown` or `code`; an unknown name is a kind itself."""
    kinds: set[str] = set()
    for name in names:
        kinds |= GROUPS.get(name.lower()) or {kind_for_alias(name) or name}
    return frozenset(kinds)


def _names_paths(request: SearchRequest, query: Query) -> bool:
    filters = (query.required, query.forbidden)
    return bool(
        request.globs or _filter_groups(query) or any(condition.paths or condition.roles for condition in filters)
    )


def make_path_predicate(snapshot: Snapshot, request: SearchRequest, query: Query) -> Callable[[FilePath], bool]:
    """Return the predicate that tells whether a path, indexed or not, is in the scope of a request."""
    tests = [(root, _path_test(request, query, root)) for root in snapshot.directories.all()]

    def is_in_scope(path: FilePath) -> bool:
        is_within = not request.scope or any(
            lies_in(path, directory) or lies_in(path, members_directory(directory)) for directory in request.scope
        )
        return is_within and any(test(path) for root, test in tests if lies_in(path, root))

    return is_in_scope


def _path_test(request: SearchRequest, query: Query, root: FilePath) -> Callable[[FilePath], bool]:
    tests = [_pattern_test(request.globs, root)] if request.globs else []
    tests += _query_tests(query, root)
    return lambda path: all(test(path) for test in tests)


def _query_tests(query: Query, root: FilePath) -> list[Callable[[FilePath], bool]]:
    tests = [make_path_pattern_predicate(text, root) for text in query.required.paths]
    tests += [_negate_test(make_path_pattern_predicate(text, root)) for text in query.forbidden.paths]
    tests += [_role_test(role, root) for role in query.required.roles]
    return [*tests, *(_negate_test(_role_test(role, root)) for role in query.forbidden.roles)]


def _role_test(role: str, root: FilePath) -> Callable[[FilePath], bool]:
    above = len(exact_text(root).rstrip(os.sep)) + 1
    return lambda path: has_role(exact_text(path)[above:].replace(os.sep, "/"), role.lower())


def _pattern_test(patterns: Sequence[str], root: FilePath) -> Callable[[FilePath], bool]:
    """Return a test as of a .gitignore in the tracked directory; a pattern may begin with its path."""
    above = exact_text(root).rstrip(os.sep)
    if all(pattern.startswith("!") for pattern in patterns):
        patterns = ("*", *patterns)  # exclusions alone mean everything else
    compiled = PathPatterns([scoped for pattern in patterns for scoped in _as_relative_pattern(pattern, above)])
    return lambda path: compiled.match(exact_text(path)[len(above) + 1 :].replace(os.sep, "/"))


def _as_relative_pattern(pattern: str, directory: str) -> list[str]:
    """Return a pattern relative to a directory; `./` may mean that directory or its parent."""
    negation = "!" if pattern.startswith("!") else ""
    rest = unquote_path(pattern.removeprefix(negation))
    if rest.startswith("./"):
        name = f"/{os.path.basename(directory)}/"
        return [negation + rest[1:], *([f"{negation}/{rest[1 + len(name) :]}"] if rest[1:].startswith(name) else [])]
    return [negation + (rest.removeprefix(directory) if rest.startswith(directory + os.sep) else rest)]


def make_path_pattern_predicate(text: str, root: FilePath) -> Callable[[FilePath], bool]:
    """Return the test of `path:`: a part of the path, ignoring case, or a pattern below a tracked directory."""
    plain = without_line_number(unquote_path(text)).removeprefix("./").replace("/", os.sep).casefold()

    def has_part(path: FilePath) -> bool:
        return plain in exact_text(path).casefold()

    if any(character in text for character in "*?[{"):
        # No query is invalid, and names contain pattern characters, too.
        with contextlib.suppress(UsageError):
            matches = _pattern_test([text], root)
            return lambda path: matches(path) or has_part(path)
    return has_part


def _negate_test(test: Callable[[FilePath], bool]) -> Callable[[FilePath], bool]:
    return lambda path: not test(path)


def restrict_to_grep_matches(snapshot: Snapshot, scope: Scope, request: SearchRequest) -> Scope:
    """Restrict a scope to the files with a line that matches the pattern of a request, if it has one.

    Raises:
        UsageError: the pattern is invalid.
    """
    if not request.grep:
        return scope
    grep_request = GrepRequest(
        PatternOptions((request.grep,)), request.scope, request.kinds, request.globs, max_count=1, max_spans=0
    )
    paths = [file.path for file in grep(snapshot, grep_request).files]
    files = snapshot.files.at_paths(paths)
    if scope.file_ids is not None:
        files = [file for file in files if file.id in scope.file_ids]
    return scope_of_files(snapshot, files, scope.vectors)


def filter_passages(chunks: Mapping[ChunkId, IndexedChunk], request: SearchRequest) -> dict[ChunkId, IndexedChunk]:
    """Drop passages without a matching line, and turns of transcripts outside the requested time."""
    if request.since is not None or request.until is not None:
        chunks = {id_: stored for id_, stored in chunks.items() if _is_of_the_time(stored, request)}
    if not request.grep:
        return dict(chunks)
    pattern = LinePattern(PatternOptions((request.grep,)))
    return {id_: stored for id_, stored in chunks.items() if pattern.first(stored.chunk.text.encode()) is not None}


def _is_of_the_time(stored: IndexedChunk, request: SearchRequest) -> bool:
    """Whether a turn is within the requested time; of other passages, the file has been checked."""
    moment = events.turn_time(stored.chunk.heading) if stored.facts.kind == "transcript" else None
    if moment is None:
        return True
    is_late_enough = request.since is None or moment + events.HEADING_PRECISION_SECONDS > request.since
    return is_late_enough and (request.until is None or moment < request.until)
