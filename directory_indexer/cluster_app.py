"""App of a server without a database, for a cluster index that another machine writes, and its retrieval."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from directory_indexer.app import App
from directory_indexer.config import LoadedConfig
from directory_indexer.core.errors import DirIndexError, NotHereError
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note
from directory_indexer.core.scratch import ScratchDirectory, scratch_beside
from directory_indexer.indexing.status import Status, StatusReport, WaitingVectors
from directory_indexer.ranking.analyzer import query_words
from directory_indexer.ranking.candidates import OTHER_MODEL
from directory_indexer.ranking.plan import MatchPlan
from directory_indexer.ranking.query import Query
from directory_indexer.ranking.sparse import query_weights
from directory_indexer.ranking.word_forms import Term, languages_to_stem
from directory_indexer.search.coverage_warnings import require_same_dimensions
from directory_indexer.search.on_demand_embedding import BackgroundTask
from directory_indexer.search.requests import SearchMode, SearchRequest
from directory_indexer.search.retrieval import CandidateLists, QueryEmbedding
from directory_indexer.search.scope import Scope
from directory_indexer.search.searcher import Searcher
from directory_indexer.storage.cluster.catalogue import Catalogue, CatalogueSnapshot
from directory_indexer.storage.documents.statistics import DirectoryStatus, IndexSummary
from directory_indexer.storage.vector_stores import collection_plan
from directory_indexer.telemetry import spans

with lazily:
    from directory_indexer.core.fingerprint import EmbeddingSpace
    from directory_indexer.core.paths import FilePath
    from directory_indexer.search.vector_search import VectorSearch
    from directory_indexer.storage.cluster.reader import CandidatePassages, CandidateQuery, ClusterReader
    from directory_indexer.storage.cluster.records import CandidatePassage, TrackedDirectory
    from directory_indexer.storage.documents.runs import RunRecord


class ClusterApp(App):
    """The app of a cluster index; its local state is in a scratch directory, which is removed with the process."""

    writes: ClassVar[bool] = False

    def __init__(self, loaded: LoadedConfig) -> None:
        self._directory = ScratchDirectory(scratch_beside(loaded.config.storage.sqlite_path))
        super().__init__(_with_scratch_paths(loaded, self._directory.path))

    @cached_property
    def docstore(self) -> Catalogue:
        """The files and words of the cluster index."""
        qdrant = self._config.storage.qdrant
        plan = collection_plan(qdrant, qdrant.cluster_index or "")
        return Catalogue(self._config.storage.sqlite_path, ClusterReader(self.vectors.cluster_connection, plan))

    @cached_property
    def visible(self) -> Catalogue:
        """The same: no documents are sent to a cluster index."""
        return self.docstore

    @cached_property
    def searcher(self) -> Searcher:
        """The searcher of the cluster index."""
        return Searcher(
            docstore=self.docstore, nearest=_no_vectors, embedder=self.embedders.of, make_retriever=ClusterRetriever
        )

    @cached_property
    def status(self) -> Status:
        """The status of the cluster index."""
        return ClusterStatus(self)

    def refresh(self, scope: Sequence[FilePath]) -> tuple[Note, ...]:
        """Do nothing: the files are on another machine."""
        del scope
        return ()

    def answering_space(self) -> EmbeddingSpace | None:
        """Return the embedding space of the vectors; None also while the cluster is unreachable."""
        with contextlib.suppress(DirIndexError):
            return super().answering_space()
        return None

    def unsupported_operation_error(self, what: str) -> NotHereError:
        """Return the error for an operation that only the indexing machine supports."""
        with self.docstore.snapshot():
            host = self.docstore.manifest.host
        return NotHereError(
            f"{what} is not available here: this server has only the passages of a cluster index",
            hint=f"ask the machine that indexes: {host}",
        )

    def close(self) -> None:
        """Close connections and remove the scratch directory."""
        super().close()
        self._directory.remove()


class ClusterStatus(Status):
    """The status as the indexing machine recorded it in the cluster; runs are not visible from here."""

    def __init__(self, app: ClusterApp) -> None:
        super().__init__(
            lambda: app.docstore, configured=app.embedders.configured, vector_bytes=lambda: 0, lock_path=app.lock_path
        )
        self._app = app

    def report(self, within: FilePath | None = None) -> StatusReport:
        """Return the status as of the last write of the cluster index."""
        report = super().report(within)
        tracked = {directory.path: directory for directory in self._app.docstore.manifest.directories}
        paths = [directory.path for directory in report.directories if directory.path in tracked]
        directories = tuple(_directory_status(tracked[path]) for path in paths)
        n_waiting = sum(directory.n_chunks - directory.n_embedded for directory in directories)
        return report._replace(directories=directories, waiting=WaitingVectors(n_waiting))

    def running(self) -> RunRecord | None:
        """Return None: no run is visible from here."""
        return None

    def checked(self, summary: IndexSummary) -> IndexSummary:
        """Return the summary unchanged: nothing runs here."""
        return summary


def _directory_status(directory: TrackedDirectory) -> DirectoryStatus:
    return DirectoryStatus(
        path=directory.path,
        is_available=True,
        completed_at=directory.completed_at,
        n_files=directory.n_files,
        n_bytes=directory.n_bytes,
        n_chunks=directory.n_chunks,
        n_embedded=directory.n_embedded,
        skipped=(),
        n_failed=0,
    )


def _with_scratch_paths(loaded: LoadedConfig, directory: Path) -> LoadedConfig:
    storage = loaded.config.storage
    storage = storage._replace(
        sqlite_path=directory / "data.db", qdrant=storage.qdrant._replace(path=directory / "qdrant")
    )
    return loaded._replace(config=loaded.config._replace(storage=storage), data_dir=directory)


def _no_vectors() -> VectorSearch:
    raise NotHereError("this server has no vectors of its own")


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
        languages = languages_to_stem(plan.query, snapshot.words)
        self._words = tuple(_required_words(plan.query))
        terms = plan.terms or [Term(word, frozenset((word,)), 0) for word in self._words]
        self._sparse = query_weights(terms, languages) if has_keywords and terms else None

    def retrieve(self, depth: int) -> CandidateLists:
        """Return the best candidates of the keyword and the semantic list, so many of each."""
        meaning = self._embedding.result() if self._embedding is not None else None
        if meaning is not None:
            require_same_dimensions(self._snapshot, meaning.vector.size)
        vector = None if meaning is None else meaning.vector.tolist()
        if self._scope.is_empty or (self._sparse is None and vector is None):
            return CandidateLists({}, {}, {}, meaning.model if meaning else OTHER_MODEL)
        candidates = self._candidates(CandidateQuery(self._sparse, vector, self._listed_files, self._words), depth)
        self._snapshot.chunks.cache(hit.passage for hit in (*candidates.by_words, *candidates.by_meaning))
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

    def _candidates(self, query: CandidateQuery, depth: int) -> CandidatePassages:
        """Search deeper until enough of the candidates are within the scope."""
        limit = depth
        while True:
            with spans.span("ask cluster"):
                candidates = self._snapshot.moment.candidates(query, limit=limit)
            by_words, by_meaning = map(self._within, candidates)
            is_enough = all(
                len(within) >= depth or len(hits) < limit
                for within, hits in ((by_words, candidates.by_words), (by_meaning, candidates.by_meaning))
            )
            if is_enough or limit >= _MAX_DEPTH:
                return CandidatePassages(by_words[:depth], by_meaning[:depth])
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
