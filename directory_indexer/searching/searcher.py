"""Searches: candidates by words and by meaning within the scope, ranked, and shown with the part that matched.

Filters are applied before the best candidates are chosen, so as many hits are given as are asked for while there are
as many. What the vector store returns counts only if SQLite knows it: a hit is never a text that is gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.embedders import Embedder
from directory_indexer.embedders.models import judged_as
from directory_indexer.embedding_space import EmbeddingSpace
from directory_indexer.errors import IndexMismatchError, ProviderError, StoreError, UsageError, VectorStoreError
from directory_indexer.ids import ChunkId, ContentHash, new_chunk_id
from directory_indexer.lazy import lazily
from directory_indexer.notes import Note
from directory_indexer.paths import FilePath
from directory_indexer.questions import question
from directory_indexer.relevance.evidence import Explanation
from directory_indexer.relevance.informative import informative
from directory_indexer.relevance.matchplan import MatchPlan, plan_match
from directory_indexer.relevance.query import Query, parse_query
from directory_indexer.relevance.ranking import Ranked, good_ones, worth_showing
from directory_indexer.relevance.spelling import Correction, respelled
from directory_indexer.scans import NoPages, RecognisedPages
from directory_indexer.searching.answers import SearchMode, SearchRequest, SearchResult
from directory_indexer.searching.background import BackgroundTask
from directory_indexer.searching.copies import also_in, nearest_copy
from directory_indexer.searching.defining import defining_first
from directory_indexer.searching.file_names import NamedFiles, named_files, with_named, without_weak_texts
from directory_indexer.searching.finding import Found, found_by, headed
from directory_indexer.searching.fusing import Answer, Passage, fused
from directory_indexer.searching.gaps import gaps_in
from directory_indexer.searching.hits import hit_of, with_documents
from directory_indexer.searching.inquiry import Inquiry, MakeInquiry, Meaning
from directory_indexer.searching.named_lines import named_lines_first
from directory_indexer.searching.notes import notes_on, require_types, without_void_filters
from directory_indexer.searching.phrases import continued, note_on, relaxed
from directory_indexer.searching.readiness import coverage, require_indexed
from directory_indexer.searching.scope import Scope, dated_request, resolve_scope
from directory_indexer.searching.unfinished import (
    LEAST_BEGINNINGS,
    MOST_BEGINNINGS,
    NOTHING,
    OneAFile,
    Unfinished,
    are_enough,
    requiring,
    unfinished,
    with_beginnings,
)
from directory_indexer.searching.vector_making import Allowance, VectorMaking
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.docstore.facets import Facets
    from directory_indexer.searching.matching_passages import narrowed_scope
    from directory_indexer.searching.nearest import Nearest


MAX_FACET_VALUES = 20


class Searcher:
    """The reading side of an index; takes no lock, and any number of threads may share it.

    A search by words alone never calls `nearest` and `embedder`, which take time to load. `inquiry` makes what asks for
    candidates, where that is not SQLite together with a vector store.
    """

    def __init__(
        self,
        *,
        docstore: DocStore,
        nearest: Callable[[], Nearest],
        embedder: Callable[[EmbeddingSpace | None], Embedder],
        recognised: RecognisedPages | None = None,
        has_vectors: bool = True,
        inquiry: MakeInquiry | None = None,
    ) -> None:
        self._docstore = docstore
        self._recognised = recognised or NoPages()
        self._inquiry = inquiry or partial(Inquiry, nearest=nearest)
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
        with question(self._docstore.path), spans.span("search", mode=request.mode) as span:
            result = self._answer(request)
            span.note(n_hits=len(result.hits), n_notes=len(result.notes), is_weak=result.is_weak)
            return result

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
            by_keywords = Note(f"answered by keywords alone: {error.message}")
        with self._docstore.snapshot() as snapshot:
            result = self._search(snapshot, request, queries, SearchMode.KEYWORD)
        return result._replace(notes=(by_keywords, *result.notes))

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

    def _newest(
        self, snapshot: Snapshot, request: SearchRequest, query: Query, scope: Scope, *, is_named: bool
    ) -> Answer:
        """List the files that are meant, newest first: where nothing is looked for, none is a better answer."""
        chunks = snapshot.chunks.of_newest_files(scope.file_ids_json, limit=request.limit)
        plan = plan_match(query, snapshot.words)
        return Answer(
            tuple(Passage(chunk, Ranked(id_, 1.0, Explanation()), plan) for id_, chunk in _by_own_ids(chunks)),
            notes=tuple(map(Note, notes_on(query, scope, is_named=is_named))),
            is_truncated=len(chunks) >= request.limit,
        )

    def _search(
        self, snapshot: Snapshot, request: SearchRequest, queries: Sequence[Query], mode: SearchMode
    ) -> SearchResult:
        require_indexed(snapshot, request.scope)
        require_types(request.kinds)
        making = VectorMaking(request.embedding_seconds)
        allowances = [Allowance(making, 1 / n_left) for n_left in range(len(queries), 0, -1)]
        possible = request._replace(mode=mode)
        asked = [self._asked(snapshot, possible, *one) for one in zip(queries, allowances, strict=True)]
        answers = [self._answered(snapshot, possible, one) for one in asked]
        self._keep(making)
        scopes = [one.scope for one in asked if one.embedding]
        missing = coverage(snapshot, scopes, making) if scopes else ()
        named = asked[0].named
        answer = answers[0] if len(answers) == 1 else fused(answers, limit=request.limit)
        answer = without_weak_texts(answer, named) if request.only_good else answer
        # What is told of a hit costs as much as to rank twenty passages, so only those that are shown are told of.
        hits = [hit_of(one, excerpt_chars=request.excerpt_chars) for one in answer.passages]
        arranged = with_named(snapshot, named, hits, request) if named.places else hits
        return SearchResult(
            request=request,
            hits=with_documents(snapshot, arranged[: request.limit], self._recognised),
            notes=(*missing, *answer.notes),
            is_truncated=answer.is_truncated or len(arranged) > request.limit,
            is_weak=answer.is_weak and not named.are_answer,
            has_weaker=answer.has_weaker,
            corrections=answer.corrections,
            summary=snapshot.overview.summary(),
            state=snapshot.overview.state_name(),
            n_named=named.n_all,
        )

    def _asked(self, snapshot: Snapshot, request: SearchRequest, query: Query, allowance: Allowance) -> _Asked:
        """Correct a query and begin to embed it: what comes before the first answer is done for all of them at once."""
        query = informative(query, snapshot.words)
        scope = resolve_scope(snapshot, request, query)
        named = named_files(snapshot, request, query, scope)
        if scope.is_empty and not named.places:
            with_words, notes = without_void_filters(snapshot, query)
            if notes:
                return self._asked(snapshot, request, with_words, allowance)._replace(notes=notes)
        beginnings = unfinished(snapshot, query.text) if request.is_unfinished else None
        if beginnings and not beginnings.is_word:
            return _Asked(query, (), None, scope, named, beginnings)
        query, corrections = (query, ()) if named.are_answer else respelled(query, snapshot.words)
        embedding: BackgroundTask[Meaning] | None = None
        if request.mode is not SearchMode.KEYWORD and query.meaning:
            space = snapshot.vector_sets.answering().space
            embedding = BackgroundTask(partial(self._embed, space, query.meaning, allowance))
        return _Asked(query, corrections, embedding, scope, named, beginnings)

    def _answered(self, snapshot: Snapshot, request: SearchRequest, asked: _Asked) -> Answer:
        """Answer a query, and where its last word is being typed, by the words that begin so."""
        beginnings = asked.beginnings
        if beginnings is None or request.mode is SearchMode.SEMANTIC:
            return self._ranked(snapshot, request, asked)
        room = max(request.limit - len(asked.named.places), 1)
        whole = self._ranked(snapshot, request._replace(limit=room), asked) if beginnings.is_word else NOTHING
        if are_enough(snapshot, whole, beginnings, room=room):
            return whole
        most = max(MOST_BEGINNINGS - len(asked.named.places), LEAST_BEGINNINGS)
        by_words = request._replace(mode=SearchMode.KEYWORD, only_good=False, limit=min(room, most))
        typed = asked._replace(query=beginnings.query, corrections=(), embedding=None)
        return with_beginnings(whole, self._ranked(snapshot, by_words, typed, begun=beginnings), room=room)

    def _ranked(
        self, snapshot: Snapshot, request: SearchRequest, asked: _Asked, *, begun: Unfinished | None = None
    ) -> Answer:
        query, corrections, embedding, scope, named, _, notes = asked
        if query.has_only_filters or (not query.text.strip() and request.has_filters):
            return self._newest(snapshot, request, query, scope, is_named=bool(named.places))
        scope = narrowed_scope(snapshot, scope, request)
        request = dated_request(request, query)

        def found(asked: Query) -> Found:
            plan = plan_match(asked, snapshot.words)
            plan = requiring(plan, begun.required, is_ranked_by_words=snapshot.is_here) if begun else plan
            inquiry = self._inquiry(snapshot, request, plan, scope, embedding)
            inquiry = OneAFile(inquiry, snapshot, without=named.file_ids) if begun else inquiry
            return found_by(snapshot, inquiry, plan, scope, request)

        plan, chunks, ranking = found(query)
        beyond_quotations: tuple[str, ...] = ()
        if beyond := relaxed(query, ranking, limit=request.limit):
            others = found(beyond)
            if len(others.ranking.hits) > len(ranking.hits):
                chunks, beyond_quotations = chunks | others.chunks, (note_on(query, ranking),)
                ranking = continued(ranking, others.ranking, limit=request.limit)
        worthy = worth_showing(ranking)
        is_by_words = request.mode is SearchMode.KEYWORD
        shown = good_ones(worthy, by_words_alone=is_by_words) if request.only_good else worthy
        chunks = headed(snapshot, plan, scope, request) | chunks
        shown = defining_first(shown, chunks, query, limit=request.limit)
        gaps = gaps_in(snapshot, request, query, is_weak=not shown or ranking.is_weak)
        answer = Answer(
            tuple(_passage(snapshot, chunks[one.chunk_id], one, plan, scope=scope, near=request.near) for one in shown),
            notes=(*map(Note, (*notes, *beyond_quotations, *notes_on(query, scope))), *gaps),
            is_truncated=len(shown) >= request.limit,
            is_weak=ranking.is_weak,
            has_weaker=len(shown) < len(worthy),
            corrections=corrections,
        )
        return named_lines_first(snapshot, answer, plan, scope, request)

    def _embed(self, space: EmbeddingSpace | None, text: str, allowance: Allowance) -> Meaning:
        embedder = self._embedder(space)
        with spans.span("embed query"):
            vector = embedder.embed_query(text)
        return Meaning(text, vector, judged_as(embedder.space), embedder, allowance)

    def _keep(self, making: VectorMaking) -> None:
        """Keep vectors for later searches, unless somebody writes at this moment or nobody may."""
        if making.made:
            with contextlib.suppress(StoreError), self._docstore.transaction(waits=False) as transaction:
                transaction.search_vectors.put(making.space, making.made)


def _passage(
    snapshot: Snapshot, chunk: IndexedChunk, ranked: Ranked, plan: MatchPlan, /, *, scope: Scope, near: FilePath | None
) -> Passage:
    """Show a passage in the nearest file that has it, and name the others."""
    others = also_in(snapshot, ranked, chunk.path, scope)
    nearest = nearest_copy(snapshot, chunk, others, near)
    return Passage(nearest, ranked, plan, tuple(sorted({chunk.path, *others} - {nearest.path})))


def _by_own_ids(chunks: Iterable[IndexedChunk]) -> Iterator[tuple[ChunkId, IndexedChunk]]:
    """Let each file of a list stand for itself, also where several share a text."""
    given = set[ChunkId]()
    for one in chunks:
        id_ = new_chunk_id(one.path, ContentHash(one.chunk_id), 0) if one.chunk_id in given else one.chunk_id
        given.add(id_)
        yield id_, one


class _Asked(NamedTuple):
    """A query as it is looked for, and where: without typing errors, and on its way to a vector if meaning counts."""

    query: Query
    corrections: tuple[Correction, ...]
    embedding: BackgroundTask[Meaning] | None
    scope: Scope
    named: NamedFiles
    beginnings: Unfinished | None = None
    notes: tuple[str, ...] = ()
