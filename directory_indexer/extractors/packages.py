"""The parts of a ZIP package, as Office Open XML and OpenDocument files are.

Sizes and sums that a package declares are never believed, and a part that is damaged is read up to the damage; so is a
package of which the end, with the list of its parts, is lost. Names are found in any case, which not all programs
keep.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.xml_events import read_xml
from directory_indexer.files import SkipReason


class Relation(NamedTuple):
    """What a part says of another: what it is to it (`styles`, `footnotes`), and the name of that part."""

    role: str
    part: str


class Package:
    """A ZIP file of parts that refer to each other, read within a budget."""

    def __init__(self, content: bytes, budget: Budget) -> None:
        """Open a package.

        Raises:
            SkipFileError: it has more parts than are read.
            ExtractionError: it is damaged.
        """
        self._content = content
        self.budget = budget
        self._parts = {_key(part.name): part for part in _parts(content)}

    def __contains__(self, part: str) -> bool:
        return _key(part) in self._parts

    def names(self) -> list[str]:
        """Give the names of all parts, in the order of the package."""
        return [part.name for part in self._parts.values()]

    def pieces(self, part: str) -> Iterator[bytes]:
        """Unpack a part piece by piece; one that is not there has none.

        Raises:
            SkipFileError: it needs a password, or is more than is read.
            ExtractionError: it is damaged; what came before the damage was given.
        """
        if found := self._parts.get(_key(part)):
            self.budget.take_member()
            packed = _packed(self._content, found)
            yield from self.budget.counted(_unpacked(found, packed), packed_bytes=len(packed))

    def relations(self, part: str = "") -> dict[str, Relation]:
        """Give what a part refers to in the same package, by the ids that it uses; "" is the package itself."""
        folder, name = posixpath.split(part)
        relations = _Relations(folder)
        read_xml(self.pieces(posixpath.join(folder, "_rels", f"{name}.rels")), relations)
        return relations.by_id

    def content_type(self, part: str) -> str:
        """Give the media type that the package says a part has; "" where it says none."""
        types = _ContentTypes()
        read_xml(self.pieces("[Content_Types].xml"), types)
        return types.by_part.get(_key(part)) or types.by_suffix.get(part.rpartition(".")[2].lower(), "")


class _Part(NamedTuple):
    name: str
    method: int
    flags: int
    header: int
    n_packed: int | None
    """None where only the packed bytes tell where they end."""


def _parts(content: bytes) -> list[_Part]:
    if content.count(_ENTRY) > _MAX_PARTS:  # each costs a kilobyte of memory, read or not
        raise SkipFileError(SkipReason.TOO_LARGE, f"it has more than {_MAX_PARTS} parts")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            return [
                _Part(one.filename, one.compress_type, one.flag_bits, one.header_offset, one.compress_size)
                for one in file.infolist()
            ]
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, OverflowError, ValueError) as error:
        parts = list(_parts_by_headers(content))
        if not parts:
            raise ExtractionError(f"damaged ZIP package: {str(error)[:_MESSAGE_CHARACTERS]}") from error
        return parts


def _parts_by_headers(content: bytes) -> Iterator[_Part]:
    for found in _HEADER.finditer(content):
        flags, method, n_packed, n_name = (int.from_bytes(found[group], "little") for group in range(1, 5))
        written = content[found.end() : found.end() + n_name]
        try:
            name = written.decode()
        except UnicodeDecodeError:
            name = written.decode("cp437")
        yield _Part(name, method, flags, found.start(), n_packed or None)


def _packed(content: bytes, part: _Part) -> memoryview:
    header = content[part.header : part.header + _HEADER_BYTES]
    n_name, n_extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    start = part.header + _HEADER_BYTES + n_name + n_extra
    return memoryview(content)[start : None if part.n_packed is None else start + part.n_packed]


def _unpacked(part: _Part, packed: memoryview) -> Iterator[bytes]:
    if part.flags & _ENCRYPTED or part.method in _ENCRYPTING_METHODS:
        raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
    if part.method == zipfile.ZIP_STORED:
        yield from (bytes(packed[start : start + _PIECE_BYTES]) for start in range(0, len(packed), _PIECE_BYTES))
    elif part.method == zipfile.ZIP_DEFLATED:
        yield from _inflated(part, packed)
    else:
        raise ExtractionError(f"part {part.name[:_MESSAGE_CHARACTERS]!r} is packed by an unknown method")


def _inflated(part: _Part, packed: memoryview) -> Iterator[bytes]:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        for start in range(0, len(packed), _PIECE_BYTES):
            rest: bytes | memoryview = packed[start : start + _PIECE_BYTES]
            while rest and not stream.eof:
                yield stream.decompress(rest, _PIECE_BYTES)
                rest = stream.unconsumed_tail
            if stream.eof:
                return
    except zlib.error as error:
        raise _damaged(part) from error
    raise _damaged(part)


def _damaged(part: _Part) -> ExtractionError:
    return ExtractionError(f"damaged package: part {part.name[:_MESSAGE_CHARACTERS]!r} cannot be unpacked")


class _Relations:
    def __init__(self, folder: str) -> None:
        self.by_id: dict[str, Relation] = {}
        self._folder = folder

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name != "Relationship" or attributes.get("TargetMode") == "External":
            return
        # Strict and transitional files name the roles by different addresses that end in the same word.
        role = attributes.get("Type", "").rpartition("/")[2]
        target = posixpath.join("/", self._folder, attributes.get("Target", "").replace("\\", "/"))
        self.by_id[attributes.get("Id", "")] = Relation(role, posixpath.normpath(target).lstrip("/"))

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


class _ContentTypes:
    def __init__(self) -> None:
        self.by_part: dict[str, str] = {}
        self.by_suffix: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        content_type = attributes.get("ContentType", "")
        if name == "Override":
            self.by_part[_key(attributes.get("PartName", ""))] = content_type
        elif name == "Default":
            self.by_suffix[attributes.get("Extension", "").lower()] = content_type

    def end(self, name: str) -> None: ...

    def text(self, text: str) -> None: ...


def _key(part: str) -> str:
    return part.replace("\\", "/").lstrip("/").lower()


_ENTRY: Final = b"PK\1\2"
_HEADER: Final = re.compile(rb"PK\x03\x04..(..)(..).{8}(....).{4}(..)..", re.DOTALL)
"""How the header of a part begins: its flags, its method, its packed size, and how long its name is."""

_HEADER_BYTES: Final = 30
_MAX_PARTS: Final = 20_000
_PIECE_BYTES: Final = 1 << 16
_ENCRYPTED: Final = 1
_ENCRYPTING_METHODS: Final = frozenset({99, 0x636B, 0x636C})
"""AES, and what Pages, Numbers and Keynote write."""

_MESSAGE_CHARACTERS: Final = 100
