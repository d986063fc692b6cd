"""A quick first look at a name: most match no rule, and one cheap test must be enough to say so.

A hint is what a lower-case ASCII name must have for a glob to match it. A name that has none of the hints matches none
of the globs; one that has may still match none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from directory_indexer.gitignore import STAR, fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from directory_indexer.gitignore import Glob

_MAX_SPELLINGS: Final = 16
_ONE_EXTENSION = re.compile(r"\.[^.]+", re.DOTALL)


class NameHints(NamedTuple):
    """Hints of several globs, by the test that they need; `regexes` where no part of the glob is known text."""

    names: frozenset[str] = frozenset()
    extensions: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    starts: frozenset[str] = frozenset()
    regexes: frozenset[str] = frozenset()


_EVERY_NAME: Final = NameHints(starts=frozenset({""}))


def hints_of(globs: Iterable[Glob | None]) -> NameHints:
    """Work out what a name must have for any of the globs to match it; `None` matches every name."""
    return merged(_hint(glob) if glob else _EVERY_NAME for glob in globs)


def merged(hints: Iterable[NameHints]) -> NameHints:
    """Join hints: a name needs only one."""
    return NameHints(*(frozenset[str]().union(*same) for same in zip(NameHints(), *hints, strict=True)))


def quick_test(hints: NameHints) -> Callable[[str], bool]:
    """Make the test whether a name has one of the hints; one that is not ASCII may have them all."""
    names, extensions = hints.names, hints.extensions
    ends, starts = tuple(hints.ends), tuple(hints.starts)

    def has_hint(name: str) -> bool:
        key = name.lower()
        return (
            key in names
            or key[key.rfind(".") :] in extensions
            or key.startswith(starts)
            or key.endswith(ends)
            or not name.isascii()
        )

    if not hints.regexes:
        return has_hint
    matches = re.compile("|".join(hints.regexes), re.DOTALL).fullmatch
    # Rules that ignore case have lower-case regexes.
    return lambda name: has_hint(name) or bool(matches(name) or matches(name.lower()))


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
    return NameHints(regexes=frozenset({glob.regex}))


def _spellings(places: Sequence[frozenset[str]]) -> frozenset[str]:
    """List the texts of the longest run from the start that has no star and few spellings."""
    texts = {""}
    for place in places:
        if place == STAR or len(place) * len(texts) > _MAX_SPELLINGS:
            break
        texts = {text + char for text in texts for char in place}
    return frozenset(texts)
