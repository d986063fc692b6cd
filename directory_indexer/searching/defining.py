"""What defines a name stands before what uses it: in each file, and in all of them where a query is one identifier."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.ids import ChunkId
from directory_indexer.relevance.analyzer import query_words, words
from directory_indexer.relevance.definitions import definition_of, names_in, surest_definition
from directory_indexer.relevance.evidence import Explanation
from directory_indexer.relevance.forms import phrase_of
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.ranking import Ranked
from directory_indexer.relevance.roles import has_role
from directory_indexer.searching.section_starts import SEPARATOR


def defining_first(
    shown: Sequence[Ranked], candidates: Mapping[ChunkId, IndexedChunk], query: Query, *, limit: int
) -> tuple[Ranked, ...]:
    """Let a defining passage have the place of the best one of its file, and that one its own if it has one.

    What holds a name with all that was typed before it, as in `Session.get`, keeps its place.
    """
    names = names_in(query)
    if len(names) != 1:
        return tuple(shown)
    qualifiers = _qualifiers(query, names[0])
    if qualifiers and shown and _holds(candidates[shown[0].chunk_id], query):
        return tuple(shown)
    ranked = list(shown)
    places = {one.chunk_id: place for place, one in enumerate(ranked)}
    seen: set[str] = set()
    for place, one in enumerate(ranked):
        best = candidates[one.chunk_id]
        if best.path in seen or not _is_code(best):
            continue
        seen.add(best.path)
        defining = _defining(best, candidates, names, qualifiers)
        if defining is None or defining == one.chunk_id:
            continue
        if (other := places.get(defining)) is not None:
            ranked[other] = ranked[other]._replace(chunk_id=one.chunk_id, explanation=one.explanation)
        ranked[place] = one._replace(chunk_id=defining)
    if len(query.words) != 1:
        return tuple(ranked)
    is_word = not query.words[0].is_name
    first = _definitions_first(ranked, candidates, names[0], is_word=is_word, qualifiers=qualifiers)
    return tuple(first[:limit])


def _qualifiers(query: Query, name: str) -> frozenset[str]:
    """Return the words before a name in what was typed, as in `Session.get`."""
    typed = next((word for word in query.words if word.text.removesuffix("()").endswith(name)), None)
    return frozenset(typed.tokens if typed else ()) - {*query_words(name)}


def _holds(chunk: IndexedChunk, query: Query) -> bool:
    """Whether a passage has one of the words of a query as it stands."""
    text = chunk.chunk.text.casefold()
    return any(word.text.casefold() in text for word in query.words)


def _is_below(chunk: IndexedChunk, qualifiers: frozenset[str]) -> bool:
    """Whether the heading or the path of a passage has all of these words."""
    return not qualifiers or qualifiers <= {*words(f"{chunk.chunk.heading} {chunk.path}")}


def headed_by_name(plan: MatchPlan) -> str | None:
    """Give the FTS5 expression for passages under the one name that a query consists of; None where it has more."""
    names = names_in(plan.query)
    if plan.expression is None or len(plan.query.words) != 1 or len(names) != 1:
        return None
    return f"({plan.expression}) AND (heading : {phrase_of(tuple(query_words(names[0])))})"


def _definitions_first(
    ranked: Sequence[Ranked],
    candidates: Mapping[ChunkId, IndexedChunk],
    name: str,
    *,
    is_word: bool,
    qualifiers: frozenset[str],
) -> list[Ranked]:
    """Let definitions come first, and of passages that were not shown the one that surely is the definition.

    Every place keeps its score. A word of a language is a name only where code answers it best. What stands before the
    name, as in `Session.get`, must stand above its definition, too.
    """
    if is_word and not (ranked and _is_code(candidates[ranked[0].chunk_id])):
        return list(ranked)
    places = {one.chunk_id: place for place, one in enumerate(ranked)}
    defining = (one for one in candidates.values() if _is_below(one, qualifiers))
    found = {one.chunk_id: kind for one in defining if (kind := _kind_of(one, name)) is not None}
    sure = [chunk_id for chunk_id, kind in found.items() if kind.is_sure]
    hidden = [] if any(one in places for one in sure) else sorted(sure, key=found.__getitem__)[:1]
    last = len(ranked)

    def key(one: Ranked) -> tuple[_Kind, int]:
        kind = found.get(one.chunk_id, _USE)
        return (kind if kind.is_sure or not is_word else _USE), places.get(one.chunk_id, last)

    in_order = sorted((*ranked, *(Ranked(one, 0.0, Explanation()) for one in hidden)), key=key)
    scores = [one.score for one in ranked] or [1.0]
    return [one._replace(score=scores[min(place, last - 1)]) for place, one in enumerate(in_order)]


class _Kind(NamedTuple):
    """What a passage does to a name, the surest definition being the smallest."""

    is_unsure: bool
    is_test: bool
    form: int

    @property
    def is_sure(self) -> bool:
        return not self.is_unsure


_USE: Final = _Kind(is_unsure=True, is_test=True, form=100)


def _kind_of(chunk: IndexedChunk, name: str) -> _Kind | None:
    """Tell how sure a passage defines a name: by a keyword before it, or as the index knows, which heads it so."""
    found = surest_definition([name], chunk.chunk.text) if _is_code(chunk) else None
    if found is None:
        return None
    is_sure = found.form == 0 or _is_headed(chunk, name)
    return _Kind(not is_sure, is_sure and has_role(chunk.path, "test"), found.form if is_sure else 0)


def _is_headed(chunk: IndexedChunk, name: str) -> bool:
    """Tell whether a passage has a name above it; one of several small sections has all of theirs, with commas."""
    own = chunk.chunk.heading.rpartition(SEPARATOR)[2].split(", ")
    return any(_QUALIFIED.sub("", one.partition("<")[0]) == name for one in own)


def _is_code(chunk: IndexedChunk) -> bool:
    return chunk.facts.kind in GROUPS["code"]


def _defines(chunk: IndexedChunk, names: Sequence[str]) -> bool:
    return _is_code(chunk) and definition_of(names, chunk.chunk.text) is not None


def _defining(
    best: IndexedChunk, candidates: Mapping[ChunkId, IndexedChunk], names: Sequence[str], qualifiers: frozenset[str]
) -> ChunkId | None:
    beside = sorted((one for one in candidates.values() if one.path == best.path), key=lambda one: one.chunk.ordinal)
    found = (one for one in (best, *beside) if _defines(one, names) and _is_below(one, qualifiers))
    return next((one.chunk_id for one in found), None)


_QUALIFIED: Final = re.compile(r".*[.:#]")
"""What stands before a name in a heading such as `res.cookie`."""
