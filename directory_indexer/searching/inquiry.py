"""Retrieval of the candidates of one search from both stores, in parallel where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, TypeAlias

from directory_indexer.docstore.store import THREADS_MAY_SHARE_A_SNAPSHOT, Snapshot
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.relevance.candidates import DEPTH, OTHER_MODEL, Model
from directory_indexer.relevance.exactness import TypedText
from directory_indexer.relevance.matchplan import MatchPlan
from directory_indexer.searching.answers import SearchMode, SearchRequest
from directory_indexer.searching.background import BackgroundTask
from directory_indexer.searching.readiness import require_comparable
from directory_indexer.searching.scope import Scope
from directory_indexer.searching.vector_making import Allowance
from directory_indexer.telemetry import spans
from directory_indexer.vectorstore import VectorHit

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.embedders import Embedder
    from directory_indexer.searching.nearest import Nearest
    from directory_indexer.searching.on_demand import WaitingCandidates

_MAX_EXACT = DEPTH // 2
_MAX_READ = 400
_SMALL_SHARE = 0.1
_MAX_WEIGHED = 10_000
_MAX_WEIGHED_OF_SEVERAL = 100_000
"""With several words, one chunk may have more of them than another."""


class _Step(NamedTuple):
    """An FTS5 expression, of whose matching chunks one in `one_in` is weighed."""

    expression: str
    one_in: int = 1


class QueryEmbedding(NamedTuple):
    """The embedded query: its text and vector, the model, and the time that may be spent on vectors of passages."""

    text: str
    vector: NDArray[np.float32]
    model: Model
    embedder: Embedder
    allowance: Allowance


class CandidateLists(NamedTuple):
    """The two lists of candidates, each with its scores.

    `cosines` are those of both lists, by `model`.
    """

    by_words: dict[ChunkId, float]
    by_meaning: dict[ChunkId, float]
    cosines: dict[ChunkId, float]
    model: Model


class Retriever(Protocol):
    """Retrieves the candidates of one query."""

    def lists(self, depth: int) -> CandidateLists:
        """Return the best candidates of the keyword and the semantic list, so many of each."""


MakeRetriever: TypeAlias = (
    "Callable[[Any, SearchRequest, MatchPlan, Scope, BackgroundTask[QueryEmbedding] | None], Retriever]"
)
"""Makes the retriever for one snapshot of an index; the type of the snapshot is that of its store."""


class HybridRetriever:
    """Retrieves the candidates of one query from both stores; `embedding` is None for a keyword search."""

    def __init__(
        self,
        snapshot: Snapshot,
        request: SearchRequest,
        plan: MatchPlan,
        scope: Scope,
        embedding: BackgroundTask[QueryEmbedding] | None,
        nearest: Callable[[], Nearest],
    ) -> None:
        self._snapshot = snapshot
        self._mode = request.mode
        self._plan = plan
        self._scope = scope
        self._embedding = embedding
        self._nearest = nearest
        self._on_demand: WaitingCandidates | None = None
        self._typed = TypedText(plan)

    def lists(self, depth: int) -> CandidateLists:
        """Return the best candidates of the keyword and the semantic list, so many of each."""
        if self._embedding is None:
            return CandidateLists(self._by_words(depth), {}, {}, OTHER_MODEL)
        if self._mode is SearchMode.HYBRID and THREADS_MAY_SHARE_A_SNAPSHOT:
            with BackgroundTask(partial(self._by_words, depth)) as words:
                meaning = self._embedding.result()
                hits = self._hits(meaning, depth)
            by_words = words.result()
        else:
            by_words = self._by_words(depth)
            meaning = self._embedding.result()
            hits = self._hits(meaning, depth)
        by_meaning = self._by_meaning(meaning, hits, depth)
        rest = [chunk_id for chunk_id in by_words if chunk_id not in by_meaning]
        others = self._nearest().cosines(self._snapshot, meaning.vector, rest)
        waiting = self._waiting(meaning, by_words, depth)
        by_meaning = _best(by_meaning | waiting, depth)
        cosines = others | waiting | by_meaning
        return CandidateLists(by_words, by_meaning, cosines, meaning.model)

    def _waiting(self, meaning: QueryEmbedding, by_words: Mapping[ChunkId, float], depth: int) -> dict[ChunkId, float]:
        """Return the cosines of candidates that wait for a vector, as many as there is time to embed."""
        n_waiting = self._snapshot.chunks.count_waiting(self._scope.holder_ids)
        if not n_waiting or self._snapshot.vector_sets.is_switching:
            return {}
        if self._on_demand is None:
            self._on_demand = WaitingCandidates(self._snapshot, self._scope, meaning)
        return self._on_demand.cosines(by_words, depth)

    def _by_words(self, depth: int) -> dict[ChunkId, float]:
        if self._mode is SearchMode.SEMANTIC or self._plan.expression is None:
            return {}
        # Few rows are fast to scan, and the rarest words are in too few of them.
        narrow = None if self._has_few_rows else self._plan.narrow
        with spans.span("ask words"):
            scores = self._exact()
            # Chunks without any of the rarest words come after all that have one.
            for step in chain.from_iterable(map(self._query_steps, filter(None, (narrow, self._plan.expression)))):
                more = self._matches(step, depth)
                scores.update((chunk_id, score) for chunk_id, score in more.items() if chunk_id not in scores)
                if len(scores) >= depth:
                    break
        return dict(islice(scores.items(), depth))

    def _exact(self) -> dict[ChunkId, float]:
        """Return the best chunks that contain the whole query, in a row or word by word, if there are few."""
        scores: dict[ChunkId, float] = {}
        for expression in self._plan.exact:
            if len(scores) < _MAX_EXACT and 0 < (n_chunks := self._snapshot.words.count(expression)) <= _MAX_WEIGHED:
                depth = _MAX_READ if n_chunks > _MAX_EXACT and self._typed.has_signs else _MAX_EXACT
                matches = self._matches(_Step(expression), depth)
                scores.update(matches if depth == _MAX_EXACT else self._literal(matches))
        return dict(islice(scores.items(), _MAX_EXACT))

    def _literal(self, matches: Mapping[ChunkId, float]) -> dict[ChunkId, float]:
        """Order chunks with the literal query first, including its punctuation, which the full-text index ignores."""
        chunks = self._snapshot.chunks.by_id(matches)
        levels = {chunk_id: self._typed.level(stored.chunk.text, "", share=1.0) for chunk_id, stored in chunks.items()}
        return dict(sorted(matches.items(), key=lambda match: (-levels.get(match[0], 0.0), -match[1])))

    def _query_steps(self, expression: str) -> Iterator[_Step]:
        """Yield the queries for an expression, to be run until there are enough candidates.

        Weighing a chunk takes 1 µs. If there are very many, those come first that have rare words, all words, or words
        in a heading, a title or a path, and then an even sample: common words hardly discriminate.
        """
        if (one_in := self._one_in(expression)) > 1:
            for first in filter(None, (self._plan.rare, self._plan.together, self._plan.named)):
                if n_chunks := self._snapshot.words.count(first):
                    yield _Step(first, self._sampling(n_chunks))
            yield _Step(expression, one_in)
        yield _Step(expression)

    def _one_in(self, expression: str) -> int:
        if all(term.n_chunks < 2 * self._max_weighed for term in self._plan.terms):
            return 1
        return self._sampling(self._snapshot.words.count(expression))

    def _sampling(self, n_chunks: int) -> int:
        return max(1, n_chunks // self._max_weighed)

    @property
    def _max_weighed(self) -> int:
        return _MAX_WEIGHED if len(self._plan.terms) == 1 else _MAX_WEIGHED_OF_SEVERAL

    def _matches(self, step: _Step, depth: int) -> dict[ChunkId, float]:
        words, scope = self._snapshot.words, self._scope
        ranked = words.ranked(
            step.expression, file_ids_json=scope.holder_ids_json, rows=scope.rows, limit=depth, one_in=step.one_in
        )
        return dict(ranked)

    @property
    def _has_few_rows(self) -> bool:
        if self._scope.rows is None:
            return False
        first, last = self._scope.rows
        return last - first < _SMALL_SHARE * self._snapshot.chunks.count()

    def _hits(self, meaning: QueryEmbedding, depth: int) -> list[VectorHit]:
        require_comparable(self._snapshot, meaning.vector.size)
        with spans.span("ask vectors"):
            return self._nearest().hits(self._snapshot, meaning.vector, scope=self._scope, limit=depth)

    def _by_meaning(self, meaning: QueryEmbedding, hits: list[VectorHit], depth: int) -> dict[ChunkId, float]:
        chunks = self._nearest().chunks
        return dict(chunks(self._snapshot, meaning.vector, scope=self._scope, limit=depth, hits=hits))


def _best(cosines: dict[ChunkId, float], limit: int) -> dict[ChunkId, float]:
    return dict(sorted(cosines.items(), key=lambda item: (item[1], item[0]), reverse=True)[:limit])


def rank_bands(lists: CandidateLists) -> dict[ChunkId, int]:
    """Split the lists where a shorter answer would have cut them, so that a longer one begins with the same hits."""
    bands: dict[ChunkId, int] = {}
    for scores in (lists.by_words, lists.by_meaning):
        for position, chunk_id in enumerate(scores):
            bands[chunk_id] = min(position // DEPTH, bands.get(chunk_id, position))
    return bands
