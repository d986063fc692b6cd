"""Integrity checks of an index and its services, with repairs from the texts in SQLite.

An index that cannot be opened is checked and repaired, too: missing, damaged, or blocked by another file. Checks only
read.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from directory_indexer.core import machine
from directory_indexer.core.errors import (
    CorruptIndexError,
    IndexMismatchError,
    ProviderError,
    StoreError,
    VectorsLostError,
    VectorStoreError,
)
from directory_indexer.core.files import MISSING_READER
from directory_indexer.core.ids import ChunkId
from directory_indexer.core.kept_files import apply_mode_of_new_files, is_accessible_to_others
from directory_indexer.core.lazy import lazily
from directory_indexer.core.lock import write_lock
from directory_indexer.core.notes import Finding, Verdict, format_waiting
from directory_indexer.core.paths import os_path
from directory_indexer.embedding import Embedder
from directory_indexer.embedding.models import LanguageAdvice
from directory_indexer.indexing.runs import end_completed_pauses
from directory_indexer.indexing.vectorizer import Vectorizer
from directory_indexer.ocr.engine_selection import ConfiguredOcr
from directory_indexer.storage.documents.store import DocStore, rename_damaged_database
from directory_indexer.storage.ocr_cache import OcrCache
from directory_indexer.storage.vector_stores import VectorStores
from directory_indexer.storage.vectors import VectorStore

with lazily:
    from directory_indexer.storage.documents.store import Snapshot

_GIB = 1 << 30
_FREE_BYTES = 500_000_000
_REPAIR = "dirindex doctor --repair repairs it"

_MIB = 1 << 20


class Doctor:
    """Checks one index, and repairs it under the write lock; its parts are opened on demand."""

    def __init__(
        self,
        *,
        database: Path,
        docstore: Callable[[], DocStore],
        vectorstores: VectorStores,
        vectorizer: Callable[[], Vectorizer],
        lock_path: Path,
        services: Callable[[], Iterable[Finding]],
    ) -> None:
        self._services = services
        self._database = database
        self._docstore = docstore
        self._vectorstores = vectorstores
        self._vectorizer = vectorizer
        self._lock_path = lock_path

    def check(self) -> Iterator[Finding]:
        """Yield findings on the integrity of the index and on the embedder; without an index, on the embedder only."""
        if not self._database.exists():
            yield Finding("database", Verdict.WARNING, "there is no index yet", "dirindex index PATH makes one")
        else:
            yield from self._check_index()
        if machine.is_watching_limited(self._database):
            yield Finding("watching", Verdict.WARNING, machine.WATCHES_MESSAGE, machine.WATCHES_HINT)
        yield from self._services()

    def repair(self) -> Iterator[Finding]:
        """Repair, then check everything; a damaged database is moved aside and must be rebuilt.

        Raises:
            LockedError: an index run is in progress; it repairs much by itself.
            VectorStoreError: the vector store cannot be reached; everything else is repaired.
        """
        for path in self._vectorstores.paths_not_directories():
            with write_lock(self._lock_path, wait=False):
                renamed = rename_damaged_database(path)
            message = f"'{path}' was no directory, and is '{renamed}' now"
            yield Finding("Qdrant", Verdict.REPAIRED, message)
        try:
            yield from self._repair_index()
        except CorruptIndexError as error:
            with contextlib.suppress(CorruptIndexError):  # if it cannot be opened, there is nothing to close
                self._docstore().close()
            damaged = rename_damaged_database(self._database)
            self._vectorstores.on_disk.discard()
            message = f"{error.message}; it was set aside as {damaged}"
            yield Finding("database", Verdict.REPAIRED, message, "dirindex index PATH builds a new one")
            return
        yield from self.check()

    def _check_index(self) -> Iterator[Finding]:
        for path in self._vectorstores.paths_not_directories():
            hint = "dirindex doctor --repair renames it"
            yield Finding("Qdrant", Verdict.PROBLEM, f"'{path}' is not a directory", hint)
        try:
            yield from self._checkup().findings()
        except CorruptIndexError as error:
            yield Finding("database", Verdict.PROBLEM, error.message, error.hint or "")

    def _repair_index(self) -> Iterator[Finding]:
        docstore, checkup = self._docstore(), self._checkup()
        with write_lock(self._lock_path, wait=False):
            docstore.maintenance.require_integrity()
            yield from _repair_values(docstore)
            for path in checkup.exposed_paths():
                apply_mode_of_new_files(path)
            yield from _repair_words(docstore, checkup)
            yield from _repair_shared_texts(docstore)
            yield from _repair_vectors(docstore, checkup)
            vectorizer = self._vectorizer()
            for _ in vectorizer.embed_waiting():
                pass
            vectorizer.spaces.complete_switch(vectorizer.merger.state())
            vectorizer.merger.repair_tags()
            vectorizer.merger.merge_all()
            vectorizer.cluster.repair()
            end_completed_pauses(docstore, embeds=True)
            docstore.maintenance.checkpoint(words_kept_seconds=0)

    def _checkup(self) -> IndexCheck:
        docstore = self._docstore()
        with docstore.snapshot() as snapshot:
            vector_set = snapshot.vector_sets.current()
        return IndexCheck(docstore, self._vectorstores.store_of(vector_set))


class IndexCheck:
    """Checks all parts of an index; `vectorstore` is the one that holds its vectors."""

    def __init__(self, docstore: DocStore, vectorstore: VectorStore) -> None:
        self._docstore = docstore
        self._vectorstore = vectorstore

    def findings(self) -> Iterator[Finding]:
        """Yield findings on permissions, space, database, full-text index, directories and vectors."""
        yield self._permissions()
        yield self._space()
        yield self._database()
        yield from self._values()
        yield self.words()
        with self._docstore.snapshot() as snapshot:
            yield from _directories(snapshot)
            yield from _missing_readers(snapshot)
            yield _coverage(snapshot)
            yield from _shared_texts(snapshot)
        yield from self._vectors()

    def exposed_paths(self) -> list[Path]:
        """Return the paths of the index that other users of this machine can read."""
        directory = self._docstore.path.parent
        return [path for path in (directory, *directory.glob("*")) if path.exists() and _is_exposed(path)]

    def _permissions(self) -> Finding:
        if exposed_paths := self.exposed_paths():
            names = ", ".join(map(str, exposed_paths))
            return Finding("permissions", Verdict.WARNING, f"others can read {names}", _REPAIR)
        return Finding("permissions", Verdict.OK, f"{self._docstore.path.parent} is private")

    def _space(self) -> Finding:
        free = shutil.disk_usage(self._docstore.path.parent).free
        message = f"{free / _GIB:.1f} GiB free for the index"
        if free < _FREE_BYTES:
            return Finding("disk", Verdict.WARNING, message, "free some disk space")
        return Finding("disk", Verdict.OK, message)

    def _database(self) -> Finding:
        try:
            self._docstore.maintenance.require_integrity()
        except CorruptIndexError as error:
            return Finding("database", Verdict.PROBLEM, error.message, error.hint or "")
        return Finding("database", Verdict.OK, f"{self._docstore.path} is intact")

    def _values(self) -> Iterator[Finding]:
        if names := self._docstore.maintenance.damaged_values():
            message = f"{self._docstore.path}: {', '.join(names)} of rows are damaged"
            yield Finding("values", Verdict.PROBLEM, message, _REPAIR)

    def words(self) -> Finding:
        """Check that the full-text index can be read and has every chunk."""
        try:
            with self._docstore.snapshot() as snapshot:
                snapshot.words.require_readable()
                n_rows, n_chunks = snapshot.words.count_rows(), snapshot.chunks.count()
        except CorruptIndexError:
            return Finding("words", Verdict.PROBLEM, "the full-text index is damaged", _REPAIR)
        if n_rows != n_chunks:
            message = f"the full-text index has {n_rows:,} rows for {n_chunks:,} passages"
            return Finding("words", Verdict.PROBLEM, message, _REPAIR)
        return Finding("words", Verdict.OK, f"{n_chunks:,} passages are searchable by words")

    def _vectors(self) -> Iterator[Finding]:
        try:
            yield self._vectorstore.health()
            yield self._docstore.read(self._agreement)
        except VectorsLostError as error:
            yield Finding("Qdrant", Verdict.PROBLEM, error.message, _REPAIR)
        except (VectorStoreError, IndexMismatchError) as error:
            yield Finding("Qdrant", Verdict.PROBLEM, error.message, error.hint or "")

    def _agreement(self, snapshot: Snapshot) -> Finding:
        lost, unknown = self.disagreement(snapshot)
        if lost or unknown:
            message = f"passages that it lacks: {len(lost):,}; that it should not have: {len(unknown):,}"
            return Finding("Qdrant", Verdict.PROBLEM, message, _REPAIR)
        n_stored, n_pending = len(snapshot.vectors.embedded_chunk_ids()), snapshot.vectors.count_pending()
        places = f"{n_stored:,} in it, {n_pending:,} in the database until they are merged"
        return Finding("Qdrant", Verdict.OK, f"its passages are those of the index: {places}")

    def disagreement(self, snapshot: Snapshot) -> tuple[set[ChunkId], set[ChunkId]]:
        """Compare both stores; return the ids of missing vectors and of unknown ones.

        Raises:
            VectorsLostError: the vectors are damaged.
            GenerationGoneError: they are missing, or were replaced meanwhile.
        """
        generation = snapshot.vector_sets.generation(self._vectorstore.place)
        expected = snapshot.vectors.embedded_chunk_ids()
        self._vectorstore.require_intact(generation)
        stored = set(self._vectorstore.open_generation(generation).ids()) if generation else set()
        # An interrupted merge may have written pending vectors to a server.
        pending = snapshot.vectors.pending_of(list(stored - expected))
        return expected - stored, stored - expected - set(snapshot.stale_points.all()) - pending.keys()


def ocr_finding(reading: ConfiguredOcr, cache: OcrCache) -> Finding:
    """Return the OCR engine and the size of its cache; a service is not called."""
    summary = cache.summary()
    pages = "page" if summary.n_pages == 1 else "pages"
    cached = f"{summary.n_pages:,} {pages} kept in {math.ceil(10 * summary.n_bytes / _MIB) / 10:,.1f} MiB"
    try:
        name = reading.name()
    except ProviderError as error:
        return Finding("OCR", Verdict.PROBLEM, error.message, error.hint or "")
    if name is None:
        return Finding("OCR", Verdict.OK, f"scanned pages are not read; {cached}", reading.advice())
    return Finding("OCR", Verdict.OK, f"{name}; {cached}")


def language_findings(get_advice: Callable[[], LanguageAdvice | None]) -> Iterator[Finding]:
    """Yield a warning if many documents are in languages that the model does not understand."""
    advice = None
    with contextlib.suppress(StoreError):  # the check of the database reports it
        advice = get_advice()
    if advice:
        yield Finding("languages", Verdict.WARNING, advice.message, advice.hint)


def provider_finding(load: Callable[[], Embedder]) -> Finding:
    """Embed a few words, and return the result as a finding."""
    started = time.monotonic()
    try:
        embedder = load()
        vector = embedder.embed_query("is anybody there?")
        seconds = time.monotonic() - started
        space, max_tokens = embedder.space, embedder.max_tokens
    except ProviderError as error:
        return Finding("provider", Verdict.PROBLEM, error.message, error.hint or "")
    name = f"{space.provider}/{space.model}"
    reads = f", and reads the first {max_tokens:,} tokens of a text" if max_tokens else ""
    message = f"{name} answers in {seconds:.2f} s with {vector.size} dimensions{reads}"
    return Finding("provider", Verdict.OK, message)


def _repair_values(docstore: DocStore) -> Iterator[Finding]:
    if names := docstore.maintenance.repair_values():
        message = f"damaged values of {', '.join(names)} were dropped; what they were of is read again"
        yield Finding("values", Verdict.REPAIRED, message, "dirindex index")


def _repair_words(docstore: DocStore, checkup: IndexCheck) -> Iterator[Finding]:
    if checkup.words().verdict is Verdict.OK and docstore.is_fulltext_intact():
        return
    with docstore.transaction() as transaction:
        transaction.words.rebuild()
    yield Finding("words", Verdict.REPAIRED, "the full-text index was built again from the stored texts")


def _repair_shared_texts(docstore: DocStore) -> Iterator[Finding]:
    with docstore.transaction() as transaction:
        n_astray = transaction.shared_texts.mark_orphaned_outdated()
        if n_astray:
            transaction.directories.unsettle_all()
    if n_astray:
        message = f"{n_astray} files whose text was lost will be read again"
        yield Finding("shared texts", Verdict.REPAIRED, message, "dirindex index")


def _repair_vectors(docstore: DocStore, checkup: IndexCheck) -> Iterator[Finding]:
    try:
        lost, unknown = docstore.read(checkup.disagreement)
    except VectorsLostError:
        with docstore.transaction() as transaction:
            transaction.vectors.delete_all()
        yield Finding("Qdrant", Verdict.REPAIRED, "all passages were made searchable by meaning again")
        return
    if lost or unknown:
        with docstore.transaction() as transaction:
            transaction.vectors.mark_waiting(lost)
            transaction.vectors.record_stale(unknown)
        message = f"passages added again: {len(lost):,}; removed, since it should not have them: {len(unknown):,}"
        yield Finding("Qdrant", Verdict.REPAIRED, message)


def _directories(snapshot: Snapshot) -> Iterator[Finding]:
    for directory in snapshot.directories.all():
        path = os_path(directory)
        if os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK):
            yield Finding("directory", Verdict.OK, f"{path} can be read")
        else:
            yield Finding(
                "directory",
                Verdict.WARNING,
                f"{path} cannot be read; what was indexed of it stays searchable",
                f"mount it again, or: dirindex forget {path}",
            )


def _missing_readers(snapshot: Snapshot) -> Iterator[Finding]:
    for reason, n_files in snapshot.left_out.skip_reasons_containing(MISSING_READER):
        name, _, remedy = reason.partition(MISSING_READER)
        message = f"{n_files:,} {'file is' if n_files == 1 else 'files are'} skipped: {name}"
        yield Finding("readers", Verdict.WARNING, message, remedy)


def _coverage(snapshot: Snapshot) -> Finding:
    waiting = snapshot.embedding_queue.count()
    if waiting:
        state = format_waiting(waiting, are_covered=snapshot.static_vectors.has_any())
        message = f"{waiting:,} {'passage' if waiting == 1 else 'passages'} {state}"
        return Finding("meaning", Verdict.WARNING, message, "dirindex index")
    return Finding("meaning", Verdict.OK, "every passage is searchable by meaning")


def _shared_texts(snapshot: Snapshot) -> Iterator[Finding]:
    if n_astray := snapshot.shared_texts.count_orphaned():
        message = f"{n_astray} files share a text that no file holds, and cannot be found"
        yield Finding("shared texts", Verdict.PROBLEM, message, _REPAIR)


def _is_exposed(path: Path) -> bool:
    return os.name == "posix" and is_accessible_to_others(path.stat())
