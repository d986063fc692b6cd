"""The composition root: builds the parts of dirindex from the configuration, each when it is first needed.

Every part is a cached property, so whoever wants another one, as tests do, assigns it before it is used.
"""

from __future__ import annotations

from functools import cached_property

from directory_indexer.config import LoadedConfig
from directory_indexer.docstore.store import DocStore
from directory_indexer.errors import NotIndexedError, VectorStoreError
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.heaps import loading
from directory_indexer.lazy import lazily
from directory_indexer.status import Status
from directory_indexer.vectorstores import VectorStores

with lazily:
    from directory_indexer import policies
    from directory_indexer.doctor.doctor import Doctor
    from directory_indexer.embedders.loading import Embedders
    from directory_indexer.exporting.exporter import Exporter
    from directory_indexer.indexing.indexer import Indexer, IndexPolicy
    from directory_indexer.indexing.migration import Migration, prepare_migration
    from directory_indexer.indexing.vectorizer import Vectorizer
    from directory_indexer.parsing.parse import ParsePolicy
    from directory_indexer.searching.nearest import Nearest
    from directory_indexer.searching.searcher import Searcher
    from directory_indexer.searching.similar import SimilarFiles
    from directory_indexer.walker.policy import WalkPolicy


class App:
    """One index with everything that works on it; threads may share it."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self.loaded = loaded
        self._config = loaded.config
        self._lock_path = self._config.storage.sqlite_path.with_name("write.lock")

    def require_index(self) -> None:
        """Make sure that there is an index, without making one.

        Raises:
            NotIndexedError: there is none.
        """
        if not self._config.storage.sqlite_path.exists():
            where = self._config.storage.sqlite_path.parent
            raise NotIndexedError(f"there is no index in '{where}'", hint="dirindex index PATH makes one")

    @cached_property
    def docstore(self) -> DocStore:
        """The database of files, texts and runs."""
        return DocStore(self._config.storage.sqlite_path)

    @cached_property
    def embedders(self) -> Embedders:
        """What makes vectors, now and before."""
        return Embedders(policies.embedding_space(self._config.embedding), policies.provider_access(self._config))

    @cached_property
    def vectorstores(self) -> VectorStores:
        """What holds and compares vectors."""
        return VectorStores(
            self._config.storage.qdrant,
            docstore=lambda: self.docstore,
            dimensions=self.embedders.configured.dimensions,
        )

    @cached_property
    def nearest(self) -> Nearest:
        """Find chunks by their vectors."""
        return Nearest(place=self.vectorstores.place, vectorstore=self.vectorstores.of)

    @cached_property
    def searcher(self) -> Searcher:
        """Answer searches."""
        return Searcher(docstore=self.docstore, nearest=lambda: self.nearest, embedder=self.embedders.of)

    @cached_property
    def similar_files(self) -> SimilarFiles:
        """Find files like a given one."""
        with loading("the vector engine", VectorStoreError):
            return SimilarFiles(
                docstore=self.docstore,
                nearest=self.nearest,
                embedder=self.embedders.of,
                parse_policy=self.parse_policy,
            )

    @cached_property
    def vectorizer(self) -> Vectorizer:
        """Give chunks their vectors."""
        return Vectorizer(
            docstore=self.docstore,
            place=self.vectorstores.place,
            vectorstore=self.vectorstores.of,
            embedder=self.embedders.current,
        )

    @cached_property
    def indexer(self) -> Indexer:
        """Run index runs."""
        policy = IndexPolicy(
            self.walk_policy,
            lambda: self.parse_policy,
            self.fingerprint,
            batch_files=self._config.monitoring.batch_size,
        )
        return Indexer(
            docstore=self.docstore,
            vectorizer=self.vectorizer,
            policy=policy,
            lock_path=self._lock_path,
            check_services=self._check_services,
        )

    @cached_property
    def status(self) -> Status:
        """Tell how the index stands."""
        return Status(
            lambda: self.docstore,
            configured=self.embedders.configured,
            vector_bytes=self.vectorstores.size_bytes,
            lock_path=self._lock_path,
        )

    @cached_property
    def exporter(self) -> Exporter:
        """Write what the index holds for other programs."""
        return Exporter(docstore=self.docstore, own=self.walk_policy.own)

    @cached_property
    def doctor(self) -> Doctor:
        """Check and repair the index."""
        return Doctor(
            database=self._config.storage.sqlite_path,
            docstore=lambda: self.docstore,
            vectorstores=self.vectorstores,
            vectorizer=lambda: self.vectorizer,
            embedder=self.embedders.current,
            lock_path=self._lock_path,
        )

    def migration(self, *, to_server: str | None) -> Migration:
        """Prepare to copy the vectors to a Qdrant server at a URL, or from the configured one to the embedded engine.

        Raises:
            UsageError: the URL is none, or no server is configured to copy from.
            IndexMismatchError: vectors of another model are being made.
        """
        from_server = self._config.storage.qdrant.endpoint
        return prepare_migration(
            self.docstore,
            self.vectorstores,
            to_server=to_server,
            from_server=from_server,
            lock_path=self._lock_path,
        )

    @cached_property
    def walk_policy(self) -> WalkPolicy:
        """Which files a walk leaves out."""
        return policies.walk_policy(self.loaded)

    @cached_property
    def parse_policy(self) -> ParsePolicy:
        """How files become chunks."""
        return policies.parse_policy(self._config.indexing)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What would build the index now."""
        return policies.fingerprint(self._config.indexing, self.embedders.configured)

    def close(self) -> None:
        """Give back files, connections and memory."""
        for part in ("embedders", "vectorstores", "docstore"):
            if part in vars(self):
                getattr(self, part).close()

    def _check_services(self) -> None:
        """Ask what is on the network whether it answers; the embedded model is verified when it is loaded."""
        if self.embedders.configured.provider != "embedded":
            embedder = self.embedders.current()
            embedder.check()
            self.vectorizer.adopt(embedder.space)
        self.vectorizer.check()
