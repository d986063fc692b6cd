"""Commits of git repositories as documents: subject, message, the files that were changed, who wrote it and when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError
from directory_indexer.formats.containers import Budget, Contents
from directory_indexer.formats.document import Document, Metadata, single_line


class Commit(NamedTuple):
    """A commit; times are in seconds since the epoch, and `files` are those that differ from its first parent."""

    hash: str
    author: str
    written_at: int
    committed_at: int
    message: str
    files: Sequence[str]


def commit_document(commit: Commit, kind: str) -> Document:
    """Return a commit as a document: its message, and below it the changed files."""
    subject, _, body = commit.message.strip("\n").partition("\n")
    files = [*commit.files[:_MAX_FILES]]
    if len(commit.files) > _MAX_FILES:
        files.append(f"and {len(commit.files) - _MAX_FILES} more")
    parts = (subject, body.strip("\n")[:_MAX_MESSAGE], "\n".join(files))
    text = "\n\n".join(filter(None, parts)).replace("\r\n", "\n").replace("\r", "\n")
    metadata = Metadata(
        authors=(commit.author,), created=_format_time(commit.written_at), modified=_format_time(commit.committed_at)
    )
    return Document(text + "\n", kind, single_line(subject), metadata=metadata)


def open_git_file(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Refuse a file with the name of a git directory.

    Raises:
        ExtractionError: always.
    """
    raise ExtractionError("it only points to a git directory; the history belongs to the repository there")


def _format_time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


_MAX_FILES: Final = 200
_MAX_MESSAGE: Final = 100_000
