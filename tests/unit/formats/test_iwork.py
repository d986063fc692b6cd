"""Pages, Numbers and Keynote."""

from __future__ import annotations

import io
import zipfile

import pymupdf
import pytest

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.core.paths import file_path
from directory_indexer.formats.containers import Budget
from directory_indexer.formats.document import Document
from directory_indexer.formats.iwork import archive_texts, extract_iwork
from directory_indexer.formats.recognition import kind_of

SLIDES = (
    b'<key:presentation xmlns:key="k" xmlns:sf="s"><key:master-slides><sf:p>Title Text</sf:p></key:master-slides>'
    b"<key:slide><sf:p>Budget<sf:tab/>for <sf:span>spring</sf:span></sf:p><sf:ct sf:s='Cell one'/></key:slide>"
    b"<key:slide><sf:p>Thank you</sf:p></key:slide></key:presentation>"
)


def package(**parts: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(kind: int, content: bytes) -> bytes:
    header = field(1, 1) + field(2, field(1, kind) + field(3, len(content)))
    return varint(len(header)) + header + content


def archive(*messages: bytes) -> bytes:
    stream = b"".join(messages)
    packed = varint(len(stream)) + b"\xf4" + (len(stream) - 1).to_bytes(2, "little") + stream
    return b"\0" + len(packed).to_bytes(3, "little") + packed


def read(content: bytes, name: str = "deck.key") -> Document:
    return extract_iwork(content, kind_of(file_path(f"/root/{name}"), content), Budget())


def test_the_preview_is_read_with_its_pages() -> None:
    with pymupdf.open() as pdf:
        for text in ("Minutes of May", "Second page"):
            pdf.new_page().insert_text((72, 72), text)
        preview = pdf.tobytes()
    document = read(package(**{"QuickLook/Preview.pdf": preview, "index.xml": b"<a/>"}), "minutes.pages")

    assert document.kind == "pages"
    assert "Second page" in document.text
    assert len(document.page_starts) == 2


def test_slides_of_2009_are_pages_and_templates_are_left_out() -> None:
    document = read(package(**{"index.apxl": SLIDES}))

    assert document.kind == "keynote"
    assert document.text == "Budget\tfor spring\n\nCell one\n\nThank you\n"
    assert [section.page for section in document.sections] == [1, 2]


def test_stories_and_cells_of_2013_are_read() -> None:
    parts = {
        "Index/Document.iwa": archive(message(2001, field(3, "Plan\nfor the garden\ufffc".encode()))),
        "Index/Tables/DataList.iwa": archive(message(6005, field(3, field(1, 1) + field(3, b"Hosepipe")))),
        "Index/MasterSlide-1.iwa": archive(message(2001, field(3, b"Title Text"))),
    }
    assert read(package(**parts), "garden.numbers").text == "Plan\n\nfor the garden\n\nHosepipe\n"


def test_parts_may_be_packed_once_more() -> None:
    inner = package(**{"Index/Document.iwa": archive(message(2001, field(3, b"Deep down")))})
    assert read(package(**{"talk.key/Index.zip": inner})).text == "Deep down\n"


def test_copies_of_snappy_are_unpacked() -> None:
    story = field(3, b"abcabcabcabc")
    stream = message(2001, story)
    head = stream[: -len(b"abcabcabc")]
    packed = varint(len(stream)) + bytes([len(head) - 1 << 2]) + head + bytes([(9 - 4) << 2 | 1, 3])
    assert list(archive_texts(b"\0" + len(packed).to_bytes(3, "little") + packed)) == ["abcabcabcabc"]


def test_a_document_with_a_password_is_encrypted() -> None:
    with pytest.raises(SkipFileError) as raised:
        read(package(**{".iwpv2": b"x", "Index/Document.iwa": b"noise"}))
    assert raised.value.reason is SkipReason.ENCRYPTED


@pytest.mark.parametrize(
    "content",
    [
        b"\0\xff\xff\xff" + b"\xff" * 40,
        b"\0\4\0\0\x08\x01\x01\x01",
        archive(b"\xff\xff\xff\xff\x0f"),
        archive(message(2001, b"\x1a\xff\xff\x03")),
    ],
)
def test_damaged_archives_are_damaged_or_empty(content: bytes) -> None:
    try:
        texts = list(archive_texts(content))
    except ExtractionError:
        texts = []
    assert "".join(texts) == ""


def test_a_key_that_is_no_package_is_no_presentation() -> None:
    assert kind_of(file_path("/root/server.key"), b"-----BEGIN PRIVATE KEY-----\n") != "keynote"
