"""What containers hold: the members of an archive or mailbox, the attachments of a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import MAX_BYTES
from directory_indexer.extractors.document import Document
from directory_indexer.files import SkipReason


class Member(NamedTuple):
    """One file in a container, by the name that the container gives it, which may be anything.

    Where it gives none, the member is called as the container is, without its suffix. `modified_ns` is 0 where the
    container does not say it; `problem` says why the member cannot be read, or is left out.
    """

    name: str
    content: bytes = b""
    modified_ns: int = 0
    problem: ExtractionError | None = None


def read_whole(file: BinaryIO) -> bytes:
    """Read a container that is no stream: a document, a message.

    Raises:
        SkipFileError: it is larger than is read.
    """
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise SkipFileError(SkipReason.TOO_LARGE, f"more than {MAX_BYTES // 1_000_000} MB of one document")
    return content


class Contents(NamedTuple):
    """What a container comes to: its own text, None where it has none, and its members, read one after the other."""

    document: Document | None
    members: Iterable[Member] = ()
    is_message: bool = False
    """Whether it is a message, so that its members came by mail."""
