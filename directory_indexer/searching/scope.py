"""Which files a search may draw on, decided before anything is ranked."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from directory_indexer.docstore.files import FoundFile
from directory_indexer.docstore.filters import ALL_FILES, FileFilter, MetadataCondition
from directory_indexer.docstore.store import Snapshot
from directory_indexer.errors import UsageError
from directory_indexer.extractors.kinds import GROUPS, kind_for_alias
from directory_indexer.lazy import lazily
from directory_indexer.paths import (
    FilePath,
    exact_text,
    lies_in,
    members_directory,
    moved_below,
    without_line,
    written_path,
)
from directory_indexer.relevance.periods import period_of
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.roles import has_role
from directory_indexer.vectorstore import VectorScope

with lazily:
    from directory_indexer.searching.answers import SearchRequest
    from directory_indexer.walker.path_patterns import PathPatterns


NAMED_FILES = 256
"""So many files are named to the vector store one by one; of more, its answers are filtered as they come."""

_SMALL_PART = 0.1
"""Of more of the files, to find out between which rows their chunks lie takes longer than to look everywhere."""


class Scope(NamedTuple):
    """The files of a search; `file_ids` is None when every file is in it.

    `file_ids_json` has them as a JSON array, the form in which SQLite takes a list of any length. `rows` are the first
    and the last row of their chunks, where it pays to know them: words are then looked for between them alone. Files of
    a directory were mostly indexed one after the other.

    Of files that share a text, one holds the chunks, and may lie elsewhere: what is asked of chunks is asked of
    `holder_ids`. `vectors` names the places that these are tagged with.
    """

    file_ids: frozenset[int] | None
    vectors: VectorScope
    holder_ids: frozenset[int] | None = None
    file_ids_json: str | None = None
    holder_ids_json: str | None = None
    rows: tuple[int, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Tell that no file is in the scope."""
        return self.file_ids is not None and not self.file_ids


def resolve_scope(snapshot: Snapshot, request: SearchRequest, query: Query) -> Scope:
    """Find the files that satisfy the options of a request and the filters within its query."""
    wanted = _filter(request, query)
    if _is_everything(snapshot, request.scope):
        wanted = wanted._replace(within=())
    if not _names_paths(request, query) and (wanted == ALL_FILES or snapshot.files.all_match(wanted)):
        return Scope(None, VectorScope())
    tests = {id_: _path_test(request, query, root) for root, id_ in snapshot.directories.all().items()}
    files = [file for file in snapshot.files.matching(wanted) if tests[file.directory_id](file.path)]
    for group in _groups_of_files(query):
        allowed = {id_ for one in group for id_ in _satisfying(snapshot, one)}
        files = [file for file in files if file.id in allowed]
    scope = scope_of(snapshot, files, VectorScope(directories=_places(snapshot, wanted.within, files)))
    is_small = len(files) <= _SMALL_PART * snapshot.overview.summary().n_files
    return scope._replace(rows=snapshot.chunks.rows_of_files(scope.holder_ids_json or "[]")) if is_small else scope


def scope_of(snapshot: Snapshot, files: Sequence[FoundFile], vectors: VectorScope) -> Scope:
    """Make the scope of some files, which are named to the vector store if they are few."""
    file_ids, holder_ids = frozenset(one.id for one in files), frozenset(one.holder_id for one in files)
    if len(files) <= NAMED_FILES:
        roots = {id_: root for root, id_ in snapshot.directories.all().items()}
        vectors = VectorScope(files=tuple(_tagged(one, roots) for one in files))
    return Scope(file_ids, vectors, holder_ids, json.dumps(sorted(file_ids)), json.dumps(sorted(holder_ids)))


def _tagged(file: FoundFile, roots: Mapping[int, FilePath]) -> FilePath:
    """Name the path that the vectors of a file are tagged with."""
    return moved_below(file.path, roots[file.directory_id], file.tagged_below) if file.tagged_below else file.path


def dated_request(request: SearchRequest, query: Query) -> SearchRequest:
    """Narrow the time that a request means by what its query says of it."""
    required, forbidden = query.required, query.forbidden
    # What a document must not be dated after or before is what it must be dated before or after.
    since = [request.since, *_starts(required.since), *_ends(forbidden.until)]
    until = [request.until, *_ends(required.until), *_starts(forbidden.since)]
    return request._replace(
        since=max((moment for moment in since if moment is not None), default=None),
        until=min((moment for moment in until if moment is not None), default=None),
    )


def _groups_of_files(query: Query) -> list[tuple[Query, ...]]:
    """Give the alternatives that say nothing but which files are meant."""
    return [group for group in query.alternatives if all(one.has_only_filters for one in group)]


def _satisfying(snapshot: Snapshot, query: Query) -> Iterator[int]:
    tests = {id_: _tests_of(query, root) for root, id_ in snapshot.directories.all().items()}
    found = snapshot.files.matching(_filter(None, query))
    return (file.id for file in found if all(test(file.path) for test in tests[file.directory_id]))


def _is_everything(snapshot: Snapshot, scope: Iterable[FilePath]) -> bool:
    """Tell whether all that is tracked lies in the scope, which then costs time and changes nothing."""
    return all(any(lies_in(root, path) for path in scope) for root in snapshot.directories.all())


def _tracked_parts(snapshot: Snapshot, scope: Iterable[FilePath]) -> tuple[FilePath, ...]:
    """Give directories that are tracked or lie in tracked ones: in the place of one above them, those below it."""
    tracked = snapshot.directories.all()
    parts: list[FilePath] = []
    for path in scope:
        below = [root for root in tracked if root != path and lies_in(root, path)]
        parts += below or [path]
    return tuple(parts)


def _places(snapshot: Snapshot, scope: Iterable[FilePath], files: Iterable[FoundFile]) -> tuple[FilePath, ...]:
    """Name the directories that the vectors of the files of a scope are tagged with.

    Texts that came from elsewhere lie in the same place there.
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


def _filter(request: SearchRequest | None, query: Query) -> FileFilter:
    request = request or SearchRequest("")
    kinds = [_kinds_named(names) for names in (request.kinds, query.required.kinds) if names]
    required, forbidden = query.required, query.forbidden
    dated = dated_request(request, query)
    return FileFilter(
        within=request.scope,
        kinds=frozenset.intersection(*kinds) if kinds else None,
        not_kinds=_kinds_named(forbidden.kinds),
        since=dated.since,
        until=dated.until,
        metadata=(
            *(MetadataCondition(*one) for one in (*request.metadata, *required.metadata)),
            *(MetadataCondition(*one, is_wanted=False) for one in forbidden.metadata),
        ),
    )


def _starts(dates: Iterable[str]) -> Iterator[float]:
    return (period.start for date in dates if (period := period_of(date, now=time.time())))


def _ends(dates: Iterable[str]) -> Iterator[float]:
    return (period.end for date in dates if (period := period_of(date, now=time.time())))


def _kinds_named(names: Iterable[str]) -> frozenset[str]:
    """Find the kinds that people mean by `py`, `markdown` or `code`; an unknown name stands for itself."""
    kinds: set[str] = set()
    for name in names:
        kinds |= GROUPS.get(name.lower()) or {kind_for_alias(name) or name}
    return frozenset(kinds)


def _names_paths(request: SearchRequest, query: Query) -> bool:
    filters = (query.required, query.forbidden)
    return bool(request.globs or _groups_of_files(query) or any(one.paths or one.roles for one in filters))


def path_tests(snapshot: Snapshot, request: SearchRequest, query: Query) -> Callable[[FilePath], bool]:
    """Make the test whether a path lies where a request looks, whatever is indexed of it."""
    tests = [(root, _path_test(request, query, root)) for root in snapshot.directories.all()]

    def is_meant(path: FilePath) -> bool:
        is_within = not request.scope or any(
            lies_in(path, one) or lies_in(path, members_directory(one)) for one in request.scope
        )
        return is_within and any(test(path) for root, test in tests if lies_in(path, root))

    return is_meant


def _path_test(request: SearchRequest, query: Query, root: FilePath) -> Callable[[FilePath], bool]:
    tests = [_matches(request.globs, root)] if request.globs else []
    tests += _tests_of(query, root)
    return lambda path: all(test(path) for test in tests)


def _tests_of(query: Query, root: FilePath) -> list[Callable[[FilePath], bool]]:
    tests = [contains(text, root) for text in query.required.paths]
    tests += [_lacks(contains(text, root)) for text in query.forbidden.paths]
    tests += [_has_role(role, root) for role in query.required.roles]
    return [*tests, *(_lacks(_has_role(role, root)) for role in query.forbidden.roles)]


def _has_role(role: str, root: FilePath) -> Callable[[FilePath], bool]:
    above = len(exact_text(root).rstrip(os.sep)) + 1
    return lambda path: has_role(exact_text(path)[above:].replace(os.sep, "/"), role.lower())


def _matches(patterns: Sequence[str], root: FilePath) -> Callable[[FilePath], bool]:
    """Match as a .gitignore in the tracked directory would; a pattern may begin with the path of that directory."""
    above = exact_text(root).rstrip(os.sep)
    if all(pattern.startswith("!") for pattern in patterns):
        patterns = ("*", *patterns)  # whoever only says what to leave out means all the rest
    wanted = PathPatterns([one for pattern in patterns for one in _below(pattern, above)])
    return lambda path: wanted.match(exact_text(path)[len(above) + 1 :].replace(os.sep, "/"))


def _below(pattern: str, directory: str) -> list[str]:
    """Write a pattern as one of a directory; `./` may stand for that directory or for the one around it."""
    sign = "!" if pattern.startswith("!") else ""
    rest = written_path(pattern.removeprefix(sign))
    if rest.startswith("./"):
        name = f"/{os.path.basename(directory)}/"
        return [sign + rest[1:], *([f"{sign}/{rest[1 + len(name) :]}"] if rest[1:].startswith(name) else [])]
    return [sign + (rest.removeprefix(directory) if rest.startswith(directory + os.sep) else rest)]


def contains(text: str, root: FilePath) -> Callable[[FilePath], bool]:
    """Make the test of `path:`: a part of the path, in whatever case, or a pattern below a tracked directory."""
    plain = without_line(written_path(text)).removeprefix("./").replace("/", os.sep).casefold()

    def has_part(path: FilePath) -> bool:
        return plain in exact_text(path).casefold()

    if any(sign in text for sign in "*?[{"):
        # No query is wrong, and names hold signs of patterns, too.
        with contextlib.suppress(UsageError):
            matches = _matches([text], root)
            return lambda path: matches(path) or has_part(path)
    return has_part


def _lacks(test: Callable[[FilePath], bool]) -> Callable[[FilePath], bool]:
    return lambda path: not test(path)
