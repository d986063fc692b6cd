"""Members of containers: files in an archive or mailbox, attachments of a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import MAX_BYTES
from directory_indexer.extractors.document import Document
from directory_indexer.files import SkipReason


class Member(NamedTuple):
    """One file in a container, by the name that the container has for it, which may be anything.

    If it has none, the member is called like the container, without its suffix. `modified_ns` is 0 if unknown;
    `problem` says why the member cannot be read or was skipped.
    """

    name: str
    content: bytes = b""
    modified_ns: int = 0
    problem: ExtractionError | None = None


def read_whole(file: BinaryIO) -> bytes:
    """Read a container that cannot be streamed: a document, a message.

    Raises:
        SkipFileError: it is larger than is read.
    """
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise SkipFileError(SkipReason.TOO_LARGE, f"more than {MAX_BYTES // 1_000_000} MB of one document")
    return content


class Contents(NamedTuple):
    """The contents of a container: its own document, if it has text, and its members, read one after the other."""

    document: Document | None
    members: Iterable[Member] = ()
    is_message: bool = False
    """Whether it is a message, so that its members are attachments."""
