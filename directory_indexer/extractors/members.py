"""What containers hold: the members of an archive or mailbox, the attachments of a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from directory_indexer.errors import ExtractionError
from directory_indexer.extractors.document import Document


class Member(NamedTuple):
    """One file in a container, by the name that the container gives it, which may be anything.

    `modified_ns` is 0 where the container does not say it; `problem` says why the member cannot be read.
    """

    name: str
    content: bytes = b""
    modified_ns: int = 0
    problem: ExtractionError | None = None


class Contents(NamedTuple):
    """What a container comes to: its own text, None where it has none, and its members, read one after the other."""

    document: Document | None
    members: Iterable[Member] = ()
