"""What was sent to one collection and is not searchable yet: words for all that waits at once, then meaning.

Whoever wants words takes the next turn and indexes everything that waits by then; those who come meanwhile find theirs
done, or take the turn after it. Meaning takes long, and gives way between two batches to whoever wants words.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from directory_indexer.docstore.known import FileState
from directory_indexer.docstore.runs import Outcome
from directory_indexer.docstore.store import DocStore, Snapshot
from directory_indexer.errors import LockedError
from directory_indexer.ids import DocId
from directory_indexer.indexing.named_files import NamedFiles
from directory_indexer.paths import FilePath, containers_around, file_path, lies_in, members_directory
from directory_indexer.registry.documents import Documents
from directory_indexer.registry.stored_documents import Progress, State, StoredDocument
from directory_indexer.team.mending import mend
from directory_indexer.team.originals import Originals

_TAIL: Final = 4
"""Directories of documents end in `/team/collections/NAME/documents`, wherever the data directory is."""

_BATCH: Final = 100
"""So many files are parsed in one go; of more, a run would start worker processes."""


class Queue:
    """The documents of one collection on their way into its index; threads may share it."""

    def __init__(
        self,
        documents: Documents,
        originals: Originals,
        files: Callable[[], NamedFiles],
        docstore: Callable[[], DocStore],
    ) -> None:
        self._documents = documents
        self._originals = originals
        self._files = files
        self._docstore = docstore
        self._turn = threading.Lock()

    def index_words(self, *, deadline: float | None = None) -> None:
        """Make all that waits searchable by words; `deadline` is a moment of the monotonic clock.

        Raises:
            LockedError: others were at work until then; what waits goes on waiting.
        """
        with self._taken(deadline):
            while batch := self._documents.to_read(limit=_BATCH):
                self._read(batch, deadline)

    def complete(self, *, must_stop: Callable[[], bool] = lambda: False) -> bool:
        """Make everything searchable by meaning, as far as there is time; tell whether nothing is left to do.

        Raises:
            LockedError: another process was at work until it had to stop.
        """
        report = self._files().complete(
            give_up=must_stop, stop_reason=lambda: Outcome.INTERRUPTED if must_stop() else None
        )
        self._note(self._documents.in_state(State.WORDS), trouble=report.unavailable)
        return report.outcome is Outcome.COMPLETED

    def looked_at(self, documents: Sequence[StoredDocument]) -> list[StoredDocument]:
        """Give documents as they are now: runs that others do may have given them their vectors."""
        waiting = [one for one in documents if one.state is State.WORDS]
        if not waiting:
            return list(documents)
        self._note(waiting)
        now = {one.doc_id: one for one in self._documents.get_all([one.doc_id for one in waiting])}
        return [now.get(one.doc_id, one) for one in documents]

    def delete(self, doc_ids: Sequence[DocId], *, deadline: float | None = None) -> None:
        """Remove documents that are to be deleted, from the index before from the disk.

        Raises:
            LockedError: others were at work until the deadline; the documents are gone for everybody all the same.
        """
        with self._taken(deadline):
            paths = [path for doc_id in doc_ids for path in self._originals.paths_of(doc_id)]
            if paths:
                self._files().remove(paths, give_up=_after(deadline))
            for doc_id in doc_ids:
                with self._documents.removing(doc_id) as is_there:
                    if is_there:
                        self._originals.remove(doc_id)
            # What others deleted, and was sent again, has lost what the index held of it.
            self._documents.queue_again(doc_ids)

    def recover(self) -> None:
        """Go on with what processes that are gone had under way; words and meaning are for others to go on with."""
        for doc_id in self._originals.interrupted():
            self._mend(doc_id)
        self._drop_aside(self._originals.aside())
        if self._documents.counts() and self._former_directories(file_path(self._originals.directory)):
            self.reconcile()
        while leaving := self._documents.in_state(State.DELETING, limit=_BATCH):
            self.delete([DocId(one.doc_id) for one in leaving])

    @contextlib.contextmanager
    def _taken(self, deadline: float | None) -> Iterator[None]:
        """Take a turn.

        Raises:
            LockedError: there is none before the deadline.
        """
        if not self._turn.acquire(timeout=-1 if deadline is None else max(deadline - time.monotonic(), 0)):
            raise LockedError("others are writing to this collection", hint="ask again later how far it is")
        try:
            yield
        finally:
            self._turn.release()

    def reconcile(self) -> tuple[int, int]:
        """Hold the index against the registry: have read what it lacks, drop what it should not have; count both.

        An index that was moved with its data directory knows its documents by the paths of before.
        """
        here = file_path(self._originals.directory)
        for former in self._former_directories(here):
            self._documents.queue_again()
            self._files().take_over(former)
        with self._docstore().snapshot() as snapshot:
            indexed = {path for path in snapshot.files.within(here) if not containers_around(path)}
        documents = self._documents.all()  # after the index, which knows nothing that is not here
        kept = {self._path(one): one.doc_id for one in documents}
        lacking = [doc_id for path, doc_id in kept.items() if path not in indexed]
        if lacking:
            self._documents.queue_again(lacking)
        unknown = sorted(indexed - set(kept))
        if unknown:
            with self._taken(None):
                self._files().remove(unknown, give_up=_after(None))
            self._documents.queue_again([Path(path).parent.name for path in unknown])
        return len(lacking), len(unknown)

    def _former_directories(self, here: FilePath) -> list[FilePath]:
        """Find the directories of documents that this index tracked where the data directory was before."""
        tail = os.sep.join(["", *here.split(os.sep)[-_TAIL:]])
        with self._docstore().snapshot() as snapshot:
            return [path for path in snapshot.directories.all() if path != here and path.endswith(tail)]

    def _read(self, batch: Sequence[StoredDocument], deadline: float | None) -> None:
        if replaced := self._replaced(batch):
            self._files().remove(replaced, give_up=_after(deadline))
        read: list[StoredDocument] = []
        self._files().read(self._still_wanted(batch, read), give_up=_after(deadline))
        self._note(read)

    def _still_wanted(self, batch: Sequence[StoredDocument], read: list[StoredDocument]) -> Iterator[FilePath]:
        """Name the originals to read, when it is our turn to write: some may have been paused while others did."""
        for one in self._documents.get_all([one.doc_id for one in batch]):
            if one.state is State.QUEUED and not one.is_paused:
                read.append(one)
                yield self._path(one)

    def _replaced(self, documents: Sequence[StoredDocument]) -> list[FilePath]:
        """Find what the index holds of documents by names that they do not have any more."""
        with self._docstore().snapshot() as snapshot:
            return [
                path
                for one in documents
                for path in snapshot.files.within(file_path(self._originals.place_of(DocId(one.doc_id))))
                if path != (now := self._path(one)) and not lies_in(path, members_directory(now))
            ]

    def _note(self, documents: Sequence[StoredDocument], *, trouble: str = "") -> None:
        """Note how far documents are, by what the index holds of them."""
        with self._docstore().snapshot() as snapshot:
            progress = [_progress(snapshot, one, self._path(one)) for one in documents]
        changed = [
            one._replace(message=one.message or (trouble if one.state is State.WORDS else ""))
            for one, before in zip(progress, documents, strict=True)
            if (one.state, one.n_chunks) != (before.state, before.n_chunks) or trouble
        ]
        if changed:
            self._documents.note(changed)
            self._drop_aside({one.doc_id for one in changed})

    def _drop_aside(self, doc_ids: Collection[str]) -> None:
        """Let go of originals that others took the place of, where those are found by now."""
        for doc_id in self._originals.aside():
            if doc_id in doc_ids:
                with self._documents.replacing(doc_id) as replacement:
                    if replacement.found is None:
                        self._originals.drop_aside(doc_id)

    def _mend(self, doc_id: DocId) -> None:
        """Let the original of a document and what is known of it fit together again."""
        if self._documents.get(doc_id) is None:
            with self._taken(None):
                self._files().remove(self._originals.paths_of(doc_id), give_up=_after(None))
            self._documents.queue_again([doc_id])
        with self._documents.replacing(doc_id) as replacement:
            mend(self._originals, replacement, doc_id)

    def _path(self, document: StoredDocument) -> FilePath:
        return self._originals.path_of(DocId(document.doc_id), document.stored_name)


def _after(deadline: float | None) -> Callable[[], bool]:
    return lambda: deadline is not None and time.monotonic() >= deadline


def _progress(snapshot: Snapshot, document: StoredDocument, path: FilePath) -> Progress:
    known = snapshot.files.get(path)
    coverage = snapshot.chunks.coverage(path)
    state, message = State.COMPLETE, ""
    if known is None:
        state, message = State.FAILED, "its original is gone; send it again"
    elif known.state is FileState.FAILED:
        state, message = State.FAILED, known.detail
    elif n_pages := sum(scan.waits for scan in snapshot.scans.of({path}).values()):
        state, message = State.WORDS, f"{n_pages} {'page waits' if n_pages == 1 else 'pages wait'} for OCR"
    elif not coverage.n_chunks:
        state, message = State.FAILED, f"no text was found in it: {known.detail or known.reason}"
    elif coverage.n_waiting:
        state = State.WORDS
    return Progress(document.doc_id, document.version, state, message, coverage.n_chunks)
