"""Server without a database, for a cluster index that another machine writes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from directory_indexer.app import App
from directory_indexer.config import LoadedConfig
from directory_indexer.core.errors import DirIndexError, NotHereError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.notes import Note
from directory_indexer.core.scratch import ScratchDirectory, scratch_beside
from directory_indexer.indexing.cluster_copy import ClusterCopy, NoClusterCopy
from directory_indexer.indexing.status import Status, StatusReport, WaitingVectors
from directory_indexer.search.cluster_retrieval import ClusterRetriever
from directory_indexer.search.searcher import Searcher
from directory_indexer.storage.documents.cluster_catalogue import Catalogue
from directory_indexer.storage.documents.statistics import DirectoryStatus, IndexSummary
from directory_indexer.storage.vector_stores import plan_of

with lazily:
    from directory_indexer.core.embedding_space import EmbeddingSpace
    from directory_indexer.core.paths import FilePath
    from directory_indexer.search.nearest import Nearest
    from directory_indexer.server.rest.operations import HttpOperation
    from directory_indexer.storage.documents.runs import RunRecord
    from directory_indexer.storage.vectors.cluster import TrackedDirectory
    from directory_indexer.storage.vectors.cluster_reader import ClusterReader

TOOLS_HERE: Final = frozenset({"search", "get_content", "server_info"})
OPERATIONS_HERE: Final = frozenset(
    {"search", "listDocuments", "getDocument", "health", "live", "ready", "metrics", "openapi", "docs"}
)
"""The operations that a cluster index can answer; all others need the database or the files."""


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
        plan = plan_of(qdrant, qdrant.cluster_index or "")
        return Catalogue(self._config.storage.sqlite_path, ClusterReader(self.cluster_connection, plan))

    @cached_property
    def cluster(self) -> ClusterCopy:
        """A no-op: another machine updates the cluster index."""
        return NoClusterCopy()

    @cached_property
    def searcher(self) -> Searcher:
        """The searcher of the cluster index."""
        return Searcher(
            docstore=self.docstore, nearest=_no_vectors, embedder=self.embedders.of, inquiry=ClusterRetriever
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

    def elsewhere(self, what: str) -> NotHereError:
        """Return the error for an operation of another machine, which it names."""
        with self.docstore.snapshot():
            host = self.docstore.manifest.host
        return NotHereError(
            f"{what} is not answered here: this server has passages of a cluster alone",
            hint=f"the machine that indexes does it: {host}",
        )

    def close(self) -> None:
        """Close connections and remove the scratch directory."""
        super().close()
        self._directory.remove()


class ClusterStatus(Status):
    """The status as the indexing machine recorded it in the cluster; runs are not visible from here."""

    def __init__(self, app: ClusterApp) -> None:
        super().__init__(
            lambda: app.docstore,
            configured=app.embedders.configured,
            vector_bytes=lambda: 0,
            lock_path=app.lock_path,
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


def operations_here(operations: Sequence[HttpOperation], app: App) -> tuple[HttpOperation, ...]:
    """Return the operations of the API that the index of an app can answer."""
    return tuple(operation for operation in operations if app.writes or operation.name in OPERATIONS_HERE)


def _with_scratch_paths(loaded: LoadedConfig, directory: Path) -> LoadedConfig:
    storage = loaded.config.storage
    storage = storage._replace(
        sqlite_path=directory / "data.db", qdrant=storage.qdrant._replace(path=directory / "qdrant")
    )
    return loaded._replace(config=loaded.config._replace(storage=storage), data_dir=directory)


def _no_vectors() -> Nearest:
    raise NotHereError("this server has no vectors of its own")
