"""Folding of outlines to a size limit: whole levels first, then the largest parts."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from directory_indexer.searching.outlines import Entry, Outline


def folded(outline: Outline, *, room: int, cost: Callable[[Entry], int]) -> Outline:
    """Fold entries that do not fit: show as many whole levels as fit, then the parts of the largest entries.

    If not even the first level fits, its largest entries are shown.
    """
    entries = outline.entries
    visible = _levels_that_fit(entries, room, cost)
    if not visible:
        visible = _largest_that_fit(entries, room, cost)
        n_top = sum(entry.depth == 0 for entry in entries)
        outline = outline._replace(n_left_out=n_top - len(visible))
    else:
        visible |= _unfolded(entries, visible, room - sum(cost(entries[at]) for at in visible), cost)
    return outline._replace(entries=_with_counts(entries, visible))


def _levels_that_fit(entries: Sequence[Entry], room: int, cost: Callable[[Entry], int]) -> set[int]:
    by_depth = [0] * (1 + max((entry.depth for entry in entries), default=0))
    for entry in entries:
        by_depth[entry.depth] += cost(entry)
    n_levels = sum(total <= room for total in accumulate(by_depth))
    return {at for at, entry in enumerate(entries) if entry.depth < n_levels}


def _largest_that_fit(entries: Sequence[Entry], room: int, cost: Callable[[Entry], int]) -> set[int]:
    visible: set[int] = set()
    top = [at for at, entry in enumerate(entries) if entry.depth == 0]
    for at in sorted(top, key=lambda index: -entries[index].n_tokens):
        room -= cost(entries[at])
        if room < 0:
            break
        visible.add(at)
    return visible


def _unfolded(entries: Sequence[Entry], visible: set[int], room: int, cost: Callable[[Entry], int]) -> set[int]:
    """Return more entries to show: the children of the largest folded entry whose children all fit, and so on."""
    children = _children(entries)
    more: set[int] = set()
    candidates = [
        (-entries[at].n_tokens, at) for at in visible if children[at] and not visible.intersection(children[at])
    ]
    heapq.heapify(candidates)
    while candidates:
        _, at = heapq.heappop(candidates)
        needed = sum(cost(entries[child]) for child in children[at])
        if needed > room:
            continue
        room -= needed
        more.update(children[at])
        for child in children[at]:
            if children[child]:
                heapq.heappush(candidates, (-entries[child].n_tokens, child))
    return more


def _children(entries: Sequence[Entry]) -> list[list[int]]:
    """Return the children of each entry."""
    children: list[list[int]] = [[] for _ in entries]
    for at, parent in enumerate(_parents(entries)):
        if parent is not None:
            children[parent].append(at)
    return children


def _parents(entries: Sequence[Entry]) -> Iterator[int | None]:
    """Yield the parent of each entry."""
    ancestors: list[int] = []
    for at, entry in enumerate(entries):
        while ancestors and entries[ancestors[-1]].depth >= entry.depth:
            ancestors.pop()
        yield ancestors[-1] if ancestors else None
        ancestors.append(at)


def _with_counts(entries: Sequence[Entry], visible: set[int]) -> tuple[Entry, ...]:
    """Return the visible entries, each with the number of its parts that are not visible."""
    n_folded = Counter[int]()
    visible_ancestors: list[int | None] = []
    for at, parent in enumerate(_parents(entries)):
        visible_ancestors.append(at if at in visible else None if parent is None else visible_ancestors[parent])
        if at not in visible and visible_ancestors[at] is not None:
            n_folded[visible_ancestors[at] or 0] += 1
    return tuple(entries[at]._replace(n_folded=n_folded[at]) for at in sorted(visible))
