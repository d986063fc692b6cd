"""Requests to store a document, and their results."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from directory_indexer.converting.fetching import Validators
from directory_indexer.errors import ConflictError, UsageError
from directory_indexer.ids import DocId
from directory_indexer.registry.replacements import FOUND
from directory_indexer.registry.stored_documents import Source, State, StoredDocument, StoredName
from directory_indexer.team import naming
from directory_indexer.team.opened import OpenCollection
from directory_indexer.team.originals import Received
from directory_indexer.team.verdicts import Verdict

_MAX_METADATA_BYTES: Final = 16_384
_MAX_METADATA_DEPTH: Final = 32


class Wait(StrEnum):
    """The state of a document at which its sender gets the response."""

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


class Effect(StrEnum):
    """The effect of sending a document."""

    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    """The same document exists."""
    SKIPPED = "skipped"
    """Another version exists, and was to be kept."""


class Sending(NamedTuple):
    """A request to store a document; `said` is the sender's metadata without the title."""

    collection: str = "default"
    client_id: str = ""
    """The sender's id: sending the same id again replaces the document. The default is its URL or file name."""

    filename: str = ""
    url: str = ""
    """The URL that a text comes from; its id is derived from that rather than from its file name."""

    title: str = ""
    said: Mapping[str, Any] = {}
    on_conflict: OnConflict = OnConflict.REPLACE
    allows_secrets: bool = False
    """Whether secrets are masked in the index and kept in the original; otherwise the document is refused."""

    wait: Wait = Wait.WORDS
    seconds: float | None = None
    """The maximum time to wait."""


class Sent(NamedTuple):
    """The result of sending a document."""

    document: StoredDocument
    effect: Effect


class Content(NamedTuple):
    """Content that was sent, and its names."""

    source: Source
    pieces: Iterable[bytes]
    doc_id: DocId
    filename: str
    stored_name: StoredName
    media_type: str
    url: str = ""
    validators: Validators = Validators()


def require_sayable(sending: Sending) -> None:
    """Refuse metadata that cannot be stored.

    Raises:
        UsageError: they are not JSON, too deep or too large.
    """
    if sending.title:
        naming.checked_name(sending.title, what="title")
    try:
        n_bytes = len(json.dumps(dict(sending.said), ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError("what is said of the document is no JSON", hint="send texts, numbers and lists") from error
    if n_bytes > _MAX_METADATA_BYTES:
        raise UsageError(f"what is said of the document has more than {_MAX_METADATA_BYTES:,} bytes", hint="say less")
    if _is_deeper(sending.said, _MAX_METADATA_DEPTH):
        raise UsageError(
            f"what is said of the document is nested more than {_MAX_METADATA_DEPTH} levels deep", hint="nest it less"
        )


def _is_deeper(value: object, most: int) -> bool:
    """Whether lists and objects are nested deeper than `most` levels: parsers recurse once for each."""
    level = [value]
    for _ in range(most):
        level = [member for outer in level for member in _members(outer)]
    return bool(level)


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def accepted(opened: OpenCollection, content: Content, sending: Sending, received: Received, verdict: Verdict) -> Sent:
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
        if before is not None and before.state in FOUND:
            opened.originals.set_aside(content.doc_id, before.stored_name)
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
    is_same = all(getattr(before, name) == getattr(document, name) for name in _COMPARED_FIELDS)
    return Effect.UNCHANGED if is_same and before.state is not State.FAILED else Effect.REPLACED


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
