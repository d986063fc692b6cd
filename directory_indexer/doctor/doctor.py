"""Check and repair of an index, even if it cannot be opened: missing, damaged, or blocked by another file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from directory_indexer import watch_limits
from directory_indexer.docstore.store import DocStore, set_aside
from directory_indexer.doctor.checkup import Checkup
from directory_indexer.errors import CorruptIndexError, VectorsLostError
from directory_indexer.findings import Finding, Verdict
from directory_indexer.indexing.runs import end_done_pauses
from directory_indexer.indexing.vectorizer import Vectorizer
from directory_indexer.lock import write_lock
from directory_indexer.permissions import confine
from directory_indexer.vectorstores import VectorStores


class Doctor:
    """Checks one index, and repairs it under the write lock; its parts are opened when they are needed."""

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
        if watch_limits.is_limited(self._database):
            yield Finding("watching", Verdict.WARNING, watch_limits.MESSAGE, watch_limits.HINT)
        yield from self._services()

    def repair(self) -> Iterator[Finding]:
        """Repair what can be repaired, then check everything; a damaged database is set aside and must be rebuilt.

        Raises:
            LockedError: an index run is in progress; it repairs much by itself.
            VectorStoreError: the vector store cannot be reached; everything else is repaired.
        """
        for path in self._vectorstores.misplaced():
            with write_lock(self._lock_path, wait=False):
                renamed = set_aside(path)
            message = f"'{path}' was no directory, and is '{renamed}' now"
            yield Finding("vector store", Verdict.REPAIRED, message)
        try:
            yield from self._repair_index()
        except CorruptIndexError as error:
            with contextlib.suppress(CorruptIndexError):  # if it cannot be opened, there is nothing to close
                self._docstore().close()
            damaged = set_aside(self._database)
            self._vectorstores.on_disk.discard()
            message = f"{error.message}; it was set aside as {damaged}"
            yield Finding("database", Verdict.REPAIRED, message, "dirindex index PATH builds a new one")
            return
        yield from self.check()

    def _check_index(self) -> Iterator[Finding]:
        for path in self._vectorstores.misplaced():
            hint = "dirindex doctor --repair renames it"
            yield Finding("vector store", Verdict.PROBLEM, f"'{path}' is not a directory", hint)
        try:
            yield from self._checkup().findings()
        except CorruptIndexError as error:
            yield Finding("database", Verdict.PROBLEM, error.message, error.hint or "")

    def _repair_index(self) -> Iterator[Finding]:
        docstore, checkup = self._docstore(), self._checkup()
        with write_lock(self._lock_path, wait=False):
            docstore.upkeep.require_integrity()
            yield from _repair_values(docstore)
            for path in checkup.open_to_others():
                confine(path)
            yield from _repair_words(docstore, checkup)
            yield from _repair_shared_texts(docstore)
            yield from _repair_vectors(docstore, checkup)
            vectorizer = self._vectorizer()
            for _ in vectorizer.embed_pending():
                pass
            vectorizer.spaces.complete_switch(vectorizer.merger.state())
            vectorizer.merger.mend_tags()
            vectorizer.merger.merge_all()
            vectorizer.cluster.mend()
            end_done_pauses(docstore, embeds=True)
            docstore.upkeep.checkpoint(words_kept_seconds=0)

    def _checkup(self) -> Checkup:
        docstore = self._docstore()
        with docstore.snapshot() as snapshot:
            vector_set = snapshot.vector_sets.current()
        return Checkup(docstore, self._vectorstores.of(vector_set))


def _repair_values(docstore: DocStore) -> Iterator[Finding]:
    if names := docstore.upkeep.mend_values():
        message = f"damaged values of {', '.join(names)} were dropped; what they were of is read again"
        yield Finding("values", Verdict.REPAIRED, message, "dirindex index")


def _repair_words(docstore: DocStore, checkup: Checkup) -> Iterator[Finding]:
    if checkup.words().verdict is Verdict.OK and docstore.has_whole_words():
        return
    with docstore.transaction() as transaction:
        transaction.words.rebuild()
    yield Finding("words", Verdict.REPAIRED, "the full-text index was built again from the stored texts")


def _repair_shared_texts(docstore: DocStore) -> Iterator[Finding]:
    with docstore.transaction() as transaction:
        n_astray = transaction.shared_texts.outdate_astray()
        if n_astray:
            transaction.directories.unsettle_all()
    if n_astray:
        message = f"{n_astray} files whose text was lost will be read again"
        yield Finding("shared texts", Verdict.REPAIRED, message, "dirindex index")


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
