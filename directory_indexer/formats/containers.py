"""Members of containers, such as archives, mailboxes and messages, and limits on the cost of reading them.

Costs are counted over all members of one file, at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import NoPages, RecognisedPages, SkipReason
from directory_indexer.formats.document import Document


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


MAX_BYTES: Final = 256_000_000
"""The most bytes that are unpacked from one file, all of its members together."""

MAX_MEMBERS: Final = 100_000
MAX_DEPTH: Final = 4
"""The most levels of containers within containers that are opened."""

MAX_RATIO: Final = 200
"""Real documents seldom unpack to more than 50 times their size; what zlib can reach is 1,030."""

FREE_BYTES: Final = 1_000_000
"""Below this size the ratio is not checked, since it says nothing there."""


class Budget:
    """Bytes that may still be unpacked and members that may still be opened; one budget serves all levels of a file.

    Sizes that a container declares are never believed: what comes out is counted while it comes.
    """

    def __init__(
        self,
        *,
        n_bytes: int = MAX_BYTES,
        n_members: int = MAX_MEMBERS,
        member_bytes: int = MAX_BYTES,
        depth: int = 0,
        recognised: RecognisedPages | None = None,
    ) -> None:
        self.n_bytes = n_bytes
        self.n_members = n_members
        self.member_bytes = member_bytes
        """The size of the largest member that is read whole."""

        self.depth = depth
        self.recognised = recognised or NoPages()
        """Results of earlier OCR runs, so that no page is recognised twice."""

    def take_member(self) -> None:
        """Count one member.

        Raises:
            SkipFileError: there were too many.
        """
        self.n_members -= 1
        if self.n_members < 0:
            raise SkipFileError(SkipReason.TOO_LARGE, "it has more members than the limit")

    def take(self, n_bytes: int) -> None:
        """Count bytes that were unpacked.

        Raises:
            SkipFileError: there were too many.
        """
        self.n_bytes -= n_bytes
        if self.n_bytes < 0:
            raise SkipFileError(SkipReason.TOO_LARGE, "it unpacks to more than the size limit")

    def counted(self, pieces: Iterable[bytes], *, packed_bytes: int) -> Iterator[bytes]:
        """Yield what is unpacked from `packed_bytes` piece by piece, and count it.

        Raises:
            SkipFileError: the budget, the limit of a member or the compression ratio is exceeded.
        """
        max_bytes = min(self.member_bytes, max(FREE_BYTES, packed_bytes * MAX_RATIO))
        n_bytes = 0
        for piece in pieces:
            n_bytes += len(piece)
            if n_bytes > max_bytes:
                raise SkipFileError(SkipReason.TOO_LARGE, "a file in it unpacks to more than the size limit")
            self.take(len(piece))
            yield piece

    def member(self, name: str, content: bytes) -> Member:
        """Return a counted member; if it is larger than is read, that is its problem.

        Raises:
            SkipFileError: the budget of the whole container is spent.
        """
        try:
            return Member(name, b"".join(self.counted([content], packed_bytes=len(content))))
        except SkipFileError as error:
            if self.is_spent:
                raise
            return Member(name, problem=error)

    @property
    def reads_pictures(self) -> bool:
        """Whether pictures within a document are read, too."""
        return not isinstance(self.recognised, NoPages)

    @property
    def is_spent(self) -> bool:
        """Whether the budget of the whole container is used up, and not only that of one member."""
        return self.n_bytes < 0 or self.n_members < 0


def open_git_file(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Refuse a file with the name of a git directory.

    Raises:
        ExtractionError: always.
    """
    raise ExtractionError("it only points to a git directory; the history belongs to the repository there")
