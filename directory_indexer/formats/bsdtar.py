"""Archives that bsdtar (libarchive) unpacks, where it is installed: RAR and Windows cabinets.

It converts an archive to one tar stream, which is read like any other: no member becomes a file of its own. bsdtar is a
part of macOS and Windows; on Linux it is a package, `libarchive-tools`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from directory_indexer.core.errors import ExtractionError, ReaderError, SkipFileError
from directory_indexer.core.files import MISSING_READER, SkipReason
from directory_indexer.formats.archives import tar_members
from directory_indexer.formats.containers import FREE_BYTES, MAX_RATIO, Budget, Contents, Member, read_whole
from directory_indexer.formats.limited_program import LimitedProgram, ProgramLimits, find_program
from directory_indexer.formats.signatures import describe

PROGRAM: Final = "bsdtar"
RAR_HEADER: Final = b"Rar!\x1a\7"
CABINET_HEADER: Final = b"MSCF\0\0\0\0"
_TIMEOUT_SECONDS: Final = 60


def is_rar(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a RAR archive."""
    return head.startswith(RAR_HEADER)


def is_cabinet(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a Windows cabinet."""
    return head.startswith(CABINET_HEADER)


def open_with_bsdtar(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - as `Format.open`
    """Open an archive.

    Raises:
        SkipFileError: bsdtar is not installed, or the archive is larger than is read.
        ExtractionError: it is an archive of another kind.
    """
    content = read_whole(file)
    # bsdtar decides by the content what it reads, and for a list of files (mtree) it reads them from the disk.
    if not content.startswith((RAR_HEADER, CABINET_HEADER)):
        raise ExtractionError("is neither a RAR archive nor a cabinet")
    program = find_program(PROGRAM)
    if not program:
        raise SkipFileError(SkipReason.BINARY, f"{describe(content)}{MISSING_READER}install bsdtar (libarchive-tools)")
    return Contents(None, _members(program, content, budget))


def _members(program: str, content: bytes, budget: Budget) -> Iterator[Member]:
    """Yield the members, up to any damage, and then raise it."""
    n_bytes = min(budget.n_bytes, max(FREE_BYTES, len(content) * MAX_RATIO))
    with tempfile.TemporaryDirectory(prefix="dirindex-") as directory, tempfile.TemporaryFile(dir=directory) as output:
        damage = _convert(program, content, output, Path(directory), n_bytes)
        is_cut_off = output.seek(0, os.SEEK_END) >= n_bytes
        output.seek(0)
        # The stream of a damaged archive ends where the damage begins.
        with contextlib.suppress(*[ExtractionError] if damage else []):
            yield from tar_members(output, budget)
        if damage is None:
            return
        if is_cut_off:
            raise SkipFileError(SkipReason.TOO_LARGE, "it unpacks to more than the size limit")
        raise ExtractionError(
            "is damaged, encrypted, or compressed with a method that bsdtar does not know"
        ) from damage


def _convert(program: str, content: bytes, output: BinaryIO, directory: Path, n_bytes: int) -> ReaderError | None:
    with tempfile.TemporaryFile(dir=directory) as source:
        source.write(content)
        source.seek(0)
        limits = ProgramLimits(_TIMEOUT_SECONDS, n_bytes)
        try:
            LimitedProgram(
                [program, "--format=pax", "-cf", "-", "@-"],
                directory=directory,
                output=output,
                limits=limits,
                source=source,
            ).finish()
        except ReaderError as error:
            return error
    return None
