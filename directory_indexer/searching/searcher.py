"""Searches: candidates by words and by meaning within the scope, ranked, and shown with the part that matched.

Filters are applied before the best candidates are chosen, so as many hits are given as are asked for while there are
as many. What the vector store returns counts only if SQLite knows it: a hit is never a text that is gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.embedders import Embedder
from directory_indexer.embedders.models import judged_as
from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.errors import IndexMismatchError, ProviderError, StoreError, UsageError, VectorStoreError
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.ids import ChunkId, ContentHash
from directory_indexer.lazy import lazily
from directory_indexer.questions import question
from directory_indexer.relevance.candidates import DEPTH, Candidate
from directory_indexer.relevance.definitions import names_in
from directory_indexer.relevance.evidence import Explanation
from directory_indexer.relevance.excerpts import excerpt
from directory_indexer.relevance.matchplan import MatchPlan, plan_match
from directory_indexer.relevance.query import Query, parse_query
from directory_indexer.relevance.ranking import Ranked, Ranking, good_ones, rank, worth_showing
from directory_indexer.relevance.spelling import Correction, respelled
from directory_indexer.scans import NoPages, RecognisedPages
from directory_indexer.searching.answers import Hit, SearchMode, SearchRequest, SearchResult
from directory_indexer.searching.background import BackgroundTask
from directory_indexer.searching.defining import defining_first, headed_by_name
from directory_indexer.searching.fusing import fused
from directory_indexer.searching.gaps import gaps_in
from directory_indexer.searching.hits import with_documents
from directory_indexer.searching.inquiry import Inquiry, Lists, Meaning, bands_of
from directory_indexer.searching.notes import notes_on, require_types
from directory_indexer.searching.phrases import continued, note_on, relaxed
from directory_indexer.searching.readiness import require_indexed
from directory_indexer.searching.scope import Scope, resolve_scope

with lazily:
    from directory_indexer.docstore.facets import Facets
    from directory_indexer.searching.matching_passages import narrowed_scope, with_matches
    from directory_indexer.searching.nearest import Nearest


MAX_FACET_VALUES = 20

_MOST_UNDER_A_NAME = 1000
_MOST_HEADED = 100
_DEEPEST = 1000
"""No further than this is looked for passages that are no copies of others."""


class Searcher:
    """The reading side of an index; takes no lock, and any number of threads may share it.

    A search by words alone never calls `nearest` and `embedder`, which take time to load.
    """

    def __init__(
        self,
        *,
        docstore: DocStore,
        nearest: Callable[[], Nearest],
        embedder: Callable[[EmbeddingSpace | None], Embedder],
        recognised: RecognisedPages | None = None,
        has_vectors: bool = True,
    ) -> None:
        self._docstore = docstore
        self._recognised = recognised or NoPages()
        self._nearest = nearest
        self._embedder = embedder
        self._has_vectors = has_vectors

    def search(self, request: SearchRequest) -> SearchResult:
        """Answer a request.

        Raises:
            NotIndexedError: nothing is indexed, or nothing where the request looks.
            ProviderError: the mode is semantic and the embedder cannot answer.
            VectorStoreError: the mode is semantic and the vectors cannot be reached or are lost.
            IndexMismatchError: the mode is semantic and the vectors stem from another model, or are in another store.
            UsageError: the mode is semantic and the configuration wants no vectors.
        """
        with question(self._docstore.path):
            return self._answer(request)

    def _answer(self, request: SearchRequest) -> SearchResult:
        queries = tuple(map(parse_query, dict.fromkeys((request.query, *request.queries))))
        mode = request.mode
        if not self._has_vectors:
            if mode is SearchMode.SEMANTIC:
                raise UsageError(
                    "nothing is embedded: indexing.embedding is off", hint="set it to complete or on-demand"
                )
            mode = SearchMode.KEYWORD
        try:
            return self._docstore.read(lambda snapshot: self._search(snapshot, request, queries, mode))
        except (ProviderError, IndexMismatchError, VectorStoreError) as error:
            if request.mode is SearchMode.SEMANTIC:
                raise
            degraded = (f"answered by keywords alone: {error.message}",)
        with self._docstore.snapshot() as snapshot:
            result = self._search(snapshot, request, queries, SearchMode.KEYWORD)
        return result._replace(degraded=(*degraded, *result.degraded))

    def facets(self, request: SearchRequest) -> Facets:
        """Count the types, places, years, languages, authors and tags of the files that a request looks into.

        Its words do not matter, its filters do.

        Raises:
            NotIndexedError: nothing is indexed, or nothing where the request looks.
            UsageError: there is no such type.
        """
        query = parse_query(request.query)
        with self._docstore.snapshot() as snapshot:
            require_indexed(snapshot, request.scope)
            require_types(request.kinds)
            scope = resolve_scope(snapshot, request, query)
            below = request.scope[0] if len(request.scope) == 1 else None
            return snapshot.facets.of(scope.file_ids_json, below=below, limit=MAX_FACET_VALUES)

    def _newest(self, snapshot: Snapshot, request: SearchRequest, query: Query) -> SearchResult:
        """List the files that are meant, newest first: where nothing is looked for, none is a better answer."""
        scope = resolve_scope(snapshot, request, query)
        chunks = snapshot.chunks.of_newest_files(scope.file_ids_json, limit=request.limit)
        plan = plan_match(query, snapshot.words)
        hits = (
            _hit(chunk, Ranked(chunk.chunk_id, 1.0, Explanation()), plan, excerpt_chars=request.excerpt_chars)
            for chunk in chunks
        )
        return SearchResult(
            request=request,
            hits=with_documents(snapshot, hits, self._recognised),
            degraded=notes_on(snapshot, query, scope),
            summary=snapshot.overview.summary(),
            state=snapshot.overview.state_name(),
            is_truncated=len(chunks) >= request.limit,
            is_weak=False,
        )

    def _search(
        self, snapshot: Snapshot, request: SearchRequest, queries: Sequence[Query], mode: SearchMode
    ) -> SearchResult:
        require_indexed(snapshot, request.scope)
        require_types(request.kinds)
        asked = [self._asked(snapshot, query, mode) for query in queries]
        results = [self._ranked(snapshot, request, one, mode) for one in asked]
        return results[0] if len(results) == 1 else fused(results, limit=request.limit)

    def _asked(self, snapshot: Snapshot, query: Query, mode: SearchMode) -> _Asked:
        """Correct a query and begin to embed it: what comes before the first answer is done for all of them at once."""
        query, corrections = respelled(query, snapshot.words)
        if mode is SearchMode.KEYWORD or not query.meaning:
            return _Asked(query, corrections, None)
        space = snapshot.vector_sets.answering().space
        return _Asked(query, corrections, BackgroundTask(partial(self._embed, space, query.meaning)))

    def _ranked(self, snapshot: Snapshot, request: SearchRequest, asked: _Asked, mode: SearchMode) -> SearchResult:
        query, corrections, embedding = asked
        if query.has_only_filters or (not query.text.strip() and request.has_filters):
            return self._newest(snapshot, request, query)
        scope = narrowed_scope(snapshot, resolve_scope(snapshot, request, query), request)
        wanted = request._replace(mode=mode)

        def found(asked: Query) -> _Found:
            plan = plan_match(asked, snapshot.words)
            inquiry = Inquiry(snapshot, wanted, plan, scope, embedding, self._nearest)
            answer = _found(snapshot, inquiry, plan, wanted)
            self._keep(*inquiry.made())
            return answer

        plan, degraded, chunks, ranking = found(query)
        if beyond := relaxed(query, ranking, limit=request.limit):
            others = found(beyond)
            if len(others.ranking.hits) > len(ranking.hits):
                chunks, degraded = chunks | others.chunks, (*degraded, note_on(query, ranking))
                ranking = continued(ranking, others.ranking, limit=request.limit)
        worthy = worth_showing(ranking)
        is_by_words = mode is SearchMode.KEYWORD
        shown = good_ones(worthy, by_words_alone=is_by_words) if request.only_good else worthy
        chunks = _headed(snapshot, plan, scope, wanted) | chunks
        shown = defining_first(shown, chunks, query, limit=request.limit)
        hits = (_hit(chunks[one.chunk_id], one, plan, excerpt_chars=request.excerpt_chars) for one in shown)
        gaps = gaps_in(snapshot, request, query, is_weak=not shown or ranking.is_weak)
        return SearchResult(
            request=request,
            hits=with_documents(snapshot, hits, self._recognised),
            degraded=(*degraded, *notes_on(snapshot, query, scope), *gaps),
            summary=snapshot.overview.summary(),
            state=snapshot.overview.state_name(),
            is_truncated=len(shown) >= request.limit,
            is_weak=ranking.is_weak,
            has_weaker=len(shown) < len(worthy),
            corrections=corrections,
        )

    def _embed(self, space: EmbeddingSpace | None, text: str) -> Meaning:
        embedder = self._embedder(space)
        return Meaning(text, embedder.embed_query(text), judged_as(embedder.space), embedder)

    def _keep(self, space: str, made: Mapping[ContentHash, bytes]) -> None:
        """Keep vectors for later searches, unless somebody writes at this moment or nobody may."""
        if made:
            with contextlib.suppress(StoreError), self._docstore.transaction(waits=False) as transaction:
                transaction.search_vectors.put(space, made)


class _Asked(NamedTuple):
    """A query as it is looked for: without typing errors, and on its way to a vector where meaning is asked for."""

    query: Query
    corrections: tuple[Correction, ...]
    embedding: BackgroundTask[Meaning] | None


class _Found(NamedTuple):
    """What one plan finds: the ranking with the chunks in it, and what kept a list of candidates from being whole."""

    plan: MatchPlan
    degraded: tuple[str, ...]
    chunks: dict[ChunkId, IndexedChunk]
    ranking: Ranking


def _found(snapshot: Snapshot, inquiry: Inquiry, plan: MatchPlan, request: SearchRequest) -> _Found:
    limit = request.limit
    depth = _depth(limit)
    while True:
        lists = inquiry.lists(depth)
        bands = bands_of(lists)
        chunks = with_matches(snapshot.chunks.by_id(_permitted(snapshot, plan, bands.keys())), request)
        candidates = [_candidate(chunk, lists, bands[chunk.chunk_id]) for chunk in chunks.values()]
        ranking = rank(plan, candidates, limit=limit, model=lists.model)
        # Copies of a passage, which are shown once, and what the query excludes may take up all the places.
        if len(ranking.hits) >= limit or len(bands) < depth or depth >= _DEEPEST:
            return _Found(plan, lists.degraded, chunks, ranking)
        depth *= 2


def _headed(snapshot: Snapshot, plan: MatchPlan, scope: Scope, request: SearchRequest) -> dict[ChunkId, IndexedChunk]:
    """Give passages under the name that a query consists of, which a hundred that use it may rank before."""
    expression = headed_by_name(plan)
    if expression is None:
        return {}
    found = snapshot.words.ranked(
        expression, file_ids_json=scope.file_ids_json, rows=scope.rows, limit=_MOST_UNDER_A_NAME
    )
    (name,) = names_in(plan.query)
    headed = snapshot.chunks.headed((chunk_id for chunk_id, _ in found), name)
    return with_matches(snapshot.chunks.by_id(headed[:_MOST_HEADED]), request)


def _depth(limit: int) -> int:
    """Look deep enough for as many hits as are wanted."""
    return -(-limit // DEPTH) * DEPTH


def _permitted(snapshot: Snapshot, plan: MatchPlan, chunk_ids: Collection[ChunkId]) -> set[ChunkId]:
    """Leave out what the phrases, exclusions and headings of the query rule out; meaning knows nothing of them."""
    permitted = set(chunk_ids)
    for expression in plan.required:
        permitted &= snapshot.words.matching(expression, permitted)
    for expression in plan.forbidden:
        permitted -= snapshot.words.matching(expression, permitted)
    return permitted


def _candidate(stored: IndexedChunk, lists: Lists, band: int) -> Candidate:
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


def _hit(stored: IndexedChunk, ranked: Ranked, plan: MatchPlan, *, excerpt_chars: int) -> Hit:
    chunk = stored.chunk
    return Hit(
        path=stored.path,
        facts=stored.facts,
        score=ranked.score,
        chunk_id=stored.chunk_id,
        ordinal=chunk.ordinal,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        page=chunk.page,
        heading=chunk.heading,
        text=chunk.text,
        excerpt=excerpt(chunk.text, plan, start_line=chunk.start_line, max_chars=excerpt_chars),
        n_more_in_file=ranked.n_more_in_file,
        explanation=ranked.explanation,
        start_char=chunk.start_char,
    )
