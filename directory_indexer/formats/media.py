"""Images and audio: the metadata in their files, and the text on images.

Metadata of pictures is EXIF (CIPA DC-008), XMP, IPTC, comments and PNG texts. Its blocks are located by walking over
the file; the picture itself is never decoded. ExifRead knows more tags, those of each maker, but takes 100 ms to import
and reads neither XMP nor the texts of PNG. Tags of sound are read by tinytag.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, NamedTuple

from tinytag import TinyTag, TinyTagException

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget, Contents
from directory_indexer.formats.decoding import decode
from directory_indexer.formats.document import Document, Metadata
from directory_indexer.formats.draft import Draft
from directory_indexer.formats.metadata import (
    distinct_values,
    iso_time,
    meaningful_title,
    single_line_value,
    split_list,
)
from directory_indexer.formats.scanned_pictures import add_recognised_text
from directory_indexer.formats.signatures import describe
from directory_indexer.formats.xml_events import read_xmp

_MARKER: Final = 0xFF
_START_OF_SCAN: Final = 0xDA
_SIZE_BYTES: Final = 2
_PNG_CHECKSUM_BYTES: Final = 4
_MAX_BLOCK: Final = 1_000_000
_MAX_NOTES: Final = 20
_EXIF: Final = b"Exif\0\0"
_XMP: Final = b"http://ns.adobe.com/xap/1.0/\0"
_PHOTOSHOP: Final = b"Photoshop 3.0\0"
_IPTC: Final = b"\x1c\x02"
"""The start of each dataset of news picture metadata (IPTC-IIM 4.2, record 2)."""

_IPTC_TITLE: Final = 5
_IPTC_KEYWORD: Final = 25
_IPTC_AUTHOR: Final = 80
_IPTC_PLACES: Final = (92, 90, 95, 101)
_IPTC_CAPTION: Final = 120
_TECHNICAL: Final = frozenset(
    {"software", "creator tool", "raw profile type exif", "raw profile type xmp", "raw profile type iptc"}
)
_TECHNICAL_PREFIXES: Final = ("date:", "exif:", "icc:", "png:", "raw profile", "signature", "thumb:", "mimetype")
_WEBP_BLOCKS: Final = {b"EXIF": "exif", b"XMP ": "xmp"}

_MAX_CHARACTERS: Final = 1_000_000
_AUDIO_NAMES: Final = {"aiff": "AIFF audio", "mp3": "MP3 audio", "m4a": "MP4 audio", "wav": "WAV audio"}

_Value = bytes | tuple[int, ...]

_BYTE: Final = 0xFF
_HEADER_BYTES: Final = 8
_ENTRY_BYTES: Final = 12
_INLINE_BYTES: Final = 4
_MAX_DIRECTORIES: Final = 8
_MAX_ENTRIES: Final = 1_000
_MAX_VALUE: Final = 65_536
_STRUCT_CODES: Final = {1: "B", 2: "s", 3: "H", 4: "I", 7: "s"}
_ENCODINGS: Final = ((b"ASCII\0\0\0", "latin-1"), (b"UNICODE\0", "utf-16-be"), (b"\0" * 8, "latin-1"))
"""Prefixes of user comments that declare their encoding."""

_TAGS: Final = {
    0x010E: "description",
    0x010F: "maker",
    0x0110: "camera",
    0x0132: "modified",
    0x013B: "artist",
    0x8298: "copyright",
    0x9003: "taken",
    0x9286: "comment",
    0xA434: "lens",
    0x9C9B: "title",
    0x9C9C: "comment",
    0x9C9D: "artist",
    0x9C9E: "keywords",
    0x9C9F: "subject",
    0x010D: "document",
}
_NESTED_TAGS: Final[dict[int, dict[int, str]]] = {0x8769: _TAGS}


def extract_image(content: bytes, kind: str, budget: Budget) -> Document:
    """Read the metadata in the file of a picture, and the text that OCR recognised on it before.

    Raises:
        SkipFileError: there is nothing.
    """
    facts, n_left = _ImageMetadata(), _MAX_BLOCK + 2 * len(content)
    for block in _BLOCKS[kind](content):
        n_left -= len(block.content)
        if n_left < 0:
            break  # packed texts, which unpack to far more than the picture
        _READERS[block.name](facts, block)
    document = facts.document(kind)
    if budget.reads_pictures:
        document = add_recognised_text(document, content, budget.recognised)
    if not document.text and not document.scans:
        raise SkipFileError(SkipReason.BINARY, describe(content))
    return document


def open_audio(file: BinaryIO, kind: str, _: Budget) -> Contents:
    """Read the tags of a sound file; the sound itself is skipped.

    Raises:
        SkipFileError: it has none.
        ExtractionError: it is damaged.
    """
    try:
        tag = TinyTag.get(file_obj=file, duration=False, encoding=None)
    except TinyTagException as error:
        raise ExtractionError(f"damaged tags: {single_line_value(str(error))[:100]}") from error
    except (ArithmeticError, AttributeError, IndexError, LookupError, OSError, TypeError, ValueError) as error:
        raise ExtractionError(f"damaged tags ({type(error).__name__})") from error
    draft = Draft()
    title = meaningful_title(tag.title or "")
    draft.heading(1, title)
    facts = {
        "Artist": tag.artist,
        "Album": tag.album,
        "Album artist": tag.albumartist,
        "Composer": tag.composer,
        "Genre": tag.genre,
        "Year": tag.year,
    }
    draft.rows(f"{label}: {single_line_value(str(text))}" for label, text in facts.items() if text)
    for name in ("comment", "description", "lyrics"):
        text = tag.comment if name == "comment" else "\n".join(map(str, tag.other.get(name, [])))
        draft.paragraph((text or "")[:_MAX_CHARACTERS])
    if draft.is_empty:
        raise SkipFileError(SkipReason.BINARY, f"{_AUDIO_NAMES.get(kind, kind)} without tags")
    metadata = Metadata(
        authors=distinct_values(filter(None, (tag.artist, tag.composer))),
        created=iso_time((tag.year or "")[:10]),
        tags=distinct_values(filter(None, (tag.genre,))),
    )
    return Contents(draft.document(kind, title, metadata))


def read_exif(content: bytes) -> dict[str, str]:
    """Return the values of the descriptive tags by their names; damaged content has fewer."""
    order = {b"II": "<", b"MM": ">"}.get(content[:2])
    if order is None or len(content) < _HEADER_BYTES:
        return {}
    return dict(_TiffDirectories(content, order).tags(struct.unpack_from(f"{order}I", content, 4)[0]))


def parse_exif_time(text: str) -> str:
    """Return an EXIF time, `2024:05:01 12:00:00`, in ISO 8601; "" if it is invalid."""
    date, _, time = text.strip().partition(" ")
    day = date.replace(":", "-")
    return iso_time(f"{day}T{time}") or iso_time(day)


class _Block(NamedTuple):
    """A metadata block in the file of a picture; `keyword` is that of a PNG text."""

    name: str
    content: bytes
    keyword: str = ""


class _ImageMetadata:
    """Collects the metadata of one picture from its blocks; repeated values are kept once."""

    def __init__(self) -> None:
        self._facts: dict[str, list[str]] = {}
        self._title = ""
        self._metadata = Metadata()

    def exif(self, block: _Block) -> None:
        tags = read_exif(block.content.removeprefix(_EXIF))
        self._title = self._title or tags.get("title", "")
        self._add(
            Metadata(
                authors=split_list(tags.get("artist", "")),
                created=parse_exif_time(tags.get("taken", "")),
                modified=parse_exif_time(tags.get("modified", "")),
                subject=tags.get("description", "") or tags.get("subject", ""),
                tags=split_list(tags.get("keywords", "")),
                camera=" ".join(dict.fromkeys(f"{tags.get('maker', '')} {tags.get('camera', '')}".split())),
            )
        )
        for label, text in (
            ("Comment", tags.get("comment", "")),
            ("Document", tags.get("document", "")),
            ("Lens", tags.get("lens", "")),
            ("Copyright", tags.get("copyright", "")),
        ):
            self._note(label, text)

    def xmp(self, block: _Block) -> None:
        packet = read_xmp(block.content.strip(b"\0"))
        self._title = self._title or packet.title
        self._add(packet.metadata)

    def iptc(self, block: _Block) -> None:
        datasets: dict[int, list[str]] = {}
        for dataset, value in _iptc_datasets(block.content):
            datasets.setdefault(dataset, []).append(single_line_value(_text(value)))
        self._title = self._title or "".join(datasets.get(_IPTC_TITLE, [])[:1])
        self._add(
            Metadata(
                authors=distinct_values(datasets.get(_IPTC_AUTHOR, [])),
                subject="".join(datasets.get(_IPTC_CAPTION, [])[:1]),
                tags=distinct_values(datasets.get(_IPTC_KEYWORD, [])),
            )
        )
        self._note("Place", ", ".join(value for dataset in _IPTC_PLACES for value in datasets.get(dataset, [])))

    def text(self, block: _Block) -> None:
        text = single_line_value(_text(block.content))
        match block.keyword.lower():
            case "title":
                self._title = self._title or text
            case "author":
                self._add(Metadata(authors=split_list(text)))
            case "description":
                self._add(Metadata(subject=text))
            case "creation time":
                self._add(Metadata(created=iso_time(text.replace(" ", "T")[:19])))
            case keyword if keyword in _TECHNICAL or keyword.startswith(_TECHNICAL_PREFIXES):
                pass
            case keyword:
                self._note(keyword.capitalize() or "Comment", text)

    def document(self, kind: str) -> Document:
        """Return the metadata as text; no text if nothing in it is worth searching."""
        metadata, title = self._metadata, meaningful_title(self._title)
        draft = Draft()
        draft.heading(1, title)
        draft.paragraph(metadata.subject)
        facts = {
            "Keywords": ", ".join(metadata.tags),
            "By": ", ".join(metadata.authors),
            **{label: " · ".join(texts) for label, texts in self._facts.items()},
            "Camera": metadata.camera,
            "Taken": metadata.created.replace("T", " "),
        }
        draft.rows(f"{label}: {text}" for label, text in facts.items() if text)
        return draft.document(kind, title, metadata)

    def _note(self, label: str, text: str) -> None:
        texts = self._facts.setdefault(label, [])
        if text and text not in texts and len(texts) < _MAX_NOTES and len(self._facts) < _MAX_NOTES:
            texts.append(text)

    def _add(self, more: Metadata) -> None:
        known = self._metadata
        self._metadata = more._replace(**{name: value for name, value in known._asdict().items() if value})


def _png_blocks(content: bytes) -> Iterator[_Block]:
    for name, chunk in _chunks(content, 8, ">I4s", _PNG_CHECKSUM_BYTES):
        if name == b"IEND":
            return
        keyword, _, text = chunk.partition(b"\0")
        match name:
            case b"eXIf":
                yield _Block("exif", chunk)
            case b"tEXt":
                yield _Block("text", text.decode("latin-1").encode(), keyword.decode("latin-1"))
            case b"zTXt":
                yield _Block("text", _decompress_text(text[1:]).decode("latin-1").encode(), keyword.decode("latin-1"))
            case b"iTXt":
                yield _international_text(keyword.decode("latin-1"), text)


def _international_text(keyword: str, rest: bytes) -> _Block:
    is_packed, (_, _, text) = rest[:1] == b"\1", _split_international(rest[2:])
    text = _decompress_text(text) if is_packed else text
    return _Block("xmp", text) if keyword == "XML:com.adobe.xmp" else _Block("text", text, keyword)


def _split_international(content: bytes) -> tuple[bytes, bytes, bytes]:
    language, _, rest = content.partition(b"\0")
    translated, _, text = rest.partition(b"\0")
    return language, translated, text


def _jpeg_blocks(content: bytes) -> Iterator[_Block]:
    at = 2
    while at + 4 <= len(content) and content[at] == _MARKER:
        marker, size = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if marker == _START_OF_SCAN or size < _SIZE_BYTES:
            return
        segment = content[at + 4 : at + 2 + size]
        match marker:
            case 0xE1 if segment.startswith(_EXIF):
                yield _Block("exif", segment)
            case 0xE1 if segment.startswith(_XMP):
                yield _Block("xmp", segment.removeprefix(_XMP))
            case 0xED if segment.startswith(_PHOTOSHOP):
                yield _Block("iptc", segment)
            case 0xFE:
                yield _Block("text", segment.rstrip(b"\0"))
        at += 2 + size


def _webp_blocks(content: bytes) -> Iterator[_Block]:
    for name, chunk in _chunks(content, 12, "<4sI", 0):
        if name in _WEBP_BLOCKS:
            yield _Block(_WEBP_BLOCKS[name], chunk)


def _tiff_blocks(content: bytes) -> Iterator[_Block]:
    yield _Block("exif", content)
    yield from _xmp_block(content)


def _xmp_block(content: bytes) -> Iterator[_Block]:
    start = content.find(b"<x:xmpmeta")
    if start >= 0 and (end := content.find(b"</x:xmpmeta>", start)) >= 0:
        yield _Block("xmp", content[start : end + len(b"</x:xmpmeta>")])


def _heic_blocks(content: bytes) -> Iterator[_Block]:
    """Yield the metadata items, found by their first bytes instead of the tables of item locations."""
    for mark in re.finditer(rb"Exif\0\0(?=II\*\0|MM\0\*)", content):
        yield _Block("exif", content[mark.start() : mark.start() + _MAX_BLOCK])
        break
    yield from _xmp_block(content)


def _gif_blocks(content: bytes) -> Iterator[_Block]:
    start = 0
    for _ in range(_MAX_NOTES):
        start = content.find(b"\x21\xfe", start)
        if start < 0:
            return
        start += 2
        pieces = bytearray()
        while start < len(content) and (size := content[start]):
            pieces += content[start + 1 : start + 1 + size]
            start += 1 + size
        if pieces.isascii() and len(pieces) < _MAX_BLOCK:
            yield _Block("text", bytes(pieces))


def _no_blocks(_: bytes) -> Iterator[_Block]:
    return iter(())


def _chunks(content: bytes, start: int, header: str, n_trailing: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names and contents of chunks, each after a header with its size and name in either order."""
    while start + 8 <= len(content):
        fields = struct.unpack_from(header, content, start)
        size, name = sorted(fields, key=lambda field: isinstance(field, bytes))
        if size <= _MAX_BLOCK:
            yield name, content[start + 8 : start + 8 + size]
        start += 8 + size + n_trailing + (size % 2 if header.startswith("<") else 0)


def _iptc_datasets(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = content.find(_IPTC)
    while at >= 0 and at + 5 <= len(content) and content[at : at + 2] == _IPTC:
        size = int.from_bytes(content[at + 3 : at + 5], "big")
        yield content[at + 2], content[at + 5 : at + 5 + size]
        at += 5 + size


def _decompress_text(packed: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, _MAX_BLOCK)
    except zlib.error:
        return b""


def _text(content: bytes) -> str:
    try:
        return decode(content[:_MAX_BLOCK])
    except SkipFileError:
        return ""


class _TiffDirectories:
    """The directories of a TIFF file, which may be nested. Values may overlap, but have no more bytes than the file."""

    def __init__(self, content: bytes, order: str) -> None:
        self._content = content
        self._order = order
        self._n_left = len(content)

    def tags(self, start: int) -> Iterator[tuple[str, str]]:
        """Yield the tags of the directory at an offset and of those nested in it."""
        pending = [(start, _TAGS)]
        for _ in range(_MAX_DIRECTORIES):
            if not pending:
                return
            offset, names = pending.pop()
            for tag, value in self._entries(offset):
                if tag in _NESTED_TAGS and isinstance(value, tuple) and value and isinstance(value[0], int):
                    pending.append((value[0], _NESTED_TAGS[tag]))
                elif name := names.get(tag):
                    yield name, _format_value(value)

    def _entries(self, start: int) -> Iterator[tuple[int, _Value]]:
        if not _HEADER_BYTES <= start <= len(self._content) - 2:
            return
        (n_entries,) = struct.unpack_from(f"{self._order}H", self._content, start)
        for index in range(min(n_entries, _MAX_ENTRIES)):
            at = start + 2 + index * _ENTRY_BYTES
            if at + _ENTRY_BYTES > len(self._content):
                return
            tag, kind, count = struct.unpack_from(f"{self._order}HHI", self._content, at)
            if (value := self._value(kind, count, at + 8)) is not None:
                yield tag, value

    def _value(self, kind: int, count: int, at: int) -> _Value | None:
        code = _STRUCT_CODES.get(kind)
        if code is None or not 0 < count <= _MAX_VALUE:
            return None
        size = struct.calcsize(f"{self._order}{code}") * count
        if size > _INLINE_BYTES:
            (at,) = struct.unpack_from(f"{self._order}I", self._content, at)
        self._n_left -= size
        if at + size > len(self._content) or self._n_left < 0:
            return None
        if code == "s":
            return self._content[at : at + count]
        return struct.unpack_from(f"{self._order}{code * count}", self._content, at)


def _format_value(value: _Value) -> str:
    if isinstance(value, tuple):
        # Windows writes UTF-16 as single bytes.
        content = bytes(number & _BYTE for number in value)
        return single_line_value(content.decode("utf-16-le", "replace").rstrip("\0"))
    for prefix, encoding in _ENCODINGS:
        if value.startswith(prefix):
            return single_line_value(value[len(prefix) :].decode(encoding, "replace").strip("\0 "))
    text = value.rstrip(b"\0 ")
    return single_line_value(decode(text)) if text and b"\0" not in text else ""


_BLOCKS: Final[dict[str, Callable[[bytes], Iterator[_Block]]]] = {
    "bmp": _no_blocks,
    "gif": _gif_blocks,
    "heic": _heic_blocks,
    "jpeg": _jpeg_blocks,
    "png": _png_blocks,
    "pnm": _no_blocks,
    "tiff": _tiff_blocks,
    "webp": _webp_blocks,
}
_READERS: Final[dict[str, Callable[[_ImageMetadata, _Block], None]]] = {
    "exif": _ImageMetadata.exif,
    "iptc": _ImageMetadata.iptc,
    "text": _ImageMetadata.text,
    "xmp": _ImageMetadata.xmp,
}
