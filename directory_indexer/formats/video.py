"""Videos (Matroska, WebM, MP4, QuickTime): their titles, descriptive tags, chapters and text subtitles.

The elements of a file are walked over without reading pictures and sound, so its size hardly matters. Positions only
grow, and sizes that a file declares are never believed: elements are bounded by their number, texts by the budget.
"""

from __future__ import annotations

import io
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget, Contents
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.draft import MAX_CHARACTERS
from directory_indexer.formats.metadata import single_line_value
from directory_indexer.formats.signatures import describe
from directory_indexer.formats.subtitles import Cue, spoken_words, transcript


def open_matroska(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Open a Matroska or WebM video.

    Raises:
        SkipFileError: it has no text, or more than is read.
    """
    video = _Matroska(file)
    unpacked = (video.add(element) for element in _elements(file))
    for _ in budget.counted(unpacked, packed_bytes=file.seek(0, io.SEEK_END)):
        pass
    return _contents(file, kind, video.facts, video.tracks)


def open_mp4(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Open an MP4 or QuickTime video.

    Raises:
        SkipFileError: it has no text, or more than is read.
    """
    size = file.seek(0, io.SEEK_END)
    movie = next((_read(file, box, _MAX_MOVIE) for box in _boxes(file, 0, size) if box.name == b"moov"), b"")
    budget.take(len(movie))
    inner, samples = io.BytesIO(movie), _Samples(file, size, budget)
    tracks = [
        track
        for box in _boxes(inner, 0, len(movie))
        if box.name == b"trak" and (track := _mp4_track(inner, box, samples))
    ]
    return _contents(file, kind, list(_mp4_facts(inner, len(movie))), tracks)


@dataclass
class _Track:
    """A track of a video; `stripped_header` is the common beginning removed from its blocks."""

    number: int = 0
    is_subtitle: bool = False
    codec: str = ""
    language: str = ""
    name: str = ""
    is_compressed: bool = False
    stripped_header: bytes = b""
    cues: list[Cue] = field(default_factory=list)


def _contents(file: BinaryIO, kind: str, facts: list[str], tracks: list[_Track]) -> Contents:
    facts = [fact for fact in dict.fromkeys(map(single_line_value, facts)) if fact]
    spoken = [track for track in tracks if track.cues]
    text, sections = "".join(f"{fact}\n" for fact in facts), [Section(0)] if facts else []
    for track in spoken:
        label = track.name or track.language if len(spoken) > 1 else ""
        words, minutes = transcript(track.cues, start=len(text), headings=(label,) if label else ())
        text, sections = f"{text}{words}\n", [*sections, *minutes]
    if not text:
        file.seek(0)
        raise SkipFileError(SkipReason.BINARY, f"{describe(file.read(64))} without subtitles")
    if len(text) > MAX_CHARACTERS:
        raise SkipFileError(SkipReason.TOO_LARGE, f"more than {MAX_CHARACTERS:,} characters")
    return Contents(Document(text, kind, facts[0] if facts else "", tuple(sections)))


class _Element(NamedTuple):
    """An element of a Matroska file: its content begins at `start`. One that holds others has no content."""

    name: int
    start: int = 0
    n_bytes: int = 0


def _elements(file: BinaryIO) -> Iterator[_Element]:
    """Yield the elements in order, up to any damage."""
    size, at = file.seek(0, io.SEEK_END), 0
    for _ in range(_MAX_ELEMENTS):
        file.seek(at)
        head = file.read(_MAX_EBML_HEAD)
        n_name = _vint_bytes(head, 0)
        n_size = _vint_bytes(head, n_name)
        if not 0 < n_name <= _MAX_EBML_NAME or not n_size:
            return
        name, at = int.from_bytes(head[:n_name], "big"), at + n_name + n_size
        n_bytes = 0 if name in _MASTERS else min(_vint(head, n_name), size - at)
        yield _Element(name, at, n_bytes)
        at += n_bytes


def _vint_bytes(head: bytes, at: int) -> int:
    """Return the length of a number of variable length; 0 if there is none."""
    return 9 - head[at].bit_length() if len(head) > at and head[at] else 0


def _vint(head: bytes, at: int) -> int:
    n_bytes = _vint_bytes(head, at)
    return int.from_bytes(head[at : at + n_bytes], "big") & ((1 << 7 * n_bytes) - 1)


class _Matroska:
    """Collects the texts of a Matroska file from its elements."""

    def __init__(self, file: BinaryIO) -> None:
        self.facts: list[str] = []
        self._file = file
        self._tracks: list[_Track] = []
        self._subtitles: dict[int, _Track] | None = None
        self._scale = _MILLISECOND
        self._cluster = 0
        self._tag = ""

    @property
    def tracks(self) -> list[_Track]:
        """The text tracks."""
        return list((self._subtitles or {}).values())

    def add(self, element: _Element) -> bytes:
        """Process the next element, and return its content of a text track."""
        match element.name:
            case 0xA3 | 0xA1:  # a block
                return self._add_block(element)
            case 0x1F43B675:  # a cluster: all tracks are known
                if self._subtitles is None:
                    self._subtitles = {
                        track.number: track
                        for track in self._tracks
                        if track.is_subtitle and track.codec in _TEXT_CODECS
                    }
            case 0xAE:  # a track
                self._tracks.append(_Track())
            case 0x5034 if self._tracks:  # it is compressed
                self._tracks[-1].is_compressed = True
            case 0x5035 if self._tracks:  # it is encrypted
                self._tracks[-1].is_subtitle = False
            case name if name in _VALUES and element.n_bytes <= _MAX_TEXT:
                self._add_value(name, self._read(element, element.n_bytes))
        return b""

    def _read(self, element: _Element, n_bytes: int) -> bytes:
        self._file.seek(element.start)
        return self._file.read(n_bytes)

    def _add_value(self, name: int, content: bytes) -> None:
        match name:
            case 0x2AD7B1:  # the unit of times, in nanoseconds
                self._scale = int.from_bytes(content[:_MAX_INTEGER_BYTES], "big")
            case 0xE7:  # the time of a cluster
                self._cluster = int.from_bytes(content[:_MAX_INTEGER_BYTES], "big")
            case 0x7BA9 | 0x85:  # the title, the name of a chapter
                self.facts.append(_decode(content))
            case 0x45A3:  # the name of a tag
                self._tag = _decode(content).upper()
            case 0x4487 if self._tag in _DESCRIPTIVE_TAGS:  # its value
                self.facts.append(_decode(content))
            case _ if self._tracks:
                self._set_track_field(self._tracks[-1], name, content)

    def _set_track_field(self, track: _Track, name: int, content: bytes) -> None:
        if name in _TRACK_FIELDS:
            attribute, parse = _TRACK_FIELDS[name]
            setattr(track, attribute, parse(content))

    def _add_block(self, element: _Element) -> bytes:
        if not self._subtitles or not _MIN_BLOCK <= element.n_bytes <= _MAX_TEXT:
            return b""
        head = self._read(element, _BLOCK_HEAD)
        n_number = _vint_bytes(head, 0)
        track = self._subtitles.get(_vint(head, 0)) if n_number else None
        if track is None or len(head) < n_number + 3 or head[n_number + 2] & _LACING_FLAGS:
            return b""
        (time,) = struct.unpack_from(">h", head, n_number)
        written = self._read(element, element.n_bytes)[n_number + 3 :]
        content = _decompress(written) if track.is_compressed else track.stripped_header + written
        text = _decode(content)
        if "SS" in track.codec:  # SubStation Alpha: the text follows eight other fields
            text = text.split(",", _FIELDS_BEFORE_TEXT)[-1]
        _add_cue(track, max(self._cluster + time, 0) * self._scale // 1_000_000_000, text)
        return content


def _add_cue(track: _Track, seconds: int, text: str) -> None:
    if words := spoken_words(text):
        track.cues.append((min(seconds, _MAX_SECONDS), words))


def _decompress(packed: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, _MAX_TEXT)
    except zlib.error:
        return b""


def _decode(content: bytes) -> str:
    return content.rstrip(b"\0").decode("utf-8", "replace")


class _Box(NamedTuple):
    """A box of an MP4 file: its content is between `start` and `end`."""

    name: bytes
    start: int
    end: int


def _boxes(file: BinaryIO, start: int, end: int) -> Iterator[_Box]:
    for _ in range(_MAX_BOXES):
        file.seek(start)
        head = file.read(16)
        if start + _BOX_HEAD > end or len(head) < _BOX_HEAD:
            return
        size, name, n_head = int.from_bytes(head[:4], "big"), head[4:8], _BOX_HEAD
        if size == 1:
            size, n_head = int.from_bytes(head[8:16], "big"), 16
        after = min(start + size, end) if size else end
        if after < start + n_head:
            return
        yield _Box(name, start + n_head, after)
        start = after


def _find(file: BinaryIO, box: _Box, *path: bytes) -> _Box | None:
    """Return the first box on a path of names within another."""
    for name in path:
        inner = next((inner for inner in _boxes(file, box.start, box.end) if inner.name == name), None)
        if inner is None:
            return None
        box = inner
    return box


def _read(file: BinaryIO, box: _Box | None, max_bytes: int) -> bytes:
    if box is None or box.end - box.start > max_bytes:
        return b""
    file.seek(box.start)
    return file.read(box.end - box.start)


def _mp4_track(movie: BinaryIO, box: _Box, samples: _Samples) -> _Track | None:
    """Return a text track; None if the box is another track."""
    media = _find(movie, box, b"mdia")
    table = media and _find(movie, media, b"minf", b"stbl")
    if media is None or table is None:
        return None
    handler = _read(movie, _find(movie, media, b"hdlr"), _MAX_TEXT)[8:12]
    codec = _read(movie, _find(movie, table, b"stsd"), _MAX_TEXT)[12:16]
    if handler not in _TEXT_HANDLERS or codec not in _MP4_TEXTS:
        return None
    header = _read(movie, _find(movie, media, b"mdhd"), _MAX_TEXT)
    scale_at, language_at = _MEDIA_HEADER_64 if header[:1] == b"\1" else _MEDIA_HEADER_32
    if len(header) < language_at + 2:
        return None
    (scale,) = struct.unpack_from(">I", header, scale_at)
    (packed,) = struct.unpack_from(">H", header, language_at)
    track = _Track(language="".join(chr(0x60 + (packed >> shift & 0x1F)) for shift in (10, 5, 0)))
    tables = {name: _numbers(movie, table, name) for name in (b"stts", b"stsz", b"stsc", b"stco", b"co64")}
    for time, content in zip(_times(tables[b"stts"]), samples.read(tables), strict=False):
        _add_cue(track, time // max(scale, 1), _mp4_text(codec, content))
    return track


def _numbers(movie: BinaryIO, table: _Box, name: bytes) -> array[int]:
    """Return the numbers of a sample table after its version; of a table of 64-bit offsets, only the offsets."""
    is_wide = name == b"co64"
    # A table has millions of numbers at most; as objects they would take ten times the memory.
    numbers = array("Q" if is_wide else "I")
    content = _read(movie, _find(movie, table, name), _MAX_MOVIE)[8 if is_wide else 4 :]
    numbers.frombytes(content[: len(content) // numbers.itemsize * numbers.itemsize])
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


def _times(durations: array[int]) -> Iterator[int]:
    """Yield the times at which samples begin, from counts and durations of runs of samples."""
    time = 0
    for count, duration in zip(durations[1::2], durations[2::2], strict=False):
        for _ in range(min(count, _MAX_SAMPLES)):
            yield time
            time += duration


class _Samples:
    """Reads the samples of all tracks of a file: together no more bytes, and no more samples, than the file has bytes.

    Any number of tracks may name the same samples, and a sample may be empty.
    """

    def __init__(self, file: BinaryIO, n_bytes: int, budget: Budget) -> None:
        self._file = file
        self._n_left = n_bytes
        self._budget = budget

    def read(self, tables: dict[bytes, array[int]]) -> Iterator[bytes]:
        """Yield the contents of the samples of a track, which lie one after the other in chunks."""
        chunks, runs = tables[b"co64"] or tables[b"stco"][1:], tables[b"stsc"][1:]
        fixed_size, n_samples = tables[b"stsz"][:2] if len(tables[b"stsz"]) > 1 else (0, 0)
        lengths = repeat(fixed_size, min(n_samples, _MAX_SAMPLES)) if fixed_size else iter(tables[b"stsz"][2:])
        first_chunks = dict(zip(runs[::3], runs[1::3], strict=False))
        n_in_chunk = 0
        for number, start in enumerate(chunks, 1):
            at = start
            n_in_chunk = first_chunks.get(number, n_in_chunk)
            for length in islice(lengths, min(n_in_chunk, _MAX_SAMPLES)):
                self._n_left -= max(length, 1)
                if self._n_left < 0:
                    return
                self._file.seek(at)
                self._budget.take(length)
                yield self._file.read(min(length, _MAX_TEXT))
                at += length


def _mp4_text(codec: bytes, content: bytes) -> str:
    if codec == b"wvtt":
        stream = io.BytesIO(content)
        cues = [box for box in _boxes(stream, 0, len(content)) if box.name == b"vttc"]
        return " ".join(_decode(_read(stream, _find(stream, cue, b"payl"), _MAX_TEXT)) for cue in cues)
    if codec == b"stpp":
        return _decode(content)
    text = content[2 : 2 + int.from_bytes(content[:2], "big")]
    return text.decode("utf-16" if text.startswith((b"\xfe\xff", b"\xff\xfe")) else "utf-8", "replace")


def _mp4_facts(movie: BinaryIO, size: int) -> Iterator[str]:
    """Yield the title and other descriptive tags."""
    tags = _find(movie, _Box(b"", 0, size), b"udta", b"meta")
    if tags is None:
        return
    # The box has a version in MP4, and none in QuickTime.
    for start in (tags.start + 4, tags.start):
        items = _find(movie, _Box(b"", start, tags.end), b"ilst")
        for item in _boxes(movie, items.start, items.end) if items else ():
            if item.name in _MP4_TAGS:
                yield _decode(_read(movie, _find(movie, item, b"data"), _MAX_TEXT)[8:])


_MILLISECOND: Final = 1_000_000
_MAX_SECONDS: Final = 360_000
_SUBTITLE: Final = b"\x11"
_LACING_FLAGS: Final = 0x06
_FIELDS_BEFORE_TEXT: Final = 8
_MAX_TEXT: Final = 65_536
_MAX_ELEMENTS: Final = 5_000_000
_MAX_EBML_HEAD: Final = 12
_BLOCK_HEAD: Final = 12
_MAX_INTEGER_BYTES: Final = 8
_MIN_BLOCK: Final = 4
_MAX_EBML_NAME: Final = 4
_BOX_HEAD: Final = 8
_MEDIA_HEADER_32: Final = (12, 20)
_MEDIA_HEADER_64: Final = (20, 32)
"""The offsets of the time scale and the language."""

_MAX_BOXES: Final = 10_000
_MAX_MOVIE: Final = 64_000_000
_MAX_SAMPLES: Final = 100_000

_MASTERS: Final = frozenset(
    (
        *(0x18538067, 0x1F43B675, 0xA0, 0x1549A966, 0x1654AE6B, 0xAE, 0x6D80, 0x6240, 0x5034, 0x5035),
        *(0x1043A770, 0x45B9, 0xB6, 0x80, 0x1254C367, 0x7373, 0x67C8),
    )
)
"""Segment, Cluster, BlockGroup, Info, Tracks, TrackEntry, the encodings of a track, chapters, tags (RFC 9559)."""

_VALUES: Final = frozenset(
    (0x2AD7B1, 0xE7, 0x7BA9, 0x85, 0x45A3, 0x4487, 0xD7, 0x83, 0x86, 0x22B59C, 0x22B59D, 0x536E, 0x4254, 0x4255)
)
_TRACK_FIELDS: Final[dict[int, tuple[str, Callable[[bytes], object]]]] = {
    0xD7: ("number", lambda content: int.from_bytes(content, "big")),
    0x83: ("is_subtitle", lambda content: content.lstrip(b"\0") == _SUBTITLE),
    0x86: ("codec", _decode),
    0x22B59C: ("language", _decode),
    0x22B59D: ("language", _decode),
    0x536E: ("name", lambda content: single_line_value(_decode(content))),
    0x4254: ("is_compressed", lambda content: not content.strip(b"\0")),  # the algorithm: zlib, if it is not declared
    0x4255: ("stripped_header", lambda content: content),
}
_TEXT_CODECS: Final = frozenset("S_TEXT/UTF8 S_TEXT/ASS S_TEXT/SSA S_ASS S_SSA S_TEXT/WEBVTT S_TEXT/ASCII".split())
_DESCRIPTIVE_TAGS: Final = frozenset(
    "TITLE SUBTITLE ARTIST DIRECTOR ACTOR WRITTEN_BY DESCRIPTION SYNOPSIS SUMMARY COMMENT KEYWORDS GENRE".split()
)
_TEXT_HANDLERS: Final = frozenset((b"sbtl", b"text", b"subt"))
_MP4_TEXTS: Final = frozenset((b"tx3g", b"text", b"wvtt", b"stpp"))
_MP4_TAGS: Final = (b"\xa9nam", b"\xa9ART", b"\xa9cmt", b"desc", b"ldes", b"\xa9des", b"\xa9gen", b"keyw")
