"""ZIP archives; a truncated one, without its central directory, is read up to where it ends."""

from __future__ import annotations

import calendar
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.archives.unpacking import DAMAGED, damaged, encrypted_member, unpacked_member
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.decoding import decode
from directory_indexer.extractors.members import Contents, Member, read_whole
from directory_indexer.extractors.packages import Package

ZIP_HEADER: Final = b"PK\3\4"

_UTF8_FLAG: Final = 0x800
_ENCRYPTED_FLAG: Final = 0x1
_FIELD: Final = struct.Struct("<HHBL")
"""The tag and size of an extra field, and the head of a name in UTF-8 (APPNOTE 4.6.9)."""

_UNICODE_NAME: Final = 0x7075
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORD: Final = re.compile(rb"[a-zA-Z\x80-\xff]+")
_NOT_WESTERN: Final = re.compile(rb"[^\x00-\x9a\xa0-\xa5\xe1]")
_PROGRAMS: Final = (b"META-INF/", b"AndroidManifest.xml", b"classes.dex", b"[Content_Types].xml", b"mimetype")
"""First members of packages that are programs, or documents of a format that has no row."""


def is_zip(head: bytes, is_named: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is a plain ZIP archive, and not a package."""
    return head.startswith(ZIP_HEADER) and (is_named or not head[30:].startswith(_PROGRAMS))


def open_zip(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a ZIP archive.

    Raises:
        ExtractionError: neither its directory nor any member can be read.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (NotImplementedError, *DAMAGED) as error:
        file.seek(0)
        return Contents(None, _members_before(damaged(error), Package(read_whole(file), budget)))
    return Contents(None, _zip_members(archive, budget))


def _members_before(damage: ExtractionError, package: Package) -> Iterator[Member]:
    """Yield the members found by their local headers, the last one possibly truncated, and then raise the damage."""
    parts = [part for part in package.names() if not part.endswith("/")]
    for part, name in zip(parts, _names([(part, b"") for part in parts]), strict=True):
        pieces: list[bytes] = []
        try:
            pieces.extend(package.pieces(part))
        except SkipFileError as error:
            if package.budget.is_spent:
                raise
            yield Member(name, problem=error)
        except ExtractionError as error:
            yield Member(name, b"".join(pieces), problem=None if pieces else error)
        else:
            yield Member(name, b"".join(pieces))
    raise damage


def _zip_members(archive: zipfile.ZipFile, budget: Budget) -> Iterator[Member]:
    infos = archive.infolist()
    names = _names([("" if info.flag_bits & _UTF8_FLAG else info.filename, info.extra) for info in infos])
    for info, decoded in zip(infos, names, strict=True):
        budget.take_member()
        if info.filename.endswith("/"):  # `is_dir` of Python 3.11 fails where there is no name
            continue
        name, modified_ns = decoded or info.filename, _modified_ns(info)
        if info.flag_bits & _ENCRYPTED_FLAG:
            yield encrypted_member(name, modified_ns)
            continue
        unpack = partial(archive.open, info)
        yield unpacked_member(name, unpack, budget, packed_bytes=info.compress_size, modified_ns=modified_ns)


def _names(written: list[tuple[str, bytes]]) -> list[str]:
    """Return decoded names, from names decoded as code page 437 and the extra fields of each.

    Programs write UTF-8 or the code page of their system without saying which, but one for the whole archive.
    """
    names = [_unicode_name(name, extra) or name for name, extra in written]
    foreign = {name: name for name in names if not name.isascii()}
    try:
        as_written = [name.encode("cp437") for name in foreign]
        decoded = [""] if all(map(_is_western, as_written)) else decode(b"\n".join([*as_written, b""])).split("\n")
    except (UnicodeError, ExtractionError):
        return names
    if len(decoded) == len(foreign) + 1:
        foreign = dict(zip(foreign, decoded, strict=False))
    return [foreign.get(name, name) for name in names]


def _unicode_name(name: str, extra: bytes) -> str:
    """Return the name that Info-ZIP and WinRAR add in UTF-8; "" if it has none, or one for another name."""
    at = 0
    while at + _FIELD.size <= len(extra):
        tag, size, _, checksum = _FIELD.unpack_from(extra, at)
        if tag == _UNICODE_NAME and checksum == zlib.crc32(name.encode("cp437", "replace")):
            return extra[at + _FIELD.size : at + 4 + size].decode("utf-8", "replace")
        at += 4 + size
    return ""


def _is_western(name: bytes) -> bool:
    """Whether letters of code page 437 stand in words of other Latin letters, and nothing else is foreign."""
    return not _NOT_WESTERN.search(name) and all(
        2 * len(word.translate(None, _LETTERS)) <= len(word) for word in _WORD.findall(name)
    )


def _modified_ns(info: zipfile.ZipInfo) -> int:
    """Return the time of a member, which has no time zone, as if it were UTC; 0 if it is invalid."""
    try:
        return calendar.timegm((*info.date_time, 0, 0, 0)) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0
