"""Files similar to a given one: those that contain the passages nearest to its own."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from directory_indexer.chunking.chunks import Chunk, embedding_text
from directory_indexer.core.errors import UsageError
from directory_indexer.core.files import FileFailure, NoPages, SkippedFile, SourceFile, source_file
from directory_indexer.core.fingerprint import EmbeddingSpace
from directory_indexer.core.last_query import recorded_query
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, os_path
from directory_indexer.embedding import Embedder
from directory_indexer.embedding.models import cosine_parameters
from directory_indexer.parsing.outcomes import ParsedFile, ParseRequest
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.ranking.candidates import NO_EXPLANATION, OTHER_MODEL, Excerpt, Model
from directory_indexer.ranking.query import parse_query
from directory_indexer.search.coverage_warnings import embedding_warnings, require_indexed, require_same_dimensions
from directory_indexer.search.file_texts import suggest_namesake
from directory_indexer.search.hits import add_document_facts, copies_in_scope, make_hit
from directory_indexer.search.requests import EXCERPT_CHARS, Hit, PassagePair, SearchRequest, SearchResult
from directory_indexer.search.scope import Scope, resolve_scope
from directory_indexer.storage.documents.chunks import IndexedChunk
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.storage.vectors import VectorHit

with lazily:
    import numpy as np
    from numpy.typing import NDArray

    from directory_indexer.search.vector_search import VectorSearch


MAX_PASSAGES = 16
"""A file is represented by so many evenly spread passages: more cost time and change the order little."""

_NEIGHBOURS_PER_PASSAGE = 50
_MAX_AGREEMENTS = 5
_NAME_A_MEMBER_HINT = "of a container, name a file in it, as in archive.zip!/report.docx"

_MIN_GOOD_SCORE = 0.3
"""Unrelated files score 0.16 to 0.28, those of the same project 0.4 and more."""

_Value = TypeVar("_Value")


class _Passage(NamedTuple):
    """A passage of the original file."""

    chunk: Chunk
    vector: NDArray[np.float32]


class SimilarFiles:
    """Finds files similar to a given one, which need not be indexed itself."""

    def __init__(
        self,
        *,
        docstore: DocStore,
        nearest: VectorSearch,
        embedder: Callable[[EmbeddingSpace | None], Embedder],
        parse_policy: ParsePolicy,
    ) -> None:
        self._docstore = docstore
        self._nearest = nearest
        self._embedder = embedder
        self._parse_policy = parse_policy

    def find(self, path: FilePath, *, within: tuple[FilePath, ...], limit: int) -> SearchResult:
        """Rank files by how near their passages are to those of the file at `path`, averaged over its passages.

        Files no nearer than unrelated ones are left out if others are nearer.

        Raises:
            UsageError: the file is neither indexed nor readable as text.
            NotIndexedError: nothing is indexed where the request looks.
            IndexMismatchError: the vectors of the index stem from another model.
        """
        request = SearchRequest(query=display(path), scope=within, limit=limit)
        with recorded_query(self._docstore.path):
            return self._docstore.read(lambda snapshot: self._find(snapshot, path, request))

    def _find(self, snapshot: Snapshot, path: FilePath, request: SearchRequest) -> SearchResult:
        require_indexed(snapshot, request.scope)
        passages = self._passages(snapshot, path)
        scope = resolve_scope(snapshot, request, parse_query(""))
        hits_by_passage = [
            self._nearest.nearest_chunks(snapshot, passage.vector, scope=scope, limit=_NEIGHBOURS_PER_PASSAGE)
            for passage in passages
        ]
        ranked = _rank_files(snapshot, list(zip(passages, hits_by_passage, strict=True)), scope, exclude=path)
        is_weak = _is_weak(snapshot, ranked)
        is_cut = not is_weak and _cosine_model(snapshot).scale is not None
        hits = [hit for hit in ranked if hit.score >= _MIN_GOOD_SCORE] if is_cut else ranked
        shown_hits = hits[: request.limit]
        return SearchResult(
            request,
            add_document_facts(snapshot, shown_hits, NoPages()),
            notes=tuple(embedding_warnings(snapshot, [scope])),
            is_truncated=len(hits) > request.limit,
            is_weak=is_weak,
            summary=snapshot.overview.summary(),
            state=snapshot.overview.state_id(),
        )

    def _passages(self, snapshot: Snapshot, path: FilePath) -> Sequence[_Passage]:
        stored = snapshot.chunks.of_file(path)
        known = self._nearest.vectors(snapshot, [indexed.chunk_id for indexed in stored])
        if known:
            return sample_evenly(
                [_Passage(indexed.chunk, known[indexed.chunk_id]) for indexed in stored if indexed.chunk_id in known]
            )
        *_, outcome = parse_all([ParseRequest(_readable_file(snapshot, path), None)], self._parse_policy)
        match outcome:
            case ParsedFile(chunks=()):
                raise UsageError(f"{display(path)} holds no text to compare", hint=_NAME_A_MEMBER_HINT)
            case ParsedFile():
                chunks = sample_evenly(outcome.chunks)
                texts = [embedding_text(chunk, path) for chunk in chunks]
                vectors = self._embedder(snapshot.vector_sets.answering().space).embed_documents(texts)
                require_same_dimensions(snapshot, vectors.shape[1])
                return [_Passage(*pair) for pair in zip(chunks, vectors, strict=True)]
            case SkippedFile():
                raise UsageError(f"{display(path)} holds no text to compare: {outcome.reason} {outcome.detail}".strip())
            case FileFailure():
                raise UsageError(f"{display(path)} cannot be read: {outcome.message}")
        raise UsageError(f"{display(path)} cannot be compared")


def sample_evenly(values: Sequence[_Value]) -> Sequence[_Value]:
    """Select evenly spread passages of a file to represent it."""
    step = max(len(values) / MAX_PASSAGES, 1.0)
    return [values[int(at * step)] for at in range(min(len(values), MAX_PASSAGES))]


def _is_weak(snapshot: Snapshot, hits: Sequence[Hit]) -> bool:
    """Whether the nearest file is as far as an unrelated one; unknown for models without a calibration."""
    return not hits or (_cosine_model(snapshot).scale is not None and hits[0].score < _MIN_GOOD_SCORE)


def _cosine_model(snapshot: Snapshot) -> Model:
    space = snapshot.vector_sets.answering().space
    return OTHER_MODEL if space is None else cosine_parameters(space)


def _readable_file(snapshot: Snapshot, path: FilePath) -> SourceFile:
    if os.path.isdir(os_path(path)):
        raise UsageError(f"{display(path)} is a directory", hint="name a file in it")
    try:
        return source_file(path)
    except OSError as error:
        hint = suggest_namesake(snapshot, path) or "check the path"
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"{display(path)} cannot be read: {reason}", hint=hint) from error


def _rank_files(
    snapshot: Snapshot,
    hits_by_passage: Sequence[tuple[_Passage, Sequence[VectorHit]]],
    scope: Scope,
    *,
    exclude: FilePath,
) -> list[Hit]:
    stored = snapshot.chunks.by_id({hit.chunk_id for _, hits in hits_by_passage for hit in hits})
    chunks = copies_in_scope(snapshot, stored, scope)
    model = _cosine_model(snapshot)
    nearest: dict[FilePath, list[_Pair]] = defaultdict(list)
    for passage, hits in hits_by_passage:
        best: dict[FilePath, _Pair] = {}
        for score, theirs in ((hit.score, chunk) for hit in hits for chunk in chunks.get(hit.chunk_id, ())):
            pair = _Pair(model.usual(score), theirs, passage.chunk)
            if theirs.path not in best or pair.score > best[theirs.path].score:
                best[theirs.path] = pair
        for path, pair in best.items():
            nearest[path].append(pair)
    totals = {path: sum(max(pair.score, 0.0) for pair in pairs) for path, pairs in nearest.items()}
    ranked = sorted((-total / len(hits_by_passage), path) for path, total in totals.items() if path != exclude)
    return [_hit_of_pairs(sorted(nearest[path], key=_sort_key), score=-negative) for negative, path in ranked]


class _Pair(NamedTuple):
    """Two passages that are near each other: one of another file, and one of the original file."""

    score: float
    theirs: IndexedChunk
    own: Chunk


def _sort_key(pair: _Pair) -> tuple[float, int]:
    return -pair.score, pair.own.ordinal


def _passage_pair(pair: _Pair) -> PassagePair:
    theirs, own = pair.theirs.chunk, pair.own
    return PassagePair(
        round(min(max(pair.score, 0.0), 1.0), 3),
        theirs.start_line,
        theirs.end_line,
        theirs.heading,
        own.start_line,
        own.end_line,
        own.heading,
    )


def _hit_of_pairs(pairs: Sequence[_Pair], *, score: float) -> Hit:
    stored = pairs[0].theirs
    chunk = stored.chunk
    text = chunk.text[:EXCERPT_CHARS].rstrip()
    excerpt = Excerpt(text, chunk.start_line, chunk.start_line + text.count("\n"))
    explanation = NO_EXPLANATION._replace(semantic_score=score)
    hit = make_hit(stored, excerpt, score=min(max(score, 0.0), 1.0), explanation=explanation)
    return hit._replace(agreements=tuple(map(_passage_pair, pairs[:_MAX_AGREEMENTS])))
