"""Operations on sent documents: list, read, download, pause, cancel, delete."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from directory_indexer.collections import Collections, OpenCollection
from directory_indexer.core.errors import ConflictError, LockedError, NotIndexedError, UsageError
from directory_indexer.core.ids import DocId
from directory_indexer.core.ids import doc_id as parsed_id
from directory_indexer.core.paths import FilePath
from directory_indexer.search.file_texts import FileText, Selection, read_text
from directory_indexer.storage.registry.documents import SEARCHABLE_STATES
from directory_indexer.storage.registry.stored_documents import DocumentState, StoredDocument

_DEFAULT_PAGE_SIZE: Final = 100
_MAX_LIMIT: Final = 1000


class DocumentPage(NamedTuple):
    """A part of a list; `next_cursor` is empty at its end."""

    documents: tuple[StoredDocument, ...]
    next_cursor: str


class Original(NamedTuple):
    """A document as it was sent; `etag` changes with every byte."""

    path: FilePath
    document: StoredDocument

    @property
    def etag(self) -> str:
        """Return the HTTP entity tag of this version."""
        return f'"{self.document.content_hash}"'


class DocumentOperations:
    """Operations on documents; threads may share it.

    Raises:
        NotIndexedError: from every method, when there is no such collection or document.
    """

    def __init__(self, collections: Collections, *, on_work: Callable[[str], None] = lambda _: None) -> None:
        self._collections = collections
        self._on_work = on_work

    def refresh_state(self, document: StoredDocument) -> StoredDocument:
        """Return a document in its current state, or in the last known one if it was deleted."""
        with self._collections.opened(document.collection) as opened:
            return opened.documents.get(document.doc_id) or document

    def documents(
        self,
        collection: str = "default",
        *,
        cursor: str = "",
        limit: int = _DEFAULT_PAGE_SIZE,
        state: DocumentState | None = None,
    ) -> DocumentPage:
        """Return a page of documents, sorted by id, after a cursor.

        Raises:
            UsageError: the cursor or the limit is invalid.
        """
        if not 1 <= limit <= _MAX_LIMIT:
            raise UsageError(f"limit is {limit}", hint=f"1 to {_MAX_LIMIT} documents can be listed at a time")
        if cursor and parsed_id(cursor) is None:
            raise UsageError("invalid cursor: no list returned it", hint="list the documents from the beginning")
        with self._collections.opened(collection) as opened:
            documents = opened.documents.page(after=cursor, limit=limit + 1, state=state)
            current = opened.queue.current_states_of(documents[:limit])
        return DocumentPage(tuple(current), documents[limit - 1].doc_id if len(documents) > limit else "")

    def document(self, collection: str, doc_id: str) -> StoredDocument:
        """Return the record of a document."""
        with self._collections.opened(collection) as opened:
            return opened.queue.current_states_of([require_document(opened, doc_id)])[0]

    def text(self, collection: str, doc_id: str, selection: Selection | None = None) -> FileText:
        """Return the text of a document as it was indexed, or a part of it.

        Raises:
            NotIndexedError: there is no such document, or no text of it yet.
            UsageError: the selection lies beyond its end.
        """
        with self._collections.opened(collection) as opened:
            document = require_document(opened, doc_id)
            path = opened.originals.path_of(DocId(document.doc_id), document.stored_name)
            with opened.app.docstore.snapshot() as snapshot:
                return read_text(snapshot, path, selection)

    def original(self, collection: str, doc_id: str) -> Original:
        """Return a document as it was sent."""
        with self._collections.opened(collection) as opened:
            document = require_document(opened, doc_id)
            return Original(opened.originals.path_of(DocId(document.doc_id), document.stored_name), document)

    def pause(self, document: StoredDocument, *, is_paused: bool) -> None:
        """Pause or resume a document, unless it is complete."""
        with self._collections.opened(document.collection) as opened:
            opened.documents.pause(document.doc_id, is_paused=is_paused)
        self._on_work(document.collection)

    def cancel(self, document: StoredDocument, *, seconds: float | None = None) -> None:
        """Cancel the ingest of a version of a document.

        The previous version stays, or else the document is deleted.

        Raises:
            ConflictError: it was sent again, or has replaced the previous version already.
        """
        doc_id = DocId(document.doc_id)
        with (
            self._collections.opened(document.collection) as opened,
            opened.originals.mark_in_progress(doc_id),
            opened.documents.replacing(doc_id) as replacement,
        ):
            current, searchable = replacement.before, replacement.searchable
            if current is None or current.version != document.version:
                raise ConflictError("the document was sent again since", hint="cancel that ingest")
            if searchable is not None and opened.originals.has_replaced(doc_id, searchable.stored_name):
                opened.originals.restore_replaced(doc_id, searchable.stored_name)
                opened.originals.keep_only(doc_id, searchable.stored_name)
                replacement.restore_replaced()
            elif searchable is not None or (current.version > 1 and current.state in SEARCHABLE_STATES):
                raise ConflictError(
                    "the document has already replaced the previous one", hint="send the previous one again"
                )
        if searchable is None:
            self.delete(document.collection, doc_id, seconds=seconds)
        self._on_work(document.collection)

    def delete(self, collection: str, doc_id: str, *, seconds: float | None = None) -> bool:
        """Delete a document in any state; return whether it is removed completely.

        It is hidden from clients at once, even if another writer delays the removal from the index.
        """
        with self._collections.opened(collection) as opened:
            checked = parsed_id(doc_id)
            if checked is None or not opened.documents.mark_deleting(checked):
                raise _document_not_found(doc_id)
            try:
                opened.queue.delete([checked], deadline=deadline_after(seconds))
            except LockedError:
                self._on_work(collection)
                return False
            return True


def require_document(opened: OpenCollection, doc_id: str) -> StoredDocument:
    """Return the record of a document.

    Raises:
        NotIndexedError: there is no such document.
    """
    checked = parsed_id(doc_id)
    document = opened.documents.get(checked) if checked else None
    if document is None or document.state is DocumentState.DELETING:
        raise _document_not_found(doc_id)
    return document


def _document_not_found(doc_id: str) -> NotIndexedError:
    return NotIndexedError(
        f"there is no document '{doc_id[:_MAX_SHOWN_CHARACTERS]}'", hint="dirindex documents list shows which there are"
    )


def deadline_after(seconds: float | None) -> float | None:
    """Return the deadline on the monotonic clock; None for no deadline."""
    return None if seconds is None else time.monotonic() + seconds


_MAX_SHOWN_CHARACTERS: Final = 80
