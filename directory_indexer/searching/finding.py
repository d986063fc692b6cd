"""Retrieval and ranking of the candidates of one plan within a scope."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import Snapshot
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.relevance.candidates import DEPTH, Candidate
from directory_indexer.relevance.definitions import names_in
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.ranking import Ranking, rank
from directory_indexer.searching.answers import SearchRequest
from directory_indexer.searching.copies import nearest_in_scope
from directory_indexer.searching.defining import heading_expression
from directory_indexer.searching.inquiry import CandidateLists, Retriever, rank_bands
from directory_indexer.searching.scope import Scope

with lazily:
    from directory_indexer.embedders.likeness import likeness
    from directory_indexer.searching.matching_passages import filter_passages


class RankedChunks(NamedTuple):
    """The ranking of one plan, with its chunks."""

    plan: MatchPlan
    chunks: dict[ChunkId, IndexedChunk]
    ranking: Ranking


def retrieve_and_rank(
    snapshot: Snapshot, inquiry: Retriever, plan: MatchPlan, scope: Scope, request: SearchRequest
) -> RankedChunks:
    """Rank enough of the best candidates for the requested number of hits, if there are so many."""
    limit = request.limit
    depth = _depth(limit)
    while True:
        lists = inquiry.lists(depth)
        bands = rank_bands(lists)
        permitted = snapshot.chunks.by_id(_permitted(snapshot, plan, bands.keys()))
        chunks = filter_passages(nearest_in_scope(snapshot, permitted, scope, request.near), request)
        candidates = [_candidate(chunk, lists, bands[chunk.chunk_id]) for chunk in chunks.values()]
        ranking = rank(plan, candidates, limit=limit, model=lists.model, likeness=likeness)
        # Copies of a passage, which are shown once, and excluded passages may take up all the ranks.
        if len(ranking.hits) >= limit or len(bands) < depth or depth >= _MAX_DEPTH:
            return RankedChunks(plan, chunks, ranking)
        depth *= 2


def definition_candidates(
    snapshot: Snapshot, plan: MatchPlan, scope: Scope, request: SearchRequest
) -> dict[ChunkId, IndexedChunk]:
    """Return passages under the name that is the query, which may rank behind a hundred that use it."""
    expression = heading_expression(plan)
    if expression is None:
        return {}
    matches = snapshot.words.ranked(
        expression, file_ids_json=scope.holder_ids_json, rows=scope.rows, limit=_MAX_MATCHES
    )
    (name,) = names_in(plan.query)
    chunk_ids = snapshot.chunks.headed((chunk_id for chunk_id, _ in matches), name)
    chunks = snapshot.chunks.by_id(chunk_ids[:_MAX_HEADED])
    return filter_passages(nearest_in_scope(snapshot, chunks, scope, request.near), request)


def _depth(limit: int) -> int:
    """Return a depth that is sufficient for so many hits."""
    return -(-limit // DEPTH) * DEPTH


def _permitted(snapshot: Snapshot, plan: MatchPlan, chunk_ids: Collection[ChunkId]) -> set[ChunkId]:
    """Drop what phrases, exclusions and headings of the query rule out; semantic search ignores them."""
    permitted = set(chunk_ids)
    for expression in plan.required:
        permitted &= snapshot.words.matching(expression, permitted)
    for expression in plan.forbidden:
        permitted -= snapshot.words.matching(expression, permitted)
    return permitted


def _candidate(stored: IndexedChunk, lists: CandidateLists, band: int) -> Candidate:
    return Candidate(
        chunk_id=stored.chunk_id,
        path=stored.path,
        ordinal=stored.chunk.ordinal,
        is_code=stored.facts.kind in GROUPS["code"],
        title=stored.facts.title,
        heading=stored.chunk.heading,
        text=stored.chunk.text,
        keyword_score=lists.by_words.get(stored.chunk_id),
        semantic_score=lists.by_meaning.get(stored.chunk_id),
        cosine=lists.cosines.get(stored.chunk_id),
        band=band,
        language=stored.facts.language,
    )


_MAX_MATCHES: Final = 1000
_MAX_HEADED: Final = 100
_MAX_DEPTH: Final = 1000
"""The maximum depth of the search for passages that are not copies of others."""
