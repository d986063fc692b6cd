"""Examines an index and repairs it, also where there is none to open: it is missing, damaged, or in the way."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from directory_indexer.docstore.store import DocStore, set_aside
from directory_indexer.doctor.checkup import Checkup
from directory_indexer.embedders import Embedder
from directory_indexer.errors import CorruptIndexError, ProviderError, VectorsLostError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.indexing.vectorizer import Vectorizer
from directory_indexer.lock import write_lock
from directory_indexer.vectorstores import VectorStores


class Doctor:
    """Check one index, and with `repair` mend it under the write lock; what it needs is opened when it is needed."""

    def __init__(
        self,
        *,
        database: Path,
        docstore: Callable[[], DocStore],
        vectorstores: VectorStores,
        vectorizer: Callable[[], Vectorizer],
        embedder: Callable[[], Embedder],
        lock_path: Path,
    ) -> None:
        self._database = database
        self._docstore = docstore
        self._vectorstores = vectorstores
        self._vectorizer = vectorizer
        self._embedder = embedder
        self._lock_path = lock_path

    def check(self) -> Iterator[Finding]:
        """Look whether the index is whole, its parts agree, and the embedder answers; without an index, only that."""
        if not self._database.exists():
            yield Finding("database", Verdict.WARNING, "there is no index yet", "dirindex index PATH makes one")
        else:
            yield from self._check_index()
        yield self._provider()

    def repair(self) -> Iterator[Finding]:
        """Mend what can be mended, then look at everything; a damaged database is set aside and must be built again.

        Raises:
            LockedError: an index run is going on; it mends much by itself.
            VectorStoreError: the vector store cannot be reached; what does not need it is mended.
        """
        for path in self._vectorstores.misplaced():
            with write_lock(self._lock_path, wait=False):
                renamed = set_aside(path)
            message = f"'{path}' was no directory, and is '{renamed}' now"
            yield Finding("vector store", Verdict.REPAIRED, message)
        try:
            yield from self._repair_index()
        except CorruptIndexError as error:
            with contextlib.suppress(CorruptIndexError):  # if it cannot be opened, nothing of it is open
                self._docstore().close()
            damaged = set_aside(self._database)
            self._vectorstores.discard()
            message = f"{error.message}; it was set aside as {damaged}"
            yield Finding("database", Verdict.REPAIRED, message, "dirindex index PATH builds a new one")
            return
        yield from self.check()

    def _check_index(self) -> Iterator[Finding]:
        for path in self._vectorstores.misplaced():
            hint = "dirindex doctor --repair renames it"
            yield Finding("vector store", Verdict.PROBLEM, f"'{path}' is no directory", hint)
        try:
            yield from self._checkup().findings()
        except CorruptIndexError as error:
            yield Finding("database", Verdict.PROBLEM, error.message, error.hint or "")

    def _repair_index(self) -> Iterator[Finding]:
        docstore, checkup = self._docstore(), self._checkup()
        with write_lock(self._lock_path, wait=False):
            docstore.require_integrity()
            for path in checkup.open_to_others():
                path.chmod(0o700 if path.is_dir() else 0o600)
            yield from _repair_words(docstore, checkup)
            yield from _repair_vectors(docstore, checkup)
            vectorizer = self._vectorizer()
            for _ in vectorizer.embed_pending():
                pass
            vectorizer.complete_switch(vectorizer.state())
            vectorizer.merge_all()
            docstore.checkpoint(words_kept_seconds=0)

    def _checkup(self) -> Checkup:
        docstore = self._docstore()
        with docstore.snapshot() as snapshot:
            line = snapshot.collections.current()
        return Checkup(docstore, self._vectorstores.of(line))

    def _provider(self) -> Finding:
        started = time.monotonic()
        try:
            embedder = self._embedder()
            vector = embedder.embed_query("is anybody there?")
            seconds = time.monotonic() - started
            space, max_tokens = embedder.space, embedder.max_tokens
        except ProviderError as error:
            return Finding("provider", Verdict.PROBLEM, error.message, error.hint or "")
        name = f"{space.provider}/{space.model}"
        reads = f", and reads the first {max_tokens:,} tokens of a text" if max_tokens else ""
        message = f"{name} answers in {seconds:.2f} s with {vector.size} dimensions{reads}"
        return Finding("provider", Verdict.OK, message)


def _repair_words(docstore: DocStore, checkup: Checkup) -> Iterator[Finding]:
    if checkup.words().verdict is Verdict.OK and docstore.has_whole_words():
        return
    with docstore.transaction() as transaction:
        transaction.words.rebuild()
    yield Finding("words", Verdict.REPAIRED, "the full-text index was built again from the stored texts")


def _repair_vectors(docstore: DocStore, checkup: Checkup) -> Iterator[Finding]:
    try:
        lost, unknown = docstore.read(checkup.disagreement)
    except VectorsLostError:
        with docstore.transaction() as transaction:
            transaction.vectors.forget_all()
        yield Finding("vectors", Verdict.REPAIRED, "all vectors made again")
        return
    if lost or unknown:
        with docstore.transaction() as transaction:
            transaction.vectors.forget(lost)
            transaction.vectors.add_stale(unknown)
        message = f"{len(lost)} lost vectors made again, {len(unknown)} unknown ones removed"
        yield Finding("vectors", Verdict.REPAIRED, message)
