"""Searches: candidates by words and by meaning within the scope, ranked, and shown with the part that matched.

Filters are applied before the best candidates are chosen, so as many hits are given as are asked for while there are
as many. What the vector store returns counts only if SQLite knows it: a hit is never a text that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from itertools import islice
from typing import NamedTuple

from directory_indexer.docstore.chunks import IndexedChunk
from directory_indexer.docstore.store import THREADS_MAY_SHARE_A_SNAPSHOT, DocStore, Snapshot
from directory_indexer.embedders import Embedder
from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.errors import IndexMismatchError, NotIndexedError, ProviderError, VectorStoreError
from directory_indexer.extractors.kinds import GROUPS
from directory_indexer.ids import ChunkId
from directory_indexer.lazy import lazily
from directory_indexer.paths import FilePath, display
from directory_indexer.relevance.excerpts import excerpt
from directory_indexer.relevance.matchplan import MatchPlan, plan_match
from directory_indexer.relevance.query import Query, parse_query
from directory_indexer.relevance.ranking import DEPTH, EMBEDDED_MODEL, OTHER_MODEL, Candidate, Model, Ranked, rank
from directory_indexer.searching.answers import Hit, SearchMode, SearchRequest, SearchResult
from directory_indexer.searching.background import BackgroundTask
from directory_indexer.searching.scope import Scope, require_types, resolve_scope
from directory_indexer.vectorstore import VectorHit

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.searching.nearest import Nearest


EXCERPT_CHARS = 600

_FEW_ROWS = 0.1

_DEEPEST = 1000
"""No further than this is looked for passages that are no copies of others."""


class _Meaning(NamedTuple):
    """What is looked for by meaning, and the model that its vector comes from."""

    vector: NDArray[np.float32]
    model: Model


class _Lists(NamedTuple):
    """The two lists of candidates, each with its scores, and what kept one of them from being whole.

    `cosines` holds those of both lists, which `model` made.
    """

    by_words: dict[ChunkId, float]
    by_meaning: dict[ChunkId, float]
    cosines: dict[ChunkId, float]
    model: Model
    degraded: tuple[str, ...]


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
    ) -> None:
        self._docstore = docstore
        self._nearest = nearest
        self._embedder = embedder

    def search(self, request: SearchRequest) -> SearchResult:
        """Answer a request.

        Raises:
            NotIndexedError: nothing is indexed, or nothing where the request looks.
            ProviderError: the mode is semantic and the embedder cannot answer.
            VectorStoreError: the mode is semantic and the vectors cannot be reached or are lost.
            IndexMismatchError: the mode is semantic and the vectors stem from another model, or are in another store.
        """
        query = parse_query(request.query)
        try:
            return self._docstore.read(lambda snapshot: self._search(snapshot, request, query, request.mode))
        except (ProviderError, IndexMismatchError, VectorStoreError) as error:
            if request.mode is SearchMode.SEMANTIC:
                raise
            degraded = (f"answered by keywords alone: {error.message}",)
        with self._docstore.snapshot() as snapshot:
            result = self._search(snapshot, request, query, SearchMode.KEYWORD)
        return result._replace(degraded=degraded)

    def _search(self, snapshot: Snapshot, request: SearchRequest, query: Query, mode: SearchMode) -> SearchResult:
        require_indexed(snapshot, request.scope)
        require_types(request.kinds)
        by_meaning = mode is not SearchMode.KEYWORD and query.meaning
        embedding = (
            BackgroundTask(partial(self._embed, snapshot.collections.answering().space, query.meaning))
            if by_meaning
            else None
        )
        plan = plan_match(query, snapshot.words)
        scope = resolve_scope(snapshot, request, query)
        inquiry = _Inquiry(snapshot, mode, plan, scope, embedding, self._nearest)
        depth = _depth(request.limit)
        while True:
            lists = inquiry.lists(depth)
            bands = _bands(lists)
            chunks = snapshot.chunks.by_id(_permitted(snapshot, plan, bands.keys()))
            candidates = [_candidate(chunk, lists, bands[chunk.chunk_id]) for chunk in chunks.values()]
            ranking = rank(plan, candidates, limit=request.limit, model=lists.model)
            # Copies of a passage, which are shown once, and what the query excludes may take up all the places.
            if len(ranking.hits) >= request.limit or len(bands) < depth or depth >= _DEEPEST:
                break
            depth *= 2
        return SearchResult(
            request=request,
            hits=tuple(_hit(chunks[ranked.chunk_id], ranked, plan) for ranked in ranking.hits),
            degraded=lists.degraded,
            summary=snapshot.summary(),
            state=snapshot.state_name(),
            is_truncated=len(ranking.hits) >= request.limit,
            is_weak=ranking.is_weak,
        )

    def _embed(self, space: EmbeddingSpace | None, text: str) -> _Meaning:
        embedder = self._embedder(space)
        model = EMBEDDED_MODEL if embedder.space.provider == "embedded" else OTHER_MODEL
        return _Meaning(embedder.embed_query(text), model)


class _Inquiry:
    """What is asked of the two stores for one query, at any depth; `embedding` is None where only words are."""

    def __init__(
        self,
        snapshot: Snapshot,
        mode: SearchMode,
        plan: MatchPlan,
        scope: Scope,
        embedding: BackgroundTask[_Meaning] | None,
        nearest: Callable[[], Nearest],
    ) -> None:
        self._snapshot = snapshot
        self._mode = mode
        self._plan = plan
        self._scope = scope
        self._embedding = embedding
        self._nearest = nearest

    def lists(self, depth: int) -> _Lists:
        """Give the best candidates by words and by meaning, so many of each."""
        if self._embedding is None:
            return _Lists(self._by_words(depth), {}, {}, OTHER_MODEL, ())
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
        rest = [one for one in by_words if one not in by_meaning]
        others = self._nearest().cosines(self._snapshot, meaning.vector, rest)
        return _Lists(by_words, by_meaning, by_meaning | others, meaning.model, coverage(self._snapshot))

    def _by_words(self, depth: int) -> dict[ChunkId, float]:
        if self._mode is SearchMode.SEMANTIC or self._plan.expression is None:
            return {}
        # Between few rows there is little to go through, and the rarest words are in too little of it.
        found = self._matches(self._plan.narrow, depth) if self._plan.narrow and not self._has_few_rows else {}
        if len(found) < depth:
            # What has none of the rarest words comes after all that has one.
            rest = self._matches(self._plan.expression, depth)
            found = dict(islice((found | {one: rest[one] for one in rest if one not in found}).items(), depth))
        return found

    def _matches(self, expression: str, depth: int) -> dict[ChunkId, float]:
        scope = self._scope
        matches = self._snapshot.words.ranked
        return dict(matches(expression, file_ids_json=scope.file_ids_json, rows=scope.rows, limit=depth))

    @property
    def _has_few_rows(self) -> bool:
        if self._scope.rows is None:
            return False
        first, last = self._scope.rows
        return last - first < _FEW_ROWS * self._snapshot.chunks.count()

    def _hits(self, meaning: _Meaning, depth: int) -> list[VectorHit]:
        require_comparable(self._snapshot, meaning.vector.size)
        return self._nearest().hits(self._snapshot, meaning.vector, scope=self._scope, limit=depth)

    def _by_meaning(self, meaning: _Meaning, hits: list[VectorHit], depth: int) -> dict[ChunkId, float]:
        chunks = self._nearest().chunks
        return dict(chunks(self._snapshot, meaning.vector, scope=self._scope, limit=depth, hits=hits))


def _depth(limit: int) -> int:
    """Look deep enough for as many hits as are wanted."""
    return -(-limit // DEPTH) * DEPTH


def _bands(lists: _Lists) -> dict[ChunkId, int]:
    """Cut the lists where a shorter answer would have cut them, so that a longer one begins with the same hits."""
    bands: dict[ChunkId, int] = {}
    for found in (lists.by_words, lists.by_meaning):
        for position, chunk_id in enumerate(found):
            bands[chunk_id] = min(position // DEPTH, bands.get(chunk_id, position))
    return bands


def _permitted(snapshot: Snapshot, plan: MatchPlan, chunk_ids: Collection[ChunkId]) -> set[ChunkId]:
    """Leave out what the phrases, exclusions and headings of the query rule out; meaning knows nothing of them."""
    permitted = set(chunk_ids)
    for expression in plan.required:
        permitted &= snapshot.words.matching(expression, permitted)
    for expression in plan.forbidden:
        permitted -= snapshot.words.matching(expression, permitted)
    return permitted


def require_indexed(snapshot: Snapshot, scope: tuple[FilePath, ...]) -> None:
    """Refuse to answer "nothing" where nothing was ever indexed.

    Raises:
        NotIndexedError: no directory is tracked, or none that has to do with the scope.
    """
    tracked = snapshot.directories.all()
    if not tracked:
        raise NotIndexedError("nothing is indexed yet", hint="dirindex index PATH adds a directory")
    for path in scope:
        if not snapshot.files.holds(path):
            names = ", ".join(map(display, tracked))
            raise NotIndexedError(f"nothing is indexed at {display(path)}", hint=f"indexed directories: {names}")


def require_comparable(snapshot: Snapshot, n_dimensions: int) -> None:
    """Refuse to compare vectors of so many dimensions with shorter or longer ones.

    Raises:
        IndexMismatchError: those of the index have another number.
    """
    space = snapshot.collections.answering().space
    if space is not None and space.dimensions != n_dimensions:
        raise IndexMismatchError(
            f"the index holds vectors of {space.dimensions} dimensions, and {space.name} makes {n_dimensions} now",
            hint="configure the model that made the index; dirindex doctor tells more",
        )


def coverage(snapshot: Snapshot) -> tuple[str, ...]:
    """Say what cannot be found by meaning yet, if there is anything."""
    former, waiting, n_chunks = (
        snapshot.collections.former(),
        snapshot.embedding_queue.count(),
        snapshot.chunks.count(),
    )
    if former is not None and former.space is not None:
        return (f"{waiting} of {n_chunks} chunks wait to be embedded again; until then {former.space.name} answers",)
    if not waiting:
        return ()
    return (f"{waiting} of {n_chunks} chunks are not embedded yet: they are found by words alone",)


def _candidate(stored: IndexedChunk, lists: _Lists, band: int) -> Candidate:
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
    )


def _hit(stored: IndexedChunk, ranked: Ranked, plan: MatchPlan) -> Hit:
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
        excerpt=excerpt(chunk.text, plan, start_line=chunk.start_line, max_chars=EXCERPT_CHARS),
        n_more_in_file=ranked.n_more_in_file,
        explanation=ranked.explanation,
    )
