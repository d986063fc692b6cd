"""Ingestion of documents: texts, files and URLs, stored as they were sent, and searchable like any file.

A document is accepted once its content has been parsed as the index will parse it: a refused one changes nothing. Then
the original is written to the disk, the row to the registry, and the text to the index, in this order, so that each
step can be repeated.
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

_MAX_STREAMED_BYTES: Final = 200_000_000


class Ingesting:
    """Ingests documents; threads may share it."""

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
        """Ingest a text, which is parsed by its file name, or as Markdown.

        Raises:
            ContentRefusedError: it is empty, too large, or contains a secret.
            ConflictError: it exists and must not be replaced, or is being deleted.
            NotIndexedError: there is no such collection.
            UsageError: its metadata are invalid.
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
        """Ingest a file, piece by piece; it must have a name.

        Raises:
            ContentRefusedError: it has no text, cannot be read, is too large, or contains a secret.
            ConflictError: it exists and must not be replaced, or is being deleted.
            NotIndexedError: there is no such collection.
            UsageError: its name or its metadata are invalid.
        """
        checked, name, known_type = _names_of_file(sending.filename, media_type)
        doc_id = self._id_of(sending, "filename", checked)
        return self._add(Content(Source.FILE, pieces, doc_id, checked, name, known_type), sending)

    def most_bytes(self, collection: str, filename: str, *, media_type: str = "") -> int:
        """Return the maximum size of a file with this name.

        Raises:
            NotIndexedError: there is no such collection.
            UsageError: the name is invalid.
        """
        _, name, _ = _names_of_file(filename, media_type)
        with self._collections.using(collection) as opened:
            return _most_bytes(opened, name)

    def add_url(self, url: str, sending: Sending) -> Sent:
        """Fetch a document from the web and ingest it; the same URL again replaces it.

        Raises:
            UsageError: the URL is invalid, or of a private network.
            UnavailableError: its server cannot be reached, or its response is invalid.
            ContentRefusedError: it has no text, cannot be read, is too large, or contains a secret.
            ConflictError: it exists and must not be replaced, or is being deleted.
            NotIndexedError: there is no such collection.
        """
        address = naming.canonical_url(url)
        with self._collections.using(sending.collection):
            doc_id = self._id_of(sending, "url", address)
        fetched = self._fetch(address, Validators())
        assert fetched is not None  # noqa: S101 - no validators were sent
        return self._add_fetched(fetched, address, doc_id, sending)

    def refresh(self, collection: str, doc_id: str, *, wait: Wait = Wait.WORDS, seconds: float | None = None) -> Sent:
        """Fetch a document again, unless its server reports no change.

        Raises:
            NotIndexedError: there is no such document.
            ConflictError: it was not fetched from an address.
            UnavailableError: its server cannot be reached, or its response is invalid.
            ContentRefusedError: the new content is refused; the document stays as it was.
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
        """Index stored documents as far as the sender waits for it.

        Raises:
            NotIndexedError: there is no such collection.
        """
        with self._collections.using(collection) as opened:
            self._index(opened, sending)

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
        metadata = sending.said if address == fetched.url else {**sending.said, "final_url": fetched.url}
        return self._add(content, sending._replace(said=metadata))

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
                self._index(opened, sending)
            return sent._replace(document=opened.documents.get(content.doc_id) or sent.document)

    @contextlib.contextmanager
    def _received(self, opened: OpenCollection, content: Content) -> Iterator[Received]:
        most_bytes = _most_bytes(opened, content.stored_name)
        with opened.originals.received(
            content.doc_id, content.stored_name, content.pieces, most_bytes=most_bytes
        ) as received:
            yield received

    def _index(self, opened: OpenCollection, sending: Sending) -> None:
        """Do the work that the sender waits for, and leave the rest to the background."""
        deadline = deadline_in(sending.seconds)
        try:
            if sending.wait is not Wait.NONE:
                opened.queue.index_words(deadline=deadline)
            if sending.wait is Wait.COMPLETE:
                opened.queue.complete(must_stop=lambda: deadline is not None and time.monotonic() >= deadline)
        except LockedError:
            pass  # another process is indexing; the document is stored, and its state reports the progress
        self._on_work(opened.name)


def _names_of_file(filename: str, media_type: str) -> tuple[str, StoredName, str]:
    """Return the sent and the stored name of a file, and its media type."""
    checked = naming.checked_name(filename, what="file name")
    known_type = naming.media_type_of(checked, media_type)
    return checked, naming.name_with_suffix(stored_name(checked), known_type), known_type


def _most_bytes(opened: OpenCollection, name: str) -> int:
    most_bytes = opened.app.loaded.config.indexing.max_file_size
    is_streamed = name.lower().endswith(opened.app.policies.walk.streamed)
    return max(most_bytes, _MAX_STREAMED_BYTES) if is_streamed else most_bytes
