"""Documents from anywhere: sent as text, as files or by their addresses, kept as they were, found like any file.

A document is accepted when its content was read as the index will read it: what is refused changes nothing. Then come
the original on the disk, the row in the registry, and the index, in this order, so that each step can be done again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from directory_indexer.converting.fetching import Fetch, Fetched, Validators
from directory_indexer.errors import ConflictError, LockedError, NotIndexedError, UsageError
from directory_indexer.ids import content_hash
from directory_indexer.paths import FilePath
from directory_indexer.registry.replacements import FOUND
from directory_indexer.registry.stored_documents import Source, State, StoredDocument
from directory_indexer.searching.texts import FileText, Selection, read_text
from directory_indexer.team import naming
from directory_indexer.team.collections import Collections
from directory_indexer.team.naming import DocId, new_doc_id, stored_name
from directory_indexer.team.opened import OpenCollection
from directory_indexer.team.originals import Received
from directory_indexer.team.sending import (
    Content,
    Effect,
    Sending,
    Sent,
    Wait,
    accepted,
    require_sayable,
)
from directory_indexer.team.verdicts import judge, require_harmless_words

_MOST_STREAMED: Final = 200_000_000
_PAGE: Final = 100
_MOST_ON_A_PAGE: Final = 1000


class Page(NamedTuple):
    """A part of a list; `next_cursor` is empty at its end."""

    documents: tuple[StoredDocument, ...]
    next_cursor: str


class Original(NamedTuple):
    """A document as it was sent; `etag` is another one whenever a byte of it is."""

    path: FilePath
    document: StoredDocument

    @property
    def etag(self) -> str:
        """Name this state of it, in the form of HTTP."""
        return f'"{self.document.content_hash}"'


class DocumentVerbs:
    """What can be done with documents; threads may share it."""

    def __init__(
        self,
        collections: Collections,
        *,
        fetch: Fetch | None = None,
        on_work: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._collections = collections
        self._fetch = fetch or collections.fetch()
        self._on_work = on_work

    def add_text(self, text: str, sending: Sending) -> Sent:
        """Take a text, which is read as its file name says, or as Markdown.

        Raises:
            ContentRefusedError: it is empty, too large, or holds a secret.
            ConflictError: it is there already and must not be replaced, or is being deleted.
            NotIndexedError: there is no such collection.
            UsageError: what is said of it cannot be meant.
        """
        content = text.encode("utf-8", "replace")
        key = ("text", content_hash(content).hex())
        filename = sending.filename or f"{sending.title or sending.client_id or 'text'}.md"
        checked = naming.checked_name(filename, what="file name")
        name = stored_name(checked, is_text=True)
        doc_id = self._id_of(sending, *(("filename", checked) if sending.filename else key))
        return self._add(Content(Source.TEXT, [content], doc_id, checked, name, naming.media_type_of(name)), sending)

    def add_file(self, pieces: Iterable[bytes], sending: Sending, *, media_type: str = "") -> Sent:
        """Take a file as it is, piece by piece; it must have a name.

        Raises:
            ContentRefusedError: it holds no text, cannot be read, is too large, or holds a secret.
            ConflictError: it is there already and must not be replaced, or is being deleted.
            NotIndexedError: there is no such collection.
            UsageError: its name or what is said of it cannot be meant.
        """
        checked = naming.checked_name(sending.filename, what="file name")
        said = naming.media_type_of(checked, media_type)
        name = naming.name_with_suffix(stored_name(checked), said)
        doc_id = self._id_of(sending, "filename", checked)
        return self._add(Content(Source.FILE, pieces, doc_id, checked, name, said), sending)

    def add_url(self, url: str, sending: Sending) -> Sent:
        """Fetch a document from the web and take it; the same address again replaces it.

        Raises:
            UsageError: the address is none, or leads into a private network.
            UnavailableError: its server cannot be reached, or does not answer as it should.
            ContentRefusedError: it holds no text, cannot be read, is too large, or holds a secret.
            ConflictError: it is there already and must not be replaced, or is being deleted.
            NotIndexedError: there is no such collection.
        """
        address = naming.canonical_url(url)
        with self._collections.using(sending.collection):
            doc_id = self._id_of(sending, "url", address)
        fetched = self._fetch(address, Validators())
        assert fetched is not None  # noqa: S101 - nothing was said to be known
        return self._add_fetched(fetched, address, doc_id, sending)

    def refresh(self, collection: str, doc_id: str, *, wait: Wait = Wait.WORDS, seconds: float | None = None) -> Sent:
        """Fetch a document again, unless its server says that it is the same.

        Raises:
            NotIndexedError: there is no such document.
            ConflictError: it was not fetched from an address.
            UnavailableError: its server cannot be reached, or does not answer as it should.
            ContentRefusedError: what is there now is not taken; the document stays as it was.
        """
        document = self.document(collection, doc_id)
        if document.source is not Source.URL:
            raise ConflictError("the document was not fetched from an address", hint="send it again to replace it")
        known = Validators(document.etag, document.last_modified)
        if document.state is State.FAILED:
            known = Validators()
        fetched = self._fetch(document.url, known)
        if fetched is None:
            return Sent(document, Effect.UNCHANGED)
        sending = Sending(
            collection,
            title=document.title,
            said=document.said(),
            allows_secrets=document.allows_secrets,
            wait=wait,
            seconds=seconds,
        )
        return self._add_fetched(fetched, document.url, DocId(document.doc_id), sending)

    def bring_up_to_date(self, collection: str, sending: Sending) -> None:
        """Do for documents that are kept already what a sender waits for.

        Raises:
            NotIndexedError: there is no such collection.
        """
        with self._collections.using(collection) as opened:
            self._work(opened, sending)

    def as_it_is(self, document: StoredDocument) -> StoredDocument:
        """Give a document as it is now, or as it was if it is gone."""
        with self._collections.using(document.collection) as opened:
            return opened.documents.get(document.doc_id) or document

    def documents(
        self, collection: str = "default", *, cursor: str = "", limit: int = _PAGE, state: State | None = None
    ) -> Page:
        """List documents in the order of their ids, from behind a cursor on.

        Raises:
            NotIndexedError: there is no such collection.
            UsageError: the cursor or the limit cannot be meant.
        """
        if not 1 <= limit <= _MOST_ON_A_PAGE:
            raise UsageError(f"limit is {limit}", hint=f"1 to {_MOST_ON_A_PAGE} documents can be listed at a time")
        if cursor and naming.doc_id(cursor) is None:
            raise UsageError("the cursor is not one that a list gave", hint="list the documents from the beginning")
        with self._collections.using(collection) as opened:
            found = opened.documents.page(after=cursor, limit=limit + 1, state=state)
            shown = opened.queue.looked_at(found[:limit])
        return Page(tuple(shown), found[limit - 1].doc_id if len(found) > limit else "")

    def document(self, collection: str, doc_id: str) -> StoredDocument:
        """Tell all that is known of a document.

        Raises:
            NotIndexedError: there is no such document.
        """
        with self._collections.using(collection) as opened:
            return opened.queue.looked_at([_known(opened, doc_id)])[0]

    def text(self, collection: str, doc_id: str, selection: Selection | None = None) -> FileText:
        """Give the text of a document as it was indexed, or a part of it.

        Raises:
            NotIndexedError: there is no such document, or no text of it yet.
            UsageError: the selection lies beyond its end.
        """
        with self._collections.using(collection) as opened:
            document = _known(opened, doc_id)
            path = opened.originals.path_of(DocId(document.doc_id), document.stored_name)
            with opened.app.docstore.snapshot() as snapshot:
                return read_text(snapshot, path, selection)

    def original(self, collection: str, doc_id: str) -> Original:
        """Give a document as it was sent.

        Raises:
            NotIndexedError: there is no such document.
        """
        with self._collections.using(collection) as opened:
            document = _known(opened, doc_id)
            return Original(opened.originals.path_of(DocId(document.doc_id), document.stored_name), document)

    def pause(self, document: StoredDocument, *, is_paused: bool) -> None:
        """Let a document go no further, or let it go on, unless it is complete by now."""
        with self._collections.using(document.collection) as opened:
            opened.documents.pause(document.doc_id, is_paused=is_paused)
        self._on_work(document.collection)

    def cancel(self, document: StoredDocument, *, seconds: float | None = None) -> None:
        """Let the ingest of a version of a document come to nothing.

        What it was to take the place of stays, or else the document is deleted.

        Raises:
            NotIndexedError: there is no such document any more.
            ConflictError: it was sent again, or has taken the place of another one already.
        """
        doc_id = DocId(document.doc_id)
        with (
            self._collections.using(document.collection) as opened,
            opened.originals.marked(doc_id),
            opened.documents.replacing(doc_id) as replacement,
        ):
            now, found = replacement.before, replacement.found
            if now is None or now.version != document.version:
                raise ConflictError("the document was sent again since", hint="cancel that ingest")
            if found is not None and opened.originals.is_set_aside(doc_id, found.stored_name):
                opened.originals.bring_back(doc_id, found.stored_name)
                opened.originals.keep_only(doc_id, found.stored_name)
                replacement.take_back()
            elif found is not None or (now.version > 1 and now.state in FOUND):
                raise ConflictError("the document has taken the place of the one before", hint="send that again")
        if found is None:
            self.delete(document.collection, doc_id, seconds=seconds)
        self._on_work(document.collection)

    def delete(self, collection: str, doc_id: str, *, seconds: float | None = None) -> bool:
        """Delete a document, in whatever state it is; tell whether nothing is left of it yet.

        It is gone for everybody at once, even where others are at work for so long that its words go later.

        Raises:
            NotIndexedError: there is no such document.
        """
        with self._collections.using(collection) as opened:
            checked = naming.doc_id(doc_id)
            if checked is None or not opened.documents.let_leave(checked):
                raise _no_document(doc_id)
            try:
                opened.queue.delete([checked], deadline=_deadline(seconds))
            except LockedError:
                self._on_work(collection)
                return False
            return True

    def _id_of(self, sending: Sending, kind: str, key: str) -> DocId:
        if sending.client_id:
            kind, key = "id", naming.checked_name(sending.client_id, what="id")
        return new_doc_id(sending.collection, kind, key)

    def _add_fetched(self, fetched: Fetched, address: str, doc_id: DocId, sending: Sending) -> Sent:
        filename = naming.checked_name(sending.filename or naming.printable_name(fetched.name), what="file name")
        media_type = naming.media_type_of(fetched.name, fetched.media_type)
        name = naming.name_with_suffix(stored_name(filename), media_type)
        validators = Validators(fetched.etag, fetched.last_modified)
        content = Content(Source.URL, [fetched.content], doc_id, filename, name, media_type, address, validators)
        said = sending.said if address == fetched.url else {**sending.said, "final_url": fetched.url}
        return self._add(content, sending._replace(said=said))

    def _add(self, content: Content, sending: Sending) -> Sent:
        with self._collections.using(sending.collection) as opened:
            policy = opened.app.policies.parse
            require_sayable(sending)
            require_harmless_words(content.filename, {"title": sending.title, **sending.said}, policy)
            with self._received(opened, content) as received:
                verdict = judge(
                    received.path,
                    policy,
                    is_fetched=content.source is Source.URL,
                    allows_secrets=sending.allows_secrets or policy.include_secrets,
                )
                sent = accepted(opened, content, sending, received, verdict)
            if sent.effect is not Effect.SKIPPED:
                self._work(opened, sending)
            return sent._replace(document=opened.documents.get(content.doc_id) or sent.document)

    @contextlib.contextmanager
    def _received(self, opened: OpenCollection, content: Content) -> Iterator[Received]:
        indexing = opened.app.loaded.config.indexing
        is_streamed = content.stored_name.lower().endswith(opened.app.policies.walk.streamed)
        most_bytes = max(indexing.max_file_size, _MOST_STREAMED) if is_streamed else indexing.max_file_size
        with opened.originals.received(
            content.doc_id, content.stored_name, content.pieces, most_bytes=most_bytes
        ) as received:
            yield received

    def _work(self, opened: OpenCollection, sending: Sending) -> None:
        """Do what the sender waits for, and leave the rest to those who work in the background."""
        deadline = _deadline(sending.seconds)
        try:
            if sending.wait is not Wait.NONE:
                opened.queue.index_words(deadline=deadline)
            if sending.wait is Wait.COMPLETE:
                opened.queue.complete(must_stop=lambda: deadline is not None and time.monotonic() >= deadline)
        except LockedError:
            pass  # others are at work; the document is kept, and its state says how far it is
        self._on_work(opened.name)


def _known(opened: OpenCollection, doc_id: str) -> StoredDocument:
    checked = naming.doc_id(doc_id)
    document = opened.documents.get(checked) if checked else None
    if document is None or document.state is State.DELETING:
        raise _no_document(doc_id)
    return document


def _no_document(doc_id: str) -> NotIndexedError:
    return NotIndexedError(
        f"there is no document '{doc_id[:_MOST_SHOWN]}'", hint="dirindex documents list shows which there are"
    )


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


_MOST_SHOWN: Final = 80
