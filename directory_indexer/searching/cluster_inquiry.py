"""Asks a cluster index for the candidates of one search, both lists in one request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from directory_indexer.docstore.catalogue import CatalogueSnapshot
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.relevance.analyzer import query_words
from directory_indexer.relevance.candidates import OTHER_MODEL
from directory_indexer.relevance.forms import Term, languages_of
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.relevance.query import Query
from directory_indexer.relevance.sparse import question_weights
from directory_indexer.searching.answers import SearchMode, SearchRequest
from directory_indexer.searching.background import BackgroundTask
from directory_indexer.searching.inquiry import Lists, Meaning
from directory_indexer.searching.readiness import require_comparable
from directory_indexer.searching.scope import Scope
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.vectorstore.cluster import FoundPassage
    from directory_indexer.vectorstore.cluster_reader import Candidates, Question

_NAMED_FILES: Final = 4096
"""So many files are named to the cluster; of more, its answers are filtered as they come."""

_GROWTH: Final = 4
_DEEPEST: Final = 16_000


class ClusterInquiry:
    """What is asked of a cluster index for one query, at any depth; `embedding` is None where only words are."""

    def __init__(
        self,
        snapshot: CatalogueSnapshot,
        request: SearchRequest,
        plan: MatchPlan,
        scope: Scope,
        embedding: BackgroundTask[Meaning] | None,
    ) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._embedding = embedding
        is_asked = request.mode is not SearchMode.SEMANTIC and plan.expression is not None
        languages = languages_of(plan.query, snapshot.words)
        self._words = tuple(_words_required(plan.query))
        terms = plan.terms or [Term(word, frozenset((word,)), 0) for word in self._words]
        self._sparse = question_weights(terms, languages) if is_asked and terms else None

    def lists(self, depth: int) -> Lists:
        """Give the best candidates by words and by meaning, so many of each."""
        meaning = self._embedding.result() if self._embedding is not None else None
        if meaning is not None:
            require_comparable(self._snapshot, meaning.vector.size)
        vector = None if meaning is None else meaning.vector.tolist()
        if self._scope.is_empty or (self._sparse is None and vector is None):
            return Lists({}, {}, {}, meaning.model if meaning else OTHER_MODEL)
        found = self._candidates(Question(self._sparse, vector, self._named, self._words), depth)
        self._snapshot.chunks.keep(one.passage for one in (*found.by_words, *found.by_meaning))
        by_meaning = _scores(found.by_meaning)
        cosines = {}
        if vector is not None:
            ids = {one.point_id: one.passage.chunk_id for one in found.by_words}
            rest = {point: chunk_id for point, chunk_id in ids.items() if chunk_id not in by_meaning}
            compared = self._snapshot.moment.cosines(vector, rest.keys())
            cosines = by_meaning | {rest[point]: cosine for point, cosine in compared.items()}
        return Lists(_scores(found.by_words), by_meaning, cosines, meaning.model if meaning else OTHER_MODEL)

    def _candidates(self, question: Question, depth: int) -> Candidates:
        """Look deeper until enough of what is found lies in the scope."""
        asked = depth
        while True:
            with spans.span("ask cluster"):
                found = self._snapshot.moment.candidates(question, limit=asked)
            by_words, by_meaning = map(self._within, found)
            is_enough = all(
                len(within) >= depth or len(one) < asked
                for within, one in ((by_words, found.by_words), (by_meaning, found.by_meaning))
            )
            if is_enough or asked >= _DEEPEST:
                return Candidates(by_words[:depth], by_meaning[:depth])
            asked = min(asked * _GROWTH, _DEEPEST)

    @property
    def _named(self) -> frozenset[int] | None:
        ids = self._scope.file_ids
        return ids if ids is not None and len(ids) <= _NAMED_FILES else None

    def _within(self, found: list[FoundPassage]) -> list[FoundPassage]:
        ids = self._scope.file_ids
        return found if ids is None else [one for one in found if one.file_key in ids]


def _scores(found: Iterable[FoundPassage]) -> dict[ChunkId, float]:
    return {one.passage.chunk_id: one.score for one in found}


def _words_required(query: Query) -> list[str]:
    """Give words that every hit has, wherever: those of quotations that bind, and of headings that are asked for."""
    phrases = [token for word in query.phrases for token in word.tokens] if query.phrases_bind else []
    return list(dict.fromkeys([*phrases, *(one for text in query.required.headings for one in query_words(text))]))
