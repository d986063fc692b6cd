"""What all archives share: how a member is unpacked, and what is said when that fails."""

from __future__ import annotations

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.members import Member
from directory_indexer.files import SkipReason

PIECE_BYTES: Final = 1 << 16

DAMAGED: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, struct.error),
    *(ValueError, LookupError, ArithmeticError, AttributeError, AssertionError),
)
"""What the modules of the standard library raise over archives that are damaged."""


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """Read what is unpacked piece by piece."""
    return iter(lambda: file.read(PIECE_BYTES), b"")


def unpacked_member(
    name: str, unpack: Callable[[], IO[bytes]], budget: Budget, *, packed_bytes: int, modified_ns: int = 0
) -> Member:
    """Unpack a member; that it is damaged or too large is its own problem.

    Raises:
        SkipFileError: the budget of the whole archive is spent.
    """
    try:
        with unpack() as file:
            content = b"".join(budget.counted(pieces_of(file), packed_bytes=packed_bytes))
    except SkipFileError as error:
        if budget.is_spent:
            raise
        return Member(name, modified_ns=modified_ns, problem=error)
    except NotImplementedError:
        return Member(name, modified_ns=modified_ns, problem=ExtractionError("is packed by a method that is not known"))
    except RuntimeError:  # what zipfile says of a member that wants a password
        return encrypted_member(name, modified_ns)
    except DAMAGED as error:
        problem = ExtractionError(f"is damaged in the archive ({type(error).__name__})")
        return Member(name, modified_ns=modified_ns, problem=problem)
    return Member(name, content, modified_ns)


def encrypted_member(name: str, modified_ns: int = 0) -> Member:
    """Say of a member that it is encrypted."""
    return Member(name, modified_ns=modified_ns, problem=SkipFileError(SkipReason.ENCRYPTED, "it wants a password"))


def damaged(error: Exception) -> ExtractionError:
    """Say of an archive that it cannot be read, or not to its end."""
    return ExtractionError(f"is damaged ({type(error).__name__})")
