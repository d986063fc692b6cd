"""A sent document as the registry stores it: its content, origin and state.

Its id and its names become parts of paths, and may come from a backup that others could write to. So this module
returns no row that this program could not have written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, NewType

from directory_indexer.config import CollectionName, collection_name
from directory_indexer.core.errors import UsageError
from directory_indexer.core.ids import DocId, doc_id
from directory_indexer.storage.databases.stored_values import (
    DamagedValueError,
    parse_epoch_seconds,
    parse_mapping,
    parse_stored,
    parse_text,
)

StoredName = NewType("StoredName", str)
"""The name of the file of a document on disk: without a directory, and harmless on every system."""


class DocumentSource(StrEnum):
    """The way a document was sent."""

    TEXT = "text"
    FILE = "file"
    URL = "url"


class DocumentState(StrEnum):
    """The state of a document."""

    QUEUED = "queued"
    """Stored, and not searchable yet."""
    WORDS = "words"
    """Searchable by keyword, and by meaning as far as it has vectors."""
    COMPLETE = "complete"
    FAILED = "failed"
    """Stored, and not searchable; `message` explains why."""
    DELETING = "deleting"


class StoredDocument(NamedTuple):
    """A document as the registry stores it; times are seconds since the epoch.

    `version` counts how often it was sent. `metadata` is the sender's metadata without the title, as JSON.
    """

    collection: CollectionName
    doc_id: DocId
    version: int
    source: DocumentSource
    filename: str
    stored_name: StoredName
    url: str
    media_type: str
    n_bytes: int
    content_hash: str
    """BLAKE3 of the original, 16 bytes as hexadecimal digits: its entity tag."""

    mtime_ns: int
    title: str
    metadata: str
    etag: str
    """The web server's, for conditional requests; so is `last_modified`."""

    last_modified: str
    allows_secrets: bool
    state: DocumentState
    message: str
    n_chunks: int
    n_masked: int
    added_at: float
    changed_at: float
    is_paused: bool = False
    """Whether indexing waits until somebody resumes it."""

    cancelled: int = 0
    """The last cancelled version, whose predecessor stayed; 0 for none."""

    def sender_metadata(self) -> dict[str, Any]:
        """Return the sender's metadata."""
        return parse_mapping(self.metadata)


class DocumentProgress(NamedTuple):
    """The progress of a version of a document."""

    doc_id: str
    version: int
    state: DocumentState
    message: str = ""
    n_chunks: int = 0


COLUMNS: Final = ", ".join(StoredDocument._fields)


def parse_document(row: Sequence[Any]) -> StoredDocument:
    """Parse the columns of a row."""
    for column, value in zip(StoredDocument._fields, row, strict=False):
        if not _is_valid(column, value):
            raise DamagedValueError(f"documents.{column}")
    document = parse_stored("documents", StoredDocument._make, row)
    return document._replace(
        source=DocumentSource(document.source),
        state=DocumentState(document.state),
        allows_secrets=bool(document.allows_secrets),
        is_paused=bool(document.is_paused),
    )


def repaired_document(row: Sequence[Any]) -> StoredDocument:
    """Parse the columns of a damaged row, with defaults for damaged values; its file is read again."""
    values = dict(zip(StoredDocument._fields, row, strict=True))
    damaged = {column for column, value in values.items() if not _is_valid(column, value)}
    defaults = {column: _DEFAULTS.get(column, kind()) for column, kind in _COLUMN_TYPES.items()}
    mended = {**values, **{column: defaults[column] for column in damaged - _IDENTITY_COLUMNS}}
    if mended["state"] != DocumentState.DELETING:
        mended["state"] = DocumentState.QUEUED
    return parse_document(tuple(mended.values()))


def is_stored_name(name: str) -> bool:
    """Whether a name is valid for the file of a document."""
    return (
        bool(_STORED_NAME.fullmatch(name))
        and not RESERVED_NAMES.fullmatch(name)
        and len(name.encode()) <= _MAX_NAME_BYTES
    )


def _is_valid(column: str, value: object) -> bool:
    kind = _COLUMN_TYPES[column]
    if not isinstance(value, kind):
        return False
    check = _CHECKS.get(column, parse_text if kind is str else None)
    try:
        return check is None or check(value) not in {None, False}
    except (ValueError, TypeError, RecursionError, UsageError):
        return False


_MAX_NAME_BYTES: Final = 255
_MAX_COUNT: Final = 2**62
_STORED_NAME: Final = re.compile(
    r"""[^./\\<>:"|?*!~$%`\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]
        [^/\\<>:"|?*!~$%`\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]*(?<![. ])""",
    re.VERBOSE,
)
RESERVED_NAMES: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""

_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}")
_HASH_PATTERN: Final = re.compile(r"[0-9a-f]{32}")
_SINGLE_LINE: Final = re.compile(r"[^\x00-\x1f\x7f]*")

_IDENTITY_COLUMNS: Final = frozenset({"collection", "doc_id", "stored_name"})
_COLUMN_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(StoredDocument._fields, str),
    **dict.fromkeys(("version", "n_bytes", "mtime_ns", "allows_secrets", "n_chunks", "n_masked"), int),
    **dict.fromkeys(("is_paused", "cancelled"), int),
    **dict.fromkeys(("added_at", "changed_at"), float),
}
_CHECKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "collection": collection_name,
    "doc_id": doc_id,
    "stored_name": is_stored_name,
    "source": DocumentSource,
    "state": DocumentState,
    "metadata": lambda stored: len(parse_mapping(stored)) >= 0,
    "media_type": _MEDIA_TYPE.fullmatch,
    "content_hash": _HASH_PATTERN.fullmatch,
    "etag": _SINGLE_LINE.fullmatch,
    "last_modified": _SINGLE_LINE.fullmatch,
    **dict.fromkeys(
        ("version", "n_bytes", "n_chunks", "n_masked", "cancelled"), lambda number: 0 <= number < _MAX_COUNT
    ),
    **dict.fromkeys(("added_at", "changed_at"), lambda seconds: parse_epoch_seconds(seconds) <= seconds),
}
"""Conditions on values beyond their types; a check of a wrong value returns None or false, or raises."""

_DEFAULTS: Final[Mapping[str, object]] = {
    "version": 1,
    "source": DocumentSource.FILE,
    "filename": "?",
    "media_type": "application/octet-stream",
    "content_hash": "0" * 32,
    "metadata": "{}",
    "state": DocumentState.QUEUED,
}
