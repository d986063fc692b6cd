"""Boost of definitions: before uses of a name within each file, and in all files for a query of one identifier."""

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


def boost_definitions(
    hits: Sequence[Ranked], candidates: Mapping[ChunkId, IndexedChunk], query: Query, *, limit: int
) -> tuple[Ranked, ...]:
    """Swap the best passage of each file with one that defines the name in the query.

    A passage with the name and everything typed before it, as in `Session.get`, keeps its rank.
    """
    names = names_in(query)
    if len(names) != 1:
        return tuple(hits)
    qualifiers = _qualifiers(query, names[0])
    if qualifiers and hits and _holds(candidates[hits[0].chunk_id], query):
        return tuple(hits)
    ranked = list(hits)
    ranks = {hit.chunk_id: rank for rank, hit in enumerate(ranked)}
    seen: set[str] = set()
    for rank, hit in enumerate(ranked):
        best = candidates[hit.chunk_id]
        if best.path in seen or not _is_code(best):
            continue
        seen.add(best.path)
        defining = _defining(best, candidates, names, qualifiers)
        if defining is None or defining == hit.chunk_id:
            continue
        if (other := ranks.get(defining)) is not None:
            ranked[other] = ranked[other]._replace(chunk_id=hit.chunk_id, explanation=hit.explanation)
        ranked[rank] = hit._replace(chunk_id=defining)
    if len(query.words) != 1:
        return tuple(ranked)
    is_word = not query.words[0].is_name
    first = _definitions_first(ranked, candidates, names[0], is_word=is_word, qualifiers=qualifiers)
    return tuple(first[:limit])


def _qualifiers(query: Query, name: str) -> frozenset[str]:
    """Return the words typed before a name, as in `Session.get`."""
    typed = next((word for word in query.words if word.text.removesuffix("()").endswith(name)), None)
    return frozenset(typed.tokens if typed else ()) - {*query_words(name)}


def _holds(chunk: IndexedChunk, query: Query) -> bool:
    """Whether a passage has one of the words of a query literally."""
    text = chunk.chunk.text.casefold()
    return any(word.text.casefold() in text for word in query.words)


def _is_below(chunk: IndexedChunk, qualifiers: frozenset[str]) -> bool:
    """Whether the heading and the path of a passage have all of these words."""
    return not qualifiers or qualifiers <= {*words(f"{chunk.chunk.heading} {chunk.path}")}


def heading_expression(plan: MatchPlan) -> str | None:
    """Return the FTS5 expression for passages under the single name that is the query; None for other queries."""
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
    """Move definitions to the front, including the surest one of the passages that were not shown.

    Every rank keeps its score. A word of a language is a name only if code answers it best. Words typed before the
    name, as in `Session.get`, must occur above its definition, too.
    """
    if is_word and not (ranked and _is_code(candidates[ranked[0].chunk_id])):
        return list(ranked)
    ranks = {hit.chunk_id: rank for rank, hit in enumerate(ranked)}
    defining = (chunk for chunk in candidates.values() if _is_below(chunk, qualifiers))
    kinds = {chunk.chunk_id: kind for chunk in defining if (kind := _kind_of(chunk, name)) is not None}
    sure = [chunk_id for chunk_id, kind in kinds.items() if kind.is_sure]
    hidden = [] if any(chunk_id in ranks for chunk_id in sure) else sorted(sure, key=kinds.__getitem__)[:1]
    last = len(ranked)

    def key(hit: Ranked) -> tuple[_Kind, int]:
        kind = kinds.get(hit.chunk_id, _USE)
        return (kind if kind.is_sure or not is_word else _USE), ranks.get(hit.chunk_id, last)

    in_order = sorted((*ranked, *(Ranked(chunk_id, 0.0, Explanation()) for chunk_id in hidden)), key=key)
    scores = [hit.score for hit in ranked] or [1.0]
    return [hit._replace(score=scores[min(rank, last - 1)]) for rank, hit in enumerate(in_order)]


class _Kind(NamedTuple):
    """Rank of a definition in a passage, the surest being the smallest."""

    is_unsure: bool
    is_test: bool
    form: int

    @property
    def is_sure(self) -> bool:
        return not self.is_unsure


_USE: Final = _Kind(is_unsure=True, is_test=True, form=100)


def _kind_of(chunk: IndexedChunk, name: str) -> _Kind | None:
    """Return how surely a passage defines a name: by a keyword before it, or by its heading in the index."""
    definition = surest_definition([name], chunk.chunk.text) if _is_code(chunk) else None
    if definition is None:
        return None
    is_sure = definition.form == 0 or _is_headed(chunk, name)
    return _Kind(not is_sure, is_sure and has_role(chunk.path, "test"), definition.form if is_sure else 0)


def _is_headed(chunk: IndexedChunk, name: str) -> bool:
    """Whether a passage has a name as its heading; several small sections share one, separated by commas."""
    names = chunk.chunk.heading.rpartition(SEPARATOR)[2].split(", ")
    return any(_QUALIFIED.sub("", text.partition("<")[0]) == name for text in names)


def _is_code(chunk: IndexedChunk) -> bool:
    return chunk.facts.kind in GROUPS["code"]


def _defines(chunk: IndexedChunk, names: Sequence[str]) -> bool:
    return _is_code(chunk) and definition_of(names, chunk.chunk.text) is not None


def _defining(
    best: IndexedChunk, candidates: Mapping[ChunkId, IndexedChunk], names: Sequence[str], qualifiers: frozenset[str]
) -> ChunkId | None:
    others = sorted(
        (chunk for chunk in candidates.values() if chunk.path == best.path), key=lambda chunk: chunk.chunk.ordinal
    )
    defining = (chunk for chunk in (best, *others) if _defines(chunk, names) and _is_below(chunk, qualifiers))
    return next((chunk.chunk_id for chunk in defining), None)


_QUALIFIED: Final = re.compile(r".*[.:#]")
"""The qualifier of a name in a heading such as `res.cookie`."""
