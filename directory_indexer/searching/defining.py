"""What defines a name stands before what uses it: in each file, and in all of them where a query is one identifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.ids import ChunkId
from directory_indexer.relevance.definitions import definition_of, names_in
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.ranking import Ranked


def defining_first(
    shown: Sequence[Ranked], candidates: Mapping[ChunkId, IndexedChunk], query: Query
) -> tuple[Ranked, ...]:
    """Let a defining passage have the place of the best one of its file, and that one its own if it has one."""
    names = names_in(query)
    if len(names) != 1:
        return tuple(shown)
    ranked = list(shown)
    places = {one.chunk_id: place for place, one in enumerate(ranked)}
    seen: set[str] = set()
    for place, one in enumerate(ranked):
        best = candidates[one.chunk_id]
        if best.path in seen or best.facts.kind not in GROUPS["code"]:
            continue
        seen.add(best.path)
        defining = _defining(best, candidates, names)
        if defining is None or defining == one.chunk_id:
            continue
        if (other := places.get(defining)) is not None:
            ranked[other] = ranked[other]._replace(chunk_id=one.chunk_id, explanation=one.explanation)
        ranked[place] = one._replace(chunk_id=defining)
    return _definitions_first(ranked, candidates, names) if _is_identifier(query) else tuple(ranked)


def _is_identifier(query: Query) -> bool:
    return len(query.words) == 1 and query.words[0].is_name


def _definitions_first(
    ranked: Sequence[Ranked], candidates: Mapping[ChunkId, IndexedChunk], names: Sequence[str]
) -> tuple[Ranked, ...]:
    """Let definitions and uses stand in the order they have, each with the score of its new place."""
    in_order = sorted(ranked, key=lambda one: not _defines(candidates[one.chunk_id], names))
    return tuple(one._replace(score=place.score) for one, place in zip(in_order, ranked, strict=True))


def _defines(chunk: IndexedChunk, names: Sequence[str]) -> bool:
    return chunk.facts.kind in GROUPS["code"] and definition_of(names, chunk.chunk.text) is not None


def _defining(best: IndexedChunk, candidates: Mapping[ChunkId, IndexedChunk], names: Sequence[str]) -> ChunkId | None:
    beside = sorted((one for one in candidates.values() if one.path == best.path), key=lambda one: one.chunk.ordinal)
    found = (one for one in (best, *beside) if _defines(one, names))
    return next((one.chunk_id for one in found), None)
