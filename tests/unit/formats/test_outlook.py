"""Messages of Outlook are read from their properties: who it went to, in which letters, and what is attached."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

import pytest
from ole_files import ole

from directory_indexer.formats.containers import Budget
from directory_indexer.formats.mail.message import open_message
from directory_indexer.formats.mail.outlook import open_outlook_message

if TYPE_CHECKING:
    from ole_files import Storage

    from directory_indexer.formats.containers import Member
    from directory_indexer.formats.document import Document

TO, CC, BCC = 1, 2, 3
FLAGS, KIND, CODE_PAGE, CODE_PAGE_OF_BODY, LANGUAGE = 0x0E07, 0x0C15, 0x3FFD, 0x3FDE, 0x3FF1
RUSSIAN, GERMAN, TAIWANESE = 0x0419, 0x0407, 0x0404


def numbers(header: int, **values: int) -> dict[str, bytes]:
    fixed = bytes(header) + b"".join(struct.pack("<HHIQ", 3, int(tag, 16), 0, value) for tag, value in values.items())
    return {"__properties_version1.0": fixed}


def text(tag: str, value: str) -> dict[str, bytes]:
    return {f"__substg1.0_{tag}001F": value.encode("utf-16-le")}


def narrow(tag: str, value: bytes) -> dict[str, bytes]:
    return {f"__substg1.0_{tag}001E": value}


def recipient(number: int, kind: int, name: str, address: str = "", smtp: str = "") -> dict[str, Storage]:
    properties = numbers(8, **{f"{KIND:04X}": kind}) | text("3001", name)
    properties |= text("3003", address) if address else {}
    properties |= text("39FE", smtp) if smtp else {}
    return {f"__recip_version1.0_#{number:08X}": properties}


def message(*parts: Storage, header: int = 32, **values: int) -> dict[str, bytes | Storage]:
    streams: dict[str, bytes | Storage] = {**numbers(header, **{f"{FLAGS:04X}": 1, **values})}
    for part in parts:
        streams |= part
    return streams


def read(storage: Storage) -> tuple[Document, list[Member]]:
    contents = open_outlook_message(io.BytesIO(ole(storage)), "msg", Budget())
    assert contents.document is not None
    return contents.document, list(contents.members)


def test_everybody_whom_a_message_went_to_is_in_its_text() -> None:
    many = [recipient(number, TO, f"Person {number}", smtp=f"p{number}@example.org") for number in range(100)]
    document, _ = read(message(text("0037", "Harbour"), *many))

    lines = document.text.splitlines()
    assert lines[:1] == ["Subject: Harbour"]
    assert lines[1].startswith("To: Person 0 <p0@example.org>, Person 1 <p1@example.org>")
    assert lines[1].endswith("Person 99 <p99@example.org>")
    assert len(document.metadata.recipients) == 32


def test_recipients_are_told_by_their_kind_with_names_and_addresses_that_people_know() -> None:
    document, _ = read(
        message(
            recipient(0, TO, "'Ada Lovelace'", "/O=ORG/CN=RECIPIENTS/CN=ADA"),
            recipient(1, CC, "Bob", "bob@example.org"),
            recipient(2, BCC, "Eve", "/o=org/cn=eve", "eve@example.org"),
            recipient(3, TO, "/O=ORG/CN=NOBODY", "/O=ORG/CN=NOBODY"),
        )
    )

    assert document.text == "To: Ada Lovelace\nCc: Bob <bob@example.org>\nBcc: Eve <eve@example.org>\n\n"
    assert document.metadata.copied == ("Bob <bob@example.org>", "Eve <eve@example.org>")


def test_recipients_have_the_names_of_the_list_and_the_addresses_of_the_headers() -> None:
    headers = text("007D", "From: ada@example.org\r\nTo: bob@example.org,\r\n Eve <eve@example.org>\r\n")
    document, _ = read(
        message(headers, recipient(0, TO, "Bob Brown", "bob@example.org"), recipient(1, TO, "Eve", "/O=X/CN=EVE"))
    )

    assert document.metadata.recipients == ("Bob Brown <bob@example.org>", "Eve <eve@example.org>")


@pytest.mark.parametrize(
    ("encoding", "written", "values"),
    [
        ("cp1251", "Привет", {f"{LANGUAGE:04X}": RUSSIAN}),
        ("cp1251", "Привет", {f"{LANGUAGE:04X}": GERMAN, f"{CODE_PAGE:04X}": 1251}),
        ("cp1252", "Grüße", {f"{LANGUAGE:04X}": GERMAN, f"{CODE_PAGE_OF_BODY:04X}": 65001}),
        ("utf-8", "Grüße", {f"{LANGUAGE:04X}": GERMAN, f"{CODE_PAGE_OF_BODY:04X}": 65001}),
        ("cp1252", "Grüße", {f"{LANGUAGE:04X}": GERMAN, f"{CODE_PAGE_OF_BODY:04X}": 1251}),
        ("cp950", "測試", {f"{LANGUAGE:04X}": TAIWANESE}),
        ("cp932", "会議", {f"{CODE_PAGE_OF_BODY:04X}": 932}),
        ("cp1252", "Grüße", {}),
        ("cp1252", "Grüße", {f"{CODE_PAGE:04X}": 999_999}),
    ],
)
def test_letters_of_texts_are_those_of_their_code_page(encoding: str, written: str, values: dict[str, int]) -> None:
    document, _ = read(message(narrow("0037", written.encode(encoding)), **values))
    assert document.title == written


def test_html_without_a_declared_encoding_is_in_the_code_page_of_the_body() -> None:
    page = {"__substg1.0_10130102": "<html><body><p>Привет</p></body></html>".encode("cp1251").ljust(4096)}
    document, _ = read(message(page, **{f"{CODE_PAGE_OF_BODY:04X}": 1251}))
    assert document.text.strip() == "Привет"


def test_an_attached_message_is_a_message_with_all_that_it_says() -> None:
    soup = {"__attach_version1.0_#00000000": numbers(8) | text("3707", "soup.md") | {"__substg1.0_37010102": b"Boil."}}
    inner = message(
        text("0037", "Über <alles>"),
        text("0C1A", "Ada"),
        recipient(0, TO, 'Zoë; the "first"', "zoe@example.org"),
        text("1000", "The walrus sleeps."),
        soup,
        header=24,
    )
    attached: Storage = {"__attach_version1.0_#00000000": {**numbers(8), "__substg1.0_3701000D": inner}}
    _, [member] = read(message(text("0037", "Outer"), attached))

    contents = open_message(io.BytesIO(member.content), "email", Budget())
    assert contents.document is not None
    assert contents.document.title == "Über <alles>"
    assert "The walrus sleeps." in contents.document.text
    assert contents.document.metadata.sender == ("Ada",)
    assert [member.name for member in contents.members] == ["soup.md"]
