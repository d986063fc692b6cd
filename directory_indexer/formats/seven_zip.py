"""7-Zip archives, where the extra `7z` is installed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, Final

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.files import MISSING_READER, SkipReason
from directory_indexer.formats.archives import damaged_archive
from directory_indexer.formats.containers import Budget, Contents, Member

try:
    import py7zr
except ImportError:
    py7zr = None

HEADER: Final = b"7z\xbc\xaf\x27\x1c"


def is_seven_zip(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a 7-Zip archive."""
    return head.startswith(HEADER)


def open_seven_zip(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - as `Format.open`
    """Open a 7-Zip archive, which is unpacked as a whole, because its members may share one stream.

    Raises:
        SkipFileError: the extra is not installed, or the archive needs a password.
        ExtractionError: it is damaged.
    """
    if py7zr is None:
        raise SkipFileError(SkipReason.BINARY, f"7-Zip archive{MISSING_READER}run pip install '.[7z]' in a checkout")
    unpacked = _BufferFactory(budget)
    try:
        with py7zr.SevenZipFile(file) as archive:
            is_encrypted = archive.needs_password()
            times = {info.filename: info.creationtime for info in archive.list()}
            if not is_encrypted:
                archive.extract(factory=unpacked)
    except SkipFileError:
        raise
    except py7zr.PasswordRequired:
        is_encrypted, times = True, {}
    except Exception as error:
        raise damaged_archive(error) from error
    if is_encrypted:
        raise SkipFileError(SkipReason.ENCRYPTED, "the archive needs a password")
    return Contents(None, unpacked.members(times))


class _Buffer:
    """A file for one unpacked member, which is dropped when it gets too large."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.content: io.BytesIO | None = io.BytesIO()

    def write(self, piece: bytes) -> int:
        """Append a piece.

        Raises:
            SkipFileError: the budget of the whole archive is spent.
        """
        self._budget.take(len(piece))
        if self.content is not None and self.content.tell() + len(piece) > self._budget.member_bytes:
            self.content = None
        if self.content is not None:
            self.content.write(piece)
        return len(piece)

    def read(self, size: int | None = None) -> bytes:
        """Return nothing, whatever the size."""
        del size
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        """Return the position without moving."""
        return offset + whence

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: the content is still needed."""

    def size(self) -> int:
        """Return the number of bytes written."""
        return self.content.tell() if self.content is not None else 0


class _BufferFactory:
    """Creates a buffer for each member of an archive, by name."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._buffers: dict[str, _Buffer] = {}

    def create(self, filename: str) -> _Buffer:
        """Create the buffer of a member.

        Raises:
            SkipFileError: there are too many.
        """
        self._budget.take_member()
        return self._buffers.setdefault(filename, _Buffer(self._budget))

    def members(self, times: dict[str, datetime | None]) -> Iterator[Member]:
        """Yield the members in order."""
        for name, buffer in self._buffers.items():
            time = times.get(name)
            modified_ns = int(time.timestamp() * 1e9) if time else 0
            if buffer.content is None:
                problem = SkipFileError(SkipReason.TOO_LARGE, "a file in it unpacks to more than the size limit")
                yield Member(name, modified_ns=modified_ns, problem=problem)
            else:
                yield Member(name, buffer.content.getvalue(), modified_ns)
