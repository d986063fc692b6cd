"""Prefilter of names: most match no rule, which has to be found out cheaply.

A hint is a property of a lower-case ASCII name that a glob requires. A name with none of the hints matches none of the
globs; one with a hint may still match none.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from directory_indexer.walker.gitignore import STAR, Glob, fold

_MAX_SPELLINGS: Final = 16
_MAX_SPELLED: Final = 24
_AT_ONCE: Final = 10_000
_ONE_EXTENSION = re.compile(r"\.[^.]+", re.DOTALL)


class NameHints(NamedTuple):
    """Hints of several globs by kind of test: the whole name, its end, its beginning, or a part of it."""

    names: frozenset[str] = frozenset()
    extensions: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()


_NOTHING: Final = frozenset[str]()
_EVERY_NAME: Final = NameHints(starts=frozenset({""}))


def hints_of(globs: Iterable[Glob | None]) -> NameHints:
    """Return the hints of globs; `None` matches every name."""
    return merged(_hint(glob) if glob else _EVERY_NAME for glob in globs)


def merged(hints: Iterable[NameHints]) -> NameHints:
    """Return the union of hints: a name needs only one."""
    return NameHints(*(_NOTHING.union(*same) for same in zip(NameHints(), *hints, strict=True)))


def finder_of(hints: NameHints) -> Callable[[Sequence[str]], set[str]]:
    """Return a function that finds the names with a hint; names that are not ASCII are always included.

    It scans the names of a directory together, which costs half of what testing them one by one does.
    """
    exact, extensions = hints.names, hints.extensions
    search = _search_for(hints.starts, hints.ends, hints.parts)

    def find(names: Sequence[str]) -> set[str]:
        if len(names) > _AT_ONCE:
            half = len(names) // 2
            return find(names[:half]) | find(names[half:])
        joined = "/".join(names)
        lowered = joined.lower()
        keys = lowered.split("/") if names else []
        matches = set[str]()
        if not exact.isdisjoint(keys) or not extensions.isdisjoint([key[key.rfind(".") :] for key in keys]):
            pairs = zip(names, keys, strict=True)
            matches.update(name for name, key in pairs if key in exact or key[key.rfind(".") :] in extensions)
        if search and search(f"/{lowered}/"):
            matches.update(name for name, key in zip(names, keys, strict=True) if search(f"/{key}/"))
        if not joined.isascii():
            matches.update(name for name in names if not name.isascii())
        return matches

    return find


@lru_cache(maxsize=256)
def _search_for(starts: frozenset[str], ends: frozenset[str], parts: frozenset[str]) -> Callable[[str], object] | None:
    """Return a search for substrings of a name between slashes.

    Cached, since most ignore files add none to the outer ones.
    """
    shortest = (start for start in starts if not any(start[:n] in starts for n in range(len(start))))
    texts = [*(f"/{start}" for start in shortest), *(f"{end}/" for end in ends), *parts]
    # Grouping them by their first character halves the time of the search.
    groups = itertools.groupby(sorted(texts), key=lambda text: text[:1])
    regex = "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(text[1:]) for text in same)})" for first, same in groups
    )
    return re.compile(regex).search if texts else None


def _hint(glob: Glob) -> NameHints:
    if glob.literal is not None:
        return NameHints(names=frozenset({fold(glob.literal)}))
    places = glob.folded.places
    starts = _spellings(places)
    ends = frozenset(text[::-1] for text in _spellings(places[::-1]))
    if STAR not in places and all(len(text) == len(places) for text in starts):
        return NameHints(names=starts)
    if all(_ONE_EXTENSION.fullmatch(text) for text in ends):
        return NameHints(extensions=ends)
    if "" not in starts:
        return NameHints(starts=starts)
    if "" not in ends:
        return NameHints(ends=ends)
    return NameHints(parts=max((_spellings(places[start:]) for start in range(len(places))), key=_shortest))


def _spellings(places: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the texts of the longest prefix that is short, has no star and few spellings."""
    texts = {""}
    for place in places[:_MAX_SPELLED]:
        if place == STAR or len(place) * len(texts) > _MAX_SPELLINGS:
            break
        texts = {text + char for text in texts for char in place}
    return frozenset(texts)


def _shortest(texts: frozenset[str]) -> int:
    return min(map(len, texts))
