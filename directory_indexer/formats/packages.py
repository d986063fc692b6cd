"""Parts of a ZIP package, such as Office Open XML and OpenDocument files.

Declared sizes and checksums are never trusted. A damaged part is read up to the damage; so is a package whose end, with
the list of its parts, is missing. Names are matched in any case, since not all programs keep it.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.xml_events import read_xml


class Relation(NamedTuple):
    """A relation of a part to another: the role (`styles`, `footnotes`) and the name of the other part."""

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
        self.damage: ExtractionError | None = None
        """The first damage that was met: of its list of parts, or of a part."""

        self._parts = {_key(part.name): part for part in self._list_parts()}

    def __contains__(self, part: str) -> bool:
        return _key(part) in self._parts

    def names(self) -> list[str]:
        """Return the names of all parts, in the order of the package."""
        return [part.name for part in self._parts.values()]

    def pieces(self, part: str) -> Iterator[bytes]:
        """Yield the pieces of an unpacked part; nothing if there is no such part.

        Raises:
            SkipFileError: it needs a password, or is more than is read.
            ExtractionError: it is damaged; what precedes the damage has been yielded.
        """
        if entry := self._parts.get(_key(part)):
            self.budget.take_member()
            packed = _packed_bytes(self._content, entry)
            try:
                yield from self.budget.counted(_unpack(entry, packed), packed_bytes=len(packed))
            except ExtractionError as error:
                self.note_damage(error)
                raise

    def note_damage(self, error: ExtractionError | None) -> None:
        """Keep the first damage that was met, if there is any."""
        if self.damage is None and not isinstance(error, SkipFileError):
            self.damage = error

    def relations(self, part: str = "") -> dict[str, Relation]:
        """Return the relations of a part to parts of the same package, by id; "" is the package itself."""
        return self._relations(part).by_id

    def addresses(self, part: str) -> dict[str, str]:
        """Return the addresses outside of the package that a part refers to, by id."""
        return self._relations(part).addresses

    def content_type(self, part: str) -> str:
        """Return the media type that the package declares for a part; "" if it declares none."""
        types = _ContentTypes()
        read_xml(self.pieces("[Content_Types].xml"), types)
        return types.by_part.get(_key(part)) or types.by_suffix.get(part.rpartition(".")[2].lower(), "")

    def _list_parts(self) -> list[_Part]:
        if self._content.count(_ENTRY) > _MAX_PARTS:  # each costs a kilobyte of memory, read or not
            raise SkipFileError(SkipReason.TOO_LARGE, f"it has more than {_MAX_PARTS} parts")
        try:
            return _listed_parts(self._content)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, OverflowError, ValueError) as error:
            damage = ExtractionError(f"damaged ZIP package: {str(error)[:_MESSAGE_CHARACTERS]}")
            self.note_damage(damage)
            parts = list(_parts_by_headers(self._content))
            if not parts:
                raise damage from error
            return parts

    def _relations(self, part: str) -> _Relations:
        folder, name = posixpath.split(part)
        relations = _Relations(folder)
        read_xml(self.pieces(posixpath.join(folder, "_rels", f"{name}.rels")), relations)
        return relations


class _Part(NamedTuple):
    name: str
    method: int
    flags: int
    header: int
    n_packed: int | None
    """None if only the packed bytes show where they end."""


def _listed_parts(content: bytes) -> list[_Part]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [
            _Part(info.filename, info.compress_type, info.flag_bits, info.header_offset, info.compress_size)
            for info in file.infolist()
        ]


def _parts_by_headers(content: bytes) -> Iterator[_Part]:
    for match in _HEADER.finditer(content):
        flags, method, n_packed, n_name = (int.from_bytes(match[group], "little") for group in range(1, 5))
        raw_name = content[match.end() : match.end() + n_name]
        try:
            name = raw_name.decode()
        except UnicodeDecodeError:
            name = raw_name.decode("cp437")
        yield _Part(name, method, flags, match.start(), n_packed or None)


def _packed_bytes(content: bytes, part: _Part) -> memoryview:
    header = content[part.header : part.header + _HEADER_BYTES]
    n_name, n_extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    start = part.header + _HEADER_BYTES + n_name + n_extra
    return memoryview(content)[start : None if part.n_packed is None else start + part.n_packed]


def _unpack(part: _Part, packed: memoryview) -> Iterator[bytes]:
    if part.flags & _ENCRYPTED or part.method in _ENCRYPTING_METHODS:
        raise SkipFileError(SkipReason.ENCRYPTED, "needs a password")
    if part.method == zipfile.ZIP_STORED:
        yield from (bytes(packed[start : start + _PIECE_BYTES]) for start in range(0, len(packed), _PIECE_BYTES))
    elif part.method == zipfile.ZIP_DEFLATED:
        yield from _inflate(part, packed)
    else:
        raise ExtractionError(f"part {part.name[:_MESSAGE_CHARACTERS]!r} is compressed with an unknown method")


def _inflate(part: _Part, packed: memoryview) -> Iterator[bytes]:
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
        raise _damage_error(part) from error
    raise _damage_error(part)


def _damage_error(part: _Part) -> ExtractionError:
    return ExtractionError(f"damaged package: part {part.name[:_MESSAGE_CHARACTERS]!r} cannot be unpacked")


class _Relations:
    def __init__(self, folder: str) -> None:
        self.by_id: dict[str, Relation] = {}
        self.addresses: dict[str, str] = {}
        self._folder = folder

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name != "Relationship":
            return
        if attributes.get("TargetMode") == "External":
            self.addresses[attributes.get("Id", "")] = attributes.get("Target", "")
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
"""The header of a part: its flags, its method, its packed size, and the length of its name."""

_HEADER_BYTES: Final = 30
_MAX_PARTS: Final = 20_000
_PIECE_BYTES: Final = 1 << 16
_ENCRYPTED: Final = 1
_ENCRYPTING_METHODS: Final = frozenset({99, 0x636B, 0x636C})
"""AES, and the method of Pages, Numbers and Keynote."""

_MESSAGE_CHARACTERS: Final = 100
