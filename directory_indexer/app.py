"""The composition root: builds the parts of dirindex from the configuration, each when it is first needed.

Imports stand where a part is built: a search by words must not pay half a second of processor time for the
libraries of the embedder, and `status` none for the parsers.
"""

from __future__ import annotations

import contextlib
import glob
import os
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from directory_indexer.chunker import CHUNKER_VERSION, ChunkPolicy
from directory_indexer.config import LoadedConfig
from directory_indexer.config.settings import Quantization
from directory_indexer.config.sources import KEYS
from directory_indexer.docstore.runs import RunRecord
from directory_indexer.docstore.store import DocStore, Snapshot, set_aside
from directory_indexer.docstore.summaries import IndexSummary
from directory_indexer.docstore.vectors import VectorLine
from directory_indexer.embedders import Embedder
from directory_indexer.embedders.space import EmbeddingSpace
from directory_indexer.errors import (
    CorruptIndexError,
    IndexMismatchError,
    NotIndexedError,
    ProviderError,
    UsageError,
    VectorStoreError,
)
from directory_indexer.extractors import EXTRACTOR_VERSION, REDACTION_VERSION
from directory_indexer.files import source_file
from directory_indexer.findings import Finding, Verdict
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.heaps import require_room
from directory_indexer.ids import content_hash
from directory_indexer.lazy import lazily
from directory_indexer.lock import write_lock
from directory_indexer.nofollow import open_file
from directory_indexer.paths import FilePath, display, file_path, lies_in
from directory_indexer.relevance.analyzer import ANALYZER_VERSION
from directory_indexer.searching.texts import FileText, Selection
from directory_indexer.status import StatusReport
from directory_indexer.vectorstore import VectorPlace, VectorStore

with lazily:
    from directory_indexer.doctor import Doctor, provider_finding
    from directory_indexer.embedders import wordpiece
    from directory_indexer.embedders.building import Access, build_embedder, planned_space
    from directory_indexer.indexing.indexer import Indexer, IndexPolicy
    from directory_indexer.indexing.migration import Migration
    from directory_indexer.indexing.vectorizer import Vectorizer
    from directory_indexer.lock import is_locked
    from directory_indexer.parsing.parse import ParsePolicy
    from directory_indexer.searching.nearest import Nearest
    from directory_indexer.searching.searcher import Searcher
    from directory_indexer.searching.similar import SimilarFiles
    from directory_indexer.searching.texts import read_text
    from directory_indexer.vectorstore.collection import CollectionPlan
    from directory_indexer.vectorstore.connection import Address, Connection
    from directory_indexer.vectorstore.embedded import EmbeddedVectorStore
    from directory_indexer.vectorstore.generations import Generations
    from directory_indexer.vectorstore.server import QdrantServer
    from directory_indexer.walker.policy import WalkPolicy


_LISTED = 1000
_MAKES_ONE = "dirindex index PATH makes one"


class App:
    """One index with everything that works on it; threads may share it."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self.loaded = loaded
        self._config = loaded.config
        self._lock = threading.Lock()
        self._embedders: dict[str, Embedder] = {}
        self._vectorstores: dict[VectorLine, VectorStore] = {}

    # What commands and tools call

    def require_index(self) -> None:
        """Make sure that there is an index, without making one.

        Raises:
            NotIndexedError: there is none.
        """
        if not self._has_index():
            where = self._config.storage.sqlite_path.parent
            raise NotIndexedError(f"there is no index in '{where}'", hint=_MAKES_ONE)

    @cached_property
    def searcher(self) -> Searcher:
        """Answer searches."""
        return Searcher(
            docstore=self.docstore,
            nearest=lambda: self._nearest,
            embedder=self.embedder_of,
        )

    @cached_property
    def similar_files(self) -> SimilarFiles:
        """Find files like a given one."""
        with _loading("the vector engine", VectorStoreError):
            return SimilarFiles(
                docstore=self.docstore,
                nearest=self._nearest,
                embedder=self.embedder_of,
                parse_policy=self._parse_policy,
            )

    @cached_property
    def indexer(self) -> Indexer:
        """Run index runs."""
        indexing = self._config.indexing
        walk_policy = WalkPolicy(
            ignore_patterns=indexing.ignore_patterns,
            respect_gitignore=indexing.respect_gitignore,
            include_hidden=indexing.include_hidden,
            include_secrets=indexing.include_secrets,
            follow_symlinks=indexing.follow_symlinks,
            max_file_size=indexing.max_file_size,
            own=self._own_paths(),
        )
        policy = IndexPolicy(
            walk_policy, lambda: self._parse_policy, self.fingerprint, batch_files=self._config.monitoring.batch_size
        )
        return Indexer(
            docstore=self.docstore,
            vectorizer=self._vectorizer,
            policy=policy,
            lock_path=self._lock_path,
            check_services=self._check_services,
        )

    def check(self) -> Iterator[Finding]:
        """Look whether the index is whole, its parts agree, and the embedder answers; without an index, only that."""
        if not self._has_index():
            yield Finding("database", Verdict.WARNING, "there is no index yet", _MAKES_ONE)
            yield provider_finding(self.embedder)
            return
        for place in self._misplaced():
            hint = "dirindex doctor --repair renames it"
            yield Finding("vector store", Verdict.PROBLEM, f"'{place}' is no directory", hint)
        try:
            yield from self._doctor().check()
        except CorruptIndexError as error:
            yield Finding("database", Verdict.PROBLEM, error.message, error.hint or "")

    def repair(self) -> Iterator[Finding]:
        """Mend the index; a damaged database is set aside, and what was tracked must be indexed again.

        Raises:
            LockedError: an index run is going on.
        """
        for place in self._misplaced():
            with write_lock(self._lock_path, wait=False):
                renamed = set_aside(place)
            message = f"'{place}' was no directory, and is '{renamed}' now"
            yield Finding("vector store", Verdict.REPAIRED, message)
        try:
            yield from self._doctor().repair()
        except CorruptIndexError as error:
            self._close_database()
            damaged = set_aside(self._config.storage.sqlite_path)
            for generations in self._all_generations():
                generations.discard_others(0)
            message = f"{error.message}; it was set aside as {damaged}"
            yield Finding("database", Verdict.REPAIRED, message, "dirindex index PATH builds a new one")

    def migration(self, *, to_server: str | None) -> Migration:
        """Prepare to copy the vectors to a Qdrant server at a URL, or from the configured one to the embedded engine.

        Raises:
            UsageError: the URL is none, or no server is configured to copy from.
            IndexMismatchError: vectors of another model are being made.
        """
        qdrant = self._config.storage.qdrant
        if not to_server and not qdrant.endpoint:
            raise UsageError("storage.qdrant.endpoint names no server to copy from", hint="dirindex config shows it")
        for mistake in KEYS["storage.qdrant.endpoint"].kind.mistakes(to_server or qdrant.endpoint):
            raise UsageError(f"--to-server '{to_server}' {mistake.words}")
        with self.docstore.snapshot() as snapshot:
            line = snapshot.vectors.line()
            if snapshot.vectors.is_switching:
                raise IndexMismatchError("a switch to another model is under way", hint="dirindex index completes it")
        embedded = self._embedded_vectorstore(line)
        server = self._qdrant_server(line, to_server or qdrant.endpoint or "")
        return Migration(
            docstore=self.docstore,
            source=embedded if to_server else server,
            target=server if to_server else embedded,
            where=f"{to_server}, collection '{self._collection(line)}'" if to_server else str(qdrant.path),
            lock_path=self._lock_path,
        )

    def _misplaced(self) -> list[Path]:
        """Find what lies where the vectors should, and is no directory."""
        qdrant = self._config.storage.qdrant
        if qdrant.endpoint:
            return []
        collections = qdrant.path.glob(f"{glob.escape(qdrant.collection)}*")
        places = (qdrant.path, *(one for one in collections if ".damaged-" not in one.name))
        return [place for place in places if os.path.lexists(place) and not place.is_dir()]

    def _has_index(self) -> bool:
        return self._config.storage.sqlite_path.exists()

    def _doctor(self) -> Doctor:
        return Doctor(
            docstore=self.docstore,
            vectorstore=self._main_vectorstore(),
            vectorizer=self._vectorizer,
            embedder=self.embedder,
            lock_path=self._lock_path,
        )

    def read_text(self, path: FilePath, selection: Selection | None) -> FileText:
        """Give the indexed text of a file, or a part of it.

        Raises:
            NotIndexedError: the index holds no text of the file.
            UsageError: the selection lies beyond the file.
        """
        with self.docstore.snapshot() as snapshot:
            return read_text(snapshot, path, selection, has_changed=_has_changed(snapshot, path))

    def status(self, within: FilePath | None) -> StatusReport:
        """Sum up the index, or the tracked directory that a path lies in.

        Raises:
            NotIndexedError: the path lies in no tracked directory.
        """
        with self.docstore.snapshot() as snapshot:
            directories = snapshot.directory_statuses()
            if within is not None:
                directories = tuple(one for one in directories if lies_in(within, one.path))
                if not directories:
                    raise NotIndexedError(f"{display(within)} is not tracked", hint="dirindex status shows what is")
            runs = snapshot.latest_runs(1)
            within = directories[0].path if within else None
            return StatusReport(
                directories=directories,
                failures=snapshot.failures(within=within, limit=_LISTED),
                skipped_files=snapshot.skipped_files(within=within, limit=_LISTED),
                space=snapshot.vectors.answering_line().space
                or (self._space if snapshot.meta("fingerprint") else None),
                next_space=self._space if snapshot.vectors.is_switching else None,
                n_database_bytes=self.docstore.size_bytes(),
                n_vector_bytes=sum(generations.size_bytes() for generations in self._all_generations()),
                running=self._going_on(runs),
                last_run=runs[0] if runs else None,
            )

    def runs(self, limit: int) -> tuple[RunRecord, ...]:
        """List the newest index runs of all processes, newest first."""
        with self.docstore.snapshot() as snapshot:
            return snapshot.latest_runs(limit)

    def running(self) -> RunRecord | None:
        """Give the run that goes on now, in whichever process."""
        return self._going_on(self.runs(1))

    @cached_property
    def _space(self) -> EmbeddingSpace:
        embedding = self._config.embedding
        return planned_space(
            embedding.provider,
            embedding.model,
            endpoint=embedding.endpoint,
            dimensions=embedding.dimensions,
            document_prefix=embedding.document_prefix,
            query_prefix=embedding.query_prefix,
        )

    def _check_services(self) -> None:
        """Ask what is on the network whether it answers; the embedded model is verified when it is loaded."""
        if self._space.provider != "embedded":
            embedder = self.embedder()
            embedder.check()
            self._vectorizer.adopt(embedder.space)
        self._vectorizer.check()

    def summary(self) -> IndexSummary:
        """Tell what answers are drawn from now."""
        with self.docstore.snapshot() as snapshot:
            return self.summary_of(snapshot)

    def summary_of(self, snapshot: Snapshot) -> IndexSummary:
        """Tell what answers of one moment are drawn from; a run that was killed changes nothing any more."""
        summary = snapshot.summary()
        return summary._replace(is_running=summary.is_running and is_locked(self._lock_path))

    def embedder(self) -> Embedder:
        """Give the configured embedder, loaded at the first call.

        Raises:
            ProviderError: it cannot be loaded.
        """
        return self.embedder_of(None)

    def answering_embedder(self) -> Embedder:
        """Give the embedder that queries are embedded with now.

        Raises:
            ProviderError: it cannot be loaded.
        """
        with self.docstore.snapshot() as snapshot:
            return self.embedder_of(snapshot.vectors.answering_line().space)

    def embedder_of(self, space: EmbeddingSpace | None) -> Embedder:
        """Give the embedder that made the vectors of a space: the configured one, or one as the index remembers it.

        Raises:
            ProviderError: it cannot be loaded.
        """
        embedding = self._config.embedding
        wanted = self._space if space is None or space.name == self._space.name else space
        # The key belongs to the service that is configured, and to no other.
        may_have_key = embedding.api_key is not None and wanted.endpoint == self._space.endpoint
        access = Access(
            api_key=embedding.api_key.get_secret_value() if embedding.api_key and may_have_key else None,
            batch_size=embedding.batch_size,
            concurrency=self._config.indexing.concurrency,
            keep_alive=embedding.keep_alive,
        )
        with self._lock:
            if wanted.name not in self._embedders:
                with _loading("the model", ProviderError):
                    self._embedders[wanted.name] = build_embedder(wanted, access)
            return self._embedders[wanted.name]

    def close(self) -> None:
        """Give back files, connections and memory."""
        for embedder in self._embedders.values():
            embedder.close()
        for vectorstore in self._vectorstores.values():
            vectorstore.close()
        self._close_database()

    def _close_database(self) -> None:
        if "docstore" in vars(self):
            self.docstore.close()

    # The parts

    @cached_property
    def docstore(self) -> DocStore:
        """Open the database."""
        return DocStore(self._config.storage.sqlite_path)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Tell what would build the index now."""
        indexing = self._config.indexing
        return Fingerprint(
            embedding=self._space.name,
            chunking=f"{indexing.chunk_size}/{indexing.overlap} tokens, version {CHUNKER_VERSION}",
            extraction=f"version {EXTRACTOR_VERSION}",
            analysis=f"version {ANALYZER_VERSION}",
            secrets="indexed as they are" if indexing.include_secrets else f"version {REDACTION_VERSION}",
        )

    @cached_property
    def _nearest(self) -> Nearest:
        return Nearest(place=self._place, vectorstore=self._vectorstore)

    @cached_property
    def _vectorizer(self) -> Vectorizer:
        return Vectorizer(
            docstore=self.docstore, place=self._place, vectorstore=self._vectorstore, embedder=self.embedder
        )

    @property
    def _place(self) -> VectorPlace:
        return VectorPlace.SERVER if self._config.storage.qdrant.endpoint else VectorPlace.EMBEDDED

    def _all_generations(self) -> Iterator[Generations]:
        """Open the embedded collections of the index: the one in use, and those that a switch fills or leaves."""
        qdrant = self._config.storage.qdrant
        return (Generations(path) for path in qdrant.path.glob(f"{glob.escape(qdrant.collection)}*"))

    def _main_vectorstore(self) -> VectorStore:
        with self.docstore.snapshot() as snapshot:
            return self._vectorstore(snapshot.vectors.line())

    def _vectorstore(self, line: VectorLine) -> VectorStore:
        """Open the store of a line once; of two at most, for readers of a former one keep it on the disk."""
        with self._lock:
            if line not in self._vectorstores:
                while len(self._vectorstores) > 1:
                    self._vectorstores.pop(next(iter(self._vectorstores))).close()
                endpoint = self._config.storage.qdrant.endpoint
                opened = self._qdrant_server(line, endpoint) if endpoint else self._embedded_vectorstore(line)
                self._vectorstores[line] = opened
            return self._vectorstores[line]

    def _collection(self, line: VectorLine) -> str:
        return self._config.storage.qdrant.collection + line.suffix

    def _dimensions(self, line: VectorLine) -> int:
        # Before the provider has told the length of its vectors there is nothing to store.
        return line.space.dimensions if line.space else self._space.dimensions or 1

    def _embedded_vectorstore(self, line: VectorLine) -> VectorStore:
        with _loading("the vector engine", VectorStoreError):
            generations = Generations(self._config.storage.qdrant.path / self._collection(line))
            return EmbeddedVectorStore(generations, dimensions=self._dimensions(line))

    def _qdrant_server(self, line: VectorLine, url: str) -> VectorStore:
        qdrant = self._config.storage.qdrant
        address = Address(
            url=url,
            api_key=qdrant.api_key.get_secret_value() if qdrant.api_key else None,
            ca_file=qdrant.ca_file,
            grpc_port=qdrant.grpc_port,
            timeout_seconds=qdrant.timeout_seconds,
        )
        plan = CollectionPlan(
            name=self._collection(line),
            shard_number=qdrant.shard_number,
            replication_factor=qdrant.replication_factor,
            write_consistency_factor=qdrant.write_consistency_factor,
            read_consistency=qdrant.read_consistency,
            quantization=Quantization(qdrant.quantization),
            on_disk=qdrant.on_disk,
        )
        index_id = self.docstore.index_id()
        return QdrantServer(Connection(address), plan, index_id=index_id, dimensions=self._dimensions(line))

    @cached_property
    def _parse_policy(self) -> ParsePolicy:
        indexing = self._config.indexing
        n_workers = min(indexing.concurrency, os.cpu_count() or 1)
        return ParsePolicy(
            max_file_size=indexing.max_file_size,
            include_secrets=indexing.include_secrets,
            chunking=ChunkPolicy(size=indexing.chunk_size, overlap=indexing.overlap),
            count_tokens=wordpiece.count_tokens,
            follow_symlinks=indexing.follow_symlinks,
            n_workers=n_workers,
        )

    def _own_paths(self) -> tuple[FilePath, ...]:
        """Name what lies in no index: this one, its log, and the files that configure it and may hold keys."""
        storage, database = self._config.storage, self._config.storage.sqlite_path
        beside = [database.with_name(database.name + end) for end in ("", "-wal", "-shm", ".schema-lock")]
        locks = [database.with_name(name) for name in ("write.lock", "watch.lock")]
        keys = [storage.qdrant.api_key_file, self._config.embedding.api_key_file]
        data_dir = self.loaded.data_dir
        own = [data_dir, data_dir / "dirindex.log", storage.qdrant.path, self.loaded.file, *keys, *beside, *locks]
        return tuple(dict.fromkeys(file_path(os.path.realpath(path)) for path in own if path is not None))

    @property
    def _lock_path(self) -> Path:
        return self._config.storage.sqlite_path.with_name("write.lock")

    def _going_on(self, runs: tuple[RunRecord, ...]) -> RunRecord | None:
        """Take a run that was killed for ended: it holds no lock any more."""
        return runs[0] if runs and runs[0].outcome is None and is_locked(self._lock_path) else None


@contextlib.contextmanager
def _loading(what: str, kind: type[ProviderError | VectorStoreError]) -> Iterator[None]:
    try:
        require_room()
        yield
    except (ImportError, MemoryError) as error:
        reason = "not enough memory" if isinstance(error, MemoryError) else str(error).partition("\n")[0]
        raise kind(f"{what} cannot be loaded: {reason}", hint="free some memory, or install dirindex again") from error


def resolved_path(path: str) -> FilePath:
    """Make a path that a person typed absolute, with `~` and symbolic links resolved."""
    return file_path(os.path.realpath(os.path.expanduser(path)))


def _has_changed(snapshot: Snapshot, path: FilePath) -> bool:
    """Tell whether a file is not what the index holds; where its stamp does not tell, its content does."""
    known = snapshot.known_file(path)
    try:
        now = source_file(path)
        if known is None or (now.size, now.mtime_ns) != (known.source.size, known.source.mtime_ns):
            return True
        if now == known.source or known.hash is None:
            return False
        with open(open_file(display(path)), "rb") as file:
            return content_hash(file.read(now.size + 1)) != known.hash
    except OSError:
        return True
