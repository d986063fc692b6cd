"""Pictures and sound: what is written in their files."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable

import pytest

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.media import extract_image, open_audio, parse_exif_time, read_exif
from directory_indexer.formats.recognition import kind_of

XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"'
    b' xmp:CreateDate="2021-07-08T09:10:11"><dc:title><rdf:Alt><rdf:li>Lighthouse at dusk</rdf:li></rdf:Alt></dc:title>'
    b"<dc:creator><rdf:Seq><rdf:li>Ida Keeper</rdf:li></rdf:Seq></dc:creator>"
    b"<dc:subject><rdf:Bag><rdf:li>coast</rdf:li><rdf:li>evening</rdf:li></rdf:Bag></dc:subject>"
    b"</rdf:Description></rdf:RDF></x:xmpmeta>"
)


def exif(order: str = "<") -> bytes:
    """Build a directory with a camera, a description, and an inner directory with the time."""
    texts = {0x010E: b"A red kite\0", 0x0110: b"Box Camera 3\0", 0x8769: None}
    taken = b"2019:05:04 10:20:30\0"
    data_at = 8 + 2 + len(texts) * 12 + 4
    entries, data = b"", b""
    for tag, text in texts.items():
        at = data_at + len(data)
        if text is None:
            entries += struct.pack(f"{order}HHII", tag, 4, 1, at)
            data += struct.pack(f"{order}HHHII", 1, 0x9003, 2, len(taken), at + 18) + b"\0\0\0\0" + taken
        else:
            entries += struct.pack(f"{order}HHII", tag, 2, len(text), at)
            data += text
    header = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, 8)
    return header + struct.pack(f"{order}H", len(texts)) + entries + b"\0\0\0\0" + data


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I4s", len(content), name) + content + b"\0\0\0\0" for name, content in (*chunks, (b"IEND", b""))
    )


def jpeg(*segments: tuple[int, bytes]) -> bytes:
    return (
        b"\xff\xd8"
        + b"".join(struct.pack(">BBH", 255, marker, len(content) + 2) + content for marker, content in segments)
        + b"\xff\xda\0\2pixels"
    )


def webp(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"".join(struct.pack("<4sI", name, len(chunk)) + chunk + b"\0" * (len(chunk) % 2) for name, chunk in chunks)
    return struct.pack("<4sI4s", b"RIFF", len(body) + 4, b"WEBP") + body


def iptc(*datasets: tuple[int, bytes]) -> bytes:
    return b"Photoshop 3.0\x008BIM\4\4\0\0\0\0\0\x40" + b"".join(
        b"\x1c\2" + bytes([number]) + struct.pack(">H", len(value)) + value for number, value in datasets
    )


def read(content: bytes) -> Document:
    return extract_image(content, kind_of(file_path("/root/picture"), content), Budget())


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    "pack",
    [
        lambda block: jpeg((0xE0, b"JFIF\0"), (0xE1, b"Exif\0\0" + block)),
        lambda block: png((b"eXIf", block)),
        lambda block: webp((b"VP8 ", b"odd"), (b"EXIF", block)),
        lambda block: block,
    ],
    ids=["jpeg", "png", "webp", "tiff"],
)
def test_what_a_camera_writes_is_found_in_every_format(pack: Callable[[bytes], bytes], order: str) -> None:
    document = read(pack(exif(order)))

    assert document.metadata.created == "2019-05-04T10:20:30"
    assert document.metadata.subject == "A red kite"
    assert "Camera: Box Camera 3" in document.text
    assert document.metadata.camera == "Box Camera 3"


def test_the_metadata_of_heic_is_read() -> None:
    item = struct.pack(">I", 6) + b"Exif\0\0" + exif(">")
    content = b"\0\0\0\x18ftypheic" + bytes(200) + b"Exif\0\0 is a name, too" + item + XMP + bytes(50)
    document = extract_image(content, kind_of(file_path("/photos/IMG_1.HEIC"), content), Budget())
    assert document.kind == "heic"
    assert document.metadata.camera == "Box Camera 3"
    assert document.metadata.authors == ("Ida Keeper",)


def test_heic_without_metadata_is_no_text() -> None:
    with pytest.raises(SkipFileError, match="HEIC image"):
        extract_image(b"\0\0\0\x18ftypheic" + bytes(200), "heic", Budget())


@pytest.mark.parametrize(
    "content",
    [
        jpeg((0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP)),
        png((b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP)),
        webp((b"XMP ", XMP)),
        b"II*\0\x08\0\0\0\0\0" + XMP,
    ],
    ids=["jpeg", "png", "webp", "tiff"],
)
def test_xmp_is_found_in_every_format(content: bytes) -> None:
    document = read(content)

    assert document.title == "Lighthouse at dusk"
    assert document.metadata.authors == ("Ida Keeper",)
    assert document.metadata.tags == ("coast", "evening")
    assert document.metadata.created == "2021-07-08T09:10:11"


def test_texts_of_png_are_read_packed_or_not() -> None:
    document = read(
        png(
            (b"tEXt", b"Title\0Floor plan"),
            (b"zTXt", b"Comment\0\0" + zlib.compress(b"drawn by hand")),
            (b"iTXt", b"Author\0\1\0de\0Autor\0" + zlib.compress("Jörg".encode())),
            (b"tEXt", b"Software\0Paint 9"),
        )
    )
    assert document.title == "Floor plan"
    assert document.metadata.authors == ("Jörg",)
    assert "drawn by hand" in document.text
    assert "Paint" not in document.text


def test_news_pictures_say_what_they_show() -> None:
    content = jpeg((0xED, iptc((5, b"Harbour"), (25, b"ships"), (25, b"fog"), (90, b"Hull"), (120, b"Ships in fog."))))
    document = read(content)

    assert document.title == "Harbour"
    assert document.metadata.tags == ("ships", "fog")
    assert "Ships in fog." in document.text
    assert "Place: Hull" in document.text


def test_comments_of_jpeg_and_gif_are_read() -> None:
    assert "made at sea" in read(jpeg((0xFE, b"made at sea\0"))).text
    assert "made at sea" in read(b"GIF89a\1\0\1\0\0\0\0\x21\xfe\x0bmade at sea\0;").text


@pytest.mark.parametrize(
    "content", [png(), jpeg((0xE0, b"JFIF\0")), webp((b"VP8 ", b"x")), b"GIF89a;", b"II*\0\0\0\0\0"]
)
def test_a_picture_that_says_nothing_is_binary(content: bytes) -> None:
    with pytest.raises(SkipFileError) as raised:
        read(content)
    assert raised.value.reason is SkipReason.BINARY


@pytest.mark.parametrize("cut", range(9, 150, 7))
def test_pictures_that_are_cut_off_are_read_as_far_as_they_go(cut: int) -> None:
    for content in (png((b"eXIf", exif()), (b"tEXt", b"Title\0Floor plan")), jpeg((0xE1, b"Exif\0\0" + exif()))):
        document = outcome(read, content[:cut])
        assert isinstance(document, Document) or document in {"PNG image", "JPEG image"}


def test_directories_that_lie_in_themselves_end() -> None:
    loop = struct.pack("<2sHIHHHII", b"II", 42, 8, 1, 0x8769, 4, 1, 8)
    assert read_exif(loop) == {}


def test_values_that_claim_to_be_huge_are_left_out() -> None:
    assert read_exif(struct.pack("<2sHIHHHII", b"II", 42, 8, 1, 0x010E, 2, 0xFFFFFFFF, 8)) == {}
    assert read_exif(struct.pack("<2sHIHHHII", b"II", 42, 8, 1, 0x010E, 2, 60_000, 0xFFFFFFF0)) == {}


def test_texts_that_unpack_to_far_more_than_the_picture_are_left_out() -> None:
    packed = zlib.compress(b"otter " * 60_000)
    document = read(png(*((b"zTXt", f"Key{n}\0\0".encode() + packed) for n in range(9))))
    assert "Key1: otter" in document.text
    assert "Key2" not in document.text


def test_values_that_overlap_are_read_until_they_have_the_bytes_of_the_file() -> None:
    value, count = b"otter " * 1_000, 100
    at = 8 + 2 + 12 * count
    tags = [0x8298] * (count - 1) + [0x013B]
    entries = b"".join(struct.pack("<HHII", tag, 2, len(value), at) for tag in tags)
    facts = read_exif(b"II*\0" + struct.pack("<IH", 8, count) + entries + value)
    assert "otter" in facts["copyright"]
    assert "artist" not in facts


def test_times_that_are_none_are_left_out() -> None:
    assert parse_exif_time("0000:00:00 00:00:00") == ""
    assert parse_exif_time("2020:13:41 10:00:00") == ""
    assert parse_exif_time("2020:02:03") == "2020-02-03"


def outcome(reader: Callable[[bytes], Document], content: bytes) -> Document | str:
    try:
        return reader(content)
    except (SkipFileError, ExtractionError) as error:
        return error.message


def id3(**frames: str) -> bytes:
    body = b"".join(
        name.encode() + struct.pack(">IH", len(text) + 1, 0) + b"\3" + text.encode() for name, text in frames.items()
    )
    size = len(body)
    return b"ID3\3\0\0" + bytes([size >> 21 & 127, size >> 14 & 127, size >> 7 & 127, size & 127]) + body


def flac(*comments: str) -> bytes:
    block = struct.pack("<I", 0) + struct.pack("<I", len(comments))
    block += b"".join(struct.pack("<I", len(comment)) + comment.encode() for comment in comments)
    return b"fLaC" + bytes([0x84]) + len(block).to_bytes(3, "big") + block


def listen(content: bytes) -> Document:
    kind = kind_of(file_path("/root/sound"), content)
    document = open_audio(io.BytesIO(content), kind, Budget()).document
    assert document is not None
    return document


@pytest.mark.parametrize(
    "content",
    [
        id3(TIT2="Blue Train", TPE1="J. Coltrane", TALB="Live", TCON="Jazz", TYER="1957") + b"\xff\xfb" + b"\0" * 400,
        flac("TITLE=Blue Train", "ARTIST=J. Coltrane", "ALBUM=Live", "GENRE=Jazz", "DATE=1957"),
    ],
    ids=["mp3", "flac"],
)
def test_tags_of_sound_are_read(content: bytes) -> None:
    document = listen(content)

    assert document.title == "Blue Train"
    assert document.metadata.authors == ("J. Coltrane",)
    assert document.metadata.tags == ("Jazz",)
    assert "Album: Live" in document.text


def test_sound_without_tags_is_binary() -> None:
    with pytest.raises(SkipFileError) as raised:
        listen(id3() + b"\xff\xfb" + b"\0" * 400)
    assert raised.value.reason is SkipReason.BINARY


@pytest.mark.parametrize("cut", range(5, 60, 5))
def test_sound_that_is_cut_off_is_damaged_or_read_as_far_as_it_goes(cut: int) -> None:
    for content in (id3(TIT2="Blue Train", TPE1="J. Coltrane"), flac("TITLE=Blue Train", "ARTIST=J. Coltrane")):
        outcome(listen, content[:cut])
