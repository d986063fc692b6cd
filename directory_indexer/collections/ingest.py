"""Ingestion of documents: texts, files and URLs, stored as they were sent, and searchable like any file.

A document is accepted once its content has been parsed as the index will parse it: a refused one changes nothing. Then
the original is written to the disk, the row to the registry, and the text to the index, in this order, so that each
step can be repeated.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from directory_indexer.collections import Collections, OpenCollection, validation
from directory_indexer.collections.documents import deadline_after, require_document
from directory_indexer.collections.originals import ReceivedContent
from directory_indexer.collections.validation import (
    ContentVerdict,
    derive_doc_id,
    require_no_secrets,
    stored_name,
    validate_content,
)
from directory_indexer.core.errors import ConflictError, LockedError, UsageError
from directory_indexer.core.ids import DocId, content_hash
from directory_indexer.integrations.converting.fetching import Fetch, FetchedContent, Validators
from directory_indexer.storage.registry.documents import SEARCHABLE_STATES
from directory_indexer.storage.registry.stored_documents import (
    DocumentSource,
    DocumentState,
    StoredDocument,
    StoredName,
)
from directory_indexer.telemetry import spans

_MAX_METADATA_BYTES: Final = 16_384
_MAX_METADATA_DEPTH: Final = 32

_COMPARED_FIELDS: Final = (
    "content_hash",
    "filename",
    "stored_name",
    "title",
    "metadata",
    "media_type",
    "allows_secrets",
)
"""The fields that a document sent again must share with the existing one to count as unchanged."""

_MAX_STREAMED_BYTES: Final = 200_000_000


class WaitUntil(StrEnum):
    """The state of a document that a request waits for before it is answered."""

    NONE = "none"
    """It is stored."""
    WORDS = "words"
    """It is searchable by keyword."""
    COMPLETE = "complete"
    """It is searchable by meaning, too."""


class OnConflict(StrEnum):
    """The action if a document exists already."""

    REPLACE = "replace"
    SKIP = "skip"
    ERROR = "error"


class IngestEffect(StrEnum):
    """The effect of sending a document."""

    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    """The same document exists."""
    SKIPPED = "skipped"
    """Another version exists, and was to be kept."""


class IngestRequest(NamedTuple):
    """A request to store a document; `sender_metadata` is the sender's metadata without the title."""

    collection: str = "default"
    client_id: str = ""
    """The sender's id: sending the same id again replaces the document. The default is its URL or file name."""

    filename: str = ""
    sender_path: str = ""
    """The path of the file at the sender, which may show that it is a secret: `/etc/shadow`."""

    url: str = ""
    """The URL that a text comes from; its id is derived from that rather than from its file name."""

    title: str = ""
    sender_metadata: Mapping[str, Any] = {}
    on_conflict: OnConflict = OnConflict.REPLACE
    allows_secrets: bool = False
    """Whether secrets are masked in the index and kept in the original; otherwise the document is refused."""

    wait: WaitUntil = WaitUntil.WORDS
    seconds: float | None = None
    """The maximum time to wait."""


class IngestResult(NamedTuple):
    """The result of sending a document."""

    document: StoredDocument
    effect: IngestEffect


class IngestContent(NamedTuple):
    """Content that was sent, and its names."""

    source: DocumentSource
    pieces: Iterable[bytes]
    doc_id: DocId
    filename: str
    stored_name: StoredName
    media_type: str
    url: str = ""
    validators: Validators = Validators()


def require_valid_metadata(request: IngestRequest) -> None:
    """Refuse metadata that cannot be stored.

    Raises:
        UsageError: they are not JSON, too deep or too large.
    """
    if request.title:
        validation.normalise_name(request.title, what="title")
    try:
        n_bytes = len(json.dumps(dict(request.sender_metadata), ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError("the metadata of the document is not JSON", hint="send texts, numbers and lists") from error
    if n_bytes > _MAX_METADATA_BYTES:
        raise UsageError(
            f"the metadata of the document have more than {_MAX_METADATA_BYTES:,} bytes", hint="send fewer metadata"
        )
    if _is_nested_deeper(request.sender_metadata, _MAX_METADATA_DEPTH):
        raise UsageError(
            f"the metadata of the document are nested more than {_MAX_METADATA_DEPTH} levels deep",
            hint="use fewer levels",
        )


def store_document(
    opened: OpenCollection,
    content: IngestContent,
    request: IngestRequest,
    received: ReceivedContent,
    verdict: ContentVerdict,
) -> IngestResult:
    """Store a document atomically; of concurrent senders, the last one wins.

    Raises:
        ConflictError: it exists and must not be replaced, or is being deleted.
    """
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
        title=request.title,
        metadata=json.dumps(dict(request.sender_metadata), ensure_ascii=False),
        etag=content.validators.etag,
        last_modified=content.validators.last_modified,
        allows_secrets=request.allows_secrets,
        state=DocumentState.QUEUED,
        message="",
        n_chunks=0,
        n_masked=verdict.n_masked,
        added_at=now,
        changed_at=now,
    )
    with opened.documents.replacing(content.doc_id) as replacement:
        before = replacement.before
        if (
            before is not None
            and (effect := _effect_of_replacing(before, document, request.on_conflict)) is not IngestEffect.REPLACED
        ):
            return IngestResult(before, effect)
        if before is not None and before.state in SEARCHABLE_STATES:
            opened.originals.keep_replaced(content.doc_id, before.stored_name)
        opened.originals.publish(received, content.doc_id)
        document = replacement.put(document)
    if before is not None and before.stored_name != document.stored_name:
        opened.originals.keep_only(content.doc_id, document.stored_name)
    return IngestResult(document, IngestEffect.CREATED if before is None else IngestEffect.REPLACED)


class DocumentIngest:
    """Ingests documents; threads may share it.

    Raises:
        NotIndexedError: from every method, when there is no such collection.
        UsageError: from every method, when a name, an address or metadata are invalid.
        ContentRefusedError: a document has no text, cannot be read, is too large, or contains a secret.
        ConflictError: a document exists and must not be replaced, or is being deleted.
    """

    def __init__(
        self, collections: Collections, *, fetch: Fetch | None = None, on_work: Callable[[str], None] = lambda _: None
    ) -> None:
        self._collections = collections
        self._fetch = fetch or collections.fetch()
        self._on_work = on_work

    def add_text(self, text: str, request: IngestRequest) -> IngestResult:
        """Ingest a text, which is parsed by its file name, or as Markdown."""
        content = text.encode("utf-8", "replace")
        filename = request.filename or f"{request.title or request.client_id or 'text'}.md"
        checked = validation.normalise_name(filename, what="file name")
        name = stored_name(checked, is_text=True)
        address = validation.canonical_url(request.url) if request.url else ""
        keys = {"url": address, "filename": checked if request.filename else "", "text": content_hash(content).hex()}
        doc_id = self._id_of(request, *next((kind, key) for kind, key in keys.items() if key))
        media_type = validation.media_type_of(name)
        return self._store_content(
            IngestContent(DocumentSource.TEXT, [content], doc_id, checked, name, media_type, address), request
        )

    def add_file(self, pieces: Iterable[bytes], request: IngestRequest, *, media_type: str = "") -> IngestResult:
        """Ingest a file, piece by piece; it must have a name."""
        checked, name, known_type = _file_names_and_media_type(request.filename, media_type)
        doc_id = self._id_of(request, "filename", checked)
        return self._store_content(
            IngestContent(DocumentSource.FILE, pieces, doc_id, checked, name, known_type), request
        )

    def max_file_bytes(self, collection: str, filename: str, *, media_type: str = "") -> int:
        """Return the maximum size of a file with this name."""
        _, name, _ = _file_names_and_media_type(filename, media_type)
        with self._collections.opened(collection) as opened:
            return _max_content_bytes(opened, name)

    def add_url(self, url: str, request: IngestRequest) -> IngestResult:
        """Fetch a document from the web and ingest it; the same URL again replaces it.

        Raises:
            UnavailableError: its server cannot be reached, or its response is invalid.
        """
        address = validation.canonical_url(url)
        with self._collections.opened(request.collection):
            doc_id = self._id_of(request, "url", address)
        fetched = self._fetch(address, Validators())
        assert fetched is not None  # noqa: S101 - no validators were sent
        return self._add_fetched(fetched, address, doc_id, request)

    def refresh(
        self, collection: str, doc_id: str, *, wait: WaitUntil = WaitUntil.WORDS, seconds: float | None = None
    ) -> IngestResult:
        """Fetch a document again, unless its server reports no change.

        Raises:
            NotIndexedError: there is no such document.
            ConflictError: it was not fetched from an address.
            UnavailableError: its server cannot be reached, or its response is invalid.
            ContentRefusedError: the new content is refused; the document stays as it was.
        """
        with self._collections.opened(collection) as opened:
            (document,) = opened.queue.current_states_of([require_document(opened, doc_id)])
        if document.source is not DocumentSource.URL:
            raise ConflictError("the document was not fetched from an address", hint="send it again to replace it")
        known = Validators(document.etag, document.last_modified)
        if document.state is DocumentState.FAILED:
            known = Validators()
        fetched = self._fetch(document.url, known)
        if fetched is None:
            return IngestResult(document, IngestEffect.UNCHANGED)
        request = IngestRequest(
            collection,
            title=document.title,
            sender_metadata=document.sender_metadata(),
            allows_secrets=document.allows_secrets,
            wait=wait,
            seconds=seconds,
        )
        return self._add_fetched(fetched, document.url, DocId(document.doc_id), request)

    def index_while_sender_waits(self, collection: str, request: IngestRequest) -> None:
        """Index stored documents as far as the sender waits for it."""
        with self._collections.opened(collection) as opened:
            self._index(opened, request)

    def _id_of(self, request: IngestRequest, kind: str, key: str) -> DocId:
        if request.client_id:
            kind, key = "id", validation.normalise_name(request.client_id, what="id")
        return derive_doc_id(request.collection, kind, key)

    def _add_fetched(
        self, fetched: FetchedContent, address: str, doc_id: DocId, request: IngestRequest
    ) -> IngestResult:
        filename = validation.normalise_name(
            request.filename or validation.printable_name(fetched.name), what="file name"
        )
        media_type = validation.media_type_of(fetched.name, fetched.media_type)
        name = validation.name_with_suffix(stored_name(filename), media_type)
        validators = Validators(fetched.etag, fetched.last_modified)
        content = IngestContent(
            DocumentSource.URL, [fetched.content], doc_id, filename, name, media_type, address, validators
        )
        metadata = (
            request.sender_metadata if address == fetched.url else {**request.sender_metadata, "final_url": fetched.url}
        )
        return self._store_content(content, request._replace(sender_metadata=metadata))

    def _store_content(self, content: IngestContent, request: IngestRequest) -> IngestResult:
        with (
            spans.span("ingest", source=content.source, wait=request.wait) as span,
            self._collections.opened(request.collection) as opened,
        ):
            policy = opened.app.policies.parse
            require_valid_metadata(request)
            paths = (content.filename, request.sender_path)
            require_no_secrets(paths, {"title": request.title, **request.sender_metadata}, policy)
            with spans.span("keep"), self._receive_content(opened, content) as received:
                verdict = validate_content(
                    received.path,
                    policy,
                    is_fetched=content.source is DocumentSource.URL,
                    allows_secrets=request.allows_secrets or policy.include_secrets,
                )
                sent = store_document(opened, content, request, received, verdict)
            span.note(effect=sent.effect, n_bytes=sent.document.n_bytes)
            if sent.effect is not IngestEffect.SKIPPED:
                self._index(opened, request)
            return sent._replace(document=opened.documents.get(content.doc_id) or sent.document)

    @contextlib.contextmanager
    def _receive_content(self, opened: OpenCollection, content: IngestContent) -> Iterator[ReceivedContent]:
        most_bytes = _max_content_bytes(opened, content.stored_name)
        with opened.originals.receive(
            content.doc_id, content.stored_name, content.pieces, max_bytes=most_bytes
        ) as received:
            yield received

    def _index(self, opened: OpenCollection, request: IngestRequest) -> None:
        """Do the work that the sender waits for, and leave the rest to the background."""
        deadline = deadline_after(request.seconds)
        try:
            if request.wait is not WaitUntil.NONE:
                opened.queue.make_keyword_searchable(deadline=deadline)
            if request.wait is WaitUntil.COMPLETE:
                opened.queue.complete(must_stop=lambda: deadline is not None and time.monotonic() >= deadline)
        except LockedError:
            pass  # another process is indexing; the document is stored, and its state reports the progress
        self._on_work(opened.name)


def _is_nested_deeper(value: object, max_depth: int) -> bool:
    """Whether lists and objects are nested deeper than `max_depth` levels: parsers recurse once for each."""
    level = [value]
    for _ in range(max_depth):
        level = [member for outer in level for member in _nested_values(outer)]
    return bool(level)


def _nested_values(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _effect_of_replacing(before: StoredDocument, document: StoredDocument, on_conflict: OnConflict) -> IngestEffect:
    if before.state is DocumentState.DELETING:
        raise ConflictError("the document is being deleted", hint="send it again when it is gone")
    if on_conflict is OnConflict.ERROR:
        raise ConflictError(
            f"a document '{before.doc_id}' with this name already exists", hint="replace it, or give it another id"
        )
    if on_conflict is OnConflict.SKIP:
        return IngestEffect.SKIPPED
    is_same = all(getattr(before, name) == getattr(document, name) for name in _COMPARED_FIELDS)
    return IngestEffect.UNCHANGED if is_same and before.state is not DocumentState.FAILED else IngestEffect.REPLACED


def _file_names_and_media_type(filename: str, media_type: str) -> tuple[str, StoredName, str]:
    """Return the sent and the stored name of a file, and its media type."""
    checked = validation.normalise_name(filename, what="file name")
    known_type = validation.media_type_of(checked, media_type)
    return checked, validation.name_with_suffix(stored_name(checked), known_type), known_type


def _max_content_bytes(opened: OpenCollection, name: str) -> int:
    most_bytes = opened.app.loaded.config.indexing.max_file_size
    is_streamed = name.lower().endswith(opened.app.policies.walk.streamed)
    return max(most_bytes, _MAX_STREAMED_BYTES) if is_streamed else most_bytes
