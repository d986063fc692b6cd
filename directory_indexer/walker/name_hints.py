"""A quick first look at names: most match no rule, and it must cost little to find that out.

A hint is what a lower-case ASCII name must have for a glob to match it. A name that has none of the hints matches none
of the globs; one that has may still match none.
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
    """Hints of several globs, by the test that they need: the name, how it ends or starts, or what it contains."""

    names: frozenset[str] = frozenset()
    extensions: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()


_NOTHING: Final = frozenset[str]()
_EVERY_NAME: Final = NameHints(starts=frozenset({""}))


def hints_of(globs: Iterable[Glob | None]) -> NameHints:
    """Work out what a name must have for any of the globs to match it; `None` matches every name."""
    return merged(_hint(glob) if glob else _EVERY_NAME for glob in globs)


def merged(hints: Iterable[NameHints]) -> NameHints:
    """Join hints: a name needs only one."""
    return NameHints(*(_NOTHING.union(*same) for same in zip(NameHints(), *hints, strict=True)))


def finder_of(hints: NameHints) -> Callable[[Sequence[str]], set[str]]:
    """Make the search for names that have a hint; one that is not ASCII counts as if it had.

    It looks at the names of a directory together: that costs half of what testing one after the other does.
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
        found = set[str]()
        if not exact.isdisjoint(keys) or not extensions.isdisjoint([key[key.rfind(".") :] for key in keys]):
            pairs = zip(names, keys, strict=True)
            found.update(name for name, key in pairs if key in exact or key[key.rfind(".") :] in extensions)
        if search and search(f"/{lowered}/"):
            found.update(name for name, key in zip(names, keys, strict=True) if search(f"/{key}/"))
        if not joined.isascii():
            found.update(name for name in names if not name.isascii())
        return found

    return find


@lru_cache(maxsize=256)
def _search_for(starts: frozenset[str], ends: frozenset[str], parts: frozenset[str]) -> Callable[[str], object] | None:
    """Make the search for texts in a name between slashes; most ignore files add none to those from further out."""
    shortest = (start for start in starts if not any(start[:n] in starts for n in range(len(start))))
    texts = [*(f"/{start}" for start in shortest), *(f"{end}/" for end in ends), *parts]
    # To group them by their first character halves the time of the search.
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
    """List the texts of a run from the start that is not long, has no star and few spellings."""
    texts = {""}
    for place in places[:_MAX_SPELLED]:
        if place == STAR or len(place) * len(texts) > _MAX_SPELLINGS:
            break
        texts = {text + char for text in texts for char in place}
    return frozenset(texts)


def _shortest(texts: frozenset[str]) -> int:
    return min(map(len, texts))
