"""Search: candidates by words and by meaning within the scope, ranked, with excerpts.

Filters are applied before the best candidates are selected, so that there are as many hits as requested if enough
passages pass. Results of the vector store count only if SQLite knows them: a hit is never a text that is gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from directory_indexer.core.errors import IndexMismatchError, ProviderError, StoreError, UsageError, VectorStoreError
from directory_indexer.core.files import NoPages, RecognisedPages
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.ids import ChunkId, ContentHash, new_chunk_id
from directory_indexer.core.last_query import recorded_query
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note
from directory_indexer.core.paths import FilePath
from directory_indexer.embedding import Embedder
from directory_indexer.embedding.models import cosine_parameters
from directory_indexer.ranking.candidates import NO_EXPLANATION
from directory_indexer.ranking.ordering import Ranked, cut_below_threshold, drop_zero_scores
from directory_indexer.ranking.plan import MatchPlan, plan_match, select_informative_words
from directory_indexer.ranking.query import Query, parse_query
from directory_indexer.ranking.spelling import Correction, correct_spelling
from directory_indexer.search.boosts import boost_definitions, boost_referenced_lines
from directory_indexer.search.coverage_warnings import embedding_warnings, require_indexed, scope_warnings
from directory_indexer.search.file_names import (
    FilenameMatches,
    merge_named_files,
    named_files,
    prefer_file_names,
    suggest_file_name,
)
from directory_indexer.search.hits import (
    QueryAnswer,
    RankedPassage,
    add_document_facts,
    copy_closest_to_directory,
    fuse_query_answers,
    make_hits,
    other_copies,
)
from directory_indexer.search.on_demand_embedding import BackgroundTask, OnDemandEmbedder, TimeShare
from directory_indexer.search.query_variants import (
    EMPTY_ANSWER,
    MAX_PREFIX_FILES,
    MIN_PREFIX_FILES,
    PrefixQuery,
    append_prefix_hits,
    append_relaxed,
    omits_prefix_hits,
    parse_prefix_query,
    rank_files,
    relax_phrases,
    relaxed_note,
    require_expression,
)
from directory_indexer.search.query_warnings import drop_unmatched_filters, query_warnings, require_known_types
from directory_indexer.search.requests import SearchMode, SearchRequest, SearchResult
from directory_indexer.search.retrieval import (
    HybridRetriever,
    MakeRetriever,
    QueryEmbedding,
    RankedChunks,
    definition_candidates,
    retrieve_and_rank,
)
from directory_indexer.search.scope import Scope, apply_query_dates, resolve_scope
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.embedding.likeness import are_different_words
    from directory_indexer.search.scope import restrict_to_grep_matches
    from directory_indexer.search.vector_search import VectorSearch
    from directory_indexer.storage.documents.statistics import Facets


MAX_FACET_VALUES = 20


class SearchPolicy(NamedTuple):
    """The configuration of a search: whether there are vectors, and where sent documents lie."""

    has_vectors: bool = True
    documents: FilePath | None = None


_DEFAULT_POLICY: Final = SearchPolicy()


class Searcher:
    """Searches an index; takes no lock, and any number of threads may share it.

    A keyword search never calls `nearest` and `embedder`, which take time to load. `make_retriever` makes the retriever
    of candidates, if that is not SQLite together with a vector store.
    """

    def __init__(
        self,
        *,
        docstore: DocStore,
        nearest: Callable[[], VectorSearch],
        embedder: Callable[[EmbeddingSpace | None], Embedder],
        recognised: RecognisedPages | None = None,
        policy: SearchPolicy = _DEFAULT_POLICY,
        make_retriever: MakeRetriever | None = None,
    ) -> None:
        self._docstore = docstore
        self._policy = policy
        self._recognised = recognised or NoPages()
        self._make_retriever = make_retriever or partial(HybridRetriever, nearest=nearest)
        self._embedder = embedder

    def search(self, request: SearchRequest) -> SearchResult:
        """Return the result of a request.

        Raises:
            NotIndexedError: nothing is indexed, or nothing where the request looks.
            ProviderError: the mode is semantic and the embedder cannot answer.
            VectorStoreError: the mode is semantic and the vectors cannot be reached or are lost.
            IndexMismatchError: the mode is semantic and the vectors stem from another model, or are in another store.
            UsageError: the mode is semantic and the configuration disables vectors.
        """
        with recorded_query(self._docstore.path), spans.span("search", mode=request.mode) as span:
            result = self._answer(request)
            span.note(n_hits=len(result.hits), n_notes=len(result.notes), is_weak=result.is_weak)
            return result

    def _answer(self, request: SearchRequest) -> SearchResult:
        queries = tuple(map(parse_query, dict.fromkeys((request.query, *request.queries))))
        mode = request.mode
        if not self._policy.has_vectors:
            if mode is SearchMode.SEMANTIC:
                raise UsageError(
                    "nothing is searchable by meaning: indexing.embedding is off",
                    hint="set it to complete or on-demand",
                )
            mode = SearchMode.KEYWORD
        try:
            return self._docstore.read(lambda snapshot: self._search(snapshot, request, queries, mode))
        except (ProviderError, IndexMismatchError, VectorStoreError) as error:
            if request.mode is SearchMode.SEMANTIC:
                raise
            by_keywords = Note(f"answered by keywords alone: {error.message}")
        with self._docstore.snapshot() as snapshot:
            result = self._search(snapshot, request, queries, SearchMode.KEYWORD)
        return result._replace(notes=(by_keywords, *result.notes))

    def facets(self, request: SearchRequest) -> Facets:
        """Count the types, directories, years, languages, authors and tags of the files in the scope of a request.

        Its words do not matter, its filters do; those that no file meets are words, as in a search.

        Raises:
            NotIndexedError: nothing is indexed, or nothing where the request looks.
            UsageError: there is no such type.
        """
        query = parse_query(request.query)
        with self._docstore.snapshot() as snapshot:
            require_indexed(snapshot, request.scope)
            require_known_types(request.kinds)
            scope = resolve_scope(snapshot, request, query)
            if scope.is_empty:
                scope = resolve_scope(snapshot, request, drop_unmatched_filters(snapshot, query)[0])
            below = request.scope[0] if len(request.scope) == 1 else None
            return snapshot.facets.count_values(scope.file_ids_json, below=below, limit=MAX_FACET_VALUES)

    def _answer_with_newest(
        self, snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope, *, is_named: bool
    ) -> QueryAnswer:
        """Return the files in the scope, newest first: without words to search for, this is the best order."""
        chunks = snapshot.chunks.first_chunks_of_newest_files(scope.file_ids_json, n_files=request.limit)
        plan = plan_match(query, snapshot.words)
        return QueryAnswer(
            tuple(RankedPassage(chunk, Ranked(id_, 1.0, NO_EXPLANATION), plan) for id_, chunk in _by_chunk_ids(chunks)),
            notes=tuple(map(Note, query_warnings(snapshot, request, query, scope, is_named=is_named))),
            is_truncated=len(chunks) >= request.limit,
        )

    def _search(
        self, snapshot: Snapshot, request: SearchRequest, queries: Sequence[Query], mode: SearchMode
    ) -> SearchResult:
        require_indexed(snapshot, request.scope)
        require_known_types(request.kinds)
        embedder = OnDemandEmbedder(request.embedding_seconds)
        allowances = [TimeShare(embedder, 1 / n_left) for n_left in range(len(queries), 0, -1)]
        possible = request._replace(mode=mode)
        processed_queries = [
            self._process_query(snapshot, possible, *arguments) for arguments in zip(queries, allowances, strict=True)
        ]
        answers = [self._answer_query(snapshot, possible, processed) for processed in processed_queries]
        self._store_vectors_of_search(embedder)
        scopes = [processed.scope for processed in processed_queries if processed.embedding]
        missing = embedding_warnings(snapshot, scopes, embedder) if scopes else ()
        named = processed_queries[0].named
        answer = answers[0] if len(answers) == 1 else fuse_query_answers(answers, limit=request.limit)
        answer = prefer_file_names(answer, named) if request.only_good else answer
        # The facts of a hit cost as much as ranking twenty passages, so only shown hits have them.
        hits = make_hits(answer.passages, excerpt_chars=request.excerpt_chars)
        query = processed_queries[0].query
        arranged = merge_named_files(snapshot, named, hits, request, query) if named.matches else hits
        return SearchResult(
            request=request,
            hits=add_document_facts(snapshot, arranged[: request.limit], self._recognised),
            notes=(*missing, *answer.notes),
            is_truncated=answer.is_truncated or len(arranged) > request.limit,
            is_weak=answer.is_weak and not named.are_answer,
            was_cut=answer.was_cut,
            corrections=answer.corrections,
            summary=snapshot.overview.summary(),
            state=snapshot.overview.state_id(),
            n_named=named.n_all,
        )

    def _process_query(
        self, snapshot: Snapshot, request: SearchRequest, query: Query, allowance: TimeShare
    ) -> _ProcessedQuery:
        """Correct a query and start to embed it, for all queries before the first is answered."""
        query = select_informative_words(query, snapshot.words)
        scope = resolve_scope(snapshot, request, query)
        named = named_files(snapshot, request, query, scope, documents=self._policy.documents)
        if scope.is_empty and not named.matches:
            with_words, notes = drop_unmatched_filters(snapshot, query)
            if notes:
                return self._process_query(snapshot, request, with_words, allowance)._replace(notes=notes)
        beginnings = parse_prefix_query(snapshot, query.text) if request.is_prefix else None
        if beginnings and not beginnings.is_word:
            return _ProcessedQuery(query, (), None, scope, named, beginnings)
        corrections: tuple[Correction, ...] = ()
        if not named.are_answer and (name := suggest_file_name(snapshot, request, query, scope, are_different_words)):
            corrections = (Correction(query.meaning, name),)
            query = parse_query(query.text.replace(query.meaning, name))
        elif not named.are_answer:
            query, corrections = correct_spelling(query, snapshot.words, are_different=are_different_words)
        if corrections:
            named = named_files(snapshot, request, query, scope, documents=self._policy.documents)
        embedding: BackgroundTask[QueryEmbedding] | None = None
        if request.mode is not SearchMode.KEYWORD and query.meaning:
            space = snapshot.vector_sets.answering().space
            embedding = BackgroundTask(partial(self._embed, space, query.meaning, allowance))
        return _ProcessedQuery(query, corrections, embedding, scope, named, beginnings)

    def _answer_query(self, snapshot: Snapshot, request: SearchRequest, processed: _ProcessedQuery) -> QueryAnswer:
        """Answer a query; if its last word is being typed, also by the words with that prefix."""
        beginnings = processed.beginnings
        if beginnings is None or request.mode is SearchMode.SEMANTIC:
            return self._rank_query(snapshot, request, processed)
        room = max(request.limit - len(processed.named.matches), 1)
        whole = (
            self._rank_query(snapshot, request._replace(limit=room), processed) if beginnings.is_word else EMPTY_ANSWER
        )
        if omits_prefix_hits(snapshot, whole, beginnings, limit=room):
            return whole
        most = max(MAX_PREFIX_FILES - len(processed.named.matches), MIN_PREFIX_FILES)
        by_words = request._replace(mode=SearchMode.KEYWORD, only_good=False, limit=min(room, most))
        typed = processed._replace(query=beginnings.query, corrections=(), embedding=None)
        return append_prefix_hits(whole, self._rank_query(snapshot, by_words, typed, begun=beginnings), limit=room)

    def _rank_query(
        self,
        snapshot: Snapshot,
        request: SearchRequest,
        processed: _ProcessedQuery,
        *,
        begun: PrefixQuery | None = None,
    ) -> QueryAnswer:
        query, corrections, embedding, scope, named, _, notes = processed
        if query.has_only_filters or (not query.text.strip() and request.has_filters):
            return self._answer_with_newest(snapshot, request, query, scope, is_named=bool(named.matches))
        warnings = query_warnings(snapshot, request, query, scope)
        scope = restrict_to_grep_matches(snapshot, scope, request)
        request = apply_query_dates(request, query)

        def retrieve(searched: Query) -> RankedChunks:
            plan = plan_match(searched, snapshot.words)
            plan = require_expression(plan, begun.required, is_ranked_by_words=snapshot.is_local) if begun else plan
            make_retriever = self._make_retriever(snapshot, request, plan, scope, embedding)
            if begun:
                return rank_files(snapshot, make_retriever, plan, scope, request, without=named.file_ids)
            return retrieve_and_rank(snapshot, make_retriever, plan, scope, request)

        plan, chunks, ranking = retrieve(query)
        beyond_quotations: tuple[str, ...] = ()
        if beyond := relax_phrases(query, ranking, limit=request.limit):
            others = retrieve(beyond)
            if len(others.ranking.hits) > len(ranking.hits):
                chunks, beyond_quotations = chunks | others.chunks, (relaxed_note(query, ranking),)
                ranking = append_relaxed(ranking, others.ranking, limit=request.limit)
        is_by_words = request.mode is SearchMode.KEYWORD
        visible = drop_zero_scores(ranking) if request.only_good else ranking.hits
        hits = cut_below_threshold(visible, by_words_alone=is_by_words) if request.only_good else visible
        chunks = definition_candidates(snapshot, plan, scope, request) | chunks
        hits = boost_definitions(hits, chunks, query, limit=request.limit)
        is_weak = not hits or ranking.is_weak
        gaps = scope_warnings(snapshot, request, query, is_weak=is_weak) if query.text.strip() else ()
        shared = snapshot.chunks.with_shared_text([hit.chunk_id for hit in hits])
        passages = (
            RankedPassage(chunks[hit.chunk_id], hit, plan)
            if hit.chunk_id not in shared and not hit.copies
            else _passage(snapshot, chunks[hit.chunk_id], hit, plan, scope=scope, near=request.near)
            for hit in hits
        )
        answer = QueryAnswer(
            tuple(passages),
            notes=(*map(Note, (*notes, *beyond_quotations, *warnings)), *gaps),
            is_truncated=len(hits) >= request.limit,
            is_weak=ranking.is_weak,
            was_cut=len(hits) < len(visible),
            corrections=corrections,
        )
        return boost_referenced_lines(snapshot, answer, plan, scope, request)

    def _embed(self, space: EmbeddingSpace | None, text: str, allowance: TimeShare) -> QueryEmbedding:
        embedder = self._embedder(space)
        with spans.span("embed query"):
            vector = embedder.embed_query(text)
        return QueryEmbedding(text, vector, cosine_parameters(embedder.space), embedder, allowance)

    def _store_vectors_of_search(self, embedder: OnDemandEmbedder) -> None:
        """Store vectors for later searches, unless another process writes at this moment or the index is read-only."""
        if embedder.made:
            with contextlib.suppress(StoreError), self._docstore.transaction(waits=False) as transaction:
                transaction.search_vectors.put(embedder.space, embedder.made)


def _passage(
    snapshot: Snapshot, chunk: IndexedChunk, ranked: Ranked, plan: MatchPlan, /, *, scope: Scope, near: FilePath | None
) -> RankedPassage:
    """Return a passage in the nearest file that contains it, with the names of the others."""
    others = other_copies(snapshot, ranked, chunk.path, scope)
    nearest = copy_closest_to_directory(snapshot, chunk, others, near)
    return RankedPassage(nearest, ranked, plan, tuple(sorted({chunk.path, *others} - {nearest.path})))


def _by_chunk_ids(chunks: Iterable[IndexedChunk]) -> Iterator[tuple[ChunkId, IndexedChunk]]:
    """Yield each file of a list with its own id, even if several share a text."""
    used = set[ChunkId]()
    for chunk in chunks:
        id_ = new_chunk_id(chunk.path, ContentHash(chunk.chunk_id), 0) if chunk.chunk_id in used else chunk.chunk_id
        used.add(id_)
        yield id_, chunk


class _ProcessedQuery(NamedTuple):
    """A query without typing errors, with its scope, and with its embedding in progress for a semantic search."""

    query: Query
    corrections: tuple[Correction, ...]
    embedding: BackgroundTask[QueryEmbedding] | None
    scope: Scope
    named: FilenameMatches
    beginnings: PrefixQuery | None = None
    notes: tuple[str, ...] = ()
