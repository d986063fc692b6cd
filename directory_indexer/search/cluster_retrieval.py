"""Retrieval of candidates from a cluster index, both lists in one request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.ranking.analyzer import query_words
from directory_indexer.ranking.candidates import OTHER_MODEL
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.query import Query
from directory_indexer.ranking.sparse import query_weights
from directory_indexer.ranking.word_forms import Term, languages_of
from directory_indexer.search.background import BackgroundTask
from directory_indexer.search.coverage_warnings import require_comparable
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.search.retrieval import CandidateLists, QueryEmbedding
from directory_indexer.search.scope import Scope
from directory_indexer.storage.documents.cluster_catalogue import CatalogueSnapshot
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.storage.vectors.cluster import CandidatePassage
    from directory_indexer.storage.vectors.cluster_reader import CandidateQuery, Candidates

_MAX_LISTED_FILES: Final = 4096
"""Filters list at most so many files; with more, the results of the cluster are filtered afterwards."""

_GROWTH: Final = 4
_MAX_DEPTH: Final = 16_000


class ClusterRetriever:
    """Retrieves candidates for one query from a cluster index; `embedding` is None for a keyword search."""

    def __init__(
        self,
        snapshot: CatalogueSnapshot,
        request: SearchRequest,
        plan: MatchPlan,
        scope: Scope,
        embedding: BackgroundTask[QueryEmbedding] | None,
    ) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._embedding = embedding
        has_keywords = request.mode is not SearchMode.SEMANTIC and plan.expression is not None
        languages = languages_of(plan.query, snapshot.words)
        self._words = tuple(_required_words(plan.query))
        terms = plan.terms or [Term(word, frozenset((word,)), 0) for word in self._words]
        self._sparse = query_weights(terms, languages) if has_keywords and terms else None

    def lists(self, depth: int) -> CandidateLists:
        """Return the best candidates of the keyword and the semantic list, so many of each."""
        meaning = self._embedding.result() if self._embedding is not None else None
        if meaning is not None:
            require_comparable(self._snapshot, meaning.vector.size)
        vector = None if meaning is None else meaning.vector.tolist()
        if self._scope.is_empty or (self._sparse is None and vector is None):
            return CandidateLists({}, {}, {}, meaning.model if meaning else OTHER_MODEL)
        candidates = self._candidates(CandidateQuery(self._sparse, vector, self._listed_files, self._words), depth)
        self._snapshot.chunks.keep(hit.passage for hit in (*candidates.by_words, *candidates.by_meaning))
        by_meaning = _scores(candidates.by_meaning)
        cosines = {}
        if vector is not None:
            ids = {hit.point_id: hit.passage.chunk_id for hit in candidates.by_words}
            rest = {point: chunk_id for point, chunk_id in ids.items() if chunk_id not in by_meaning}
            compared = self._snapshot.moment.cosines(vector, rest.keys())
            cosines = by_meaning | {rest[point]: cosine for point, cosine in compared.items()}
        return CandidateLists(
            _scores(candidates.by_words), by_meaning, cosines, meaning.model if meaning else OTHER_MODEL
        )

    def _candidates(self, question: CandidateQuery, depth: int) -> Candidates:
        """Search deeper until enough of the candidates are within the scope."""
        limit = depth
        while True:
            with spans.span("ask cluster"):
                candidates = self._snapshot.moment.candidates(question, limit=limit)
            by_words, by_meaning = map(self._within, candidates)
            is_enough = all(
                len(within) >= depth or len(hits) < limit
                for within, hits in ((by_words, candidates.by_words), (by_meaning, candidates.by_meaning))
            )
            if is_enough or limit >= _MAX_DEPTH:
                return Candidates(by_words[:depth], by_meaning[:depth])
            limit = min(limit * _GROWTH, _MAX_DEPTH)

    @property
    def _listed_files(self) -> frozenset[int] | None:
        ids = self._scope.file_ids
        return ids if ids is not None and len(ids) <= _MAX_LISTED_FILES else None

    def _within(self, hits: list[CandidatePassage]) -> list[CandidatePassage]:
        ids = self._scope.file_ids
        return hits if ids is None else [hit for hit in hits if hit.file_key in ids]


def _scores(hits: Iterable[CandidatePassage]) -> dict[ChunkId, float]:
    return {hit.passage.chunk_id: hit.score for hit in hits}


def _required_words(query: Query) -> list[str]:
    """Return the words that every hit must have: those of binding phrases, and of required headings."""
    phrases = [token for word in query.phrases for token in word.tokens] if query.phrases_bind else []
    return list(dict.fromkeys([*phrases, *(word for text in query.required.headings for word in query_words(text))]))
