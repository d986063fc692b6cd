"""Retrieval of the candidates of one search from both stores, in parallel where that is faster, and their ranking."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.formats.kinds import GROUPS
from directory_indexer.ranking.candidates import DEPTH, OTHER_MODEL, Candidate, Model
from directory_indexer.ranking.definitions import names_in
from directory_indexer.ranking.exactness import TypedText
from directory_indexer.ranking.ordering import Ranking, rank
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.search.boosts import definition_expression
from directory_indexer.search.coverage_warnings import require_same_dimensions
from directory_indexer.search.hits import choose_copies_in_scope
from directory_indexer.search.on_demand_embedding import BackgroundTask, TimeShare
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.search.scope import Scope
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import THREADS_MAY_SHARE_A_SNAPSHOT, Snapshot
from directory_indexer.storage.vectors import VectorHit
from directory_indexer.telemetry import spans

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.embedding import Embedder
    from directory_indexer.embedding.likeness import mean_similarity
    from directory_indexer.search.scope import filter_passages
    from directory_indexer.search.vector_search import VectorSearch
    from directory_indexer.search.waiting_candidates import WaitingCandidates

_MAX_EXACT_MATCHES = DEPTH // 2
_MAX_READ_TEXTS = 400
_SMALL_SHARE = 0.1
_MAX_WEIGHED = 10_000
_MAX_WEIGHED_OF_SEVERAL = 100_000
"""With several words, one chunk may have more of them than another."""

_MAX_WEIGHED_WHILE_TYPING = 4_000
"""With all of 106,251 chunks, the intended file is no more often among the first ten."""

MakeRetriever: TypeAlias = (
    "Callable[[Any, SearchRequest, MatchPlan, Scope, BackgroundTask[QueryEmbedding] | None], Retriever]"
)
"""Makes the retriever for one snapshot of an index; the type of the snapshot is that of its store."""

_MAX_MATCHES: Final = 1000
_MAX_DEFINITION_CANDIDATES: Final = 100
_DEPTH_WHILE_TYPING: Final = DEPTH * 3 // 4
"""With 40, the intended file is no more often among the first ten."""

_MAX_DEPTH: Final = 1000
"""The maximum depth of the search for passages that are not copies of others."""


class QueryEmbedding(NamedTuple):
    """The embedded query: its text and vector, the model, and the time that may be spent on vectors of passages."""

    text: str
    vector: NDArray[np.float32]
    model: Model
    embedder: Embedder
    allowance: TimeShare


class CandidateLists(NamedTuple):
    """The two lists of candidates, each with its scores.

    `cosines` are those of both lists, by `model`.
    """

    by_words: dict[ChunkId, float]
    by_meaning: dict[ChunkId, float]
    cosines: dict[ChunkId, float]
    model: Model

    @property
    def chunk_ids(self) -> set[ChunkId]:
        """Return the chunks of both lists."""
        return self.by_words.keys() | self.by_meaning

    def first(self, n: int) -> CandidateLists:
        """Return the first `n` of each list."""
        by_words, by_meaning = (dict(islice(scores.items(), n)) for scores in (self.by_words, self.by_meaning))
        return self._replace(by_words=by_words, by_meaning=by_meaning)


class Retriever(Protocol):
    """Retrieves the candidates of one query."""

    def retrieve(self, depth: int) -> CandidateLists:
        """Return the best candidates of the keyword and the semantic list, at most `depth` of each."""


class HybridRetriever:
    """Retrieves the candidates of one query from both stores; `embedding` is None for a keyword search."""

    def __init__(
        self,
        snapshot: Snapshot,
        request: SearchRequest,
        plan: MatchPlan,
        scope: Scope,
        embedding: BackgroundTask[QueryEmbedding] | None,
        nearest: Callable[[], VectorSearch],
    ) -> None:
        self._snapshot = snapshot
        self._mode = request.mode
        self._is_typed = request.is_prefix and request.mode is SearchMode.KEYWORD
        self._plan = plan
        self._scope = scope
        self._embedding = embedding
        self._nearest = nearest
        self._on_demand: WaitingCandidates | None = None
        self._typed = TypedText(plan)

    def retrieve(self, depth: int) -> CandidateLists:
        """Return the best candidates of the keyword and the semantic list, at most `depth` of each."""
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
        waiting = self._cosines_of_waiting(meaning, by_words, depth)
        by_meaning = _best_cosines(by_meaning | waiting, depth)
        cosines = others | waiting | by_meaning
        return CandidateLists(by_words, by_meaning, cosines, meaning.model)

    def _cosines_of_waiting(
        self, meaning: QueryEmbedding, by_words: Mapping[ChunkId, float], depth: int
    ) -> dict[ChunkId, float]:
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
            scores = self._exact_matches()
            # Chunks without any of the rarest words come after all that have one.
            for step in chain.from_iterable(map(self._query_steps, filter(None, (narrow, self._plan.expression)))):
                more = self._matches(step, depth)
                scores.update((chunk_id, score) for chunk_id, score in more.items() if chunk_id not in scores)
                if len(scores) >= depth:
                    break
        return dict(islice(scores.items(), depth))

    def _exact_matches(self) -> dict[ChunkId, float]:
        """Return the best chunks that contain the whole query, in a row or word by word, if there are few."""
        scores: dict[ChunkId, float] = {}
        for expression in self._plan.exact:
            # For a single word without other forms, this is the expression itself, which is run next.
            if expression == self._plan.expression and not (scores or self._typed.has_signs):
                continue
            if (
                len(scores) < _MAX_EXACT_MATCHES
                and 0 < (n_chunks := self._snapshot.words.count(expression)) <= _MAX_WEIGHED
            ):
                depth = (
                    _MAX_READ_TEXTS if n_chunks > _MAX_EXACT_MATCHES and self._typed.has_signs else _MAX_EXACT_MATCHES
                )
                matches = self._matches(_QueryStep(expression), depth)
                scores.update(matches if depth == _MAX_EXACT_MATCHES else self._literal_matches(matches))
        return dict(islice(scores.items(), _MAX_EXACT_MATCHES))

    def _literal_matches(self, matches: Mapping[ChunkId, float]) -> dict[ChunkId, float]:
        """Order chunks with the literal query first, including its punctuation, which the full-text index ignores."""
        chunks = self._snapshot.chunks.by_id(matches)
        levels = {chunk_id: self._typed.level(stored.chunk.text, "", share=1.0) for chunk_id, stored in chunks.items()}
        return dict(sorted(matches.items(), key=lambda match: (-levels.get(match[0], 0.0), -match[1])))

    def _query_steps(self, expression: str) -> Iterator[_QueryStep]:
        """Yield the queries for an expression, to be run until there are enough candidates.

        Weighing a chunk takes 1 µs. If there are very many, those come first that have rare words, all words, or words
        in a heading, a title or a path, and then an even sample: common words hardly discriminate.
        """
        if (one_in := self._sampling_rate(expression)) > 1:
            for first in filter(None, (self._plan.rare, self._plan.together, self._plan.named)):
                if n_chunks := self._snapshot.words.count(first):
                    yield _QueryStep(first, self._sampling_rate_for(n_chunks))
            yield _QueryStep(expression, one_in)
        yield _QueryStep(expression)

    def _sampling_rate(self, expression: str) -> int:
        if all(term.n_chunks < 2 * self._max_weighed for term in self._plan.terms):
            return 1
        return self._sampling_rate_for(self._snapshot.words.count(expression))

    def _sampling_rate_for(self, n_chunks: int) -> int:
        one_in = max(1, n_chunks // self._max_weighed)
        # A sample of a power of two is part of that of a lower one: what a prefix finds, a longer prefix finds, too.
        return 1 << one_in.bit_length() - 1 if self._is_typed else one_in

    @property
    def _max_weighed(self) -> int:
        if self._is_typed:
            return _MAX_WEIGHED_WHILE_TYPING
        return _MAX_WEIGHED if len(self._plan.terms) == 1 else _MAX_WEIGHED_OF_SEVERAL

    def _matches(self, step: _QueryStep, depth: int) -> dict[ChunkId, float]:
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
        require_same_dimensions(self._snapshot, meaning.vector.size)
        with spans.span("ask vectors"):
            return self._nearest().search_store(self._snapshot, meaning.vector, scope=self._scope, limit=depth)

    def _by_meaning(self, meaning: QueryEmbedding, hits: list[VectorHit], depth: int) -> dict[ChunkId, float]:
        chunks = self._nearest().nearest_chunks
        return dict(chunks(self._snapshot, meaning.vector, scope=self._scope, limit=depth, hits=hits))


def assign_rank_bands(lists: CandidateLists, size: int) -> dict[ChunkId, int]:
    """Assign candidates to bands that are ranked one after another, so that a longer answer only adds hits."""
    bands: dict[ChunkId, int] = {}
    for scores in (lists.by_words, lists.by_meaning):
        for position, chunk_id in enumerate(scores):
            bands[chunk_id] = min(position // size, bands.get(chunk_id, position))
    return bands


class RankedChunks(NamedTuple):
    """The ranking of one plan, with its chunks."""

    plan: MatchPlan
    chunks: dict[ChunkId, IndexedChunk]
    ranking: Ranking


def retrieve_and_rank(
    snapshot: Snapshot, retriever: Retriever, plan: MatchPlan, scope: Scope, request: SearchRequest
) -> RankedChunks:
    """Rank enough of the best candidates for the requested number of hits, if there are so many.

    By words alone, twice as many are ranked among code: tests and examples, which are penalised, fill half of a list.
    """
    limit = request.limit
    band_size = _DEPTH_WHILE_TYPING if request.is_prefix and request.mode is SearchMode.KEYWORD else DEPTH
    may_be_code = request.mode is SearchMode.KEYWORD and not request.is_prefix
    depth = -(-limit // band_size) * band_size
    while True:
        lists = retriever.retrieve(2 * depth if may_be_code else depth)
        chunks = permitted_chunks(snapshot, lists.first(depth).chunk_ids, plan, scope, request)
        first = [chunks[key] for key in islice(lists.by_words, band_size) if key in chunks]
        is_code = may_be_code and _is_mostly_code(first)
        n_ranked = 2 * depth if is_code else depth
        if is_code:
            others = lists.chunk_ids - lists.first(depth).chunk_ids
            chunks |= permitted_chunks(snapshot, others, plan, scope, request)
        lists = lists.first(n_ranked)
        bands = assign_rank_bands(lists, 2 * band_size if is_code else band_size)
        beside = snapshot.chunks.other_texts_of_files(chunks.values()) if lists.by_words else {}
        candidates = [
            make_candidate(chunk, lists, bands[chunk.chunk_id], beside.get(chunk.chunk_id, ()))
            for chunk in chunks.values()
        ]
        ranking = rank(plan, candidates, limit=limit, model=lists.model, similarity_of=mean_similarity)
        # Copies of a passage, which are shown once, and excluded passages may take up all the ranks.
        if len(ranking.hits) >= limit or len(bands) < n_ranked or n_ranked >= _MAX_DEPTH:
            return RankedChunks(plan, chunks, ranking)
        depth *= 2


def _is_mostly_code(chunks: Sequence[IndexedChunk]) -> bool:
    """Whether half of the chunks are code."""
    return 2 * sum(chunk.facts.kind in GROUPS["code"] for chunk in chunks) >= len(chunks)


def definition_candidates(
    snapshot: Snapshot, plan: MatchPlan, scope: Scope, request: SearchRequest
) -> dict[ChunkId, IndexedChunk]:
    """Return passages under the name that is the query, which may rank behind a hundred that use it."""
    expression = definition_expression(plan)
    if expression is None:
        return {}
    matches = snapshot.words.ranked(
        expression, file_ids_json=scope.holder_ids_json, rows=scope.rows, limit=_MAX_MATCHES
    )
    (name,) = names_in(plan.query)
    chunk_ids = snapshot.chunks.under_heading((chunk_id for chunk_id, _ in matches), name)
    chunks = snapshot.chunks.by_id(chunk_ids[:_MAX_DEFINITION_CANDIDATES])
    return filter_passages(choose_copies_in_scope(snapshot, chunks, scope, request.near), request)


class _QueryStep(NamedTuple):
    """An FTS5 expression, of whose matching chunks one in `one_in` is weighed."""

    expression: str
    one_in: int = 1


def _best_cosines(cosines: dict[ChunkId, float], limit: int) -> dict[ChunkId, float]:
    return dict(sorted(cosines.items(), key=lambda item: (item[1], item[0]), reverse=True)[:limit])


def permitted_chunks(
    snapshot: Snapshot, chunk_ids: Collection[ChunkId], plan: MatchPlan, scope: Scope, request: SearchRequest
) -> dict[ChunkId, IndexedChunk]:
    """Return the chunks that the query, the filters and the scope of a request permit."""
    chunks = snapshot.chunks.by_id(_keep_permitted(snapshot, plan, chunk_ids))
    return filter_passages(choose_copies_in_scope(snapshot, chunks, scope, request.near), request)


def _keep_permitted(snapshot: Snapshot, plan: MatchPlan, chunk_ids: Collection[ChunkId]) -> set[ChunkId]:
    """Drop what phrases, exclusions and headings of the query rule out; semantic search ignores them."""
    permitted = set(chunk_ids)
    for expression in plan.required:
        permitted &= snapshot.words.matching(expression, permitted)
    for expression in plan.forbidden:
        permitted -= snapshot.words.matching(expression, permitted)
    return permitted


def make_candidate(
    stored: IndexedChunk, lists: CandidateLists, band: int = 0, beside: tuple[str, ...] = ()
) -> Candidate:
    """Return a chunk as a candidate, with its scores from the lists."""
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
        beside=beside,
    )
