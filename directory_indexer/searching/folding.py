"""Which entries of an outline are shown where not all of them fit: whole levels first, then the largest parts."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from directory_indexer.searching.outlines import Entry, Outline


def folded(outline: Outline, *, room: int, cost: Callable[[Entry], int]) -> Outline:
    """Fold what has no room: as many whole levels are shown as fit, then what lies in the largest of their parts.

    Where not even the first level fits, its largest entries are shown.
    """
    entries = outline.entries
    shown = _levels_that_fit(entries, room, cost)
    if not shown:
        shown = _largest_that_fit(entries, room, cost)
        n_top = sum(entry.depth == 0 for entry in entries)
        outline = outline._replace(n_left_out=n_top - len(shown))
    else:
        shown |= _unfolded(entries, shown, room - sum(cost(entries[at]) for at in shown), cost)
    return outline._replace(entries=_with_counts(entries, shown))


def _levels_that_fit(entries: Sequence[Entry], room: int, cost: Callable[[Entry], int]) -> set[int]:
    by_depth = [0] * (1 + max((entry.depth for entry in entries), default=0))
    for entry in entries:
        by_depth[entry.depth] += cost(entry)
    n_levels = sum(total <= room for total in accumulate(by_depth))
    return {at for at, entry in enumerate(entries) if entry.depth < n_levels}


def _largest_that_fit(entries: Sequence[Entry], room: int, cost: Callable[[Entry], int]) -> set[int]:
    shown: set[int] = set()
    top = [at for at, entry in enumerate(entries) if entry.depth == 0]
    for at in sorted(top, key=lambda one: -entries[one].n_tokens):
        room -= cost(entries[at])
        if room < 0:
            break
        shown.add(at)
    return shown


def _unfolded(entries: Sequence[Entry], shown: set[int], room: int, cost: Callable[[Entry], int]) -> set[int]:
    """Choose more entries: those right in the largest folded part whose parts all fit, and so on."""
    inner = _inner(entries)
    more: set[int] = set()
    candidates = [(-entries[at].n_tokens, at) for at in shown if inner[at] and not shown.intersection(inner[at])]
    heapq.heapify(candidates)
    while candidates:
        _, at = heapq.heappop(candidates)
        needed = sum(cost(entries[one]) for one in inner[at])
        if needed > room:
            continue
        room -= needed
        more.update(inner[at])
        for one in inner[at]:
            if inner[one]:
                heapq.heappush(candidates, (-entries[one].n_tokens, one))
    return more


def _inner(entries: Sequence[Entry]) -> list[list[int]]:
    """Find the entries right in each of them."""
    inner: list[list[int]] = [[] for _ in entries]
    for at, around in enumerate(_around(entries)):
        if around is not None:
            inner[around].append(at)
    return inner


def _around(entries: Sequence[Entry]) -> Iterator[int | None]:
    """Yield for each entry the one that it lies right in."""
    above: list[int] = []
    for at, entry in enumerate(entries):
        while above and entries[above[-1]].depth >= entry.depth:
            above.pop()
        yield above[-1] if above else None
        above.append(at)


def _with_counts(entries: Sequence[Entry], shown: set[int]) -> tuple[Entry, ...]:
    """Give the shown entries, each with how many parts of it are not shown."""
    n_folded = Counter[int]()
    seen_in: list[int | None] = []
    for at, around in enumerate(_around(entries)):
        seen_in.append(at if at in shown else None if around is None else seen_in[around])
        if at not in shown and seen_in[at] is not None:
            n_folded[seen_in[at] or 0] += 1
    return tuple(entries[at]._replace(n_folded=n_folded[at]) for at in sorted(shown))
