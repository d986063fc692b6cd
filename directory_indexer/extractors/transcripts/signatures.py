"""Recognition of session files without importing their readers for other data."""

from __future__ import annotations

from typing import Final

from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.extractors.transcripts.sessions import assistant_of


def is_transcript(head: bytes, is_named: bool) -> bool:  # noqa: ARG001, FBT001 - the signature of `Format.sniff`
    """Whether a file is a session of an assistant."""
    return any(mark in head for mark in _MARKS) and assistant_of(head) is not None


def is_opencode_store(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - as above
    """Whether a file is the database of OpenCode, which only its name shows."""
    return is_named and head.startswith(b"SQLite format 3\0")


_MARKS: Final = (
    *(b'"sessionId"', b'"session_meta"', b'"response_item"', b'"event_msg"', b'"leafUuid"', b'"file-history-snapshot"'),
    *(b'"instructions"', b'"ses_'),
)
