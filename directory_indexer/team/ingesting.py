"""How documents are sent: as text, as files or by their addresses, kept as they were, found like any file.

A document is accepted when its content was read as the index will read it: what is refused changes nothing. Then come
the original on the disk, the row in the registry, and the index, in this order, so that each step can be done again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from directory_indexer.converting.fetching import Fetch, Fetched, Validators
from directory_indexer.errors import ConflictError, LockedError
from directory_indexer.ids import DocId, content_hash
from directory_indexer.registry.stored_documents import Source, State, StoredName
from directory_indexer.team import naming
from directory_indexer.team.collections import Collections
from directory_indexer.team.documents import deadline_in, known_document
from directory_indexer.team.naming import new_doc_id, stored_name
from directory_indexer.team.opened import OpenCollection
from directory_indexer.team.originals import Received
from directory_indexer.team.sending import Content, Effect, Sending, Sent, Wait, accepted, require_sayable
from directory_indexer.team.verdicts import judge, require_harmless_words
from directory_indexer.telemetry import spans

_MOST_STREAMED: Final = 200_000_000


class Ingesting:
    """Take documents; threads may share it."""

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
        filename = sending.filename or f"{sending.title or sending.client_id or 'text'}.md"
        checked = naming.checked_name(filename, what="file name")
        name = stored_name(checked, is_text=True)
        address = naming.canonical_url(sending.url) if sending.url else ""
        keys = {"url": address, "filename": checked if sending.filename else "", "text": content_hash(content).hex()}
        doc_id = self._id_of(sending, *next((kind, key) for kind, key in keys.items() if key))
        media_type = naming.media_type_of(name)
        return self._add(Content(Source.TEXT, [content], doc_id, checked, name, media_type, address), sending)

    def add_file(self, pieces: Iterable[bytes], sending: Sending, *, media_type: str = "") -> Sent:
        """Take a file as it is, piece by piece; it must have a name.

        Raises:
            ContentRefusedError: it holds no text, cannot be read, is too large, or holds a secret.
            ConflictError: it is there already and must not be replaced, or is being deleted.
            NotIndexedError: there is no such collection.
            UsageError: its name or what is said of it cannot be meant.
        """
        checked, name, known_type = _names_of_file(sending.filename, media_type)
        doc_id = self._id_of(sending, "filename", checked)
        return self._add(Content(Source.FILE, pieces, doc_id, checked, name, known_type), sending)

    def most_bytes(self, collection: str, filename: str, *, media_type: str = "") -> int:
        """Return how many bytes a file of a name may have.

        Raises:
            NotIndexedError: there is no such collection.
            UsageError: no file can have that name.
        """
        _, name, _ = _names_of_file(filename, media_type)
        with self._collections.using(collection) as opened:
            return _most_bytes(opened, name)

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
        with self._collections.using(collection) as opened:
            (document,) = opened.queue.looked_at([known_document(opened, doc_id)])
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
        with (
            spans.span("ingest", source=content.source, wait=sending.wait) as span,
            self._collections.using(sending.collection) as opened,
        ):
            policy = opened.app.policies.parse
            require_sayable(sending)
            require_harmless_words(content.filename, {"title": sending.title, **sending.said}, policy)
            with spans.span("keep"), self._received(opened, content) as received:
                verdict = judge(
                    received.path,
                    policy,
                    is_fetched=content.source is Source.URL,
                    allows_secrets=sending.allows_secrets or policy.include_secrets,
                )
                sent = accepted(opened, content, sending, received, verdict)
            span.note(effect=sent.effect, n_bytes=sent.document.n_bytes)
            if sent.effect is not Effect.SKIPPED:
                self._work(opened, sending)
            return sent._replace(document=opened.documents.get(content.doc_id) or sent.document)

    @contextlib.contextmanager
    def _received(self, opened: OpenCollection, content: Content) -> Iterator[Received]:
        most_bytes = _most_bytes(opened, content.stored_name)
        with opened.originals.received(
            content.doc_id, content.stored_name, content.pieces, most_bytes=most_bytes
        ) as received:
            yield received

    def _work(self, opened: OpenCollection, sending: Sending) -> None:
        """Do what the sender waits for, and leave the rest to those who work in the background."""
        deadline = deadline_in(sending.seconds)
        try:
            if sending.wait is not Wait.NONE:
                opened.queue.index_words(deadline=deadline)
            if sending.wait is Wait.COMPLETE:
                opened.queue.complete(must_stop=lambda: deadline is not None and time.monotonic() >= deadline)
        except LockedError:
            pass  # others are at work; the document is kept, and its state says how far it is
        self._on_work(opened.name)


def _names_of_file(filename: str, media_type: str) -> tuple[str, StoredName, str]:
    """Return the name of a file as it was sent and as it is stored, and its media type."""
    checked = naming.checked_name(filename, what="file name")
    known_type = naming.media_type_of(checked, media_type)
    return checked, naming.name_with_suffix(stored_name(checked), known_type), known_type


def _most_bytes(opened: OpenCollection, name: str) -> int:
    most_bytes = opened.app.loaded.config.indexing.max_file_size
    is_streamed = name.lower().endswith(opened.app.policies.walk.streamed)
    return max(most_bytes, _MOST_STREAMED) if is_streamed else most_bytes
