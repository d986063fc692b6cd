"""A document that was sent, as the registry knows it: what it is, where it came from, and how far it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple


class Source(StrEnum):
    """How a document was sent."""

    TEXT = "text"
    FILE = "file"
    URL = "url"


class State(StrEnum):
    """How far a document is."""

    QUEUED = "queued"
    """Kept, and not searchable yet."""
    WORDS = "words"
    """Searchable by words, and by meaning as far as it has vectors."""
    COMPLETE = "complete"
    FAILED = "failed"
    """Kept, and not searchable; `message` says why."""
    DELETING = "deleting"


class StoredDocument(NamedTuple):
    """A document as the registry knows it; times are seconds since the epoch.

    `version` counts how often it was sent. `metadata` is what the sender said, beside the title, as JSON.
    """

    collection: str
    doc_id: str
    version: int
    source: Source
    filename: str
    stored_name: str
    url: str
    media_type: str
    n_bytes: int
    content_hash: str
    """BLAKE3 of the original, 16 bytes as hexadecimal digits: its entity tag."""

    mtime_ns: int
    title: str
    metadata: str
    etag: str
    """That of the web server, for asking again; so is `last_modified`."""

    last_modified: str
    allows_secrets: bool
    state: State
    message: str
    n_chunks: int
    n_masked: int
    added_at: float
    changed_at: float
    is_paused: bool = False
    """Whether it goes no further until somebody lets it."""

    cancelled: int = 0
    """The last version of it that was taken back, so that the one before stayed; 0 for none."""

    def said(self) -> dict[str, Any]:
        """Give what the sender said of it."""
        said: dict[str, Any] = json.loads(self.metadata)
        return said


class Progress(NamedTuple):
    """What has become of a version of a document."""

    doc_id: str
    version: int
    state: State
    message: str = ""
    n_chunks: int = 0


COLUMNS: Final = ", ".join(StoredDocument._fields)


def stored_document(row: Sequence[Any]) -> StoredDocument:
    """Read the columns of a row."""
    found = StoredDocument._make(row)
    return found._replace(
        source=Source(found.source),
        state=State(found.state),
        allows_secrets=bool(found.allows_secrets),
        is_paused=bool(found.is_paused),
    )
