"""The composition root: builds the parts of dirindex from the configuration, each on first use.

Every part is a cached property, so tests replace one by assigning it before it is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from directory_indexer.config import DEFAULT, LoadedConfig, directory_of_document, documents_of, registry_path
from directory_indexer.config.indexing import OCR_SERVICES, EmbeddingMode
from directory_indexer.core import machine
from directory_indexer.core.errors import StoreError, VectorStoreError
from directory_indexer.core.kept_files import share_with_group
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note, NoteKind
from directory_indexer.storage.documents import WHOLE_INDEX, IndexScope
from directory_indexer.storage.documents.runs import Origin, RunRequest, Verb
from directory_indexer.storage.documents.store import DocStore

with lazily:
    from directory_indexer.core.fingerprint import EmbeddingSpace
    from directory_indexer.core.machine import translate_import_errors
    from directory_indexer.core.paths import FilePath, exact_text, file_path
    from directory_indexer.embedding.loading import Embedders
    from directory_indexer.embedding.models import LanguageAdvice, language_advice
    from directory_indexer.indexing.background_runs import (
        EmbeddingProcess,
        EmbeddingWork,
        ReadingProcess,
        embedding_command,
        reading_command,
    )
    from directory_indexer.indexing.indexer import Indexer
    from directory_indexer.indexing.migration import Migration, prepare_migration
    from directory_indexer.indexing.ocr_runner import OcrRunner
    from directory_indexer.indexing.options import IndexParts, ServiceChecks
    from directory_indexer.indexing.refresh import Refresher
    from directory_indexer.indexing.runs import RunControl
    from directory_indexer.indexing.single_files import FileUpdates
    from directory_indexer.indexing.status import Status
    from directory_indexer.indexing.vectorizer import Vectorizer, check_services
    from directory_indexer.integrations.converting.converter import Converter
    from directory_indexer.integrations.doctor import Doctor, language_findings, ocr_finding, provider_finding
    from directory_indexer.integrations.exporting.exporter import Exporter
    from directory_indexer.ocr.engine_selection import ConfiguredOcr
    from directory_indexer.policies import Policies
    from directory_indexer.search.searcher import Searcher, SearchPolicy
    from directory_indexer.search.semantic_map import SemanticMaps
    from directory_indexer.search.similar import SimilarFiles
    from directory_indexer.search.vector_search import VectorSearch
    from directory_indexer.storage.cluster import ClusterCopy
    from directory_indexer.storage.cluster.reader import ClusterReader
    from directory_indexer.storage.cluster.synchronisation import ClusterIndex
    from directory_indexer.storage.cluster.writer import ClusterLedger, ClusterWriter
    from directory_indexer.storage.registry import Registry
    from directory_indexer.storage.registry.documents import Documents
    from directory_indexer.storage.vector_stores import VectorStores, collection_plan, connect_to_qdrant
    from directory_indexer.storage.vectors.connection import QdrantConnection


class App:
    """One index with all of its parts; threads may share it."""

    writes: ClassVar[bool] = True
    """Whether the index is on this machine; one that is only in a cluster is read-only."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self.loaded = loaded
        self._config = loaded.config
        if self._config.storage.shared_with_group:
            share_with_group()
        self.is_watched: Callable[[], bool] = lambda: False
        self.lock_path = self._config.storage.sqlite_path.with_name("write.lock")
        self.origin = Origin.TERMINAL
        """The origin of documents sent through this process; servers set it before anything is built."""

    @cached_property
    def policies(self) -> Policies:
        """The policies that follow from the configuration."""
        return Policies(self.loaded)

    @cached_property
    def docstore(self) -> DocStore:
        """The database of files, texts and runs."""
        return DocStore(self._config.storage.sqlite_path)

    @cached_property
    def visible(self) -> DocStore:
        """The database as answers show it: without documents that are being deleted."""
        return self.docstore.hiding(self._documents_being_deleted)

    def _documents_being_deleted(self) -> Sequence[FilePath]:
        """Return the directories of documents that are deleted for clients, and wait for a run to end."""
        if registry_path(self.loaded.data_dir).exists():
            with contextlib.suppress(StoreError):  # a damaged registry is no reason not to search directories
                doc_ids = Documents(self.registry, self.loaded.collection).being_deleted()
                documents = Path(exact_text(documents_of(self.loaded)))
                return [file_path(directory_of_document(doc_id, documents)) for doc_id in doc_ids]
        return ()

    @cached_property
    def registry(self) -> Registry:
        """The database of collections, documents and keys."""
        return Registry(registry_path(self.loaded.data_dir))

    @cached_property
    def embedders(self) -> Embedders:
        """The embedders of current and earlier vectors."""
        return Embedders(self.policies.space, self.policies.access)

    @cached_property
    def vectors(self) -> VectorParts:
        """The vectors: their stores, their writer, and the search among them."""
        return VectorParts(self)

    @cached_property
    def runs(self) -> RunParts:
        """The index runs."""
        return RunParts(self)

    @cached_property
    def searcher(self) -> Searcher:
        """The search."""
        return Searcher(
            docstore=self.visible,
            nearest=lambda: self.vectors.nearest,
            embedder=lambda space: self.embedders.of(space),  # noqa: PLW0108 - a search by words needs no embedders
            recognised=self.policies.page_cache,
            policy=SearchPolicy(self._config.indexing.embedding != EmbeddingMode.OFF, documents_of(self.loaded)),
        )

    @cached_property
    def similar_files(self) -> SimilarFiles:
        """The search for files similar to a file."""
        with translate_import_errors("the vector engine", VectorStoreError):
            return SimilarFiles(
                docstore=self.visible,
                nearest=self.vectors.nearest,
                embedder=self.embedders.of,
                parse_policy=self.policies.parse,
            )

    @cached_property
    def neighbourhoods(self) -> SemanticMaps:
        """The map of documents around a document."""
        with translate_import_errors("the vector engine", VectorStoreError):
            return SemanticMaps(docstore=self.visible, nearest=self.vectors.nearest, embedder=self.embedders.of)

    def refresh(self, scope: Sequence[FilePath]) -> tuple[Note, ...]:
        """Index recent changes in some directories within the configured time; return notes on what is not indexed yet.

        If the directories are watched, a quick check is enough.
        """
        seconds = self._config.searching.refresh_ms / 1000
        refresh = self.runs.refresher.refresh_watched if self.is_watched() else self.runs.refresher.refresh
        is_limited = machine.is_watching_limited(self._config.storage.sqlite_path)
        limit = (Note(machine.WATCHES_MESSAGE, NoteKind.CHANGES),) if is_limited else ()
        return (*limit, *(refresh(scope, seconds=seconds).notes if seconds else ()))

    def language_advice(self, scope: Sequence[FilePath] = ()) -> LanguageAdvice | None:
        """Return advice if many documents of a scope are in languages that the configured model does not understand."""
        if self._config.indexing.embedding == EmbeddingMode.OFF or not self._config.storage.sqlite_path.exists():
            return None
        with self.docstore.snapshot() as snapshot:
            return language_advice(self.embedders.configured, snapshot.words.language_counts(scope))

    def answering_space(self) -> EmbeddingSpace | None:
        """Return the space of the vectors that answer; None if there are none."""
        with self.docstore.snapshot() as snapshot:
            return snapshot.vector_sets.answering().space

    @cached_property
    def status(self) -> Status:
        """The state of the index."""
        return Status(
            lambda: self.docstore,
            configured=self.embedders.configured,
            vector_bytes=self.vectors.stores.on_disk.size_bytes,
            lock_path=self.lock_path,
            ocr_advice=lambda: self.runs.page_reading.advice(),  # noqa: PLW0108 - only where pages wait
        )

    @cached_property
    def exporter(self) -> Exporter:
        """The export."""
        return Exporter(docstore=self.visible, own=self.policies.walk.own)

    @cached_property
    def converter(self) -> Converter:
        """The conversion to Markdown."""
        return Converter(lambda: self.policies.parse, destinations=self.policies.destinations)

    @cached_property
    def doctor(self) -> Doctor:
        """The check and repair of the index."""
        return Doctor(
            database=self._config.storage.sqlite_path,
            docstore=lambda: self.docstore,
            vectorstores=self.vectors.stores,
            vectorizer=lambda: self.vectors.vectorizer,
            lock_path=self.lock_path,
            services=lambda: (
                provider_finding(self.embedders.current),
                ocr_finding(self.runs.page_reading, self.policies.page_cache),
                *self.vectors.cluster.findings(),
                *language_findings(self.language_advice),
            ),
        )

    def close(self) -> None:
        """Release files, connections and memory."""
        for part in ("embedders", "vectors", "docstore", "registry"):
            if part in vars(self):
                getattr(self, part).close()


class VectorParts:
    """The vectors of an index: their stores, their writer, and the search among them."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._config = app.loaded.config

    @cached_property
    def stores(self) -> VectorStores:
        """The stores of vectors."""
        return VectorStores(
            self._config.storage.qdrant,
            docstore=lambda: self._app.docstore,
            dimensions=self._app.embedders.configured.dimensions,
        )

    @cached_property
    def nearest(self) -> VectorSearch:
        """The search for nearest vectors."""
        return VectorSearch(place=self.stores.place, vectorstore=self.stores.store_of)

    @cached_property
    def vectorizer(self) -> Vectorizer:
        """The writer of vectors."""
        return Vectorizer(
            docstore=self._app.docstore,
            place=self.stores.place,
            vectorstore=self.stores.store_of,
            embedder=self._app.embedders.current,
            cluster=self.cluster,
        )

    @cached_property
    def cluster_connection(self) -> QdrantConnection:
        """The connection to the Qdrant server with the cluster index."""
        return connect_to_qdrant(self._config.storage.qdrant, self._config.storage.qdrant.endpoint or "")

    @cached_property
    def cluster(self) -> ClusterCopy:
        """The cluster index that runs keep up to date, if one is configured; only for the default collection."""
        qdrant = self._config.storage.qdrant
        if not self._app.writes or qdrant.cluster_index is None or self._app.loaded.collection != DEFAULT:
            return ClusterCopy()
        connection, plan = self.cluster_connection, collection_plan(qdrant, qdrant.cluster_index)
        return ClusterIndex(
            docstore=self._app.docstore,
            reader=ClusterReader(connection, plan),
            writer=ClusterWriter(connection, plan),
            ledger=ClusterLedger(self._app.policies.ledger_path),
            vectors=self.nearest.vectors,
            configured=self._app.embedders.configured,
            documents=documents_of(self._app.loaded),
        )

    def migration(self, *, to_server: str | None) -> Migration:
        """Return a migration of vectors to a Qdrant server, or from the configured one to the embedded engine.

        `to_server` is the URL.

        Raises:
            UsageError: the URL is invalid, or no server is configured to copy from.
            IndexMismatchError: vectors of another model are being made.
        """
        from_server = self._config.storage.qdrant.endpoint
        return prepare_migration(
            self._app.docstore,
            self.stores,
            to_server=to_server,
            from_server=from_server,
            lock_path=self._app.lock_path,
        )

    def close(self) -> None:
        """Close connections and release memory."""
        for part in ("stores", "cluster_connection", "cluster"):
            if part in vars(self):
                getattr(self, part).close()


class RunParts:
    """Index runs: what they need, the background processes that continue them, and their control."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._config = app.loaded.config

    @cached_property
    def page_reading(self) -> ConfiguredOcr:
        """The selection of the OCR engine."""
        return ConfiguredOcr(self._app.policies.ocr, lambda: self._app.policies.parse)

    @cached_property
    def ocr_runner(self) -> OcrRunner:
        """The OCR of waiting pages."""
        return OcrRunner(
            self._app.docstore,
            self._app.policies.page_cache,
            self.page_reading,
            recipe=self._app.policies.fingerprint.recipe,
            max_bytes=self._config.ocr.cache_size,
        )

    @cached_property
    def parts(self) -> IndexParts:
        """The parts of the index that runs use."""
        return IndexParts(
            *(self._app.docstore, self._app.lock_path),
            vectorizer=lambda: self._app.vectors.vectorizer,
            ocr_runner=lambda: self.ocr_runner,
            policy=lambda: self._app.policies.index,
        )

    @cached_property
    def indexer(self) -> Indexer:
        """The index runs."""
        checks = ServiceChecks(lambda: check_services(self._app.embedders, self._app.vectors.vectorizer))
        if self._config.ocr.engine in OCR_SERVICES:  # other engines are checked when pages wait
            checks = checks._replace(for_pages=lambda: self.page_reading.check())  # noqa: PLW0108
        return Indexer(self.parts, checks=checks)

    @cached_property
    def refresher(self) -> Refresher:
        """The check for changes before a question is answered."""
        return Refresher(
            self.parts,
            walk=self._app.policies.walk,
            origin=self._app.origin,
            read_in_background=lambda directories: self.reading_process.start(directories),  # noqa: PLW0108 - made when needed
        )

    @cached_property
    def reading_process(self) -> ReadingProcess:
        """The process that reads the changed files which a search had no time for."""
        return ReadingProcess(reading_command(self._app.loaded))

    @cached_property
    def sent_files(self) -> FileUpdates:
        """The indexing of documents that were sent."""
        return FileUpdates(RunRequest(Verb.INDEX, [documents_of(self._app.loaded)], self._app.origin), self.parts)

    @cached_property
    def control(self) -> RunControl:
        """Stopping, pausing and resuming of runs."""
        return RunControl(lambda: self._app.docstore, unended=lambda: self._app.status.unfinished_runs())  # noqa: PLW0108 - few ask

    def embedding_process(self, scope: IndexScope = WHOLE_INDEX) -> EmbeddingProcess:
        """Return a background process that embeds."""
        return EmbeddingProcess(
            command=embedding_command(self._app.loaded, scope),
            waiting=lambda: self._embedding_work(scope),
            lock_path=self._app.lock_path.with_name("embed.lock"),
            releases_when_idle=scope != WHOLE_INDEX,
        )

    def _embedding_work(self, scope: IndexScope) -> EmbeddingWork:
        """Return the work that a background process may do: none that needs consent first."""
        n_chunks, built = self._app.status.count_embeddable_chunks(scope)
        is_agreed = n_chunks > 0 and built == self._app.policies.fingerprint.to_json()
        return EmbeddingWork(n_chunks if is_agreed else 0, self._app.status.is_locked())
