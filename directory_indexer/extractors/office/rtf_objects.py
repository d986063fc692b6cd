"""Files embedded in rich text: hex digits of OLE objects (MS-OLEDS 2.2), of which whole files are members."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.members import Member
from directory_indexer.extractors.office.embedded import packed_file, unwrapped


def objects_in(content: bytes, budget: Budget) -> Iterator[Member]:
    """Yield the files embedded in rich text, by their own names if known.

    Raises:
        SkipFileError: they are more than is read.
    """
    for number, match in enumerate(_OBJECT.finditer(content), 1):
        budget.take_member()
        digits = _NO_DIGITS.sub(b"", match[1])
        stored = bytes.fromhex(digits[: len(digits) // 2 * 2].decode("ascii"))
        if member := _member(f"object {number}", stored, budget):
            yield member


def _member(name: str, stored: bytes, budget: Budget) -> Member | None:
    """Return the file in an object; None if it is a picture or a link."""
    program, content = _embedded(stored)
    try:
        if program == _PACKAGER:
            file = packed_file(name, content)
        elif content.startswith(_WHOLE_FILE_HEADERS):
            file = unwrapped(name, content)
        else:
            return None
        return Member(file.name, b"".join(budget.counted([file.content], packed_bytes=len(file.content))))
    except SkipFileError as error:
        if budget.is_spent:
            raise
        return Member(name, problem=error)
    except ExtractionError as error:
        return Member(name, problem=error)


def _embedded(stored: bytes) -> tuple[bytes, bytes]:
    """Return the class and the content of an object, behind a header of three length-prefixed texts."""
    if stored[4:8] != _IS_EMBEDDED:
        return b"", b""
    offset, texts = _FIXED_BYTES, []
    for _ in range(3):
        length = int.from_bytes(stored[offset : offset + 4], "little")
        texts.append(stored[offset + 4 : offset + 4 + length])
        offset += 4 + length
    size = int.from_bytes(stored[offset : offset + 4], "little")
    return texts[0].rstrip(b"\0"), stored[offset + 4 : offset + 4 + size]


_OBJECT: Final = re.compile(rb"\\objdata(?![a-zA-Z])([0-9a-fA-F \t\r\n]*+)")
_NO_DIGITS: Final = re.compile(rb"[^0-9a-fA-F]+")
_FIXED_BYTES: Final = 8
_IS_EMBEDDED: Final = b"\2\0\0\0"
_PACKAGER: Final = b"Package"
_WHOLE_FILE_HEADERS: Final = (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\3\4", b"%PDF-")
