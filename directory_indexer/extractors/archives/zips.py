"""ZIP archives."""

from __future__ import annotations

import calendar
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Final

from directory_indexer.extractors.archives.unpacking import DAMAGED, damaged, encrypted_member, unpacked_member
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.members import Contents, Member

HEADER: Final = b"PK\3\4"

_UTF8_FLAG: Final = 0x800
_ENCRYPTED_FLAG: Final = 0x1
_PROGRAMS: Final = (b"META-INF/", b"AndroidManifest.xml", b"classes.dex", b"[Content_Types].xml", b"mimetype")
"""How the first member of a package is called that holds a program, or a document of a format that has no row."""


def is_zip(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Tell whether a file is a ZIP archive, and no package that happens to be one."""
    return head.startswith(HEADER) and (is_named or not head[30:].startswith(_PROGRAMS))


def open_zip(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a ZIP archive.

    Raises:
        ExtractionError: its directory cannot be read.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (NotImplementedError, *DAMAGED) as error:
        raise damaged(error) from error
    return Contents(None, _members(archive, budget))


def _members(archive: zipfile.ZipFile, budget: Budget) -> Iterator[Member]:
    for info in archive.infolist():
        budget.take_member()
        if info.filename.endswith("/"):  # `is_dir` of Python 3.11 fails where there is no name
            continue
        name, modified_ns = _name_of(info), _modified_ns(info)
        if info.flag_bits & _ENCRYPTED_FLAG:
            yield encrypted_member(name, modified_ns)
            continue
        unpack = partial(archive.open, info)
        yield unpacked_member(name, unpack, budget, packed_bytes=info.compress_size, modified_ns=modified_ns)


def _name_of(info: zipfile.ZipInfo) -> str:
    """Give the name of a member; many programs write UTF-8 without saying so."""
    if info.flag_bits & _UTF8_FLAG or info.filename.isascii():
        return info.filename
    try:
        return info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _modified_ns(info: zipfile.ZipInfo) -> int:
    """Give the time of a member, which has no zone, as if it were UTC; 0 where it is none."""
    try:
        return calendar.timegm((*info.date_time, 0, 0, 0)) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0
