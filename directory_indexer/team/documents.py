"""Documents from anywhere: sent as text, as files or by their addresses, kept as they were, found like any file.

A document is accepted when its content was read as the index will read it: what is refused changes nothing. Then come
the original on the disk, the row in the registry, and the index, in this order, so that each step can be done again.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from directory_indexer.converting.fetching import Fetched, Validators, fetch_changed
from directory_indexer.errors import ConflictError, LockedError, NotIndexedError, UsageError
from directory_indexer.ids import content_hash
from directory_indexer.paths import FilePath
from directory_indexer.registry.documents import Source, State, StoredDocument
from directory_indexer.searching.texts import FileText, Selection, read_text
from directory_indexer.team import naming
from directory_indexer.team.collections import Collections, OpenCollection
from directory_indexer.team.naming import DocId, new_doc_id, stored_name
from directory_indexer.team.originals import Received
from directory_indexer.team.verdicts import Verdict, judge, require_harmless_words

_MOST_SAID: Final = 16_384
_MOST_STREAMED: Final = 200_000_000
_PAGE: Final = 100
_MOST_ON_A_PAGE: Final = 1000


class Wait(StrEnum):
    """When the sender of a document is answered."""

    NONE = "none"
    """When it is kept."""
    WORDS = "words"
    """When it can be found by words."""
    COMPLETE = "complete"
    """When it can be found by meaning, too."""


class OnConflict(StrEnum):
    """What becomes of a document that is there already."""

    REPLACE = "replace"
    SKIP = "skip"
    ERROR = "error"


class Effect(StrEnum):
    """What sending a document has done."""

    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    """It is the very same that is there."""
    SKIPPED = "skipped"
    """Another one is there, and was to be kept."""


class Sending(NamedTuple):
    """How a document is sent; `said` is what its sender says of it, beside the title."""

    collection: str = "default"
    client_id: str = ""
    """What the sender calls it: the same again replaces it. Without one, its address or its file name does."""

    filename: str = ""
    title: str = ""
    said: Mapping[str, Any] = {}
    on_conflict: OnConflict = OnConflict.REPLACE
    allows_secrets: bool = False
    """Whether secrets in it are masked in the index and kept in the original; otherwise it is refused."""

    wait: Wait = Wait.WORDS
    seconds: float | None = None
    """How long to wait at most."""


class Sent(NamedTuple):
    """What has become of a document that was sent."""

    document: StoredDocument
    effect: Effect


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


class _Content(NamedTuple):
    """What was sent, and what it is known by."""

    source: Source
    pieces: Iterable[bytes]
    doc_id: DocId
    filename: str
    stored_name: str
    media_type: str
    url: str = ""
    validators: Validators = Validators()


class DocumentVerbs:
    """What can be done with documents; threads may share it."""

    def __init__(
        self,
        collections: Collections,
        *,
        fetch: Callable[[str, Validators], Fetched | None] = fetch_changed,
        on_work: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._collections = collections
        self._fetch = fetch
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
        return self._add(_Content(Source.TEXT, [content], doc_id, checked, name, naming.media_type_of(name)), sending)

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
        return self._add(_Content(Source.FILE, pieces, doc_id, checked, name, said), sending)

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
        content = _Content(Source.URL, [fetched.content], doc_id, filename, name, media_type, address, validators)
        said = sending.said if address == fetched.url else {**sending.said, "final_url": fetched.url}
        return self._add(content, sending._replace(said=said))

    def _add(self, content: _Content, sending: Sending) -> Sent:
        with self._collections.using(sending.collection) as opened:
            policy = opened.app.policies.parse
            _require_sayable(sending)
            require_harmless_words(content.filename, {"title": sending.title, **sending.said}, policy)
            with self._received(opened, content) as received:
                verdict = judge(received.path, policy, allows_secrets=sending.allows_secrets or policy.include_secrets)
                sent = _accepted(opened, content, sending, received, verdict)
            if sent.effect is not Effect.SKIPPED:
                self._work(opened, sending)
            return sent._replace(document=opened.documents.get(content.doc_id) or sent.document)

    @contextlib.contextmanager
    def _received(self, opened: OpenCollection, content: _Content) -> Iterator[Received]:
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


def _accepted(
    opened: OpenCollection, content: _Content, sending: Sending, received: Received, verdict: Verdict
) -> Sent:
    """Put a document into its place; whoever comes last wins, and nobody sees a half of two."""
    now = time.time()
    document = StoredDocument(
        collection=opened.name,
        doc_id=content.doc_id,
        version=1,
        source=content.source,
        filename=content.filename,
        stored_name=content.stored_name,
        url=content.url,
        media_type=content.media_type,
        n_bytes=received.n_bytes,
        content_hash=received.content_hash,
        mtime_ns=received.mtime_ns,
        title=sending.title,
        metadata=json.dumps(dict(sending.said), ensure_ascii=False),
        etag=content.validators.etag,
        last_modified=content.validators.last_modified,
        allows_secrets=sending.allows_secrets,
        state=State.QUEUED,
        message="",
        n_chunks=0,
        n_masked=verdict.n_masked,
        added_at=now,
        changed_at=now,
    )
    with opened.documents.replacing(content.doc_id) as replacement:
        before = replacement.before
        if before is not None and (effect := _effect_on(before, document, sending.on_conflict)) is not Effect.REPLACED:
            return Sent(before, effect)
        opened.originals.publish(received, content.doc_id)
        document = replacement.put(document)
    if before is not None and before.stored_name != document.stored_name:
        opened.originals.keep_only(content.doc_id, document.stored_name)
    return Sent(document, Effect.CREATED if before is None else Effect.REPLACED)


def _effect_on(before: StoredDocument, document: StoredDocument, on_conflict: OnConflict) -> Effect:
    if before.state is State.DELETING:
        raise ConflictError("the document is being deleted", hint="send it again when it is gone")
    if on_conflict is OnConflict.ERROR:
        raise ConflictError(
            f"there is a document '{before.doc_id}' by this name already", hint="replace it, or give it another id"
        )
    if on_conflict is OnConflict.SKIP:
        return Effect.SKIPPED
    is_same = all(getattr(before, name) == getattr(document, name) for name in _TELLING)
    return Effect.UNCHANGED if is_same and before.state is not State.FAILED else Effect.REPLACED


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


def _require_sayable(sending: Sending) -> None:
    if sending.title:
        naming.checked_name(sending.title, what="title")
    try:
        n_bytes = len(json.dumps(dict(sending.said), ensure_ascii=False).encode("utf-8", "replace"))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError("what is said of the document is no JSON", hint="send texts, numbers and lists") from error
    if n_bytes > _MOST_SAID:
        raise UsageError(f"what is said of the document has more than {_MOST_SAID:,} bytes", hint="say less")


def _deadline(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


_MOST_SHOWN: Final = 80
_TELLING: Final = ("content_hash", "filename", "stored_name", "title", "metadata", "media_type", "allows_secrets")
"""What a document that was sent again must share with the one that is there, to be the very same."""
