"""What is not in the index, for the page of `dirindex ui` alone: to others, searches show what they name themselves."""

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

_LOOK_SECONDS = 4.0
_IGNORED = "ignored"
_MOST_KNOWN = 100_000
_MOST_CAUSES, _MOST_FILES = 6, 8


def left_out(services: Services, call: LeftOutCall) -> LeftOutList:
    """List what is not in the index, and why.

    Raises:
        NotIndexedError: the path lies in no tracked directory.
    """
    within = file_path(call.path) if call.path else None
    with services.collections.using(DEFAULT) as opened:
        with opened.app.docstore.snapshot() as snapshot:
            counts = dict(snapshot.left_out.counts(within))
        if call.reason == _IGNORED:
            return _ignored(_Look(opened, within), call)._replace(reasons=counts)
        with opened.app.docstore.snapshot() as snapshot:
            rows = snapshot.left_out.listed(within, reason=call.reason, limit=call.limit + 1, offset=call.offset)
    shown = tuple(map(left_out_one, rows[: call.limit]))
    return LeftOutList(counts, shown, call.offset + call.limit if len(rows) > call.limit else None, truncated=False)


def near_misses(services: Services, call: NearMissesCall) -> NearMisses:
    """Tell what failed or was skipped where a query looks, first what has words of it in its name."""
    within = file_path(call.path) if call.path else None
    query = parse_query(call.query)
    with services.collections.using(DEFAULT) as opened, opened.app.docstore.snapshot() as snapshot:
        rows = snapshot.left_out.listed(within, reason="", limit=_MOST_KNOWN, offset=0)
        meant = filter(_scope_test(snapshot, call, query), map(left_out_one, rows))
        found = _near_misses(((one.reason, one) for one in meant), name_test(query))
    return found._replace(truncated=len(rows) == _MOST_KNOWN)


def near_misses_by_rules(services: Services, call: NearMissesCall) -> NearMisses:
    """Tell what rules leave out where a query looks, first what has words of it in its name.

    Raises:
        NotIndexedError: the path lies in no tracked directory.
    """
    within = file_path(call.path) if call.path else None
    query = parse_query(call.query)
    with services.collections.using(DEFAULT) as opened:
        look = _Look(opened, within)
        with opened.app.docstore.snapshot() as snapshot:
            meant = filter(_scope_test(snapshot, call, query), look.found())
            found = _near_misses(((one.detail or "", one) for one in meant), name_test(query))
    return found._replace(truncated=not look.is_whole)


def _scope_test(snapshot: Snapshot, call: NearMissesCall, query: Query) -> Callable[[LeftOutOne], bool]:
    scope = (file_path(call.path),) if call.path else ()
    is_meant = scope_test(snapshot, SearchRequest(call.query, scope=scope, kinds=call.types), query)
    return lambda one: is_meant(FilePath(one.path))


def _near_misses(found: Iterable[tuple[str, LeftOutOne]], is_named: Callable[[FilePath], bool]) -> NearMisses:
    """Count by cause what was found, each with its own."""
    causes = Counter[str]()
    named: list[LeftOutOne] = []
    others: list[LeftOutOne] = []
    for cause, one in found:
        causes[cause] += 1
        if is_named(FilePath(one.path)):
            named.append(one)
        elif len(others) < _MOST_FILES:
            others.append(one)
    most = tuple(CauseCount(*one) for one in causes.most_common(_MOST_CAUSES))
    return NearMisses(causes.total(), most, len(named), tuple(named[:_MOST_FILES]), tuple(others), truncated=False)


def _ignored(look: _Look, call: LeftOutCall) -> LeftOutList:
    shown = tuple(islice(look.found(), call.offset, call.offset + call.limit + 1))
    following = call.offset + call.limit if len(shown) > call.limit else None
    return LeftOutList({}, shown[: call.limit], following, truncated=not look.is_whole)


class _Look:
    """A look for what rules leave out, which ends after some seconds."""

    def __init__(self, opened: OpenCollection, within: FilePath | None) -> None:
        with opened.app.docstore.snapshot() as snapshot:
            tracked = tuple(snapshot.directories.all())
        self._roots = tracked if within is None else tuple(root for root in tracked if lies_in(within, root))
        if within is not None and not self._roots:
            raise NotIndexedError(f"{display(within)} is not tracked")
        self._indexer = opened.app.indexer
        self._within = within
        self.is_whole = True

    def found(self) -> Iterator[LeftOutOne]:
        deadline = time.monotonic() + _LOOK_SECONDS
        for root in self._roots:
            for one in self._indexer.ignored(root):
                if self._within is None or lies_in(one.path, self._within):
                    yield ignored_one(one)
                if time.monotonic() > deadline:
                    self.is_whole = False
                    return
