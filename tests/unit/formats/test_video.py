"""Text subtitles, titles and chapters of videos are read, whatever lies around them."""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

import pytest

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.extraction import extract
from directory_indexer.formats.recognition import kind_of
from directory_indexer.formats.video import open_mp4

if TYPE_CHECKING:
    from directory_indexer.formats.document import Document

EBML, SEGMENT, CLUSTER, TIME, GROUP = 0x1A45DFA3, 0x18538067, 0x1F43B675, 0xE7, 0xA0
SIMPLE_BLOCK, BLOCK, TITLE = 0xA3, 0xA1, 0x7BA9
UNKNOWN_SIZE = b"\x01\xff\xff\xff\xff\xff\xff\xff"


def element(name: int, content: bytes, size: bytes | None = None) -> bytes:
    written = name.to_bytes((name.bit_length() + 7) // 8, "big")
    return written + (size or (len(content) | 1 << 56).to_bytes(8, "big")) + content


def track(number: int, codec: str, *, kind: int = 17, name: str = "", encoding: bytes = b"") -> bytes:
    fields = element(0xD7, bytes([number])) + element(0x83, bytes([kind])) + element(0x86, codec.encode())
    named = element(0x536E, name.encode()) if name else b""
    return element(0xAE, fields + named + (element(0x6D80, element(0x6240, encoding)) if encoding else b""))


def block(number: int, time: int, text: bytes, name: int = SIMPLE_BLOCK) -> bytes:
    return element(name, bytes([0x80 | number]) + struct.pack(">h", time) + b"\0" + text)


def matroska(tracks: bytes, *clusters: bytes, info: bytes = b"", size: bytes | None = None) -> bytes:
    content = element(0x1549A966, info) + element(0x1654AE6B, tracks) + b"".join(clusters)
    return element(EBML, element(0x4282, b"matroska")) + element(SEGMENT, content, size)


def cluster(seconds: int, *blocks: bytes, size: bytes | None = None) -> bytes:
    return element(CLUSTER, element(TIME, (seconds * 1000).to_bytes(4, "big")) + b"".join(blocks), size)


def read(content: bytes, name: str = "film.mkv") -> Document:
    return extract(content, file_path(f"/films/{name}"))


FILM = matroska(
    track(1, "V_VP9", kind=1) + track(2, "S_TEXT/UTF8"),
    cluster(59, block(1, 0, b"\0" * 9_000), element(GROUP, block(2, 500, b"<i>Mind</i> the gap", BLOCK))),
    cluster(750, block(2, 0, "Größe\nzählt".encode())),
    info=element(TITLE, b"The step"),
)


def test_subtitles_of_matroska_are_lines_in_sections_by_the_minute() -> None:
    document = read(FILM)
    assert document.kind == "matroska"
    assert document.title == "The step"
    assert document.text == "The step\nMind the gap\nGröße zählt\n"
    assert [section.headings for section in document.sections] == [(), ("0:00:59",), ("0:12:30",)]


def test_a_recording_whose_sizes_were_never_filled_in_is_read() -> None:
    live = matroska(
        track(2, "S_TEXT/UTF8"), cluster(1, block(2, 0, b"first"), size=UNKNOWN_SIZE), cluster(2, block(2, 0, b"last")),
        size=UNKNOWN_SIZE,
    )  # fmt: skip
    assert read(live).text == "first\nlast\n"


def test_packed_and_stripped_blocks_are_unpacked() -> None:
    packed = element(0x5034, element(0x4254, b"\0"))
    stripped = element(0x5034, element(0x4254, b"\3") + element(0x4255, b"The "))
    film = matroska(
        track(2, "S_TEXT/UTF8", name="Deutsch", encoding=packed)
        + track(3, "S_TEXT/UTF8", name="English", encoding=stripped),
        cluster(1, block(2, 0, zlib.compress(b"Der Otter")), block(3, 0, b"otter")),
    )
    document = read(film)
    assert document.text == "Der Otter\nThe otter\n"
    assert [section.headings for section in document.sections] == [("Deutsch", "0:00:01"), ("English", "0:00:01")]


def test_only_the_text_of_a_line_of_substation_alpha_is_read() -> None:
    line = rb"0,0,Default,,0,0,0,,{\i1}The lantern{\i0},\Nat last"
    assert read(matroska(track(2, "S_TEXT/ASS"), cluster(1, block(2, 0, line)))).text == "The lantern, at last\n"


def test_a_truncated_video_is_read_as_far_as_it_goes() -> None:
    for size in range(FILM.index(b"The step") + 8, len(FILM), 997):
        assert "The step" in read(FILM[:size]).text
    with pytest.raises(SkipFileError, match="without subtitles"):
        read(FILM[:40])


def test_a_block_that_unpacks_to_very_much_is_cut_off() -> None:
    packed = element(0x5034, element(0x4254, b"\0"))
    bomb = zlib.compress(b"a" * 50_000_000)
    assert len(read(matroska(track(2, "S_TEXT/UTF8", encoding=packed), cluster(1, block(2, 0, bomb)))).text) < 100_000


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        (element(0x4254, b"\3") + element(0x4255, b"w " * 20_000), b"w"),
        (element(0x4254, b"\0"), zlib.compress(b"w " * 30_000)),
    ],
)
def test_small_blocks_that_unpack_to_very_much_together_are_not_read(encoding: bytes, content: bytes) -> None:
    film = matroska(
        track(2, "S_TEXT/UTF8", encoding=element(0x5034, encoding)), cluster(1, *[block(2, 0, content)] * 999)
    )
    with pytest.raises(SkipFileError, match="unpacks to more"):
        read(film)


def box(name: bytes, content: bytes) -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + name + content


def numbers(*values: int) -> bytes:
    return struct.pack(f">{len(values) + 1}I", 0, *values)


def mp4(samples: list[bytes], codec: bytes = b"tx3g", tables: dict[bytes, bytes] | None = None) -> bytes:
    start = box(b"ftyp", b"isom\0\0\0\0")
    media = box(b"mdat", b"".join(samples))
    table = {
        b"stsd": numbers(1) + box(codec, b""),
        b"stts": numbers(1, len(samples), 90_000),
        b"stsc": numbers(1, 1, len(samples), 1),
        b"stsz": numbers(0, len(samples), *map(len, samples)),
        b"stco": numbers(1, len(start) + 8),
    } | (tables or {})
    header = box(b"mdhd", numbers(0, 0, 1_000, 0) + struct.pack(">HH", 0x1592, 0))
    handler = box(b"hdlr", numbers(0) + b"sbtl" + bytes(13))
    inner = box(b"minf", box(b"stbl", b"".join(box(name, content) for name, content in table.items())))
    tags = box(b"ilst", box(b"\xa9nam", box(b"data", bytes(8) + "Über Otter".encode())))
    movie = box(b"trak", box(b"mdia", header + handler + inner)) + box(b"udta", box(b"meta", bytes(4) + tags))
    return start + media + box(b"moov", movie)


def cue(text: str) -> bytes:
    return len(text.encode()).to_bytes(2, "big") + text.encode()


def test_subtitles_and_the_title_of_mp4_are_read() -> None:
    document = read(mp4([cue("The otter sleeps"), cue(""), cue("and swims")]), "film.mp4")
    assert document.kind == "mp4"
    assert document.text == "Über Otter\nThe otter sleeps\nand swims\n"
    assert [section.headings for section in document.sections] == [(), ("0:00:00",), ("0:03:00",)]


def test_webvtt_in_mp4_is_read() -> None:
    sample = box(b"vttc", box(b"payl", b"<b>Hello</b> there"))
    assert "Hello there" in read(mp4([sample], b"wvtt"), "film.mp4").text


def test_tables_that_declare_the_same_sample_a_billion_times_yield_no_more_than_the_file() -> None:
    endless = {b"stsz": numbers(18, 4_000_000_000), b"stsc": numbers(1, 1, 4_000_000_000, 1)}
    content = mp4([cue("The otter sleeps")], tables=endless)
    assert len(read(content, "film.mp4").text) < 2 * len(content)
    chunks = {b"stco": numbers(50_000, *[40] * 50_000), b"stsz": numbers(18, 50_000)}
    assert open_mp4(io.BytesIO(mp4([cue("x")], tables=chunks)), "mp4", Budget(n_bytes=1_000_000)).document is not None


def test_tracks_that_share_samples_yield_together_no_more_than_the_file() -> None:
    shared = {b"stsc": numbers(1, 1, 1_000_000, 1), b"stsz": numbers(2, 1_000_000)}
    film = mp4([b"\0\0"] * 1_000, tables=shared)
    start, end = film.index(b"trak") - 4, film.index(b"udta") - 4
    film = film[: start - 8] + box(b"moov", film[start:end] * 100)
    file = Reads(film)
    with pytest.raises(SkipFileError, match="without subtitles"):
        open_mp4(file, "mp4", Budget())
    assert file.n_reads < len(film)


class Reads(io.BytesIO):
    """A file that counts how often it is read."""

    n_reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.n_reads += 1
        return super().read(size)


def test_a_video_without_text_is_said_to_have_none() -> None:
    with pytest.raises(SkipFileError, match="Matroska or WebM video without subtitles"):
        read(matroska(track(1, "V_VP9", kind=1), cluster(1, block(1, 0, b"pixels"))))


@pytest.mark.parametrize(("brand", "kind"), [(b"M4A ", "m4a"), (b"isom", "mp4"), (b"qt  ", "mp4"), (b"heic", "heic")])
def test_kinds_of_mp4_are_distinguished_by_their_brand(brand: bytes, kind: str) -> None:
    assert kind_of(file_path("/a/file"), bytes(4) + b"ftyp" + brand) == kind
