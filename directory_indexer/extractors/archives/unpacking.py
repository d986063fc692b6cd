"""Unpacking of the members of an archive, and errors while doing so."""

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
"""Exceptions of the standard library for damaged archives."""


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of an unpacked file piece by piece."""
    return iter(lambda: file.read(PIECE_BYTES), b"")


def unpacked_member(
    name: str, unpack: Callable[[], IO[bytes]], budget: Budget, *, packed_bytes: int, modified_ns: int = 0
) -> Member:
    """Unpack a member; if it is damaged or too large, the error becomes its problem.

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
    except RuntimeError:  # zipfile raises it for a member that needs a password
        return encrypted_member(name, modified_ns)
    except DAMAGED as error:
        problem = ExtractionError(f"is damaged in the archive ({type(error).__name__})")
        return Member(name, modified_ns=modified_ns, problem=problem)
    return Member(name, content, modified_ns)


def encrypted_member(name: str, modified_ns: int = 0) -> Member:
    """Return a member with the problem that it is encrypted."""
    return Member(name, modified_ns=modified_ns, problem=SkipFileError(SkipReason.ENCRYPTED, "it wants a password"))


def damaged(error: Exception) -> ExtractionError:
    """Return the error of an archive that cannot be read, or not to its end."""
    return ExtractionError(f"is damaged ({type(error).__name__})")
