"""Indexing queue of one collection: keyword search for all waiting documents at once, then embedding.

A caller that needs keyword search takes the next turn and indexes everything waiting by then; later callers find theirs
done, or take the turn after it. Embedding takes long, and yields to such callers between batches.

Interrupted ingests and cancellations of dead processes are completed by `recover`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from directory_indexer.collections.originals import Originals, hash_of_file
from directory_indexer.config import directory_of_document
from directory_indexer.core.errors import LockedError
from directory_indexer.core.ids import DocId
from directory_indexer.core.paths import FilePath, containers_around, file_path, lies_in, members_directory
from directory_indexer.indexing.single_files import FileUpdates
from directory_indexer.storage.documents.known_files import FileState
from directory_indexer.storage.documents.runs import Outcome
from directory_indexer.storage.documents.store import DocStore, Snapshot
from directory_indexer.storage.registry.documents import Documents, Replacement
from directory_indexer.storage.registry.stored_documents import DocumentProgress, DocumentState, StoredDocument

_N_LAST_PATH_PARTS: Final = 4
"""Directories of documents end in `/team/collections/NAME/documents`, wherever the data directory is."""

_BATCH: Final = 100
"""The number of files parsed together; with more, a run would start worker processes."""


class IndexingQueue:
    """The documents of one collection being indexed; threads may share it.

    Raises:
        LockedError: another writer held the index until the deadline, or until the caller had to stop.
    """

    def __init__(
        self,
        documents: Documents,
        originals: Originals,
        files: Callable[[], FileUpdates],
        docstore: Callable[[], DocStore],
    ) -> None:
        self._documents = documents
        self._originals = originals
        self._files = files
        self._docstore = docstore
        self._turn = threading.Lock()

    def make_keyword_searchable(self, *, deadline: float | None = None) -> None:
        """Make all waiting documents searchable by keyword; `deadline` is a time of the monotonic clock."""
        with self._writer_lock(deadline):
            while batch := self._documents.waiting_to_be_parsed(limit=_BATCH):
                self._index_batch(batch, deadline)

    def complete(self, *, must_stop: Callable[[], bool] = lambda: False) -> bool:
        """Make everything searchable by meaning, as far as there is time; return whether no work is left."""
        report = self._files().complete(
            must_stop_waiting=must_stop, stop_reason=lambda: Outcome.INTERRUPTED if must_stop() else None
        )
        self._store_progress(self._documents.in_state(DocumentState.WORDS), message=report.unavailable)
        return report.outcome is Outcome.COMPLETED

    def current_states_of(self, documents: Sequence[StoredDocument]) -> list[StoredDocument]:
        """Return documents in their current state, since other runs may have embedded them."""
        waiting = [document for document in documents if document.state is DocumentState.WORDS]
        if not waiting:
            return list(documents)
        self._store_progress(waiting)
        current = {
            document.doc_id: document for document in self._documents.get_all([document.doc_id for document in waiting])
        }
        return [current.get(document.doc_id, document) for document in documents]

    def delete(self, doc_ids: Sequence[DocId], *, deadline: float | None = None) -> None:
        """Remove documents being deleted, first from the index, then from the disk."""
        with self._writer_lock(deadline):
            paths = [path for doc_id in doc_ids for path in self._originals.paths_of(doc_id)]
            if paths:
                self._files().remove(paths, must_stop_waiting=_deadline_test(deadline))
            for doc_id in doc_ids:
                with self._documents.removing(doc_id) as exists:
                    if exists:
                        self._originals.remove(doc_id)
            # A document that was deleted elsewhere and sent again has lost its text in the index.
            self._documents.queue_again(doc_ids)

    def recover(self) -> None:
        """Complete the interrupted writes of dead processes; indexing is left to others."""
        for doc_id in self._originals.clear_interrupted_marks():
            self._recover_document(doc_id)
        self._drop_replaced_originals(self._originals.documents_with_replaced())
        if self._documents.counts() and self._directories_at_former_places(file_path(self._originals.directory)):
            self.reconcile()
        while leaving := self._documents.in_state(DocumentState.DELETING, limit=_BATCH):
            self.delete([DocId(document.doc_id) for document in leaving])

    @contextlib.contextmanager
    def _writer_lock(self, deadline: float | None) -> Iterator[None]:
        """Hold the lock of writers.

        Raises:
            LockedError: it was not free before the deadline.
        """
        if not self._turn.acquire(timeout=-1 if deadline is None else max(deadline - time.monotonic(), 0)):
            raise LockedError("others are writing to this collection", hint="check its state again later")
        try:
            yield
        finally:
            self._turn.release()

    def reconcile(self) -> tuple[int, int]:
        """Compare the index with the registry: queue missing documents, remove unknown ones; return both counts.

        An index that was moved with its data directory has the old paths of its documents.
        """
        directory = file_path(self._originals.directory)
        for former in self._directories_at_former_places(directory):
            self._documents.queue_again()
            self._files().remove_moved_directory(former)
        with self._docstore().snapshot() as snapshot:
            indexed = {path for path in snapshot.files.records_within(directory) if not containers_around(path)}
        documents = self._documents.all()  # read after the index, so that every indexed document is known
        doc_ids = {self._original_path(document): document.doc_id for document in documents}
        lacking = [doc_id for path, doc_id in doc_ids.items() if path not in indexed]
        if lacking:
            self._documents.queue_again(lacking)
        unknown = sorted(indexed - set(doc_ids))
        if unknown:
            with self._writer_lock(None):
                self._files().remove(unknown, must_stop_waiting=_deadline_test(None))
            self._documents.queue_again([Path(path).parent.name for path in unknown])
        return len(lacking), len(unknown)

    def _directories_at_former_places(self, here: FilePath) -> list[FilePath]:
        """Return the directories of documents that this index tracked at former places of the data directory."""
        tail = os.sep.join(["", *here.split(os.sep)[-_N_LAST_PATH_PARTS:]])
        with self._docstore().snapshot() as snapshot:
            return [path for path in snapshot.directories.all() if path != here and path.endswith(tail)]

    def _index_batch(self, batch: Sequence[StoredDocument], deadline: float | None) -> None:
        if replaced := self._outdated_paths(batch):
            self._files().remove(replaced, must_stop_waiting=_deadline_test(deadline))
        read: list[StoredDocument] = []
        self._files().read(self._unpaused_originals(batch, read), must_stop_waiting=_deadline_test(deadline))
        self._store_progress(read)

    def _unpaused_originals(self, batch: Sequence[StoredDocument], read: list[StoredDocument]) -> Iterator[FilePath]:
        """Yield the originals to read once the index is locked: some documents may have been paused meanwhile."""
        for document in self._documents.get_all([document.doc_id for document in batch]):
            if document.state is DocumentState.QUEUED and not document.is_paused:
                read.append(document)
                yield self._original_path(document)

    def _outdated_paths(self, documents: Sequence[StoredDocument]) -> list[FilePath]:
        """Return indexed paths of documents under file names that they no longer have."""
        with self._docstore().snapshot() as snapshot:
            return [
                path
                for document in documents
                for path in snapshot.files.records_within(FilePath(os.path.dirname(self._original_path(document))))
                if path != (current := self._original_path(document)) and not lies_in(path, members_directory(current))
            ]

    def _store_progress(self, documents: Sequence[StoredDocument], *, message: str = "") -> None:
        """Store the progress of documents, from the state of the index."""
        with self._docstore().snapshot() as snapshot:
            progress = [
                _progress_of_document(snapshot, document, self._original_path(document)) for document in documents
            ]
        changed = [
            update._replace(message=update.message or (message if update.state is DocumentState.WORDS else ""))
            for update, before in zip(progress, documents, strict=True)
            if (update.state, update.n_chunks) != (before.state, before.n_chunks) or message
        ]
        if changed:
            self._documents.store_progress(changed)
            self._drop_replaced_originals({update.doc_id for update in changed})

    def _drop_replaced_originals(self, doc_ids: Collection[str]) -> None:
        """Remove replaced originals whose replacements are searchable by now."""
        for doc_id in self._originals.documents_with_replaced():
            if doc_id in doc_ids:
                with self._documents.replacing(doc_id) as replacement:
                    if replacement.searchable is None:
                        self._originals.remove_replaced(doc_id)

    def _recover_document(self, doc_id: DocId) -> None:
        """Make the original of a document and its row consistent again."""
        if self._documents.get(doc_id) is None:
            with self._writer_lock(None):
                self._files().remove(self._originals.paths_of(doc_id), must_stop_waiting=_deadline_test(None))
            self._documents.queue_again([doc_id])
        with self._documents.replacing(doc_id) as replacement:
            reconcile_document(self._originals, replacement, doc_id)

    def _original_path(self, document: StoredDocument) -> FilePath:
        return self._originals.path_of(DocId(document.doc_id), document.stored_name)


def _deadline_test(deadline: float | None) -> Callable[[], bool]:
    return lambda: deadline is not None and time.monotonic() >= deadline


def _progress_of_document(snapshot: Snapshot, document: StoredDocument, path: FilePath) -> DocumentProgress:
    known = snapshot.files.get(path)
    coverage = snapshot.chunks.coverage(path)
    state, message = DocumentState.COMPLETE, ""
    if known is None:
        state, message = DocumentState.FAILED, "its original is gone; send it again"
    elif known.state is FileState.FAILED:
        state, message = DocumentState.FAILED, known.detail
    elif n_pages := sum(scan.waits for scan in snapshot.scans.scans_of({path}).values()):
        state, message = DocumentState.WORDS, f"{n_pages} {'page waits' if n_pages == 1 else 'pages wait'} for OCR"
    elif not coverage.n_chunks:
        state, message = DocumentState.FAILED, f"no text was found in it: {known.detail or known.reason}"
    elif coverage.n_waiting:
        state = DocumentState.WORDS
    return DocumentProgress(document.doc_id, document.version, state, message, coverage.n_chunks)


def reconcile_document(originals: Originals, replacement: Replacement, doc_id: DocId) -> None:
    """Make the original of a document and its row consistent again."""
    known, searchable = replacement.before, replacement.searchable
    if known is None:
        originals.remove(doc_id)
        return
    is_consistent = _has_original(originals, doc_id, known)
    if searchable is not None and not is_consistent and _has_original(originals, doc_id, searchable):
        known = replacement.restore_replaced()  # complete the cancellation
        is_consistent = True
    originals.keep_only(doc_id, known.stored_name)
    path = directory_of_document(doc_id, originals.directory) / known.stored_name
    if is_consistent or known.state is DocumentState.DELETING or not path.exists():
        return
    # The original was replaced, but the row was not: the file on disk counts.
    status = path.stat()
    replacement.put(
        known._replace(
            n_bytes=status.st_size,
            mtime_ns=status.st_mtime_ns,
            content_hash=hash_of_file(path),
            state=DocumentState.QUEUED,
        )
    )


def _has_original(originals: Originals, doc_id: DocId, document: StoredDocument) -> bool:
    """Whether the original of a document is in its place."""
    path = directory_of_document(doc_id, originals.directory) / document.stored_name
    if not path.exists():
        return False
    status = path.stat()
    return (status.st_size, status.st_mtime_ns) == (document.n_bytes, document.mtime_ns)
