"""Skipped files for the page of `dirindex ui` only; other clients see only those that their own query names."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from directory_indexer.config.collections import DEFAULT
from directory_indexer.errors import NotIndexedError
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display, file_path, lies_in
from directory_indexer.relevance.query import Query, parse_query
from directory_indexer.searching.answers import SearchRequest
from directory_indexer.searching.unindexed_names import name_test, scope_test
from directory_indexer.server.api.directory_arguments import LeftOutCall, NearMissesCall
from directory_indexer.server.api.operations import Services
from directory_indexer.wire.directories import (
    CauseCount,
    LeftOutList,
    LeftOutOne,
    NearMisses,
    ignored_one,
    left_out_one,
)

with lazily:
    from directory_indexer.docstore.store import Snapshot
    from directory_indexer.team.opened import OpenCollection

_SCAN_SECONDS = 4.0
_IGNORED = "ignored"
_MAX_ROWS = 100_000
_MOST_CAUSES, _MOST_FILES = 6, 8


def left_out(services: Services, call: LeftOutCall) -> LeftOutList:
    """List the files that are not in the index, with reasons.

    Raises:
        NotIndexedError: the path is not in a tracked directory.
    """
    within = file_path(call.path) if call.path else None
    with services.collections.using(DEFAULT) as opened:
        with opened.app.docstore.snapshot() as snapshot:
            counts = dict(snapshot.left_out.counts(within))
        if call.reason == _IGNORED:
            return _ignored(_ExclusionScan(opened, within), call)._replace(reasons=counts)
        with opened.app.docstore.snapshot() as snapshot:
            rows = snapshot.left_out.listed(within, reason=call.reason, limit=call.limit + 1, offset=call.offset)
    files = tuple(map(left_out_one, rows[: call.limit]))
    return LeftOutList(counts, files, call.offset + call.limit if len(rows) > call.limit else None, truncated=False)


def near_misses(services: Services, call: NearMissesCall) -> NearMisses:
    """Return failed and skipped files in the scope of a query, those with its words in their names first."""
    within = file_path(call.path) if call.path else None
    query = parse_query(call.query)
    with services.collections.using(DEFAULT) as opened, opened.app.docstore.snapshot() as snapshot:
        rows = snapshot.left_out.listed(within, reason="", limit=_MAX_ROWS, offset=0)
        in_scope = filter(_scope_test(snapshot, call, query), map(left_out_one, rows))
        misses = _near_misses(((file.reason, file) for file in in_scope), name_test(query))
    return misses._replace(truncated=len(rows) == _MAX_ROWS)


def near_misses_by_rules(services: Services, call: NearMissesCall) -> NearMisses:
    """Return paths excluded by rules in the scope of a query, those with its words in their names first.

    Raises:
        NotIndexedError: the path is not in a tracked directory.
    """
    within = file_path(call.path) if call.path else None
    query = parse_query(call.query)
    with services.collections.using(DEFAULT) as opened:
        scan = _ExclusionScan(opened, within)
        with opened.app.docstore.snapshot() as snapshot:
            in_scope = filter(_scope_test(snapshot, call, query), scan.paths())
            misses = _near_misses(((file.detail or "", file) for file in in_scope), name_test(query))
    return misses._replace(truncated=not scan.is_complete)


def _scope_test(snapshot: Snapshot, call: NearMissesCall, query: Query) -> Callable[[LeftOutOne], bool]:
    scope = (file_path(call.path),) if call.path else ()
    is_in_scope = scope_test(snapshot, SearchRequest(call.query, scope=scope, kinds=call.types), query)
    return lambda file: is_in_scope(FilePath(file.path))


def _near_misses(files_by_cause: Iterable[tuple[str, LeftOutOne]], is_named: Callable[[FilePath], bool]) -> NearMisses:
    """Count files by cause, and separate those whose names match the query."""
    causes = Counter[str]()
    named: list[LeftOutOne] = []
    others: list[LeftOutOne] = []
    for cause, file in files_by_cause:
        causes[cause] += 1
        if is_named(FilePath(file.path)):
            named.append(file)
        elif len(others) < _MOST_FILES:
            others.append(file)
    most = tuple(CauseCount(*count) for count in causes.most_common(_MOST_CAUSES))
    return NearMisses(causes.total(), most, len(named), tuple(named[:_MOST_FILES]), tuple(others), truncated=False)


def _ignored(scan: _ExclusionScan, call: LeftOutCall) -> LeftOutList:
    files = tuple(islice(scan.paths(), call.offset, call.offset + call.limit + 1))
    following = call.offset + call.limit if len(files) > call.limit else None
    return LeftOutList({}, files[: call.limit], following, truncated=not scan.is_complete)


class _ExclusionScan:
    """A time-limited walk for paths that rules exclude."""

    def __init__(self, opened: OpenCollection, within: FilePath | None) -> None:
        with opened.app.docstore.snapshot() as snapshot:
            tracked = tuple(snapshot.directories.all())
        self._roots = tracked if within is None else tuple(root for root in tracked if lies_in(within, root))
        if within is not None and not self._roots:
            raise NotIndexedError(f"{display(within)} is not tracked")
        self._indexer = opened.app.indexer
        self._within = within
        self.is_complete = True

    def paths(self) -> Iterator[LeftOutOne]:
        deadline = time.monotonic() + _SCAN_SECONDS
        for root in self._roots:
            for ignored in self._indexer.ignored(root):
                if self._within is None or lies_in(ignored.path, self._within):
                    yield ignored_one(ignored)
                if time.monotonic() > deadline:
                    self.is_complete = False
                    return
